"""Where equal members go inside a domain: the rule of `share`, its vector twin, blocks, whole nodes kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangpool.core.descent import BULK, Descent, Spot, beside_rest, in_blocks, share, share_many
from gangpool.core.room import Room
from gangpool.core.topology import Tree
from tests.core.build import kind, ledger_of, shape

POOL = Spot(0, 0)
ROOMS = st.lists(st.integers(0, 9), min_size=1, max_size=20)


def room_of(rooms: dict[str, list[int]], broken: dict[str, list[int]] | None = None, depth: int = 2) -> Room:
    """Room by path (`zone/rack`): one node per number, `broken` the same numbers on broken nodes only."""
    paths = [tuple(None if part == "-" else part for part in path.split("/")) for path, ns in rooms.items() for _ in ns]
    tree = Tree(("zone", "rack")[:depth], paths, len(paths))
    fit = np.array([n for ns in rooms.values() for n in ns], dtype=np.int64)
    twin = np.array([n for path, ns in rooms.items() for n in (broken or {}).get(path, [0] * len(ns))], dtype=np.int64)
    ledger = ledger_of("a/a1: n1=8")
    return Room(tree, kind(ledger, shape()), fit, twin)


def taken(room: Room, n: int, spot: Spot = POOL, blocks: tuple[int, int] | None = None) -> list[tuple[int, int]]:
    walk = Descent(room)
    walk.take(spot, n, None if blocks is None else in_blocks(room, *blocks))
    nodes, counts = walk.result()
    assert nodes.dtype == counts.dtype == np.int64
    return list(zip(nodes.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize(
    ("rooms", "n", "expected"),
    [
        ([3, 5, 2], 2, [(2, 2)]),
        ([3, 5, 2], 3, [(0, 3)]),
        ([3, 5, 2], 5, [(1, 5)]),
        ([3, 5, 2], 6, [(1, 5), (2, 1)]),
        ([3, 5, 2], 8, [(1, 5), (0, 3)]),
        ([3, 5, 2], 10, [(1, 5), (0, 3), (2, 2)]),
        ([2, 2, 2], 2, [(0, 2)]),
        ([2, 2, 2], 3, [(0, 2), (1, 1)]),
        ([0, 4, 1, 1], 5, [(1, 4), (2, 1)]),
        ([4], 1, [(0, 1)]),
        ([1, 3, 3], 2, [(1, 2)]),
    ],
)
def test_largest_first_then_the_smallest_that_holds_the_rest(
    rooms: list[int], n: int, expected: list[tuple[int, int]]
) -> None:
    assert share(rooms, n) == expected
    positions, counts = share_many(np.array(rooms, dtype=np.int64), n)
    assert list(zip(positions.tolist(), counts.tolist(), strict=True)) == expected


@given(ROOMS, st.data())
def test_both_ways_to_share_agree_and_touch_the_fewest(rooms: list[int], data: st.DataObject) -> None:
    n = data.draw(st.integers(0, sum(rooms)))
    chosen = share(rooms, n)
    positions, counts = share_many(np.array(rooms, dtype=np.int64), n)
    assert list(zip(positions.tolist(), counts.tolist(), strict=True)) == chosen
    assert sum(k for _, k in chosen) == n
    assert all(0 <= k <= rooms[p] for p, k in chosen)
    assert len({p for p, _ in chosen}) == len(chosen)
    used = [p for p, k in chosen if k]
    best = sorted(rooms, reverse=True)
    assert len(used) == next(k for k in range(len(rooms) + 1) if sum(best[:k]) >= n)
    if n:
        last, rest = chosen[-1]
        others = set(range(len(rooms))) - {p for p, _ in chosen}
        assert not any(rest <= rooms[p] < rooms[last] for p in others)


def test_children_are_shared_level_by_level() -> None:
    room = room_of({"a/1": [2, 1], "a/2": [4], "b/1": [3, 3]})
    assert taken(room, 4) == [(3, 3), (4, 1)]
    assert taken(room, 4, Spot(1, 0)) == [(2, 4)]
    assert taken(room, 3, Spot(2, 0)) == [(0, 2), (1, 1)]
    assert taken(room, 6, Spot(1, 0)) == [(2, 4), (0, 2)]
    assert taken(room, 8) == [(0, 2), (1, 1), (2, 4), (3, 1)]


def test_a_domain_that_is_taken_whole_is_taken_in_tree_order() -> None:
    room = room_of({"a/1": [2, 1], "a/2": [4], "b/1": [3, 3]})
    assert taken(room, 13) == [(0, 2), (1, 1), (2, 4), (3, 3), (4, 3)]
    assert taken(room, 12) == [(0, 2), (1, 1), (2, 4), (3, 3), (4, 2)]
    broken = room_of({"a/1": [2, 8], "a/2": [4, 8]}, {"a/1": [2, 0], "a/2": [4, 0]})
    assert taken(broken, 6) == [(0, 2), (2, 4)]


def test_every_node_once_and_none_with_nothing() -> None:
    room = room_of({"a/1": [0, 2], "a/2": [0], "b/1": [0, 1]})
    assert taken(room, 3) == [(1, 2), (4, 1)]
    assert taken(room, 2, Spot(1, 0)) == [(1, 2)]


def test_broken_nodes_alone_where_they_hold_everything() -> None:
    rooms, broken = {"a/1": [8, 2, 1], "a/2": [8, 3]}, {"a/1": [0, 2, 1], "a/2": [0, 3]}
    room = room_of(rooms, broken)
    assert taken(room, 3, Spot(2, 0)) == [(1, 2), (2, 1)]
    assert taken(room, 4, Spot(2, 0)) == [(0, 4)]
    assert taken(room, 6) == [(1, 2), (2, 1), (4, 3)]
    assert taken(room, 2) == [(1, 2)]


def test_a_child_uses_its_broken_nodes_where_the_parent_cannot() -> None:
    """Twelve do not fit on broken nodes of the zone; the rest of one rack does on those of the other."""
    room = room_of({"a/1": [8, 4], "a/2": [8, 1, 1]}, {"a/1": [0, 0], "a/2": [0, 1, 1]})
    assert taken(room, 14, Spot(1, 0)) == [(0, 8), (1, 4), (3, 1), (4, 1)]


def test_single_children_are_passed_through() -> None:
    room = room_of({"a/1": [2, 3]})
    assert taken(room, 4) == [(1, 3), (0, 1)]
    assert taken(room, 2) == [(0, 2)]


def test_long_lists_take_the_vector_way() -> None:
    n = BULK + 6
    few = room_of({f"a/{i}": [1 + i % 3] for i in range(n)})
    many = room_of({"a/1": [1 + i % 3 for i in range(n)]})
    by_child = taken(few, 30)
    by_node = taken(many, 30)
    assert by_child == by_node
    assert [k for _, k in by_node] == [3] * 10
    holes = room_of({"a/1": [0] * n + [2]})
    assert taken(holes, 2) == [(n, 2)]


def test_blocks_are_counted_in_real_domains_only() -> None:
    room = room_of({"a/1": [3, 2], "a/2": [3], "b/-": [9], "c/1": [1]}, {"a/1": [3, 0], "a/2": [0]})
    units = in_blocks(room, 2, 2)
    assert (units.size, units.level) == (2, 2)
    assert [s.tolist() for s in units.sums] == [[3], [3, 0, 0], [2, 1, 0, 0]]
    assert [s.tolist() for s in units.broken_sums] == [[1], [1, 0, 0], [1, 0, 0, 0]]
    only = in_blocks(room, 2, 2, np.array([False, True, True, True]))
    assert [s.tolist() for s in only.sums] == [[1], [1, 0, 0], [0, 1, 0, 0]]
    at_zone = in_blocks(room, 2, 1)
    assert [s.tolist() for s in at_zone.sums] == [[8], [4, 4, 0]]


def test_blocks_go_whole_to_domains_of_their_level() -> None:
    room = room_of({"a/1": [3, 2], "a/2": [3], "b/1": [2, 2]})
    assert taken(room, 3, blocks=(2, 2)) == [(0, 3), (1, 1), (2, 2)]
    assert taken(room, 2, blocks=(2, 2)) == [(3, 2), (4, 2)]
    assert taken(room, 1, Spot(2, 1), blocks=(2, 2)) == [(2, 2)]
    assert taken(room, 4, blocks=(2, 1)) == [(0, 3), (1, 2), (2, 3)]
    assert taken(room, 1, Spot(1, 1), blocks=(2, 1)) == [(3, 2)]


def test_the_rest_of_blocks_restricts_the_domains_of_the_limit() -> None:
    room = room_of({"a/1": [4], "b/1": [4], "b/2": [1], "c/1": [6], "d/-": [9]})
    units = in_blocks(room, 2, 2)
    kept = beside_rest(room, units, 2, 1, 1)
    assert kept.sums[1].tolist() == [0, 2, 3, 0]
    assert beside_rest(room, units, 3, 1, 1).sums[1].tolist() == [0, 2, 0, 0]
    assert beside_rest(room, units, 2, 1, 0).sums[0].tolist() == [7]
