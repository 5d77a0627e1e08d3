"""What annotations and networkTopology fields say about levels of the fabric, for any kind of workload.

Kueue, KAI and Volcano annotate the pod template, whatever the kind that holds it; our own annotations may also stand
on the object itself. `of_template` reads one template, `of_object` the object, `scope` puts them together for a gang:
what a template asks is for its role, and for the whole gang when that is the only role. `of_pods` does so for a group,
whose pods carry what a template would.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from gangpool.core.model import Block, Level
from gangpool.workloads import fields
from gangpool.workloads.base import Finding, GangOf, Object, WorkloadError
from gangpool.workloads.findings import LEVEL_CONFLICT, LEVEL_INCOMPLETE, NOT_SUPPORTED
from gangpool.workloads.subject import Subject

OURS = "gangpool.io/"
KUEUE = "kueue.x-k8s.io/podset-"
KAI = "kai.scheduler/"
VOLCANO = "volcano.sh/network-topology-"

Note = tuple[str, str, str]
"""(field, code, message) of a finding whose object is not known here."""


class Asks(Struct, frozen=True):
    """What one place says; `where` is its path. `sliced`: a level for blocks whose size is not written (some kinds
    have a default, see `sized`). `group`: Kueue's podset-group-name."""

    required: Level | None = None
    preferred: tuple[Level, ...] = ()
    blocks: tuple[Block, ...] = ()
    sliced: Level | None = None
    group: str = ""
    notes: tuple[Note, ...] = ()
    where: str = ""

    def any(self) -> bool:
        """Does it ask for anything at all?"""
        return bool(self.required or self.preferred or self.blocks or self.sliced)


class Scope(Struct, frozen=True):
    """Levels of a gang, in the fields of GangOf."""

    required: Level | None = None
    preferred: tuple[Level, ...] = ()
    blocks: tuple[tuple[str, Block], ...] = ()
    role_levels: tuple[tuple[str, Level], ...] = ()
    notes: tuple[Note, ...] = ()

    def fields(self) -> dict[str, Any]:
        """For GangOf(**scope.fields())."""
        return {
            "required": self.required,
            "preferred": self.preferred,
            "blocks": self.blocks,
            "role_levels": self.role_levels,
        }

    def findings(self, subject: Subject) -> list[Finding]:
        """The notes as findings about an object."""
        return [subject.finding(*note) for note in self.notes]


def of_object(subject: Subject) -> Asks:
    """What the annotations of the object itself ask; Kueue's and Volcano's count on templates only."""
    return _read(subject.annotations, "metadata.annotations", (_ours, _kai))


def of_template(annotations: dict[str, str], path: str) -> Asks:
    """What the annotations of a pod template ask. `path`: of the template; "" for a pod."""
    return _read(annotations, fields.join(path, "metadata.annotations"), (_ours, _kueue, _kai, _volcano))


WRITTEN = frozenset({f"{OURS}leader", f"{OURS}devices"})
"""Every pod that we have bound carries these."""


def is_marked(annotations: Mapping[str, str]) -> bool:
    """May a pod's annotations say anything about levels? O(annotations), nothing is read."""
    return any(key.startswith((OURS, KUEUE, KAI, VOLCANO)) and key not in WRITTEN for key in annotations)


def of_pods(gang: GangOf, roles: Mapping[str, Asks]) -> tuple[GangOf, tuple[Note, ...]]:
    """A gang with what its pods ask (by role), where its object says nothing of levels: a group has no template."""
    if not roles or gang.required or gang.preferred or gang.blocks or gang.role_levels:
        return gang, ()
    found = scope(Asks(), sorted(roles.items()))
    return msgspec.structs.replace(gang, **found.fields()), found.notes


def scope(whole: Asks, roles: Sequence[tuple[str, Asks]]) -> Scope:
    """Levels of a gang from those of the object and of each role's template."""
    if len(roles) == 1:
        return _single(whole, roles[0][1])
    asks = [a for _, a in roles]
    together = _one_group(asks)
    preferred = _unique([*whole.preferred, *(level for a in asks for level in a.preferred)])
    required = whole.required or (asks[0].required if together else None)
    role_levels = () if together else tuple((name, a.required) for name, a in roles if a.required)
    blocks = [("", b) for b in whole.blocks] + [(name, b) for name, a in roles for b in a.blocks]
    notes = [n for a in (whole, *asks) for n in _notes(a)]
    for name, a in roles:
        if a.group and not together:
            text = f"podset group {a.group!r} does not cover all roles with one level; {name} keeps its own"
            notes.append((a.where, NOT_SUPPORTED, text))
    return Scope(required, preferred, tuple(blocks), role_levels, tuple(notes))


