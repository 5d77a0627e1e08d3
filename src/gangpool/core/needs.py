"""What a unit asks for: its levels as depths of a tree, its members as batches of one kind each.

Chooses the members that make up the minimum (each role's minimum first, then by role and rank), pins running gangs
to their domain and tells lost members whom they belong beside. Called by `cycle`.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from gangpool.core.ask import Part
from gangpool.core.descent import Spot
from gangpool.core.kind import Kind
from gangpool.core.model import Gang, Level, Member, Reason
from gangpool.core.pool import Pool, Unit
from gangpool.core.ready import free_of, minimum_of, missing_by_role
from gangpool.core.seated import ROOT, Neighbour, by_rank, nearest, neighbours_of, pin_of
from gangpool.core.sharing import Cut, Rules, parts_of
from gangpool.core.soft import variants
from gangpool.core.topology import Tree


class Batch(Struct):
    """Members of one kind, in the order of ranks; `wishes` are the kinds to try, strictest first, the real one
    last."""

    members: list[Member]
    part: Part
    wishes: tuple[Kind, ...]

    def first(self, n: int) -> Batch:
        return Batch(self.members[:n], replace(self.part, n=n), self.wishes)

    def rest(self, n: int) -> Batch:
        return Batch(self.members[n:], replace(self.part, n=len(self.members) - n), self.wishes)

    def with_kind(self, kind: Kind) -> Part:
        return self.part if kind is self.part.kind else replace(self.part, kind=kind)


class Depths(Struct):
    """The levels that a gang names, as depths of one tree."""

    tree: Tree
    required: int
    blocks: dict[str, tuple[Cut, ...]]
    roles: dict[str, int]


class Needs(Struct):
    """`batches` go together or not at all (empty: the minimum runs); `left` are members above it."""

    tree: Tree
    limit: int
    pin: Spot
    depths: Depths | None
    batches: list[Batch]
    left: list[Member]


def needs_of(pool: Pool, unit: Unit) -> Needs | Reason:
    """What to seat for a unit that is ready."""
    gang = unit.gang
    if gang is None:
        tree = pool.forest.tree(pool.forest.default_keys())
        members = list(unit.waiting.values())
        return Needs(tree, 0, ROOT, None, batches_of(pool, members, None, unit), [])
    depths = depths_of(pool, gang)
    if isinstance(depths, Reason):
        return depths
    free = sorted(free_of(unit.waiting.values()), key=by_rank(gang))
    chosen, left = choose(unit, gang, free)
    pin = pin_of(pool, unit.seated.values(), depths.tree, depths.required) if unit.seated else ROOT
    batches = batches_of(pool, chosen, depths, unit) if chosen else []
    return Needs(depths.tree, depths.required, pin, depths, batches, left)


def choose(unit: Unit, gang: Gang, free: list[Member]) -> tuple[list[Member], list[Member]]:
    """(members that complete the minimum, the others), both in rank order."""
    lacking = max(0, minimum_of(unit, gang) - len(unit.seated))
    by_role = missing_by_role(unit, gang)
    if lacking == len(free) and not by_role:
        return free, []
    chosen: set[str] = set()
    for role, n in by_role.items():
        chosen.update([m.uid for m in free if m.role == role][:n])
    for member in free:
        if len(chosen) >= lacking:
            break
        chosen.add(member.uid)
    return [m for m in free if m.uid in chosen], [m for m in free if m.uid not in chosen]


def depths_of(pool: Pool, gang: Gang) -> Depths | Reason:
    """The tree that knows the gang's levels; a required level that no node has is a reason to wait."""
    forest = pool.forest
    if gang.required is None and not gang.preferred and not gang.blocks and not gang.role_levels:
        return Depths(forest.tree(forest.default_keys()), 0, {}, {})
    hard: list[Level] = [gang.required] if gang.required is not None else []
    hard += [block.level for _, block in gang.blocks] + [level for _, level in gang.role_levels]
    tree, depths = forest.tree_for([*hard, *gang.preferred])
    for level, depth in zip(hard, depths, strict=False):
        if depth is None:
            return _level_unknown(level)
    known = [depth or 0 for depth in depths]
    at = 1 if gang.required is not None else 0
    blocks: dict[str, tuple[Cut, ...]] = {}
    for p, (role, block) in enumerate(gang.blocks):
        cuts = (*blocks.get(role, ()), Cut(block.size, known[at + p], block.first))
        blocks[role] = tuple(sorted(cuts, key=lambda cut: (cut.level, -cut.size)))
    at += len(gang.blocks)
    roles = {role: known[at + p] for p, (role, _) in enumerate(gang.role_levels)}
    return Depths(tree, known[0] if gang.required is not None else 0, blocks, roles)


