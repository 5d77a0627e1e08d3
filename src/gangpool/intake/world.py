"""The world as Kubernetes objects, kept as the core's pool: every event of a cluster or a dump comes in here.

Nodes and pods arrive as structs, all other kinds as decoded objects, in any order and any number of times. `settle`
then brings gangs and fabric up to date. `place`, the simulator and the live scheduler use the same class; it decides
nothing about places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gangpool.core.model import Member, Reason, Requirement, Shape, Term
from gangpool.core.pool import Pool
from gangpool.core.terms import TERMINATING
from gangpool.intake import fabric, volumes
from gangpool.intake.config import Config
from gangpool.intake.gangs import DEFAULT_QUEUE, QUEUES, gang_from, is_priority_missing, missing_priority
from gangpool.intake.handover import cards_of
from gangpool.intake.priority import CLASS as PRIORITY_CLASS
from gangpool.intake.priority import priority_of
from gangpool.intake.store import Object, Store, kind_of
from gangpool.objects.faults import ObjectError
from gangpool.objects.node import Node, facts
from gangpool.objects.pod import Pod
from gangpool.objects.shape import footprint_of, shape_of
from gangpool.objects.state import holds, is_daemon, is_terminal, is_terminating
from gangpool.workloads import fields, levels, registry
from gangpool.workloads.base import Finding, GangOf, PodLink, WorkloadError
from gangpool.workloads.findings import NOT_A_NUMBER
from gangpool.workloads.levels import Asks

OURS = "gangpool.io/ours"
GROUP = "gangpool.io/exclusive-group"
"""Labels that exist only inside the core: pods that we place, and their group of `exclusive-topology`."""


class Note(Struct, frozen=True):
    """A doubt about the input: the object, the field, a code, words."""

    object: str
    field: str
    code: str
    message: str


class Place(Struct, frozen=True):
    """What a manifest's owner says about one of its pods, where no pod has said it yet."""

    gang: str = ""
    role: str = ""
    rank: int = 0
    owner: str = ""
    """`Kind/namespace/name` of the manifest, for doubts about its pods."""


