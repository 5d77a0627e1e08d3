"""The domain that members start from: lowest level, by the twin, few nodes, tightest, parent, tree order."""

from __future__ import annotations

import numpy as np
import pytest

from gangpool.core.choice import candidates, lowest
from gangpool.core.descent import Spot, in_blocks
from gangpool.core.room import Room
from tests.core.test_descent import room_of


@pytest.mark.parametrize(
    ("n", "limit", "expected"),
    [
        (1, 0, Spot(2, 4)),
        (2, 0, Spot(2, 0)),
        (3, 0, Spot(2, 1)),
        (5, 0, Spot(1, 0)),
        (9, 0, Spot(1, 1)),
        (10, 0, Spot(0, 0)),
        (14, 0, Spot(0, 0)),
        (15, 0, None),
        (9, 1, Spot(1, 1)),
        (10, 1, None),
        (4, 2, Spot(2, 2)),
        (5, 2, None),
    ],
)
def test_the_lowest_level_and_there_the_tightest(n: int, limit: int, expected: Spot | None) -> None:
    room = room_of({"a/1": [2], "a/2": [3], "b/1": [2, 2], "b/2": [4], "b/3": [1]})
    assert lowest(room, n, limit) == expected


def test_only_inside_a_domain() -> None:
    room = room_of({"a/1": [2], "a/2": [3], "b/1": [2, 2], "b/2": [4], "b/3": [1]})
    assert lowest(room, 1, 0, Spot(1, 0)) == Spot(2, 0)
    assert lowest(room, 4, 0, Spot(1, 1)) == Spot(2, 2)
    assert lowest(room, 4, 0, Spot(1, 0)) == Spot(1, 0)
    assert lowest(room, 6, 0, Spot(1, 0)) is None
    assert lowest(room, 3, 0, Spot(2, 1)) == Spot(2, 1)
    assert lowest(room, 4, 0, Spot(2, 1)) is None


def test_broken_nodes_first_even_where_another_domain_is_tighter() -> None:
    room = room_of({"a/1": [2], "a/2": [8, 8]}, {"a/1": [0], "a/2": [8, 0]})
    assert lowest(room, 2, 0) == Spot(2, 1)
    assert lowest(room, 9, 0) == Spot(2, 1)
    room = room_of({"a/1": [2], "a/2": [8, 8]}, {"a/1": [0], "a/2": [1, 0]})
    assert lowest(room, 2, 0) == Spot(2, 0)


def broken_room(rooms: dict[str, list[int]]) -> Room:
    """No node is whole."""
    return room_of(rooms, rooms)


def test_of_broken_rooms_one_node_before_two_before_more_and_each_before_tightness() -> None:
    room = broken_room({"a/1": [1, 1, 1, 1], "a/2": [2, 2, 1], "a/3": [5, 5], "b/1": [3, 1], "b/2": [4, 4, 4]})
    assert lowest(room, 4, 0) == Spot(2, 2)
    assert lowest(room, 4, 0, Spot(1, 1)) == Spot(2, 4)
    room = broken_room({"a/1": [1, 1, 1, 1], "a/2": [2, 2, 1], "b/1": [3, 1]})
    assert lowest(room, 4, 0) == Spot(2, 1)
    assert lowest(room, 4, 0, Spot(1, 1)) == Spot(2, 2)
    room = broken_room({"a/1": [1, 1, 1, 1, 1], "a/2": [1, 1, 1, 1]})
    assert lowest(room, 4, 0) == Spot(2, 1)


def test_broken_nodes_before_few_nodes() -> None:
    room = room_of({"a/1": [1, 1, 8], "a/2": [4, 4]}, {"a/1": [1, 1, 0], "a/2": [0, 0]})
    assert lowest(room, 2, 0) == Spot(2, 0)
    assert lowest(room, 3, 0) == Spot(2, 1)


