"""Which members make up a minimum that leaves a choice: all choices where they are few, even steps where many."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from gangpool.core.composition import MOST_STEPS, compositions, other_choices
from gangpool.core.model import Gang, Role
from gangpool.core.needs import Needs, needs_of
from gangpool.core.pool import Pool
from tests.core.build import members, only_wait, places, plan, pool_of, seated, shape

RANGES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), max_size=4)


@given(st.integers(0, 12), RANGES)
def test_few_choices_are_all_tried_the_first_groups_first(total: int, ranges: list[tuple[int, int]]) -> None:
    ways = product(*(range(most, least - 1, -1) for least, most in ranges))
    assert list(compositions(total, ranges)) == [counts for counts in ways if sum(counts) == total]


def test_many_choices_are_tried_at_even_steps_with_both_ends() -> None:
    found = list(compositions(1000, [(0, 1000), (0, 1000)]))
    assert len(found) == MOST_STEPS
    assert (found[0], found[-1]) == ((1000, 0), (0, 1000))
    assert all(sum(counts) == 1000 for counts in found)


def test_the_even_steps_end_at_what_the_first_group_must_give() -> None:
    found = [counts for counts, _ in compositions(1000, [(100, 1000), (0, 1000)])]
    assert len(found) == MOST_STEPS
    assert (found[0], found[-1]) == (1000, 100)
    assert found == sorted(set(found), reverse=True)
    assert [counts for counts, _ in compositions(1000, [(0, 1000), (300, 700)])][::11] == [700, 300]


def gang_of(world: str, minimum: int, *roles: tuple[str, int, int, int]) -> Pool:
    """A gang `ml/g` on a pool; roles are (name, minimum, members, cards of each)."""
    pool = pool_of(world)
    pool.set_gang(Gang("ml/g", minimum, roles=tuple(Role(name, least) for name, least, _, _ in roles)))
    for name, _, n, cards in roles:
        for one in members("ml/g", n, shape(cards), role=name):
            pool.set_member(one)
    return pool


def test_the_first_members_by_role_are_taken_where_they_fit() -> None:
    pool = gang_of("a/a1: n1=8", 2, ("m", 0, 1, 4), ("w", 0, 4, 1))
    assert set(seated(pool)) == {"g-m-0", "g-w-0", "g-w-1", "g-w-2", "g-w-3"}


def test_other_members_make_up_the_minimum_where_the_first_do_not_fit() -> None:
    """1. A minimum of 3 out of one master and four workers. 2. No node has the master's 8 cards. 3. Three workers
    start; the fourth follows, the master waits."""
    made = plan(gang_of("a/a1: n1=4", 3, ("m", 0, 1, 8), ("w", 1, 4, 1)))
    assert set(places(made)) == {"g-w-0", "g-w-1", "g-w-2", "g-w-3"}
    assert [one.uid for one in only_wait(made).members] == ["g-m-0"]


def test_some_of_each_where_neither_role_is_enough() -> None:
    pool = gang_of("a/a1: n1=5 n2=5", 4, ("m", 0, 4, 4), ("w", 0, 2, 1))
    assert sorted(seated(pool)) == ["g-m-0", "g-m-1", "g-w-0", "g-w-1"]


def test_members_of_several_kinds_need_no_roles() -> None:
    pool = pool_of("a/a1: n1=4")
    pool.set_gang(Gang("ml/g", 2))
    for rank, cards in enumerate((8, 2, 2)):
        (one,) = members("ml/g", 1, shape(cards), start=rank)
        pool.set_member(one)
    assert set(seated(pool)) == {"g-1", "g-2"}


def test_a_role_gives_its_minimum_in_every_choice() -> None:
    wait = only_wait(plan(gang_of("a/a1: n1=4", 3, ("m", 1, 2, 8), ("w", 0, 4, 1))))
    assert (wait.reason.code, wait.reason.numbers["best"]) == ("cannot-fit", 2)


def test_a_refusal_of_all_choices_is_a_proof_and_tells_of_the_first_that_could_fit() -> None:
    reason = only_wait(plan(gang_of("a/a1: n1=2", 3, ("m", 0, 1, 8), ("w", 0, 4, 1)))).reason
    assert (reason.code, reason.numbers["best"]) == ("cannot-fit", 2)
    assert "nvidia.com/gpu asked 1" in reason.message


def test_where_nothing_fits_one_choice_says_what_is_short() -> None:
    pool = gang_of("a/a1: n1=2", 4, ("m", 0, 2, 8), ("v", 0, 2, 16), ("w", 0, 4, 1))
    (unit,) = pool.waiting()
    needs = needs_of(pool, unit)
    assert isinstance(needs, Needs)
    nothing = other_choices(pool, unit, needs, lambda kind, _: 2 if kind.n_cards == 1 else 0)
    assert [len(choice.batches) for choice in nothing.needs] == [1]
    assert len(other_choices(pool, unit, needs, lambda kind, _: 2).needs) > 1


def test_many_choices_are_tried_from_the_one_that_asks_for_least() -> None:
    """Nodes of 7 take two members of 3 cards or one of 5: of 61 members at most 19 may be of 5."""
    world = "a/a1: " + " ".join(f"n{i}=7" for i in range(40))
    found = seated(gang_of(world, 61, ("m", 0, 40, 5), ("w", 0, 80, 3)))
    assert len(found) >= 61


def test_many_choices_that_are_not_all_tried_prove_nothing() -> None:
    """What no bound sees: a card is left over on each node. The search ends, and says so."""
    world = "a/a1: " + " ".join(f"n{i}=7" for i in range(40))
    reason = only_wait(plan(gang_of(world, 81, ("m", 0, 60, 5), ("w", 0, 80, 3)))).reason
    assert reason.code == "not-found"
    assert str(reason.numbers["budget"]) in reason.message