class World:
    """Objects in, pool kept. `all_ours`: pods are planned whatever their schedulerName."""

    def __init__(self, config: Config, n_nodes: int = 64) -> None:
        levels = config.topology.levels
        self.config = config
        self.pool = Pool(None if levels is None else tuple(levels), capacity=max(64, n_nodes))
        self.store = Store()
        self.notes: dict[Note, None] = {}
        self._ours = frozenset(config.schedulerNames)
        self._links: dict[str, PodLink | None] = {}
        self._gangs_of: dict[str, GangOf] = {}
        self._owner_of: dict[str, str] = {}
        self._members: dict[str, dict[str, Member]] = {}
        self._asks: dict[str, dict[str, Asks]] = {}
        self._stale: set[str] = set()
        self._with_claims: dict[str, tuple[Pod, Place | None]] = {}
        self._fabric_changed = False
        self._claims_changed = False

    # ---- events

    def node(self, node: Node) -> None:
        """A node is there, or has changed."""
        found, doubts = facts(node)
        for doubt in doubts:
            self.note(f"Node//{found.name}", doubt.field, "node-doubt", doubt.message)
        self.pool.set_node(found)
        self._fabric_changed = self._fabric_changed or self.store.any_of(*fabric.HYPERNODE)

    def node_gone(self, name: str) -> None:
        self.pool.drop_node(name)

    def object(self, obj: Object) -> None:
        """An object of any other kind is there, or has changed."""
        self.store.put(obj)
        self._object_changed(obj)

    def object_gone(self, obj: Object) -> None:
        self.store.drop(obj)
        self._object_changed(obj)

    def _object_changed(self, obj: Object) -> None:
        kind = kind_of(obj)
        if kind in fabric.KINDS:
            self._fabric_changed = True
        elif kind in volumes.KINDS:
            self._claims_changed = True
        elif kind == ("", "Namespace"):
            name = fields.text(obj, "metadata.name")
            found = self.store.get("", "Namespace", "", name)
            self.pool.set_namespace(name, None if found is None else fields.texts(found, "metadata.labels"))
        elif registry.dialect_of(obj) is not None:
            name = fields.text(obj, "metadata.name")
            self._stale.update(k for k, link in self._links.items() if link is not None and link.defined_by[2] == name)

    def pod(self, pod: Pod, place: Place | None = None, uid: str = "") -> None:
        """A pod is there, or has changed. `place`: what the manifest of its owner says; then it is ours whatever
        its schedulerName. Raises ObjectError when what it asks for cannot be read."""
        uid = uid or pod.metadata.uid or f"{pod.metadata.namespace}/{pod.metadata.name}"
        if is_terminal(pod):
            self.pod_gone(uid)
            return
        ours = place is not None or pod.spec.schedulerName in self._ours
        if not ours and not holds(pod):
            self.pod_gone(uid)
            return
        key, role, rank = self._group(pod, place) if ours else ("", "", 0)
        owner = place.owner if place is not None and place.owner else self._owner(pod)
        member = self._member(pod, uid, ours, Place(key, role, rank, owner))
        old = self.pool.member(uid)
        if old is not None and old.gang and old.gang != key:
            self._leave(old)
        if key:
            self._members.setdefault(key, {})[uid] = member
            self._asked_levels(pod, key, role)
            self._stale.add(key)
        self.pool.set_member(member)
        if not member.node and volumes.has_claims(pod):
            self._with_claims[uid] = (pod, place)  # until it has a node, claims may come or be bound
        else:
            self._with_claims.pop(uid, None)

    def pod_gone(self, uid: str) -> None:
        """A pod is deleted or has finished."""
        self._with_claims.pop(uid, None)
        old = self.pool.member(uid)
        if old is not None and old.gang:
            self._leave(old)
        self.pool.drop_member(uid)

    def aged(self, member: Member, created: float) -> None:
        """A member of a manifest has no time stamp: it came now."""
        newer = replace(member, created=created)
        if newer.gang:
            self._members[newer.gang][newer.uid] = newer
        self.pool.set_member(newer)

    def _leave(self, member: Member) -> None:
        self._members.get(member.gang, {}).pop(member.uid, None)
        self._stale.add(member.gang)

    def note(self, about: str, field: str, code: str, message: str) -> None:
        """Remember a doubt once."""
        self.notes[Note(about, field, code, message)] = None

    def findings(self, found: Iterable[Finding]) -> None:
        for finding in found:
            self.note(finding.object, finding.field, finding.code, finding.message)

    # ---- groups

    def gang(self, found: GangOf, owner: str) -> None:
        """A gang that the manifest of `owner` (Kind/namespace/name) describes; its members come with `pod`."""
        self._gangs_of[found.key] = found
        self._owner_of[found.key] = owner
        self._stale.add(found.key)

    def _group(self, pod: Pod, place: Place | None) -> tuple[str, str, int]:
        """(gang, role, rank) of a pod of ours: by its owner's manifest, else by its own word."""
        if place is not None and (place.gang in self._gangs_of or not place.gang):
            return place.gang, place.role, place.rank
        link, findings = registry.link(pod)
        self.findings(findings)
        if link is None:
            return "", "", 0
        known = self._links.get(link.key)
        if known is None:
            self._links[link.key] = link
        if link.key not in self._gangs_of and self._resolve(link, pod.metadata.namespace) is None:
            return "", "", 0
        if place is not None:
            return link.key, place.role or link.role, place.rank or link.rank
        return link.key, link.role, link.rank

    def _asked_levels(self, pod: Pod, key: str, role: str) -> None:
        """Keep what a pod says of levels: its group has no template that could say it."""
        annotations = pod.metadata.annotations
        if not annotations or not levels.is_marked(annotations):
            return
        about = f"Pod/{pod.metadata.namespace}/{pod.metadata.name}"
        try:
            asks = levels.of_template(dict(annotations), "")
        except WorkloadError as mistake:
            self.note(about, mistake.field, NOT_A_NUMBER, mistake.message)
            return
        if asks.any():
            self._asks.setdefault(key, {})[role] = asks

    def _resolve(self, link: PodLink, namespace: str) -> GangOf | None:
        found, findings = registry.resolve(link, namespace, self.store)
        self.findings(findings)
        if found is not None and link.key not in self._gangs_of:
            self._gangs_of[link.key] = found
        return found

    def settle(self) -> None:
        """Bring fabric, claims and gangs up to date. O(gangs that changed), after a change of claims also O(waiting
        pods with claims)."""
        if self._claims_changed:
            self._claims_changed = False
            for uid, (pod, place) in list(self._with_claims.items()):
                old = self.pool.member(uid)
                self.pod(pod, place, uid)
                if old is not None and (new := self.pool.member(uid)) is not None and not new.created:
                    self.aged(new, old.created)
        if self._fabric_changed:
            self._fabric_changed = False
            self.pool.set_topologies(fabric.topologies_of(self.store))
            nodes = (f for _, f in self.pool.ledger.alive())
            self.pool.set_hypernodes(fabric.hypernodes_of(self.store, nodes))
        for key in self._stale:
            self._settle_gang(key)
        self._stale.clear()

    def _settle_gang(self, key: str) -> None:
        members = list(self._members.get(key, {}).values())
        link = self._links.get(key)
        if link is not None and link.defined_by[1]:
            found, findings = registry.resolve(link, key.partition("/")[0], self.store)
            self.findings(findings)
            if found is not None:
                self._gangs_of[key] = found
        if not members:
            self._asks.pop(key, None)
            self.pool.drop_gang(key)
            return
        said = self._gangs_of.get(key)
        if said is None:
            return
        said, notes = levels.of_pods(said, self._asks.get(key, {}))
        for note in notes:
            self.note(f"Pod/{members[0].namespace}/{members[0].name}", *note)
        self._doubt_references(said, link)
        self.pool.set_gang(gang_from(said, members, self.store, self._created(link)))

    def _doubt_references(self, said: GangOf, link: PodLink | None) -> None:
        """Queues and priorities of which the input has no object at all."""
        namespace, _, name = said.key.partition("/")
        about = self._owner_of.get(said.key, "")
        if not about and link is not None and link.defined_by[1]:
            about = f"{link.defined_by[1]}/{namespace}/{link.defined_by[2]}"
        about = about or f"gang/{namespace}/{name}"
        if said.queue and said.queue != DEFAULT_QUEUE and not any(self.store.any_of(*kind) for kind in QUEUES):
            text = f"the input has no queues; queue {said.queue} is taken as there"
            self.note(about, "queue", "reference-unchecked", text)
        if said.priority_class and not self.store.any_of(*PRIORITY_CLASS):
            self._no_priorities(about, said.priority_class)

    def _no_priorities(self, about: str, name: str) -> None:
        text = f"the input has no PriorityClasses; {name} is taken as there, with priority 0"
        self.note(about, "priorityClassName", "reference-unchecked", text)

    def _created(self, link: PodLink | None) -> float | None:
        if link is None or not link.defined_by[1]:
            return None
        group, kind, name = link.defined_by
        obj = self.store.get(group, kind, link.key.partition("/")[0], name)
        return None if obj is None else seconds_of(fields.text(obj, "metadata.creationTimestamp") or None)

    # ---- members

    def _member(self, pod: Pod, uid: str, ours: bool, group: Place) -> Member:
        meta, spec = pod.metadata, pod.spec
        labels = dict(meta.labels or {})
        if is_terminating(pod):
            labels[TERMINATING] = "true"
        key, role, rank, owner = group.gang, group.role, group.rank, group.owner
        blocked: Reason | None = None
        placed = holds(pod)
        if placed:
            shape = footprint_of(pod)
        else:
            shape, blocked = self._waiting_shape(pod, owner)
        if ours and not is_daemon(pod):
            labels[OURS] = "true"
            said = self._gangs_of.get(key)
            if said is not None and said.exclusive:
                shape = _exclusive(shape, labels, said, role, rank)
        cards, ports = cards_of(pod) if placed else (None, None)
        return Member(
            uid=uid,
            namespace=meta.namespace,
            name=meta.name,
            shape=shape,
            labels=tuple(sorted(labels.items())),
            gang=key,
            role=role,
            rank=rank,
            node=spec.nodeName if placed else "",
            cards=cards,
            ports=ports,
            ours=ours,
            priority=self._priority(pod, owner),
            created=seconds_of(meta.creationTimestamp) or 0.0,
            gates=() if placed else tuple(gate.name for gate in spec.schedulingGates or ()),
            blocked=blocked,
        )

    def _owner(self, pod: Pod) -> str:
        """Whom a doubt about this pod concerns: its owner, else the pod itself."""
        meta = pod.metadata
        if meta.ownerReferences:
            return f"{meta.ownerReferences[0].kind}/{meta.namespace}/{meta.ownerReferences[0].name}"
        return f"Pod/{meta.namespace}/{meta.name}"

    def _waiting_shape(self, pod: Pod, owner: str) -> tuple[Shape, Reason | None]:
        claims = volumes.volumes_of(pod, self.store)
        for kind in claims.unknown:
            text = f"the input has no {kind} objects; its volumes are taken as there, on any node"
            self.note(owner, "spec.volumes", "reference-unchecked", text)
        blocked = claims.blocked
        name = pod.spec.priorityClassName
        if pod.spec.priority is None and name and is_priority_missing(name, self.store):
            blocked = blocked or missing_priority(name)
        return shape_of(pod, claims.selectors), blocked

    def _priority(self, pod: Pod, owner: str) -> int:
        if pod.spec.priority is not None:
            return pod.spec.priority
        name = pod.spec.priorityClassName
        found = priority_of(name, self.store)
        if found is None and not self.store.any_of(*PRIORITY_CLASS):
            self._no_priorities(owner, name)
        return found or 0