def network(obj: Object, path: str, base: str = "") -> Asks:
    """Volcano's networkTopology: hard is required, soft preferred; tier 1 where neither tier nor name is given."""
    topology, where = fields.mapping(obj, path, base), fields.join(base, path)
    if not topology:
        return Asks()
    mode = fields.text(topology, "mode", where, default="hard")
    tier = fields.optional_integer(topology, "highestTierAllowed", where, (0, 1000))
    tier_name = fields.text(topology, "highestTierName", where)
    if mode not in ("hard", "soft"):
        raise WorkloadError(f"{where}.mode", f"must be hard or soft, found {mode[:40]!r}")
    if tier is not None and tier_name:
        raise WorkloadError(f"{where}.highestTierName", "cannot stand beside highestTierAllowed")
    level = Level(tier_name=tier_name) if tier_name else Level(tier=1 if tier is None else tier)
    return Asks(required=level) if mode == "hard" else Asks(preferred=(level,))


def _single(whole: Asks, role: Asks) -> Scope:
    notes = [*_notes(whole), *_notes(role)]
    if whole.required and role.required and whole.required != role.required:
        text = "the object and its pod template require different levels; the object's counts"
        notes.append((role.where, LEVEL_CONFLICT, text))
    return Scope(
        required=whole.required or role.required,
        preferred=_unique([*whole.preferred, *role.preferred]),
        blocks=tuple(("", b) for b in dict.fromkeys([*whole.blocks, *role.blocks])),
        notes=tuple(notes),
    )


def sized(asks: Asks, size: int) -> Asks:
    """Blocks of the kind's default size where a template names their level only."""
    if not asks.sliced:
        return asks
    blocks = (*asks.blocks, Block(size=size, level=asks.sliced))
    return msgspec.structs.replace(asks, blocks=blocks, sliced=None)


def with_blocks(asks: Asks, blocks: tuple[Block, ...]) -> Asks:
    """The same with blocks from elsewhere."""
    return msgspec.structs.replace(asks, blocks=(*asks.blocks, *blocks)) if blocks else asks


def joined(first: Asks, second: Asks) -> Asks:
    """Two places that speak for the same pods; the first required level counts."""
    return _joined([first, second], second.where or first.where)


def _notes(asks: Asks) -> tuple[Note, ...]:
    if not asks.sliced:
        return asks.notes
    text = f"blocks at {asks.sliced.key} have no size; none are made"
    return (*asks.notes, (asks.where, LEVEL_INCOMPLETE, text))


def _one_group(asks: list[Asks]) -> bool:
    """All roles are one podset group with one required level."""
    return bool(asks) and bool(asks[0].group) and len({(a.group, a.required) for a in asks}) == 1


def _unique(levels: list[Level]) -> tuple[Level, ...]:
    return tuple(dict.fromkeys(levels))


def _read(annotations: dict[str, str], where: str, readers: Sequence[Any]) -> Asks:
    """Ask each dialect's reader; several may add preferred levels and blocks, the first required level counts."""
    if not annotations:
        return Asks()
    return _joined([reader(annotations, where) for reader in readers], where)


def _joined(asks: Sequence[Asks], where: str) -> Asks:
    required = _unique([a.required for a in asks if a.required])
    notes = [n for a in asks for n in a.notes]
    if len(required) > 1:
        names = ", ".join(level.key or level.tier_name or f"tier {level.tier}" for level in required)
        notes.append((where, LEVEL_CONFLICT, f"different required levels: {names}; the first counts"))
    return Asks(
        required=required[0] if required else None,
        preferred=_unique([level for a in asks for level in a.preferred]),
        blocks=tuple(dict.fromkeys(b for a in asks for b in a.blocks)),
        sliced=next((a.sliced for a in asks if a.sliced), None),
        group=next((a.group for a in asks if a.group), ""),
        notes=tuple(notes),
        where=where,
    )


