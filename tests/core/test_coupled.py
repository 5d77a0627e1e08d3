"""How many members fit where the place of one changes the place of the next: numbers of a refusal, exact when small."""

from __future__ import annotations

import pytest

from gangpool.core import coupled
from gangpool.core.model import Shape
from tests.core.build import RACK, ZONE, level, only_wait, plan, pool_of, shape, spread, submit, term

TOGETHER = shape(affinity=(term(RACK, "app=g"),))
EVEN = shape(spread=(spread(RACK, "app=g"),))
APART = shape(anti_affinity=(term(RACK, "app=g"),))


@pytest.mark.parametrize(
    ("world", "what", "n", "best"),
    [
        # They sit in one rack: the roomiest counts, not the tightest, where a single one would go.
        ("a/a1: n1=1\na/a2: n2=3\na/a3: n3=2", TOGETHER, 4, 3),
        # The emptiest rack holds one, so no rack may hold more than two.
        ("a/a1: n1=1\na/a2: n2=8\na/a3: n3=8", EVEN, 6, 5),
        ("a/a1: n1=8 n2=8\na/a2: n3=8", APART, 3, 2),
        ("a/a1: n1=8-8", EVEN, 2, 0),
    ],
)
def test_best_of_a_refusal(world: str, what: Shape, n: int, best: int) -> None:
    pool = pool_of(world)
    submit(pool, "g", n, what, labels="app=g")
    reason = only_wait(plan(pool)).reason
    assert (reason.code, reason.numbers["best"]) == ("cannot-fit", best)


def test_domains_are_compared_by_what_they_take_not_by_their_room() -> None:
    """Zone a has more room, but all in one rack, and no rack may hold more than one: the emptiest stays empty."""
    pool = pool_of("a/a1: n1=8\na/a2: n2=0\nb/b1: n3=2\nb/b2: n4=2")
    submit(pool, "g", 6, shape(spread=(spread(RACK, "app=g"),)), required=level(ZONE), labels="app=g")
    reason = only_wait(plan(pool)).reason
    assert reason.message.startswith("2 of 6 members fit in zone b; next best: a 1 of 6;"), reason.message


def test_many_members_are_counted_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coupled, "EXACT", 0)
    pool = pool_of("a/a1: n1=1\na/a2: n2=3\na/a3: n3=2")
    submit(pool, "g", 4, TOGETHER, labels="app=g")
    assert only_wait(plan(pool)).reason.numbers["best"] == 3


def test_counting_leaves_no_claims() -> None:
    pool = pool_of("a/a1: n1=1\na/a2: n2=3")
    submit(pool, "g", 4, TOGETHER, labels="app=g")
    before = [list(vec.at) for vec in pool.ledger.free.values()]
    plan(pool)
    assert [list(vec.at) for vec in pool.ledger.free.values()] == before
    assert list(pool.faults()) == []


def test_the_roomiest_value_is_not_always_the_one_that_takes_most() -> None:
    """Together in a zone, apart by rack: zone a has more room, zone b more racks."""
    what = shape(affinity=(term(ZONE, "app=g"),), anti_affinity=(term(RACK, "app=g"),))
    pool = pool_of("a/a1: n1=8\na/a2: n2=8\nb/b1: n3=1\nb/b2: n4=1\nb/b3: n5=1")
    submit(pool, "g", 4, what, labels="app=g")
    assert only_wait(plan(pool)).reason.numbers["best"] == 3
