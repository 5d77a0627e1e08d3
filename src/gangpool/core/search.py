"""The complete search behind the planner's trials: every way to seat the parts of an ask, within a budget.

Used where several kinds or coupled rules make sums inexact. When it ends by itself the answer is a proof; when
the budget ends it says so. Small cases are complete, so the tests can compare with brute force. Called by `gang`.
"""

from __future__ import annotations

import numpy as np

from gangpool.core.ask import Ask, Part, Refusal, Seating
from gangpool.core.descent import Spot, meet
from gangpool.core.ledger import Ledger
from gangpool.core.room import Room, room
from gangpool.core.tally import Tallies
from gangpool.core.terms import Match
from gangpool.core.vec import Ints

WORK = 20_000
"""Node looks per search: 1,250 states on up to 16 nodes (0.1 s), 500 on 40 (0.2 s). Of 6,000 small worlds the one
that needed most states needed 1,075."""
LEAST_STATES = 40
"""On 500 nodes and more; 20 ms on a pool of 1,280."""

StateKey = tuple[tuple[int, int, tuple[int, ...]], ...]


class Group:
    """Members of one part that share a domain of depth `level` (0: none asked): the part, or one block of it.
    `size`: how many they are. `ties`: (depth, groups that share a domain of it with this one and itself)."""

    __slots__ = ("inside", "kind", "left", "level", "part", "size", "taken", "ties")

    def __init__(self, number: int, part: Part, size: int, level: int, inside: Spot) -> None:
        self.part = number
        self.kind = part.kind
        self.size = self.left = size
        self.level = level
        self.inside = inside
        self.taken: list[int] = []
        self.ties: list[tuple[int, list[Group]]] = []


class OutOfBudget(Exception):
    """The search ends without an answer."""


