"""Tallies: how many members of a kind fit, per node and per domain, kept up by replaying the nodes touched.

Each tally has a twin that counts only broken nodes (some card in use, or no cards at all), so that gangs can
fill broken nodes first and whole nodes stay whole. Built by one numpy pass, then few touched nodes one by one,
many at once: cost follows what changed, not the pool and not the number of kinds. Inter-pod rules are not in
here (see `room`). Called by `room`.
"""

from __future__ import annotations

import numpy as np

from gangpool.core.kind import Kind
from gangpool.core.ledger import Ledger
from gangpool.core.ranking import Ranking
from gangpool.core.topology import Tree
from gangpool.core.vec import Bools, Ints, Vec

SCALAR_LIMIT = 24
"""Up to so many touched nodes Python is quicker than numpy (between 4 and 48 it makes no difference)."""
KEPT = 2_000
"""Tallies kept at most; the least recently used is dropped."""
KEPT_BYTES = 256 << 20
"""Memory for the tallies kept, by their two columns; a hundred may always stay."""
RANKINGS_KEPT = 4
"""Sizes of gangs for which the order of domains is kept, per tally and tree."""


class Sums:
    """Sums of a tally (`room`) and of its twin over the domains of one tree, per level. `rankings`: by n, the order
    of the domains of the deepest level for n members; kept for those n that are asked for."""

    __slots__ = ("broken", "rankings", "room", "tree")

    def __init__(self, tree: Tree, fit: Ints, twin: Ints) -> None:
        self.tree = tree
        self.rankings: dict[int, Ranking] = {}
        self.room = [_sum(tree, level, fit) for level in range(tree.depth + 1)]
        self.broken = [_sum(tree, level, twin) for level in range(tree.depth + 1)]

    def move_one(self, i: int, change: int, then: int, now: int) -> None:
        """`change` more members fit on node `i`; its twin was `then` and is `now`."""
        twin_change = now - then
        domain = room = broken = 0
        for dom, rooms, brokens in zip(self.tree.dom, self.room, self.broken, strict=True):
            domain = dom[i]
            rooms.at[domain] = room = rooms.at[domain] + change
            brokens.at[domain] = broken = brokens.at[domain] + twin_change
        for ranking in self.rankings.values():
            ranking.move_one(domain, then, now, broken, room)

    def move_many(self, index: Ints, change: Ints, then: Ints, now: Ints) -> None:
        """The same for many different nodes."""
        twin_change, domains = now - then, index
        for dom, rooms, brokens in zip(self.tree.dom_of, self.room, self.broken, strict=True):
            domains = dom[index]
            np.add.at(rooms.write, domains, change)
            np.add.at(brokens.write, domains, twin_change)
        for ranking in self.rankings.values():
            ranking.move_many(domains, then, now, self.broken[-1].view, self.room[-1].view)


def _sum(tree: Tree, level: int, fit: Ints) -> Vec:
    vec = Vec(len(tree.names[level]))
    vec.write[:] = sums_by_domain(tree, level, fit)
    return vec


def sums_by_domain(tree: Tree, level: int, fit: Ints) -> Ints:
    """Sum of a per-node vector over the domains of one level. O(nodes)."""
    ordered = fit[: len(tree.order)] if tree.is_identity else fit[tree.order]
    if not len(ordered):
        return np.zeros(len(tree.names[level]), dtype=np.int64)
    sums: Ints = np.add.reduceat(ordered, tree.starts[level][:-1])
    return sums


def distinct(slots: list[int]) -> Ints:
    """Each slot once, in rising order. A quarter of the time of `np.unique`, which looks at its arguments longer
    than at a few hundred numbers."""
    index = np.array(slots, dtype=np.int64)
    index.sort()
    is_first = np.empty(len(index), dtype=np.bool_)
    is_first[:1] = True
    np.not_equal(index[1:], index[:-1], out=is_first[1:])
    return index[is_first]


