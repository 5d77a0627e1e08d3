"""The objects of `place -f`: context, nodes and workloads, expanded into pods as their controllers would make them.

Called by `place`, in this order: `replaces` while the pool is read, `enter_context`, `daemons`, `enter_pods`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gangpool.core.model import Member
from gangpool.intake import runtime
from gangpool.intake.load import NODE, POD, plain, reading
from gangpool.intake.members import Place
from gangpool.intake.storage import CLAIM
from gangpool.intake.store import DEFAULT_NAMESPACE, Key, Name, Store, kind_of, name_of, subject_of
from gangpool.intake.world import World
from gangpool.objects.located import Located
from gangpool.objects.pod import OwnerReference, Pod, PodSpec
from gangpool.objects.typed import as_node, as_pod
from gangpool.workloads import fields, named, registry
from gangpool.workloads.base import Expansion, PodSpecOf, WorkloadError
from gangpool.workloads.controllers import DAEMON

_GENERATIONS = 8
"""Owners of owners are followed so far: a TrainJob's pod has three. Cycles end here too."""
_ORDER_S = 1e-6
"""Objects of one call are so many seconds apart in age, so that they are planned in the order of the files."""
DUPLICATE = "duplicate-object"
_GROUP_KINDS = frozenset(kind for group in named.GROUPS for kind in group.kinds)

Object = Mapping[str, Any]


class Entry(Struct):
    """One object with its file and what it brings."""

    file: str
    obj: Object
    order: int
    found: Expansion = Expansion()


class Given:
    """Mutable: the objects of `-f`, the last of those that stand twice."""

    def __init__(self, workloads: Sequence[Located]) -> None:
        entries: dict[tuple[Key, Name], Entry] = {}
        self._twice: list[Entry] = []
        for order, item in enumerate(_named(workloads)):
            entry = Entry(*plain(item), order)
            key = kind_of(entry.obj), name_of(entry.obj)
            if key in entries:
                self._twice.append(entries[key])
            entries[key] = entry
        self._entries = list(entries.values())
        self._keys = frozenset(entries)

    @property
    def files(self) -> dict[str, str]:
        """Which file each object was in, by `Kind/namespace/name`."""
        return {subject_of(entry.obj): entry.file for entry in self._entries}

    def replaces(self, pod: Pod, store: Store) -> bool:
        """Is this pod of the pool given as well, or whoever made it? Then the given one counts."""
        meta = pod.metadata
        space = meta.namespace or DEFAULT_NAMESPACE
        if (POD, (space, meta.name)) in self._keys:
            return True
        if any(self._has_made(owner, space, store) for owner in meta.ownerReferences or ()):
            return True
        link, _ = registry.link(pod) if meta.ownerReferences else (None, ())
        return link is not None and self._is_given(link.defined_by[:2], space, link.defined_by[2])

    def _is_given(self, kind: Key, space: str, name: str) -> bool:
        """Is this maker of pods given? Groups make none."""
        return (kind, (space, name)) in self._keys and kind not in _GROUP_KINDS

    def _has_made(self, owner: OwnerReference, space: str, store: Store) -> bool:
        """Is the owner given, or the owner of the owner, as far as the pool knows?"""
        for _ in range(_GENERATIONS):
            kind = kind_of({"apiVersion": owner.apiVersion, "kind": owner.kind})
            if self._is_given(kind, space, owner.name):
                return True
            above = store.get(*kind, space, owner.name)
            found = None if above is None else _controller(above)
            if found is None:
                return False
            owner = found
        return False

    # ---- into the world

    def enter_context(self, world: World) -> None:
        """Nodes and all objects but pods, then what they say of gangs."""
        for entry in self._entries:
            with reading(entry.file, entry.obj):
                if kind_of(entry.obj) == NODE:
                    world.node(as_node(entry.obj))
                elif kind_of(entry.obj) != POD and not _is_kept(entry.obj, world.store):
                    world.object(entry.obj, is_new=True)
        for entry in self._entries:
            with reading(entry.file, entry.obj):
                entry.found = registry.expand(entry.obj, world.store)
            for claim in entry.found.claims:
                world.store.expect(claim)
        for entry in self._entries:
            world.findings(entry.found.findings)
            starts: dict[str, dict[str, int]] = {}
            for key, member in entry.found.members:
                of_gang = starts.setdefault(key, {})
                of_gang[member.role] = min(of_gang.get(member.role, member.rank), member.rank)
            for gang in entry.found.gangs:
                world.gang(gang, entry.obj, tuple(starts.get(gang.key, {}).items()))
        for entry in self._twice:
            text = "stands twice in the files given; the last one counts"
            world.note(subject_of(entry.obj), "", DUPLICATE, text)

    def daemons(self, world: World) -> list[Member]:
        """A pod of each DaemonSet as the pool would have it; it is not in the pool."""
        found = []
        for entry, _, member, pod in self._pods(world):
            if member.role != DAEMON:
                continue
            with reading(entry.file, entry.obj, member.template_path):
                place = Place("", owner=subject_of(entry.obj), template=member.template_path)
                found.append(world.template(pod, place, uid_of(place.owner, pod)))
        return found

    def enter_pods(self, world: World, now: float) -> None:
        """All other pods; those without a time stamp are made now."""
        for entry, gang, member, pod in self._pods(world):
            if member.role == DAEMON:
                continue
            place = Place(
                gang=None if kind_of(entry.obj) == POD else gang,
                role=member.role,
                rank=member.rank,
                owner=subject_of(entry.obj),
                template=member.template_path,
                created=now + entry.order * _ORDER_S,
            )
            with reading(entry.file, entry.obj, member.template_path):
                world.pod(pod, place, uid_of(place.owner, pod))
        world.settle()

    def _pods(self, world: World) -> Iterator[tuple[Entry, str, PodSpecOf, Pod]]:
        """Every pod with its entry and the key of its gang; pods of one template share their spec."""
        for entry in self._entries:
            specs: dict[int, PodSpec] = {}
            for gang, member in entry.found.members:
                with reading(entry.file, entry.obj, member.template_path):
                    pod = _typed(member.pod, specs, world.store)
                yield entry, gang, member, pod


