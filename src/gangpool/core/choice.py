"""Which domain a set of members starts from: the lowest level with a domain that holds them all, there one whose
broken nodes do, else any; among these one where a single node holds them, else one where two do; among these the
tightest; ties go to the tightest parent, then to tree order. Called by the planner.

Nodes count before tightness because a nearly full domain is full of scraps: by tightness alone, gangs of 4 sit on
3.0 nodes in the mean, with this on 2.3, and no more whole nodes are broken (bench/README, packing)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gangpool.core.descent import Spot, Units
from gangpool.core.room import Room
from gangpool.core.topology import Tree
from gangpool.core.vec import Bools, Ints

NO = np.uint64(1 << 62)
"""Larger than what any domain has left: marks those that do not hold the ask."""
FEW = 16
"""Gangs of more members seldom fit on one node or two."""
Lefts = np.ndarray[Any, np.dtype[np.uint64]]
POOL = Spot(0, 0)


def lowest(room: Room, n: int, limit: int, inside: Spot = POOL, units: Units | None = None) -> Spot | None:
    """The spot for `n` members (blocks, with `units`) at level `limit` or below, inside a domain; None: no room.
    O(domains of the levels looked at)."""
    tree = room.tree
    deepest = tree.depth if units is None else units.level
    for level in range(deepest, max(limit, inside.level) - 1, -1):
        domain = _tightest(room, n, level, inside, units)
        if domain is not None:
            return Spot(level, domain)
    return None


def _tightest(room: Room, n: int, level: int, inside: Spot, units: Units | None) -> int | None:
    tree = room.tree
    first, last = (0, len(tree.names[level])) if inside.level == 0 else tree.span(inside.level, inside.domain, level)
    for by_twin in (True, False):
        sums = _sums(room, level, units, by_twin)
        if inside.level:
            sums = sums[first:last]
        if not len(sums):
            return None
        # What is left over; where it is less than nothing it wraps around, so that one argmin finds the tightest.
        left = (sums - n).view(np.uint64)
        if not tree.all_real[level]:
            left[~tree.real[level][first:last]] = NO
        best = int(left.argmin())
        if left[best] >= NO:
            continue
        if level == tree.depth and units is None and 1 < n <= FEW:
            left = _on_few_nodes(room, n, left, slice(first, last), by_twin)
            best = int(left.argmin())
        ties = (left == left[best]).nonzero()[0]
        return first + (best if len(ties) == 1 else _break_tie(room, level, ties, first))
    return None


def _on_few_nodes(room: Room, n: int, left: Lefts, span: slice, by_twin: bool) -> Lefts:
    """The same of those domains only where one node holds all members, else where two hold half of them each; of
    all domains if there is neither."""
    for k in (1, 2):
        few = np.where(room.holders(-(-n // k), by_twin)[span] >= k, left, NO)
        if few.min() < NO:
            return few
    return left


def _sums(room: Room, level: int, units: Units | None, by_twin: bool) -> Ints:
    if units is not None:
        return units.broken_sums[level] if by_twin else units.sums[level]
    return room.broken_sums(level) if by_twin else room.sums(level)


def _break_tie(room: Room, level: int, ties: Ints, first: int) -> int:
    """Among domains of equal room the one with the least total room, then the one in the tightest parent."""
    at = ties + first
    for upper in range(level, 0, -1):
        rooms = room.sums(upper)[at]
        keep = rooms == rooms.min()
        ties, at = ties[keep], at[keep]
        if len(ties) == 1:
            break
        at = room.tree.up_of[upper][at]
    return int(ties[0])


def candidates(tree: Tree, fits: list[tuple[Bools, Ints]], level: int, inside: Spot) -> Iterator[Spot]:
    """Domains of one level that pass every bound, tightest first. `fits`: per part (passes, room)."""
    first, last = tree.span(inside.level, inside.domain, level)
    passes = tree.real[level][first:last].copy()
    tightness = np.zeros(last - first, dtype=np.int64)
    for ok, rooms in fits:
        passes &= ok[first:last]
        tightness += rooms[first:last]
    found = np.nonzero(passes)[0]
    for position in found[np.argsort(tightness[found], kind="stable")].tolist():
        yield Spot(level, first + position)
