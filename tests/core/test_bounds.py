"""Bounds: what a domain must have for all parts of an ask. What fails cannot fit."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gangpool.core.ask import Ask, Part
from gangpool.core.bounds import bounds
from gangpool.core.gang import Planner
from gangpool.core.model import Shape
from gangpool.core.pool import Pool
from tests.core.build import LEVELS, either, foreign, kind, node, pool_of, shape


def passes(world: str, *parts: tuple[Shape, int], level_: int = 0, **more: Any) -> list[list[bool]]:
    return bounds_of(pool_of(world), *parts, level_=level_, **more)


def bounds_of(pool: Pool, *parts: tuple[Shape, int], level_: int = 0, **more: Any) -> list[list[bool]]:
    planner = Planner(pool.ledger)
    made = tuple(Part(kind(pool.ledger, what), n, **more) for what, n in parts)
    ask = Ask(made, pool.forest.tree(LEVELS))
    return [ok.tolist() for ok, _ in bounds(ask, planner._bounding_rooms(ask), level_)]


def test_bounds_of_parts_of_their_meet_and_of_each_resource() -> None:
    world = "a/a1: n1=8\nb/b1: n2=4 n3=4"
    small, big = shape(1, cpu=1, gib=0), shape(4, cpu=1, gib=0)
    # by zone: small ones, big ones, their meet (one card each); then what both ask for: CPU, cards, pods
    yes, no = [True, True], [False, False]
    assert passes(world, (small, 8), (big, 2), level_=1) == [yes, yes, no, yes, no, yes]
    assert passes(world, (small, 4), (big, 1), level_=1) == [[True, True]] * 6
    assert passes(world, (small, 8), (big, 1), level_=0)[2:] == [[True]] * 4
    assert passes(world, (small, 9), level_=1) == [[False, False]]
    assert passes(world, (small, 8), level_=1) == [[True, True]]


def test_nodes_where_no_part_may_go_have_no_room_for_the_bounds() -> None:
    only = (either("zone=b"),)
    one, two = shape(1, gib=0, node_selectors=only), shape(1, cpu=2, gib=0, node_selectors=only)
    assert passes("a/a1: n1=8\nb/b1: n2=2", (one, 1), (two, 2)) == [[True], [True], [False], [True], [False], [True]]


def test_the_meet_counts_a_node_for_what_its_parts_take_there() -> None:
    """1. Each part takes one member a node, for a resource of its own. 2. One node has a single card, the other
    eight: three members in all. 3. Each part alone, and the cards in sum, would do for two of each."""
    pool = pool_of("a/a1: n1=1 n2=8")
    for facts in [f for f in pool.ledger.facts if f is not None]:
        pool.set_node(replace(facts, allocatable=facts.allocatable | {"example.com/x": 1, "example.com/y": 1}))
    parts = [(shape(1, cpu=0, gib=0, room={f"example.com/{name}": 1}), 2) for name in "xy"]
    assert bounds_of(pool, *parts) == [[True], [True], [False], [True], [True]]
    assert bounds_of(pool, parts[0], (parts[1][0], 1)) == [[True]] * 5


def test_over_committed_nodes_take_nothing_from_what_others_have() -> None:
    pool = pool_of("a/a1: n1=8 n2=2")
    pool.set_member(foreign("f", "n1", shape(8, cpu=0, gib=0)))
    pool.set_node(node("n1", 4, labels={"zone": "a", "rack": "a1"}))
    assert pool.ledger.free_cards.view[:2].tolist() == [-4, 2]
    assert bounds_of(pool, (shape(1, cpu=1, gib=0), 1), (shape(1, cpu=2, gib=0), 1)) == [[True]] * 6


def test_blocks_have_bounds_of_their_own() -> None:
    world = "a/a1: n1=3\na/a2: n2=3\nb/b1: n3=6"
    assert passes(world, (shape(1), 6), level_=1, block_size=2, block_level=2) == [[False, True]]
    assert passes(world, (shape(1), 4), level_=1, block_size=2, block_level=2) == [[True, True]]
    assert passes(world, (shape(1), 4), level_=1, block_size=5, block_level=2) == [[True, True]]
    assert passes(world, (shape(1), 7), level_=1, block_size=2, block_level=2) == [
        [False, True]
    ]  # the rest is not seen
    assert passes(world, (shape(1), 7), level_=2, block_size=2, block_level=2) == [[False, False, False]]
    assert passes(world, (shape(1), 3), level_=2, block_size=2, block_level=1) == [[True, True, True]]