def uid_of(owner: str, pod: Pod) -> str:
    """Unique also where two owners would name a pod alike; their controllers add random suffixes."""
    return f"given:{owner}:{pod.metadata.name}"


def _named(workloads: Sequence[Located]) -> Iterator[Located]:
    """Objects with a name: one from `generateName` gets a number as its suffix."""
    made: Counter[tuple[Key, str, str]] = Counter()
    for item in workloads:
        metadata = item.object.get("metadata")
        prefix = metadata.get("generateName") if isinstance(metadata, Mapping) else None
        if not isinstance(metadata, Mapping) or not isinstance(prefix, str) or not prefix or metadata.get("name"):
            yield item
            continue
        kind, (space, _) = kind_of(item.object), name_of(item.object)
        number = made[kind, space, prefix]
        made[kind, space, prefix] += 1
        yield replace(item, object={**item.object, "metadata": {**metadata, "name": f"{prefix}{number}"}})


def _controller(obj: Object) -> OwnerReference | None:
    """Who made an object; None where nobody did, or it cannot be read."""
    try:
        owners = [owner for _, owner in fields.items(obj, "metadata.ownerReferences")]
        found = next((owner for owner in owners if owner.get("controller") is True), owners[0] if owners else None)
        return None if found is None else msgspec.convert(found, OwnerReference)
    except (WorkloadError, msgspec.ValidationError):
        return None


def _is_kept(obj: Object, store: Store) -> bool:
    """A claim that is there already is not made again, and keeps its volume."""
    kind = kind_of(obj)
    return kind == CLAIM and store.get(*kind, *name_of(obj)) is not None and not fields.text(obj, "spec.volumeName")


def _typed(pod: Object, specs: dict[int, PodSpec], store: Store) -> Pod:
    """A pod as structs, after admission. `specs`: typed ones by the identity of what they were made from."""
    written = pod["spec"]
    spec = specs.get(id(written))
    if spec is None:
        spec = specs[id(written)] = runtime.admitted(as_pod({"spec": written}).spec, store)
    made = as_pod({key: value for key, value in pod.items() if key != "spec"})
    made.spec = spec
    made.metadata.namespace = made.metadata.namespace or DEFAULT_NAMESPACE
    return made
