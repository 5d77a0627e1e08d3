"""Where `n` equal members go inside a domain: children largest first until one holds the rest, then the smallest
that does, down to nodes. With this rule a gang touches the fewest domains and leaves the tightest rest.

Pure choice on a `Room`; nothing is claimed here. Called by `gang`.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gangpool.core.room import Room
from gangpool.core.topology import Tree
from gangpool.core.vec import Bools, Ints

BULK = 64
"""Above so many children or nodes numpy sorts, below Python does."""
MOST = np.iinfo(np.int64).max


class Spot(Struct, frozen=True):
    """A domain to start from."""

    level: int
    domain: int


def meet(tree: Tree, one: Spot, other: Spot) -> bool:
    """Does one of two domains lie in the other?"""
    low, high = (one, other) if one.level >= other.level else (other, one)
    return tree.above(low.level, low.domain, high.level) == high.domain


class Units(Struct, frozen=True):
    """Room in blocks: `size` members per block, blocks never cross domains of `level`. `sums[l]` counts blocks
    for l <= level."""

    size: int
    level: int
    sums: list[Ints]
    broken_sums: list[Ints]


def in_blocks(room: Room, size: int, level: int, usable: Bools | None = None) -> Units:
    """Block room from below: floor(room / size) in each domain of `level`, summed upwards. `usable`: only these
    domains."""
    tree = room.tree
    whole, broken = room.sums(level) // size, room.broken_sums(level) // size
    if usable is not None or not tree.all_real[level]:
        usable = tree.real[level] if usable is None else tree.real[level] & usable
        whole, broken = np.where(usable, whole, 0), np.where(usable, broken, 0)
    sums, broken_sums = [whole], [broken]
    for upper in range(level - 1, -1, -1):
        starts = np.array(tree.child[upper][:-1], dtype=np.int64)
        sums.insert(0, np.add.reduceat(sums[0], starts))
        broken_sums.insert(0, np.add.reduceat(broken_sums[0], starts))
    return Units(size, level, sums, broken_sums)


def beside_rest(room: Room, units: Units, blocks: int, rest: int, limit: int) -> Units:
    """The same units, only in those domains of depth `limit` that hold a last block of `rest` members too."""
    tree, level = room.tree, units.level
    at = np.arange(len(tree.names[level]))
    for lower in range(level, limit, -1):
        at = tree.up_of[lower][at]
    over = tree.real[level] & (room.sums(level) % units.size >= rest)
    spare = np.bincount(at, weights=over, minlength=len(tree.names[limit])) > 0
    return in_blocks(room, units.size, level, ((units.sums[limit] > blocks) | spare)[at])


def share(rooms: list[int], n: int) -> list[tuple[int, int]]:
    """(position, members): largest first until one holds the rest, then the smallest that holds it. The sum of
    rooms must be at least n. Ties: the first in tree order."""
    order = sorted(range(len(rooms)), key=lambda p: -rooms[p])
    taken: list[tuple[int, int]] = []
    for rank, position in enumerate(order):
        room = rooms[position]
        if room >= n:
            last = position
            for other in order[rank + 1 :]:
                if rooms[other] < n:
                    break
                if rooms[other] < rooms[last]:
                    last = other
            taken.append((last, n))
            return taken
        taken.append((position, room))
        n -= room
    raise AssertionError("share: less room than asked")


def share_many(rooms: Ints, n: int) -> tuple[Ints, Ints]:
    """`share` for long vectors: (positions, members). O(children log children)."""
    if rooms.max() >= n:  # most gangs are small: one holds them all, nothing has to be sorted
        position = np.where(rooms >= n, rooms, MOST).argmin()
        return np.array([position], dtype=np.int64), np.array([n], dtype=np.int64)
    order = np.argsort(-rooms, kind="stable")
    ordered = rooms[order]
    reached = ordered.cumsum()
    j = int(reached.searchsorted(n))
    rest = n - int(reached[j - 1]) if j else n
    left = ordered[j:]
    smallest = left[int(np.count_nonzero(left >= rest)) - 1]
    positions, counts = order[: j + 1], ordered[: j + 1]
    positions[j] = order[j + int((left == smallest).argmax())]
    counts[j] = rest
    return positions, counts


class Descent:
    """One walk: collects (nodes, counts) in the order of choice, which is the order of ranks."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.tree: Tree = room.tree
        self.nodes: list[Ints] = []
        self.counts: list[Ints] = []

    def take(self, spot: Spot, n: int, units: Units | None = None) -> None:
        """Seat `n` members (or, with `units`, n blocks) in a domain that has room for them. Broken nodes alone
        are used where they hold everything."""
        if units is not None and spot.level >= units.level:
            n, units = n * units.size, None
        broken = self._sum(spot.level, spot.domain, units, True)
        self._walk(spot.level, spot.domain, n, units, broken >= n)

    def _sum(self, level: int, domain: int, units: Units | None, broken: bool) -> int:
        return int(self._sums(level, units, broken)[domain])

    def _sums(self, level: int, units: Units | None, broken: bool) -> Ints:
        if units is not None:
            return units.broken_sums[level] if broken else units.sums[level]
        return self.room.broken_sums(level) if broken else self.room.sums(level)

    def _walk(self, level: int, domain: int, n: int, units: Units | None, broken: bool) -> None:
        tree = self.tree
        if units is not None and level == units.level:
            n, units = n * units.size, None
        while level < tree.depth and tree.child[level][domain + 1] - tree.child[level][domain] == 1:
            level, domain = level + 1, tree.child[level][domain]
            if units is not None and level == units.level:
                n, units = n * units.size, None
        if level == tree.depth or (units is None and n == self._sum(level, domain, None, broken)):
            self._seat(level, domain, n, broken)
            return
        first, last = tree.child[level][domain], tree.child[level][domain + 1]
        rooms = self._sums(level + 1, units, broken)[first:last]
        if last - first > BULK:
            positions, counts = share_many(rooms, n)
            picks = list(zip(positions.tolist(), counts.tolist(), strict=True))
        else:
            picks = share(rooms.tolist(), n)
        for position, count in picks:
            if count:
                child = first + position
                alone = broken or int(self._sums(level + 1, units, True)[child]) >= count
                self._walk(level + 1, child, count, units, alone)

    def _seat(self, level: int, domain: int, n: int, broken: bool) -> None:
        tree, fit = self.tree, self.room.broken if broken else self.room.fit
        start, end = tree.start[level][domain], tree.start[level][domain + 1]
        nodes = tree.order[start:end]
        rooms = fit[start:end] if tree.is_identity else fit[nodes]
        if n == self._sum(level, domain, None, broken):  # no choice: all of it, in tree order, whatever is below
            keep = rooms > 0
            self.nodes.append(nodes[keep])
            self.counts.append(rooms[keep])
            return
        if end - start > BULK:
            positions, counts = share_many(rooms, n)
            keep = counts > 0
            self.nodes.append(nodes[positions[keep]])
            self.counts.append(counts[keep])
            return
        picks = [(p, k) for p, k in share(rooms.tolist(), n) if k]
        self.nodes.append(nodes[[p for p, _ in picks]])
        self.counts.append(np.array([k for _, k in picks], dtype=np.int64))

    def result(self) -> tuple[Ints, Ints]:
        """(slots, members), every slot once, in the order of choice."""
        if len(self.nodes) == 1:
            return self.nodes[0], self.counts[0]
        return np.concatenate(self.nodes), np.concatenate(self.counts)
