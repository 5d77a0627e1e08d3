"""Who rests, for how long, and with which words."""

from __future__ import annotations

from gangpool.live.rests import MOST_S, Rests


def test_a_refusal_rests_twice_as_long_each_time_up_to_a_minute() -> None:
    rests = Rests()
    assert [rests.refused("ml/g", 100.0, "no") for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert rests.texts(100.0) == {"ml/g": "no"}


def test_an_outdated_pod_rests_for_a_moment_and_says_nothing() -> None:
    rests = Rests()
    assert rests.outdated("pod:1", 0.0) == 0.05
    assert rests.outdated("pod:1", 0.05) == 0.1
    assert (rests.keys(0.1), rests.texts(0.1)) == (frozenset({"pod:1"}), dict[str, str]())
    assert max(rests.outdated("pod:1", 1.0) for _ in range(2000)) == MOST_S


def test_a_refusal_is_remembered_until_the_bind_comes_about() -> None:
    rests = Rests()
    rests.refused("ml/g", 0.0, "no")
    assert rests.keys(5.0) == frozenset()
    assert rests.is_refused("ml/g")
    rests.done("ml/g")
    assert not rests.is_refused("ml/g")


def test_the_two_causes_count_apart() -> None:
    rests = Rests()
    for _ in range(5):
        rests.outdated("ml/g", 0.0)
    assert rests.refused("ml/g", 0.0, "no") == 1.0


def test_what_is_done_begins_anew() -> None:
    rests = Rests()
    rests.refused("ml/g", 0.0, "no")
    rests.done("ml/g")
    assert rests.refused("ml/g", 0.0, "no") == 1.0


def test_the_next_that_may_be_planned_ends_the_wait() -> None:
    rests = Rests()
    assert rests.next_s(0.0, 5.0) == 5.0
    rests.refused("a", 0.0, "no")
    rests.outdated("b", 0.0)
    assert rests.next_s(0.0, 5.0) == 0.05
    assert rests.next_s(0.05, 0.5) == 0.5
    assert rests.next_s(0.75, 0.5) == 0.25
    assert rests.keys(0.05) == {"a"}


def test_units_that_are_gone_are_forgotten() -> None:
    rests = Rests()
    rests.refused("a", 0.0, "no")
    rests.refused("b", 0.0, "no")
    rests.keep({"a"})
    assert rests.keys(0.5) == {"a"}
