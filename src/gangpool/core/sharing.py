"""Which members must share a domain, as parts of an ask: those of a role that has a level, those of a block.

Whole blocks of one kind are one part, planned by sums. What is left of a block (members that are held back, a last
smaller block, members of several kinds, members that run already) becomes parts of its own: pinned to the domain of
those that run, else tied to each other. Called by `needs` for gangs with such rules; O(members).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from gangpool.core.ask import Part, Tie
from gangpool.core.descent import Spot
from gangpool.core.kind import Kind
from gangpool.core.model import Member
from gangpool.core.pool import Pool, Unit
from gangpool.core.seated import ROOT, Neighbour, by_rank, nearest, pin_of
from gangpool.core.topology import Tree

Share = tuple[str, str, int, int]
"""What members have in common: ("role", role, 0, 0), or ("block", role or "" for the whole gang, which of its rules,
number)."""


class Cut(Struct, frozen=True):
    """Blocks of `size` members, from rank `first` on, that share a domain of this depth."""

    size: int
    level: int
    first: int = 0


class Rules(Struct, frozen=True):
    """Levels by role and blocks by role ("" for the whole gang, widest first), as depths of a tree."""

    tree: Tree
    roles: dict[str, int]
    blocks: dict[str, tuple[Cut, ...]]


class Lot(Struct):
    """Members that are planned alike. `shares`: what they share, with whom nobody runs, and its level. `cut`: the
    rule of the blocks that these members are whole ones of, None where they are not."""

    kind: Kind
    pin: Spot
    near: int
    shares: dict[Share, int]
    members: list[Member]
    cut: Cut | None = None


def parts_of(
    pool: Pool, unit: Unit, members: Iterable[Member], rules: Rules, neighbours: list[Neighbour]
) -> list[tuple[list[Member], Part]]:
    """Members with their part of an ask, both in the order of seating."""
    shared = _Shares(unit, rules)
    pins = {share: pin_of(pool, them, rules.tree, shared.levels[share]) for share, them in shared.seated.items()}
    lots: dict[tuple[object, ...], Lot] = {}
    for member in members:
        kind = pool.ledger.kind_only(member.shape, member.namespace, member.labels)
        mine = shared.of(member)
        pin = max((pins.get(share, ROOT) for share in mine), key=lambda spot: spot.level, default=ROOT)
        free = {share: level for share, level in mine.items() if not pins.get(share, ROOT).level}
        near = -1
        if not any(share[0] == "block" for share in free):
            near = nearest(member, [e for e in neighbours if rules.tree.dom[pin.level][e[2]] == pin.domain])
        beside = -1 if near < 0 else rules.tree.dom[rules.tree.depth][near]
        lot = lots.setdefault((kind.number, pin, beside, *free), Lot(kind, pin, near, free, []))
        lot.members.append(member)
    return _tied(_in_whole_blocks(list(lots.values()), rules.blocks))


class _Shares:
    """What each member of a unit shares, and with which seated ones."""

    def __init__(self, unit: Unit, rules: Rules) -> None:
        assert unit.gang is not None
        self._rules = rules
        self.levels: dict[Share, int] = {}
        self.seated: dict[Share, list[Member]] = {}
        everyone = sorted((*unit.seated.values(), *unit.waiting.values()), key=by_rank(unit.gang))
        self._place = {member.uid: place for place, member in enumerate(everyone)}
        self._has_roles = len({member.role for member in everyone}) > 1
        for member in unit.seated.values():
            for share in self.of(member):
                self.seated.setdefault(share, []).append(member)

    def of(self, member: Member) -> dict[Share, int]:
        """The member's shares with their levels."""
        found: dict[Share, int] = {}
        if level := self._rules.roles.get(member.role, 0):
            found["role", member.role, 0, 0] = level
        scope = member.role if member.role in self._rules.blocks else ""
        rank = member.rank
        if self._has_roles and not scope:  # ranks may count within a role: here the order of all members counts
            rank = self._place[member.uid]
        for number, cut in enumerate(self._rules.blocks.get(scope, ())):
            found["block", scope, number, (rank - cut.first) // cut.size] = cut.level
        self.levels.update(found)
        return found


def _in_whole_blocks(lots: list[Lot], blocks: dict[str, tuple[Cut, ...]]) -> list[Lot]:
    """Blocks of one kind as one lot: the whole ones in their order, at the end one that has fewer members. Of blocks
    within blocks the inner ones."""
    n_lots = Counter(share for lot in lots for share in lot.shares)
    result: list[Lot] = []
    families: dict[tuple[object, ...], list[tuple[Share, Lot]]] = {}
    for lot in lots:
        block = next((share for share in reversed(lot.shares) if share[0] == "block"), None)
        if block is None or n_lots[block] > 1:
            result.append(lot)
            continue
        others = [share for share in lot.shares if share != block]
        families.setdefault((lot.kind.number, lot.pin, *block[:3], *others), []).append((block, lot))
    for family in families.values():
        family.sort(key=lambda entry: entry[0])
        (_, scope, number, _), first = family[0]
        cut = blocks[scope][number]
        whole = [lot for _, lot in family if len(lot.members) == cut.size]
        short = [lot for _, lot in family if len(lot.members) < cut.size]
        shares = {share: level for share, level in first.shares.items() if share != family[0][0]}
        members = [member for lot in (*whole, *short[-1:]) for member in lot.members]
        result.append(replace(first, shares=shares, members=members, cut=cut))
        result.extend(short[:-1])
    return result


def _tied(lots: list[Lot]) -> list[tuple[list[Member], Part]]:
    """Each lot as a part: what it alone shares is its level, what several lots share ties them."""
    n_lots = Counter(share for lot in lots for share in lot.shares)
    numbers = {share: number for number, share in enumerate(share for share, n in n_lots.items() if n > 1)}
    found = []
    for lot in lots:
        ties = [Tie(level, numbers[share]) for share, level in lot.shares.items() if share in numbers]
        part = Part(
            lot.kind,
            len(lot.members),
            level=max((level for share, level in lot.shares.items() if share not in numbers), default=0),
            block_size=lot.cut.size if lot.cut else 0,
            block_level=lot.cut.level if lot.cut else 0,
            pin=lot.pin,
            near=lot.near,
            ties=tuple(sorted(ties)),
        )
        found.append((lot.members, part))
    return found
