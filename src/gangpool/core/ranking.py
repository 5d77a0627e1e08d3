"""In which order domains are taken for `n` equal members: one integer per domain, the least goes first.

A domain whose broken nodes hold them all comes before one where whole nodes must be broken. Among the first, one
where a single node holds them comes before one where two nodes hold half of them each, and that before any other:
nearly full domains are full of scraps, and a small gang that goes by tightness alone sits on one scrap a member.
Then the domain with the least room of the kind that is used, then with the least room at all.

Kept by the tallies for the deepest level of a tree, so that a choice is one `argmin` however many domains there
are; for other levels and for rooms with inter-pod rules it is made when it is asked for. Called by tally, room and
choice.
"""

from __future__ import annotations

import numpy as np

from gangpool.core.vec import Ints, Vec

NO = 1 << 60
"""The rank of domains that do not hold the members."""
FEW = 16
"""Larger gangs seldom fit on one node or two: their nodes are not counted."""
MOST = (1 << 28) - 1
"""Rooms above this count as equal; the largest pools have a tenth of it."""


def rank(n: int, broken: int, room: int, one: int, two: int) -> int:
    """The rank of one domain. `broken`, `room`: members that its broken nodes and all its nodes hold; `one`, `two`:
    broken nodes that hold n, and half of n."""
    if room < n:
        return NO
    if broken < n:
        tier, used = 3, room
    else:
        tier, used = 0 if one else 1 if two > 1 else 2, broken
    return tier << 56 | min(used, MOST) << 28 | min(room, MOST)


def ranks(n: int, broken: Ints, room: Ints, one: Ints | None = None, two: Ints | None = None) -> Ints:
    """The same for many domains; without `one` and `two` nodes are not counted."""
    tier: int | Ints = 2
    if one is not None and two is not None:
        tier = np.where(one > 0, 0, np.where(two > 1, 1, 2))
    is_broken = broken >= n
    used = np.minimum(np.where(is_broken, broken, room), MOST)
    found = (np.where(is_broken, tier, 3) << 56) | (used << 28) | np.minimum(room, MOST)
    result: Ints = np.where(room >= n, found, NO)
    return result


class Ranking:
    """Ranks for `n` members, kept up by whoever moves the sums. Mutable."""

    __slots__ = ("half", "n", "of", "one", "two")

    def __init__(self, n: int, n_domains: int) -> None:
        self.n = n
        self.half = -(-n // 2)
        self.of = Vec(n_domains)
        self.of.write[:] = NO  # until a node of theirs is seen: the pool may have none at all
        self.one = Vec(n_domains)
        self.two = Vec(n_domains)

    def move_one(self, domain: int, then: int, now: int, broken: int, room: int) -> None:
        """A broken node held `then` members and holds `now`; the sums of its domain have moved already."""
        self.one.at[domain] += (now >= self.n) - (then >= self.n)
        self.two.at[domain] += (now >= self.half) - (then >= self.half)
        self.of.at[domain] = rank(self.n, broken, room, self.one.at[domain], self.two.at[domain])

    def move_many(self, domains: Ints, then: Ints, now: Ints, broken: Ints, room: Ints) -> None:
        """The same for many nodes; a domain may come several times. `broken`, `room`: sums of all domains."""
        for vec, least in ((self.one, self.n), (self.two, self.half)):
            np.add.at(vec.write, domains, (now >= least).astype(np.int64) - (then >= least))
        one, two = self.one.view[domains], self.two.view[domains]
        self.of.write[domains] = ranks(self.n, broken[domains], room[domains], one, two)
