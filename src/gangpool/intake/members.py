"""From a Pod to the core's Member: its shape, what it holds, what keeps it from a node. Called by `World`.

A member made here is as its pod and its owner's manifest say; what its gang adds comes in `World.settle`.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from gangpool.core.model import Member, Reason, Requirement, Shape, Term
from gangpool.core.terms import TERMINATING
from gangpool.intake import runtime, times
from gangpool.intake.handover import held_by
from gangpool.intake.priority import CLASS, priority_of, why_no_priority
from gangpool.intake.references import UNCHECKED, no_classes
from gangpool.intake.store import Store
from gangpool.intake.volumes import Volumes, volumes_of
from gangpool.objects.pod import Pod
from gangpool.objects.shape import footprint_of, shape_of
from gangpool.objects.state import holds, is_daemon, is_terminating
from gangpool.workloads.base import GangOf

OURS = "gangpool.io/ours"
GROUP = "gangpool.io/exclusive-group"
"""Labels that exist only inside the core: pods that we place, and their group of `exclusive-topology`."""


class Place(Struct, frozen=True):
    """What the manifest of an owner says about one of its pods, where no pod has said it yet."""

    gang: str | None = None
    """Key of its gang, "" for a single pod; None: as the pod itself says."""
    role: str = ""
    rank: int = 0
    owner: str = ""
    """`Kind/namespace/name` of the manifest, for doubts about its pods."""
    template: str = ""
    """Path of the pod's template in the manifest."""
    created: float = 0.0
    """Its age where the pod has no time stamp."""


BY_ITSELF = Place()


def member_of(pod: Pod, uid: str, ours: bool, place: Place, store: Store) -> Member:
    """A member; `place` says gang, role and rank. Raises ObjectError where what it asks for cannot be read."""
    meta, is_placed = pod.metadata, holds(pod)
    labels = dict(meta.labels or {})
    if is_terminating(pod):
        labels[TERMINATING] = "true"
    if ours and not is_daemon(pod):
        labels[OURS] = "true"
    volumes = Volumes() if is_placed else volumes_of(pod, store)
    cards, ports = held_by(pod) if is_placed else (None, None)
    return Member(
        uid=uid,
        namespace=meta.namespace,
        name=meta.name,
        shape=footprint_of(pod) if is_placed else shape_of(pod, volumes.selectors),
        labels=tuple(sorted(labels.items())),
        gang=place.gang or "",
        role=place.role,
        rank=place.rank,
        node=pod.spec.nodeName if is_placed else "",
        cards=cards,
        ports=ports,
        ours=ours,
        priority=_priority(pod, store),
        created=times.seconds(meta.creationTimestamp) or place.created,
        gates=() if is_placed else tuple(gate.name for gate in pod.spec.schedulingGates or ()),
        blocked=None if is_placed else volumes.blocked or _missing(pod, store),
    )


def _priority(pod: Pod, store: Store) -> int:
    if pod.spec.priority is not None:
        return pod.spec.priority
    return priority_of(pod.spec.priorityClassName, store) or 0


def _missing(pod: Pod, store: Store) -> Reason | None:
    """What the pod refers to and is not there; where admission has filled it in, nobody asks any more."""
    spec = pod.spec
    no_class = why_no_priority(spec.priorityClassName, store) if spec.priority is None else None
    return no_class or runtime.why_missing(spec.runtimeClassName, store)


def doubts(pod: Pod, store: Store) -> Iterator[tuple[str, str, str]]:
    """(field of the pod, code, words) for references of a waiting pod that the input cannot answer."""
    spec = pod.spec
    for field, text in volumes_of(pod, store).unchecked:
        yield field, UNCHECKED, text
    name = spec.priorityClassName
    if name and spec.priority is None and not store.any_of(*CLASS) and priority_of(name, store) is None:
        yield "spec.priorityClassName", UNCHECKED, no_classes(name)
    if spec.runtimeClassName and spec.overhead is None and not store.any_of(*runtime.CLASS):
        text = f"the input has no RuntimeClasses; {spec.runtimeClassName} is taken as there, without overhead"
        yield "spec.runtimeClassName", UNCHECKED, text


def exclusive(member: Member, said: GangOf) -> tuple[Shape, str]:
    """`exclusive-topology` as one anti-affinity: (shape, group of the member). The group's members repel every pod of
    ours that is not of their group; being symmetric it keeps newcomers out as well."""
    group = said.key
    for scope, block in said.blocks:
        if block.level.key == said.exclusive and scope in ("", member.role):
            group = f"{said.key}/{scope}/{(member.rank - block.first) // block.size}"
    selector = (Requirement(GROUP, "NotIn", (group,)), Requirement(OURS, "Exists"))
    term = Term(said.exclusive, selector, namespace_selector=())
    return replace(member.shape, anti_affinity=(*member.shape.anti_affinity, term)), group
