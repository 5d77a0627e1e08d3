"""Other members for a minimum that leaves a choice: roles whose minima sum below it, or members of several kinds.

`needs.choose` takes the first ones by role and rank. When they are refused the cycle asks here for other choices:
so many of each group, a group being members of one role that are planned alike, what asks for least first. Groups are
cut to what could fit at all, so most gangs have few choices left; few are all tried, many are tried at even steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from gangpool.core.kind import Kind
from gangpool.core.model import CARD, Member
from gangpool.core.needs import Batch, Needs, batches_of
from gangpool.core.pool import Pool, Unit
from gangpool.core.ready import missing_by_role, role_counts
from gangpool.core.seated import by_rank

MOST_CHOICES = 64
"""Choices of members that are tried for one gang; most are refused by a bound, in well under a millisecond."""
MOST_STEPS = 12
"""Different numbers of members of one group that are tried, where it has more."""


class Choices(Struct):
    """Needs to try one after the other, and whether they are all that there are."""

    needs: list[Needs]
    is_complete: bool


class Group(Struct):
    """Members of one role that ask for the same, in rank order; at least so many are taken. In a gang with blocks
    all of a role, because its lowest ranks go first."""

    role: str
    kinds: list[Kind]
    members: list[Member]
    least: int = 0


def other_choices(pool: Pool, unit: Unit, needs: Needs, most: Callable[[Kind, list[Kind]], int]) -> Choices:
    """What else could make up the minimum. `most(kind, kinds)`: how many members of a kind fit at most, beside
    members of these kinds. O(members x choices)."""
    assert unit.gang is not None
    chosen = {member.uid for batch in needs.batches for member in batch.members}
    free = sorted([m for batch in needs.batches for m in batch.members] + needs.left, key=by_rank(unit.gang))
    by_role = missing_by_role(unit, unit.gang)
    groups = _groups(batches_of(pool, free, needs.depths, unit), free, by_role, bool(unit.gang.blocks))
    if len(groups) < 2:
        return Choices([], True)
    kinds = [kind for group in groups for kind in group.kinds]
    room = [sum(most(kind, kinds) for kind in group.kinds) for group in groups]
    ranges = [(g.least, max(g.least, min(len(g.members), n))) for g, n in zip(groups, room, strict=True)]
    n_tried = MOST_CHOICES
    if sum(top for _, top in ranges) < len(chosen):  # nothing fits: one choice, to say what is short
        ranges = [(g.least, len(g.members) if n else g.least) for g, n in zip(groups, room, strict=True)]
        n_tried = 1
    found = list(islice(compositions(len(chosen), ranges), MOST_CHOICES + 1))
    is_complete = len(found) <= MOST_CHOICES and all(top - least < MOST_STEPS for least, top in ranges[:-1])
    choices = []
    for counts in sorted(found[:MOST_CHOICES], key=lambda counts: _asked(groups, counts))[:n_tried]:
        uids = {m.uid for group, n in zip(groups, counts, strict=True) for m in group.members[:n]}
        taken, left = [m for m in free if m.uid in uids], [m for m in free if m.uid not in uids]
        roles = role_counts(taken)
        if uids != chosen and all(roles[role] >= n for role, n in by_role.items()):
            choices.append(replace(needs, batches=batches_of(pool, taken, needs.depths, unit), left=left))
    return Choices(choices, is_complete)


def compositions(total: int, ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Ways to take `total` members from groups that give (at least, at most) so many, most of the first first.

    >>> list(compositions(3, [(0, 2), (1, 3)]))
    [(2, 1), (1, 2), (0, 3)]
    """
    if not ranges:
        yield from [()] if total == 0 else []
        return
    (least, most), later = ranges[0], ranges[1:]
    high = min(most, total - sum(low for low, _ in later))
    low = max(least, total - sum(top for _, top in later))
    for count in _steps(high, low):
        for rest in compositions(total - count, later):
            yield (count, *rest)


def _steps(high: int, low: int) -> Sequence[int]:
    """From high down to low, at even steps where they are many."""
    if high - low < MOST_STEPS:
        return range(high, low - 1, -1)
    return [high - (high - low) * step // (MOST_STEPS - 1) for step in range(MOST_STEPS)]


def _asked(groups: list[Group], counts: Sequence[int]) -> tuple[int, int]:
    """Cards and CPU of a choice: what asks for least fits best."""
    asks = [dict(group.kinds[0].shape.requests) for group in groups]
    cards, cpu = (sum(n * ask.get(name, 0) for n, ask in zip(counts, asks, strict=True)) for name in (CARD, "cpu"))
    return cards, cpu


def _groups(batches: list[Batch], free: list[Member], by_role: dict[str, int], has_blocks: bool) -> list[Group]:
    """Members that are alike; a role of one group must give its minimum from it."""
    kind_of = {member.uid: batch.part.kind for batch in batches for member in batch.members}
    groups: dict[tuple[str, int], Group] = {}
    for member in free:
        kind = kind_of[member.uid]
        group = groups.setdefault((member.role, 0 if has_blocks else kind.number), Group(member.role, [], []))
        group.members.append(member)
        if kind not in group.kinds:
            group.kinds.append(kind)
    n_groups = Counter(group.role for group in groups.values())
    for group in groups.values():
        group.least = by_role.get(group.role, 0) if n_groups[group.role] == 1 else 0
    return list(groups.values())