def test_large_gangs_go_by_tightness_alone() -> None:
    room = broken_room({"a/1": [20], "a/2": [9, 9]})
    assert lowest(room, 16, 0) == Spot(2, 0)
    assert lowest(room, 17, 0) == Spot(2, 1)


def test_of_equally_tight_broken_rooms_the_least_total() -> None:
    room = room_of({"a/1": [4, 8], "a/2": [4, 2]}, {"a/1": [4, 0], "a/2": [4, 0]})
    assert lowest(room, 3, 0) == Spot(2, 1)


def test_ties_go_to_the_tightest_parent_then_to_tree_order() -> None:
    room = room_of({"a/1": [4], "a/2": [8], "b/1": [4], "b/2": [2], "c/1": [4], "c/2": [2]})
    assert lowest(room, 4, 0) == Spot(2, 2)
    assert lowest(room, 3, 0, Spot(1, 0)) == Spot(2, 0)


def test_domains_that_are_not_real_are_never_chosen() -> None:
    room = room_of({"a/1": [4], "b/-": [2], "-/-": [2]})
    assert lowest(room, 2, 0) == Spot(2, 0)
    assert lowest(room, 5, 0) == Spot(0, 0)
    assert lowest(room, 2, 0, Spot(1, 1)) == Spot(1, 1)


def test_blocks_are_chosen_by_their_own_sums() -> None:
    room = room_of({"a/1": [3, 2], "a/2": [3], "b/1": [2, 1], "c/1": [1, 1, 1, 1]})
    assert lowest(room, 1, 0, units=in_blocks(room, 2, 2)) == Spot(2, 2)
    assert lowest(room, 2, 0, units=in_blocks(room, 2, 2)) == Spot(2, 3)
    assert lowest(room, 3, 0, units=in_blocks(room, 2, 2)) == Spot(1, 0)
    assert lowest(room, 4, 0, units=in_blocks(room, 2, 1)) == Spot(1, 0)
    assert lowest(room, 5, 0, units=in_blocks(room, 2, 1)) == Spot(0, 0)
    assert lowest(room, 4, 1, units=in_blocks(room, 3, 2)) is None
    broken = room_of({"a/1": [4], "b/1": [4]}, {"a/1": [0], "b/1": [4]})
    assert lowest(broken, 2, 0, units=in_blocks(broken, 2, 2)) == Spot(2, 1)


def test_no_domains_no_spot() -> None:
    assert lowest(room_of({"-/-": [3]}), 1, 1) is None
    assert lowest(room_of({"-/-": [3]}), 1, 0) == Spot(0, 0)


def test_candidates_pass_every_bound_and_come_tightest_first() -> None:
    tree = room_of({"a/1": [1], "a/2": [1], "b/1": [1], "b/-": [1], "c/1": [1]}).tree

    def found(level: int, inside: Spot, *bounds: tuple[list[bool], list[int]]) -> list[int]:
        fits = [(np.array(ok), np.array(rooms, dtype=np.int64)) for ok, rooms in bounds]
        spots = list(candidates(tree, fits, level, inside))
        assert {spot.level for spot in spots} <= {level}
        return [spot.domain for spot in spots]

    yes = [True] * 5
    assert found(2, Spot(0, 0), (yes, [5, 4, 3, 0, 3])) == [2, 4, 1, 0]
    assert found(2, Spot(0, 0), (yes, [5, 4, 3, 0, 3]), (yes, [0, 0, 9, 0, 0])) == [4, 1, 0, 2]
    assert found(2, Spot(0, 0), ([True, False, True, True, True], [5, 4, 3, 0, 3])) == [2, 4, 0]
    assert found(2, Spot(1, 0), (yes, [5, 4, 3, 0, 3])) == [1, 0]
    assert found(2, Spot(1, 1), (yes, [5, 4, 3, 0, 3])) == [2]
    assert found(1, Spot(0, 0), ([True, False, True], [2, 1, 1])) == [2, 0]
    assert found(2, Spot(2, 1), (yes, [0] * 5)) == [1]
