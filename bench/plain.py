"""The rule that packing is compared with: the tightest domain that holds a gang, and in it the fewest nodes.

A second planner on purpose, with its own books and nothing of `gangpool.core` but the words: gangs in queue order,
the narrowest level with a domain that holds all members, there the domain with the least room, in it nodes with
most room first until one holds the rest, then the one with least room that does. For one shape a gang. Used by
`bench_packing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.worlds import Arrival
from gangpool.core.model import CARD, Member, NodeFacts

Ints = np.ndarray[Any, np.dtype[np.int64]]


class PlainPlanner:
    """Books of one pool and the gangs that are seated. Mutable: `seat` takes room."""

    def __init__(self, nodes: Sequence[NodeFacts], key: str, running: Sequence[Member]) -> None:
        """`key`: label of the only level. `running`: members that have a node."""
        names = {facts.name: i for i, facts in enumerate(nodes)}
        resources = dict.fromkeys(r for facts in nodes for r in facts.allocatable)
        self.free: dict[str, Ints] = {r: np.array([facts.allocatable.get(r, 0) for facts in nodes]) for r in resources}
        self.cards = self.free[CARD].copy()
        values = [facts.labels[key] for facts in nodes]
        self.key = key
        self.domains: list[Ints] = [
            np.array([i for i, v in enumerate(values) if v == value]) for value in dict.fromkeys(values)
        ]
        self.nodes_of: dict[str, Ints] = {}
        for member in running:
            self._take(member, names[member.node], 1)

    def _take(self, member: Member, i: int, n: int) -> None:
        for resource, amount in member.shape.requests:
            self.free[resource][i] -= amount * n

    def _fit(self, member: Member) -> Ints:
        fit = np.min([self.free[r] // amount for r, amount in member.shape.requests], axis=0)
        return np.clip(fit, 0, 1 if member.shape.anti_affinity else None)

    def seat(self, of: Arrival) -> bool:
        """Seat a gang whole, or not at all."""
        member, n = of.members[0], len(of.members)
        fit = self._fit(member)
        domains = [d for d in self.domains if fit[d].sum() >= n]
        if domains:
            picked = self._fill(fit, min(domains, key=lambda d: int(fit[d].sum())), n)
        elif of.gang.required is None and fit.sum() >= n:
            picked = self._fill_domains(fit, n)
        else:
            return False
        for i, k in picked:
            self._take(member, i, k)
        self.nodes_of[of.gang.key] = np.array([i for i, _ in picked])
        return True

    def _fill_domains(self, fit: Ints, n: int) -> list[tuple[int, int]]:
        picked = []
        for d, k in share([(int(fit[nodes].sum()), d) for d, nodes in enumerate(self.domains)], n):
            picked += self._fill(fit, self.domains[d], k)
        return picked

    def _fill(self, fit: Ints, nodes: Ints, n: int) -> list[tuple[int, int]]:
        return share([(int(fit[i]), int(i)) for i in nodes], n)

    def whole_nodes(self) -> int:
        """Nodes whose cards are all free."""
        return int((self.free[CARD] == self.cards).sum())


def share(rooms: list[tuple[int, int]], n: int) -> list[tuple[int, int]]:
    """(what, how many) from (room, what): largest first until one holds the rest, then the smallest that does."""
    found = []
    left = sorted(rooms, key=lambda entry: (-entry[0], entry[1]))
    while n:
        room, what = left[0]
        if room >= n:
            found.append((min((r, w) for r, w in left if r >= n)[1], n))
            return found
        found.append((what, room))
        n -= room
        left = left[1:]
    return found
