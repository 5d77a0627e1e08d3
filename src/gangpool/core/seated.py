"""The order of a gang's members, where those with a node sit, and what that means for the others.

Called by `needs` and `sharing`. Pure look-ups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from operator import attrgetter

from gangpool.core.descent import Spot
from gangpool.core.model import Gang, Member
from gangpool.core.pool import Pool
from gangpool.core.topology import Tree

ROOT = Spot(0, 0)

BY_RANK: Callable[[Member], tuple[int | str, ...]] = attrgetter("rank", "name")  # a third of a lambda's time

Neighbour = tuple[int, str, int]
"""(rank, role, slot) of a seated member."""


def by_rank(gang: Gang) -> Callable[[Member], tuple[int | str, ...]]:
    """The order of members: by role as the gang lists them, by rank."""
    if len(gang.roles) < 2:
        return BY_RANK
    position = {role.name: p for p, role in enumerate(gang.roles)}
    return lambda m: (position.get(m.role, len(position)), m.rank, m.name)


def slot_of(pool: Pool, member: Member) -> int:
    """Slot of a seated member, -1 if its node is gone."""
    claim = pool.ledger.claims.get(member.uid)
    return -1 if claim is None else claim.node


def pin_of(pool: Pool, seated: Iterable[Member], tree: Tree, depth: int) -> Spot:
    """The domain of a level that running members hold the others to: the one with most of them."""
    if not depth:
        return ROOT
    slots = [i for m in seated if (i := pool.ledger.slot.get(m.node, slot_of(pool, m))) >= 0]
    domains = Counter(tree.dom[depth][i] for i in slots)
    domains = Counter({d: n for d, n in domains.items() if d >= 0 and tree.real[depth][d]})
    if not domains:
        return ROOT
    return Spot(depth, max(sorted(domains), key=lambda d: domains[d]))


def neighbours_of(pool: Pool, seated: Iterable[Member], tree: Tree, required: int) -> list[Neighbour]:
    """Seated members by rank; those outside the domain that holds the gang are nobody's neighbours."""
    seated = list(seated)
    found = [(m.rank, m.role, slot_of(pool, m)) for m in seated]
    pin = pin_of(pool, seated, tree, required)
    here = (e for e in found if e[2] >= 0 and tree.dom[pin.level][e[2]] == pin.domain)
    return sorted(here, key=lambda e: (e[0], e[1], int(tree.position[e[2]])))


def nearest(member: Member, neighbours: list[Neighbour]) -> int:
    """Slot of the neighbour with the nearest rank, of the same role if there is one; -1 if there is none."""
    if not neighbours:
        return -1
    same = [entry for entry in neighbours if entry[1] == member.role] or neighbours
    return min(same, key=lambda entry: (abs(entry[0] - member.rank), entry[0]))[2]
