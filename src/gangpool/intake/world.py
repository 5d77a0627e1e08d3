"""The world as Kubernetes objects, kept as the core's pool: every event of a cluster or a dump comes in here.

Nodes and pods arrive as structs, all other kinds as decoded objects, in any order and any number of times. `settle`
then brings fabric, gangs and their members up to date. `place`, the simulator and the live scheduler use the same
class; it decides nothing about places.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from gangpool.core.model import Member
from gangpool.core.pool import Pool
from gangpool.intake import context, fabric, members, priority, references, runtime, volumes
from gangpool.intake.config import Config
from gangpool.intake.groups import Groups
from gangpool.intake.members import BY_ITSELF, Place
from gangpool.intake.store import Object, Store, kind_of, name_of
from gangpool.objects.node import Node, facts
from gangpool.objects.pod import Pod
from gangpool.objects.state import holds, is_leaving, is_terminal
from gangpool.workloads import fields
from gangpool.workloads.base import Finding, GangOf

REFERRED = frozenset((*volumes.KINDS, priority.CLASS, runtime.CLASS))
"""Kinds whose coming and changing may free or hold back pods that wait."""


class Note(Struct, frozen=True):
    """A doubt about the input: the object, the field, a code, words."""

    object: str
    field: str
    code: str
    message: str


class World:
    """Objects in, pool kept."""

    def __init__(self, config: Config, n_nodes: int = 64) -> None:
        levels = config.topology.levels
        self.config = config
        self.pool = Pool(None if levels is None else tuple(levels), capacity=max(64, n_nodes))
        self.store = Store()
        self.notes: dict[Note, None] = {}
        self.notes_most: int | None = None
        """A process that lives keeps the latest notes only; None: all."""
        self.groups = Groups(self.pool, self.store, self.note)
        self._ours = frozenset(config.schedulerNames)
        self._referring: dict[str, tuple[Pod, Place | None]] = {}
        self._doubted: set[tuple[str, str]] = set()
        self._fabric_changed = False
        self._references_changed = False

    # ---- events

    def node(self, node: Node) -> None:
        """A node is there, or has changed."""
        found, doubts = facts(node)
        for doubt in doubts:
            self.note(f"Node//{found.name}", doubt.field, "node-doubt", doubt.message)
        self.pool.set_node(found)
        self._fabric_changed = self._fabric_changed or self.store.any_of(*fabric.HYPERNODE)

    def node_gone(self, name: str) -> None:
        """A node is deleted."""
        self.pool.drop_node(name)

    def object(self, obj: Object, *, is_new: bool = False) -> None:
        """An object of any other kind is there, or has changed. `is_new`: no cluster has it yet. Raises ObjectError
        or WorkloadError where one that is referred to cannot be read."""
        context.check(obj)
        had = self.store.any_of(*kind_of(obj))
        self.store.put(obj, is_new=is_new)
        self._object_changed(obj, is_first=not had)

    def object_gone(self, obj: Object) -> None:
        """An object is deleted."""
        self.store.drop(obj)
        self._object_changed(obj, is_first=not self.store.any_of(*kind_of(obj)))

    def _object_changed(self, obj: Object, is_first: bool) -> None:
        kind, name = kind_of(obj), name_of(obj)[1]
        if kind in fabric.KINDS:
            self._fabric_changed = True
        elif kind == context.NAMESPACE:
            found = self.store.get(*kind, "", name)
            self.pool.set_namespace(name, None if found is None else context.labels_of(found))
        elif kind in references.QUEUES:
            self.groups.reference_changed("" if is_first else name)
        else:
            self._references_changed = self._references_changed or kind in REFERRED
            if kind == priority.CLASS:
                self.groups.reference_changed("" if is_first else name)
            self.groups.object_changed(name)

    def pod(self, pod: Pod, place: Place | None = None, uid: str = "") -> None:
        """A pod is there, or has changed. `place`: what the manifest of its owner says; then it is ours whatever
        its schedulerName. Raises ObjectError when what it asks for cannot be read."""
        uid = uid or pod.metadata.uid or f"{pod.metadata.namespace}/{pod.metadata.name}"
        ours = place is not None or pod.spec.schedulerName in self._ours
        is_placed = holds(pod)
        if is_terminal(pod) or is_leaving(pod) or not (ours or is_placed):
            self.pod_gone(uid)
            return
        said = (self.groups.place_of(pod, place or BY_ITSELF) if ours else None) or BY_ITSELF
        member = members.member_of(pod, uid, ours, said, self.store)
        if ours and not is_placed:
            self._doubts(pod, said)
            self._referring[uid] = (pod, place)  # until it has a node, what it refers to may come or change
        else:
            self._referring.pop(uid, None)
        if self.groups.put(member, has_own_rank=place is None or place.gang is None):
            return
        self.pool.set_member(member)

    def template(self, pod: Pod, place: Place, uid: str) -> Member:
        """A pod of a manifest as a member that is not in the pool. Raises ObjectError."""
        self._doubts(pod, place)
        return members.member_of(pod, uid, True, place, self.store)

    def pod_gone(self, uid: str) -> None:
        """A pod is deleted or has finished."""
        self._referring.pop(uid, None)
        self.groups.drop(uid)
        self.pool.drop_member(uid)

    def gang(self, found: GangOf, owner: Object, starts: tuple[tuple[str, int], ...] = ()) -> None:
        """A gang that the manifest `owner` describes; its members come with `pod`. `starts`: first rank by role."""
        self.groups.tell(found, owner, starts)

    def serve(self, scheduler_names: Iterable[str]) -> None:
        """Pods with these names are ours; those that are here already come in again as events."""
        self._ours = frozenset(scheduler_names)

    # ---- doubts

    def note(self, about: str, field: str, code: str, message: str) -> None:
        """Remember a doubt once."""
        self.notes[Note(about, field, code, message)] = None
        if self.notes_most is not None and len(self.notes) > self.notes_most:
            del self.notes[next(iter(self.notes))]

    def findings(self, found: Iterable[Finding]) -> None:
        """Remember what dialects have found."""
        for finding in found:
            self.note(finding.object, finding.field, finding.code, finding.message)

    def _doubts(self, pod: Pod, place: Place) -> None:
        """Doubts are told under the owner's name, once for all pods of a template."""
        about = place.owner or owner_of(pod)
        if (about, place.template) in self._doubted:
            return
        if self.notes_most is not None and len(self._doubted) >= self.notes_most:
            self._doubted.clear()
        self._doubted.add((about, place.template))
        for field, code, message in members.doubts(pod, self.store):
            self.note(about, fields.join(place.template, field), code, message)

    # ---- before a cycle

    def settle(self) -> None:
        """Bring everything up to date. O(gangs that changed), after a change of claims, classes or priorities also
        O(waiting pods)."""
        if self._references_changed:
            self._references_changed = False
            for uid, (pod, place) in list(self._referring.items()):
                self.pod(pod, place, uid)
        if self._fabric_changed:
            self._fabric_changed = False
            self.pool.set_topologies(fabric.topologies_of(self.store))
            nodes = (f for _, f in self.pool.ledger.alive())
            self.pool.set_hypernodes(fabric.hypernodes_of(self.store, nodes))
        self.groups.settle()
        self.pool.guess()


def owner_of(pod: Pod) -> str:
    """Whom a doubt about this pod concerns: its owner, else the pod itself."""
    meta = pod.metadata
    if meta.ownerReferences:
        return f"{meta.ownerReferences[0].kind}/{meta.namespace}/{meta.ownerReferences[0].name}"
    return f"Pod/{meta.namespace}/{meta.name}"