def _exclusive(shape: Shape, labels: dict[str, str], said: GangOf, role: str, rank: int) -> Shape:
    """`exclusive-topology` as one anti-affinity: the group's members repel every pod of ours without their group.
    Being symmetric it keeps newcomers out as well."""
    blocks = dict(said.blocks)
    scope = role if role in blocks else ""
    block = blocks.get(scope)
    own = block is not None and block.level.key == said.exclusive
    group = f"{said.key}/{scope}/{(rank - block.first) // block.size}" if own and block is not None else said.key
    labels[GROUP] = group
    selector = (Requirement(GROUP, "NotIn", (group,)), Requirement(OURS, "Exists"))
    term = Term(said.exclusive, selector, namespace_selector=())
    return replace(shape, anti_affinity=(*shape.anti_affinity, term))


def seconds_of(text: str | None) -> float | None:
    """Seconds since the epoch of an API time stamp; None where it is absent or no time."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def subject_of(obj: Mapping[str, Any]) -> str:
    """`Kind/namespace/name` for messages."""
    metadata = obj.get("metadata")
    meta: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    return f"{obj.get('kind', '')}/{meta.get('namespace') or 'default'}/{meta.get('name') or ''}"


__all__ = ["GROUP", "OURS", "Note", "ObjectError", "Place", "World", "seconds_of", "subject_of"]
