"""Parts that differ in amounts only, planned as members of one size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gangpool.core.ask import Ask, Part, Tie
from gangpool.core.descent import Spot
from gangpool.core.joined import dealt, joined_kind
from gangpool.core.model import Gang, Role, Shape
from tests.core.build import LEVELS, ZONE, either, kind, ledger_of, members, pool_of, seated, shape, spread

SMALL, BIG = shape(1, cpu=1), shape(1, cpu=4, gib=2, room={"x": 1})


def joined(*shapes: Shape, labels: tuple[str, ...] = ("", ""), **more: Any) -> dict[str, int] | None:
    ledger = ledger_of("a/a1: n1=8")
    ledger.kind(shape(spread=(spread(ZONE, "app=x"),)), "ml", ())
    parts = [Part(kind(ledger, one, label), 2) for one, label in zip(shapes, labels, strict=False)]
    if more:
        parts[1] = Part(parts[1].kind, 2, **more)
    found = joined_kind(ledger, parts)
    return None if found is None else dict(found.shape.requests)


def test_the_most_of_each_resource() -> None:
    assert joined(SMALL, BIG) == {"cpu": 4000, "memory": 2 << 30, "nvidia.com/gpu": 1, "pods": 1, "x": 1}
    assert joined(BIG, SMALL) == joined(SMALL, BIG)


@pytest.mark.parametrize(
    ("shapes", "more"),
    [
        ((SMALL,), {}),
        ((SMALL, shape(2)), {}),
        ((SMALL, shape(1, node_selectors=(either("a"),))), {}),
        ((SMALL, BIG), {"labels": ("", "app=x")}),
        ((SMALL, BIG), {"level": 1}),
        ((SMALL, BIG), {"block_size": 2}),
        ((SMALL, BIG), {"pin": Spot(1, 0)}),
        ((SMALL, BIG), {"near": 0}),
        ((SMALL, BIG), {"ties": (Tie(1, 0),)}),
        (
            (shape(1, spread=(spread(ZONE, "app=x"),)), shape(1, cpu=2, spread=(spread(ZONE, "app=x"),))),
            {"labels": ("app=x", "app=x")},
        ),
    ],
)
def test_parts_that_differ_in_more_are_not_joined(shapes: tuple[Shape, ...], more: dict[str, Any]) -> None:
    assert joined(*shapes, **more) is None


def test_slots_are_dealt_in_the_order_of_ranks() -> None:
    ledger = ledger_of("a/a1: n1=8")
    pool = pool_of("a/a1: n1=8")
    ask = Ask((Part(kind(ledger, SMALL), 1), Part(kind(ledger, BIG), 3)), pool.forest.tree(LEVELS))
    slots, counts = np.array([5, 2]), np.array([3, 1])
    dealt_slots = dealt(ask, (slots, counts))
    assert [(nodes.tolist(), each.tolist()) for nodes, each in dealt_slots] == [([5], [1]), ([5, 5, 2], [1, 1, 1])]


def test_a_master_that_asks_for_more_cpu_sits_with_the_first_ranks() -> None:
    pool = pool_of("a/a1: n1=4\na/a2: n2=4")
    pool.set_gang(Gang("ml/g", 6, (Role("m", 1), Role("w", 5))))
    for one in (*members("ml/g", 1, BIG, role="m"), *members("ml/g", 5, SMALL, role="w")):
        pool.set_member(one)
    for name in ("n1", "n2"):
        facts = pool.ledger.facts[pool.ledger.slot[name]]
        assert facts is not None
        pool.set_node(type(facts)(facts.name, {**facts.allocatable, "x": 9}, facts.labels))
    placed = seated(pool)
    order = [placed[uid] for uid in ("g-m-0", *(f"g-w-{r}" for r in range(5)))]
    assert order == [order[0]] * 4 + [order[5]] * 2
    assert order[0] != order[5]


def test_members_of_one_size_give_way_where_their_own_sizes_need_a_lower_level() -> None:
    """1. As members of the master's size six fit in the zone only. 2. By their own sizes they fit in one rack."""
    pool = pool_of("a/a1: n1=8\na/a2: n2=8")
    pool.set_gang(Gang("ml/g", 6, (Role("m", 1), Role("w", 5))))
    master, worker = shape(1, cpu=34), shape(1, cpu=6)
    for one in (*members("ml/g", 1, master, role="m"), *members("ml/g", 5, worker, role="w")):
        pool.set_member(one)
    assert len(set(seated(pool).values())) == 1