def _level_unknown(level: Level) -> Reason:
    name = level.key or level.tier_name or f"tier {level.tier}"
    return Reason(
        "level-unknown",
        f"no node of the pool has the level {name}",
        next_step="label the nodes, name a level that they have, or create the Topology or HyperNode objects",
    )


def batches_of(pool: Pool, members: list[Member], depths: Depths | None, unit: Unit) -> list[Batch]:
    """Members as batches: one per kind; one per role where the role has a level or blocks; lost members of a
    running gang one per neighbour's domain. A rule that is met here for the first time brings a counter that
    kinds made before it lack, so they are made again."""
    while True:
        known = pool.ledger.terms.n_matches
        batches = _batches(pool, members, depths, unit)
        if pool.ledger.terms.n_matches == known:
            return batches


def _batches(pool: Pool, members: list[Member], depths: Depths | None, unit: Unit) -> list[Batch]:
    soft = pool.ledger.columns.has_soft_taints()
    named = unit.gang is not None and len(unit.gang.roles) > 1
    return [
        Batch(
            group,
            # members are seated in this order, so whoever has no place is of the last one's role
            replace(part, n=len(group), last_role=group[-1].role if named else ""),
            _wishes(pool, group[0], part.kind, soft),
        )
        for group, part in _grouped(pool, members, depths, unit)
    ]


def _grouped(
    pool: Pool, members: list[Member], depths: Depths | None, unit: Unit
) -> Iterable[tuple[list[Member], Part]]:
    """Members that are planned alike, with their part."""
    neighbours: list[Neighbour] = []
    if depths is not None and unit.seated:
        neighbours = neighbours_of(pool, unit.seated.values(), depths.tree, depths.required)
    if depths is not None and (depths.roles or depths.blocks):
        return parts_of(pool, unit, members, Rules(depths.tree, depths.roles, depths.blocks), neighbours)
    groups: dict[tuple[int, int], tuple[list[Member], Part]] = {}
    ledger, asked = pool.ledger, pool.ledger.terms.asked
    kind: Kind | None = None
    shape, space, told = None, "", []
    for member in members:
        # What selectors look at is mostly the same as of the member before, and so is the kind.
        labels = [pair for pair in member.labels if pair[0] in asked] if asked else []
        if kind is None or member.shape is not shape or labels != told or member.namespace != space:
            shape, space, told = member.shape, member.namespace, labels
            kind = ledger.kind_only(shape, space, member.labels)
        near, beside = -1, -1
        if neighbours and depths is not None:
            near = nearest(member, neighbours)
            beside = depths.tree.dom[depths.tree.depth][near]
        found = groups.get((kind.number, beside))
        if found is None:
            found = groups[kind.number, beside] = ([], Part(kind, 1, near=near))
        found[0].append(member)
    return groups.values()


def _wishes(pool: Pool, member: Member, kind: Kind, with_taints: bool) -> tuple[Kind, ...]:
    shape = member.shape
    if not (shape.preferred or shape.soft_terms or shape.spread or with_taints):
        return (kind,)
    found = variants(shape, member.labels, with_taints)
    return (*(pool.ledger.kind_only(s, member.namespace, member.labels) for s in found[:-1]), kind)


def extras(pool: Pool, unit: Unit, needs: Needs) -> list[Batch]:
    """Members above the minimum, as batches; the gang is pinned by those that are seated now."""
    if not needs.left:
        return []
    needs.pin = pin_of(pool, unit.seated.values(), needs.tree, needs.limit)
    return batches_of(pool, needs.left, needs.depths, unit)
