"""Which domain a set of members starts from: at the lowest level that has a domain for them all, the first by rank
(broken nodes only, few nodes, tightest; see `ranking`); ties go to the tightest parent, then to tree order. Called by
the planner."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gangpool.core.descent import Spot, Units
from gangpool.core.ranking import FEW, NO, ranks
from gangpool.core.room import Room
from gangpool.core.topology import Tree
from gangpool.core.vec import Bools, Ints

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
    if first == last:
        return None
    if units is not None:
        found = ranks(n, units.broken_sums[level][first:last], units.sums[level][first:last])
    elif level < tree.depth or n > FEW:
        found = ranks(n, room.broken_sums(level)[first:last], room.sums(level)[first:last])
    else:
        found = room.ranking(n)[first:last]
    if not tree.all_real[level]:
        found = np.where(tree.real[level][first:last], found, NO)
    best = int(found.argmin())
    least = int(found[best])
    if least == NO:
        return None
    ties = (found == least).nonzero()[0]
    return first + (best if len(ties) == 1 else _break_tie(room, level, ties, first))


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