class Tally:
    """Room of one kind. `fit.at[i]` members fit on node i (0 where a filter says no), `twin` where it is broken."""

    __slots__ = (
        "_admits",
        "_filter_version",
        "_ledger",
        "_node_version",
        "_sums",
        "capacity",
        "cursor",
        "fit",
        "kind",
        "twin",
    )

    def __init__(self, ledger: Ledger, kind: Kind) -> None:
        self._ledger = ledger
        self.kind = kind
        self.rebuild()

    def rebuild(self) -> None:
        """The full pass: also the fallback and the oracle of the tests. O(nodes)."""
        ledger = self._ledger
        self.capacity = ledger.capacity
        self.fit = Vec(self.capacity)
        self.twin = Vec(self.capacity)
        self._sums: dict[int, Sums] = {}
        self._node_version = ledger.node_version
        filter_ = ledger.filter_of(self.kind.shape)
        self._admits: Bools = filter_.mask
        self._filter_version = filter_.version
        self.fit.write[:] = np.where(self._admits, ledger.room_on_all(self.kind), 0)
        self.twin.write[:] = np.where(ledger.broken(), self.fit.view, 0)
        self.cursor = ledger.looked()

    def sync(self) -> None:
        """Catch up with the ledger. O(nodes touched since the last look)."""
        ledger = self._ledger
        if self._node_version != ledger.node_version:  # other nodes or labels: the trees are other ones too
            self._sums.clear()
            self._node_version = ledger.node_version
        filter_ = ledger.filter_of(self.kind.shape)
        behind = ledger.cut + len(ledger.touched) - self.cursor
        if (
            self.capacity != ledger.capacity
            or self.cursor < ledger.cut
            or behind > ledger.n_slots
            or filter_.version != self._filter_version
        ):
            self.rebuild()
            return
        if not behind:
            return
        touched = ledger.touched[self.cursor - ledger.cut :]
        self.cursor = ledger.looked()
        if behind <= SCALAR_LIMIT:
            for i in touched:
                self._update_one(i)
        else:
            self._update_many(distinct(touched))

    def _update_one(self, i: int) -> None:
        ledger = self._ledger
        fit = ledger.room_on(i, self.kind) if self._admits[i] else 0
        twin = fit if fit and ledger.is_broken(i) else 0
        fit_then, twin_then = self.fit.at[i], self.twin.at[i]
        if fit == fit_then and twin == twin_then:
            return
        self.fit.at[i] = fit
        self.twin.at[i] = twin
        for sums in self._sums.values():
            sums.move_one(i, fit - fit_then, twin_then, twin)

    def _update_many(self, index: Ints) -> None:
        ledger = self._ledger
        fit = np.where(self._admits[index], ledger.room_on_all(self.kind, index), 0)
        twin = np.where(ledger.broken(index), fit, 0)
        change, twin_then = fit - self.fit.view[index], self.twin.view[index]
        self.fit.write[index] = fit
        self.twin.write[index] = twin
        for sums in self._sums.values():
            sums.move_many(index, change, twin_then, twin)

    def sums(self, tree: Tree) -> Sums:
        """Sums over the domains of a tree, up to date once `sync` was called."""
        sums = self._sums.get(id(tree))
        if sums is None or sums.tree is not tree:
            live = {key: s for key, s in self._sums.items() if s.tree is not tree}
            sums = Sums(tree, self.fit.view, self.twin.view)
            live[id(tree)] = sums
            self._sums = dict(list(live.items())[-4:])
        return sums

    def ranking(self, tree: Tree, n: int) -> Ints:
        """Ranks of the domains of the deepest level for `n` members, up to date once `sync` was called."""
        sums = self.sums(tree)
        found = sums.rankings.get(n)
        if found is None:
            if len(sums.rankings) >= RANKINGS_KEPT:
                del sums.rankings[next(iter(sums.rankings))]
            found = sums.rankings[n] = Ranking(n, len(tree.names[-1]))
            nodes, twin = tree.order, self.twin.view[tree.order]
            nothing = np.zeros_like(twin)
            found.move_many(tree.dom_of[-1][nodes], nothing, twin, sums.broken[-1].view, sums.room[-1].view)
        return found.of.view


class Tallies:
    """The tallies in use, least recently used first. Kinds that differ in inter-pod rules only share one: jobs whose
    members repel each other have a kind each, and mostly few shapes among them."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._tallies: dict[int, Tally] = {}
        self._same: dict[object, int] = {}
        self._numbers: dict[int, int] = {}

    def _number(self, kind: Kind) -> int:
        """The number of the first kind with the same room, rules aside."""
        found = self._numbers.get(kind.number)
        if found is None:
            if len(self._numbers) >= 4 * KEPT:  # most of these kinds are gone
                self._numbers.clear()
                self._same = {room: number for room, number in self._same.items() if number in self._tallies}
            shape = kind.shape
            filters = shape.node_selectors, shape.held_to, shape.tolerations, shape.avoid_soft_taints
            found = self._numbers[kind.number] = self._same.setdefault((shape.requests, *filters), kind.number)
        return found

    def of(self, kind: Kind) -> Tally:
        """The tally of a kind, up to date; its own `kind` may be another one with the same room, rules aside."""
        number = self._number(kind)
        tally = self._tallies.pop(number, None)
        if tally is None:
            tally = Tally(self._ledger, kind)
            while len(self._tallies) >= min(KEPT, max(100, KEPT_BYTES // (16 * self._ledger.capacity))):
                del self._tallies[next(iter(self._tallies))]
        else:
            tally.sync()
        self._tallies[number] = tally
        return tally

    def all(self) -> list[Tally]:
        """For the checks of the tests."""
        return list(self._tallies.values())