def _ours(annotations: dict[str, str], where: str) -> Asks:
    required = annotations.get(f"{OURS}required-topology", "").strip()
    preferred = [key.strip() for key in annotations.get(f"{OURS}preferred-topology", "").split(",")]
    size = fields.number(annotations, f"{OURS}block-size", where)
    block = _block(size, annotations.get(f"{OURS}block-topology", "").strip(), f"{where}[{OURS}block-size]")
    return msgspec.structs.replace(
        block,
        required=Level(key=required) if required else None,
        preferred=_unique([Level(key=key) for key in preferred if key]),
    )


def _kueue(annotations: dict[str, str], where: str) -> Asks:
    required = annotations.get(f"{KUEUE}required-topology", "")
    preferred = annotations.get(f"{KUEUE}preferred-topology", "")
    size = fields.number(annotations, f"{KUEUE}slice-size", where)
    block = _block(size, annotations.get(f"{KUEUE}slice-required-topology", ""), f"{where}[{KUEUE}slice-size]")
    layers = _layers(annotations, where)
    return msgspec.structs.replace(
        block,
        required=Level(key=required) if required else None,
        preferred=(Level(key=preferred),) if preferred else (),
        blocks=block.blocks + layers.blocks,
        group=annotations.get(f"{KUEUE}group-name", ""),
        notes=block.notes + layers.notes,
    )


def _layers(annotations: dict[str, str], where: str) -> Asks:
    """Kueue's list of nested slices, widest first: `[{"topology": KEY, "size": N}]`."""
    key = f"{KUEUE}slice-required-topology-constraints"
    if key not in annotations:
        return Asks()
    field = f"{where}[{key}]"
    try:
        layers = json.loads(annotations[key])
    except (ValueError, RecursionError):
        raise WorkloadError(field, "must be a JSON list of topology and size") from None
    blocks = []
    for at, layer in fields.items({"layers": layers}, "layers"):
        written = layer.get("size")
        if "sizes" in layer:
            return Asks(notes=((field, NOT_SUPPORTED, "slices of unequal size cannot be said; none are made"),))
        size = fields.whole(written) if isinstance(written, str) else fields.optional_integer(layer, "size", field)
        level = fields.text(layer, "topology", field)
        if not size or not level:
            raise WorkloadError(field, f"{at.removeprefix('layers')} needs a topology and a size")
        blocks.append(Block(size=size, level=Level(key=level)))
    return Asks(blocks=tuple(blocks))


def _kai(annotations: dict[str, str], where: str) -> Asks:
    topology = annotations.get(f"{KAI}topology", "")
    required = annotations.get(f"{KAI}topology-required-placement", "")
    preferred = annotations.get(f"{KAI}topology-preferred-placement", "")
    segment = annotations.get(f"{KAI}segment-topology-required-placement", "")
    wished = annotations.get(f"{KAI}segment-topology-preferred-placement", "")
    size = fields.number(annotations, f"{KAI}segment-size", where) if segment or not wished else None
    block = _block(size, segment, f"{where}[{KAI}segment-size]", topology)
    if wished:
        text = "a preferred level for segments cannot be said; it is left out"
        note = (f"{where}[{KAI}segment-topology-preferred-placement]", NOT_SUPPORTED, text)
        block = msgspec.structs.replace(block, notes=(*block.notes, note))
    return msgspec.structs.replace(
        block,
        required=Level(key=required, topology=topology) if required else None,
        preferred=(Level(key=preferred, topology=topology),) if preferred else (),
    )


def _volcano(annotations: dict[str, str], where: str) -> Asks:
    """On pods of any owner. A mode that is neither hard nor soft counts as hard there."""
    mode = annotations.get(f"{VOLCANO}mode", "").lower()
    tier = fields.number(annotations, f"{VOLCANO}highest-tier", where, least=0)
    if not mode and tier is None:
        return Asks()
    level = Level(tier=1 if tier is None else tier)
    return Asks(preferred=(level,)) if mode == "soft" else Asks(required=level)


def _block(size: int | None, key: str, field: str, topology: str = "") -> Asks:
    """A block; a level without its size stays open, a size without a level is a mistake."""
    level = Level(key=key, topology=topology) if key else None
    if size is None:
        return Asks(sliced=level)
    if level is None:
        return Asks(notes=((field, LEVEL_INCOMPLETE, "a block size without a level; no blocks are made"),))
    return Asks(blocks=(Block(size=size, level=level),))