class Search:
    """Depth first over states; a state is which members sit where, in whatever order they came there."""

    def __init__(self, ledger: Ledger, tallies: Tallies) -> None:
        self._ledger = ledger
        self._tallies = tallies

    def run(self, ask: Ask, rooms: list[Room], tried: int) -> Seating | Refusal:
        """Search every domain of the limit; claims stand in the ledger on success."""
        ledger = self._ledger
        self._left = self._budget = max(LEAST_STATES, WORK // max(16, len(ledger.slot)))
        self._own: frozenset[Match] = frozenset(m for part in ask.parts for m in part.kind.matches)
        self._ordered = not any(p.kind.attracts or p.kind.spreads for p in ask.parts)
        mark = ledger.mark()
        try:
            for spot in self._spots(ask, rooms):
                groups = [g for number, part in enumerate(ask.parts) for g in groups_of(number, part, spot)]
                tie(ask, groups)
                self._seen: set[StateKey] = set()
                if self._extend(ask, groups):
                    return seating(ask, groups)
        except OutOfBudget:
            ledger.rollback(mark)
            return Refusal(ask, is_proved=False, budget=self._budget + tried)
        return Refusal(ask, is_proved=True, budget=self._budget - self._left + tried)

    def _spots(self, ask: Ask, rooms: list[Room]) -> list[Spot]:
        """Domains of the limit whose upper bounds hold every part, tightest first."""
        tree, level = ask.tree, max(ask.limit, ask.pin.level)
        first, last = tree.span(ask.pin.level, ask.pin.domain, level)
        found = []
        for domain in range(first, last):
            spot = Spot(level, domain)
            if tree.real[level][domain] and all(meet(tree, spot, part.pin) for part in ask.parts):
                sums = [int(r.sums(level)[domain]) for r in rooms]
                if all(s >= p.n for s, p in zip(sums, ask.parts, strict=True)):
                    found.append((sum(sums), domain))
        return [Spot(level, domain) for _, domain in sorted(found)]

    def _extend(self, ask: Ask, groups: list[Group]) -> bool:
        """Seat one more member of some group; True when all are seated (claims then stand)."""
        open_groups = [g for g in groups if g.left]
        if not open_groups:
            return True
        if self._left <= 0:
            raise OutOfBudget
        self._left -= 1
        for group in open_groups[:1] if self._ordered else first_of_each(open_groups):
            if not self._could_hold(ask, group):
                return False
            for i in self._places(ask, group):
                mark = self._ledger.mark()
                self._ledger.claim(i, group.kind)
                group.taken.append(i)
                group.left -= 1
                state = key_of(groups)
                if state not in self._seen:
                    self._seen.add(state)
                    if self._extend(ask, groups):
                        return True
                group.left += 1
                group.taken.pop()
                self._ledger.rollback(mark)
        return False

    def _nodes(self, ask: Ask, group: Group) -> Ints:
        """Nodes of the domains that the group is in, by where it and those tied to it have begun."""
        tree, inside = ask.tree, group.inside
        held = [(level, peer.taken[0]) for level, peers in group.ties for peer in peers if peer.taken]
        if group.taken:
            held.append((group.level, group.taken[0]))
        nodes = tree.nodes(inside.level, inside.domain)
        for level, i in held:
            nodes = nodes[tree.dom_of[level][nodes] == tree.dom[level][i]]
        return nodes

    def _could_hold(self, ask: Ask, group: Group) -> bool:
        bound = room(self._ledger, ask.tree, self._tallies.of(group.kind), self._own, group.kind)
        return int(bound.fit[self._nodes(ask, group)].sum()) >= group.left

    def _places(self, ask: Ask, group: Group) -> list[int]:
        """Nodes where the next member of a group may go now, tightest first."""
        tree = ask.tree
        now = room(self._ledger, tree, self._tallies.of(group.kind), kind=group.kind)
        nodes = self._nodes(ask, group)
        nodes = nodes[now.fit[nodes] > 0]
        for level in (group.level, *(level for level, _ in group.ties)):
            if not tree.all_real[level]:
                nodes = nodes[tree.real[level][tree.dom_of[level][nodes]]]
        nodes = nodes[np.argsort(now.fit[nodes], kind="stable")]
        if self._ordered and group.taken:  # equal members in rising order only: the others are the same states
            nodes = nodes[tree.position[nodes] >= tree.position[group.taken[-1]]]
        return [int(i) for i in nodes]


def groups_of(number: int, part: Part, spot: Spot) -> list[Group]:
    """The groups of one part inside a domain."""
    inside = part.pin if part.pin.level > spot.level else spot
    if not part.block_size:
        return [Group(number, part, part.n, part.level, inside)]
    sizes = [part.block_size] * (part.n // part.block_size)
    if part.n % part.block_size:
        sizes.append(part.n % part.block_size)
    return [Group(number, part, size, max(part.block_level, part.level), inside) for size in sizes]


def tie(ask: Ask, groups: list[Group]) -> None:
    """Let each group know those whose domain it shares: the other blocks of a part with a level, other parts."""
    for number, part in enumerate(ask.parts):
        mine = [group for group in groups if group.part == number]
        for group in mine:
            group.ties = [(part.level, mine)] if part.level and len(mine) > 1 else []
            for one in part.ties:
                group.ties.append((one.level, [g for g in groups if one in ask.parts[g.part].ties]))


def first_of_each(groups: list[Group]) -> list[Group]:
    """Groups of one part are alike until one has begun: one open fresh group per part is enough."""
    chosen: list[Group] = []
    fresh: set[tuple[int, int]] = set()
    for group in groups:
        if group.taken:
            chosen.append(group)
        elif (group.part, group.left) not in fresh:
            fresh.add((group.part, group.left))
            chosen.append(group)
    return chosen


def key_of(groups: list[Group]) -> StateKey:
    """A state without the order of events, blocks of one size in any order."""
    return tuple(sorted((g.part, g.size, tuple(sorted(g.taken))) for g in groups))


def seating(ask: Ask, groups: list[Group]) -> Seating:
    """What stands in the ledger, as the answer per part; members of one block stay together."""
    parts: list[tuple[Ints, Ints]] = []
    position = ask.tree.position
    for number in range(len(ask.parts)):
        taken = [i for g in groups if g.part == number for i in sorted(g.taken, key=position.__getitem__)]
        parts.append((np.array(taken, dtype=np.int64), np.ones(len(taken), dtype=np.int64)))
    return Seating(tuple(parts))
