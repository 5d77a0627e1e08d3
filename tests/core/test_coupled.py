"""How many members fit where the place of one changes the place of the next: numbers of a refusal, exact when small."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gangpool.core import coupled
from gangpool.core.ask import Ask, Part
from gangpool.core.coupled import fill_coupled, most_coupled
from gangpool.core.descent import Spot
from gangpool.core.gang import Planner
from gangpool.core.model import Block, Shape
from tests.core.build import LEVELS, RACK, ZONE, kind, level, only_wait, plan, pool_of, shape, spread, submit, term

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


def test_many_blocks_are_counted_whole_each_in_the_roomiest_rack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two members of a block share a rack; a rack of three cards holds one block, and the card left over none."""
    monkeypatch.setattr(coupled, "EXACT", 0)
    pool = pool_of("a/a1: n1=3\na/a2: n2=0\nb/b1: n3=3\nb/-: n4=8")
    even = shape(spread=(spread("board", "app=g"),))
    for facts in [f for f in pool.ledger.facts if f is not None]:
        pool.set_node(replace(facts, labels=facts.labels | {"board": "x"}))
    submit(pool, "g", 6, even, blocks=(("", Block(2, level(RACK))),), labels="app=g")
    reason = only_wait(plan(pool)).reason
    assert (reason.code, reason.numbers["best"]) == ("cannot-fit", 4)
    assert "a block of 2 needs one rack, a/a1 takes 1" in reason.message
    assert list(pool.faults()) == []


@pytest.mark.parametrize(("n", "size", "seated"), [(5, 2, 5), (3, 2, 3), (6, 3, 6), (7, 3, 6), (3, 4, 3), (8, 4, 0)])
def test_blocks_of_coupled_members_and_a_smaller_last_one(n: int, size: int, seated: int) -> None:
    """Racks of three cards each hold one block of two and the odd member, or a block of three, but none of four."""
    pool = pool_of("a/a1: n1=3\nb/b1: n2=3")
    planner = Planner(pool.ledger)
    part = Part(kind(pool.ledger, shape(spread=(spread(ZONE, "app=g", 9),)), "app=g"), n, 0, size, 2)
    ask = Ask((part,), pool.forest.tree(LEVELS))
    assert fill_coupled(planner, ask, part, Spot(0, 0)) == seated
    assert 6 - int(pool.ledger.free_cards.view.sum()) == seated


def test_a_domain_that_can_take_no_more_than_the_best_is_not_counted() -> None:
    """Alone in its rack a spread takes one, whatever there is room for: all are looked at. Affinity takes all."""
    pool = pool_of("a/a1: n1=3\na/a2: n2=2\na/a3: n3=3")
    planner, tree = Planner(pool.ledger), pool.forest.tree(LEVELS)
    together = Ask((Part(kind(pool.ledger, TOGETHER, "app=g"), 5),), tree, limit=2)
    even = Ask((Part(kind(pool.ledger, EVEN, "app=g"), 5),), tree, limit=2)
    mark = pool.ledger.mark()
    assert most_coupled(planner, together, Spot(0, 0), 2) == (Spot(2, 0), 3, [])
    pool.ledger.rollback(mark)
    assert most_coupled(planner, even, Spot(0, 0), 2) == (Spot(2, 0), 1, [(2, 1), (1, 1)])


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
