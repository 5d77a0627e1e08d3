"""LeaderWorkerSet: every group of `size` pods is a gang of its own, a leader and its workers.

The leader is NAME-GROUP, workers NAME-GROUP-1 and on; without a leaderTemplate the leader is made from the
workerTemplate. With exclusive-topology a group has a domain of that level to itself, subgroups the same one step
below. Workers that are created only after the leader (startupPolicy LeaderReady; exclusive-topology, where they
follow its node) do not hold up the start; their room is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from gangpool.core.model import Block, Level, Role
from gangpool.objects.pod import Pod
from gangpool.workloads import fields, levels, subject, templates
from gangpool.workloads.base import Context, GangOf, Object, PodLink
from gangpool.workloads.dialect import Reader, annotation, label, place
from gangpool.workloads.findings import NOT_SUPPORTED
from gangpool.workloads.levels import Asks, Scope
from gangpool.workloads.statefulset import claim_templates, made_claims, with_claims
from gangpool.workloads.subject import Subject
from gangpool.workloads.templates import PodSet, Reading, Stamp, Template

GROUP = "leaderworkerset.x-k8s.io"
PREFIX = "leaderworkerset.sigs.k8s.io/"
NAME = f"{PREFIX}name"
GROUP_INDEX = f"{PREFIX}group-index"
WORKER_INDEX = f"{PREFIX}worker-index"
SIZE = f"{PREFIX}size"
EXCLUSIVE = f"{PREFIX}exclusive-topology"
SUB_EXCLUSIVE = f"{PREFIX}subgroup-exclusive-topology"
LEADER, WORKER = "leader", "worker"


class Groups(Struct, frozen=True):
    """A LeaderWorkerSet as read. `sub` 0: no subgroups. `claims`: name to spec of the volumeClaimTemplates."""

    head: Subject
    size: int
    replicas: int
    leader: Template
    worker: Template
    sub: int
    leader_excluded: bool
    claims: dict[str, Object]
    later: bool


class LeaderWorkerSet(Reader):
    """leaderworkerset.x-k8s.io LeaderWorkerSet."""

    name = "lws"
    kinds = ((GROUP, "LeaderWorkerSet"),)
    marks = (NAME,)

    def read(self, obj: Object, context: Context) -> Reading:
        """A gang for each group."""
        groups = _groups(obj)
        scope = _scope(groups)
        gangs = tuple(_gang(groups, scope, g) for g in range(groups.replicas))
        sets = (made for g in range(groups.replicas) for made in _sets(groups, g))
        claims = made_claims(groups.claims, _names(groups), groups.head.namespace)
        return Reading(groups.head.namespace, gangs, sets, tuple(scope.findings(groups.head)), claims)

    def gang(self, obj: Object, key: str, context: Context) -> GangOf | None:
        """One group's gang without the others'; also of a group above the replicas, as a rollout makes it."""
        groups = _groups(obj)
        index = key.removeprefix(f"{groups.head.key}-")
        return _gang(groups, _scope(groups), int(index)) if fields.whole(index) is not None else None

    def templates(self, obj: Object) -> Iterable[tuple[str, Object]]:
        """The templates of leader and workers, as far as they are written."""
        paths = [f"spec.leaderWorkerTemplate.{name}Template" for name in (LEADER, WORKER)]
        return [(path, fields.mapping(obj, path)) for path in paths if fields.find(obj, path) is not None]

    def link(self, pod: Pod) -> PodLink | None:
        """By the set's name and the group's index."""
        name, group = label(pod, NAME), label(pod, GROUP_INDEX)
        if not name or not group:
            return None
        index = place(label(pod, WORKER_INDEX))
        return PodLink(
            key=f"{pod.metadata.namespace}/{name}-{group}",
            source=self.name,
            role=WORKER if index else LEADER,
            rank=index,
            total=fields.whole(annotation(pod, SIZE)) or None,
            defined_by=(GROUP, "LeaderWorkerSet", name),
        )

    def made(self, group: str, link: PodLink) -> bool:
        """Its Volcano provider names the PodGroup NAME-GROUP, later versions NAME-GROUP-REVISION."""
        name = link.key.partition("/")[2]
        return group == name or group.startswith(f"{name}-")


def _groups(obj: Object) -> Groups:
    head = subject.read(obj)
    base = "spec.leaderWorkerTemplate"
    worker = templates.read(obj, f"{base}.workerTemplate")
    has_leader = fields.find(obj, f"{base}.leaderTemplate") is not None
    size = fields.integer(obj, f"{base}.size", default=1, within=(1, fields.MAX_PODS))
    replicas = fields.integer(obj, "spec.replicas", default=1, within=(0, fields.MAX_PODS // size))
    policy = f"{base}.subGroupPolicy"
    return Groups(
        head=head,
        size=size,
        replicas=replicas,
        leader=templates.read(obj, f"{base}.leaderTemplate") if has_leader else worker,
        worker=worker,
        sub=fields.integer(obj, f"{policy}.subGroupSize"),
        leader_excluded=fields.text(obj, f"{policy}.subGroupPolicyType") == "LeaderExcluded",
        claims=claim_templates(obj, f"{base}.volumeClaimTemplates"),
        later=fields.text(obj, "spec.startupPolicy") == "LeaderReady" or EXCLUSIVE in head.annotations,
    )


def _names(groups: Groups) -> Iterator[str]:
    for g in range(groups.replicas):
        leader = f"{groups.head.name}-{g}"
        yield leader
        yield from (f"{leader}-{w}" for w in range(1, groups.size))


def _scope(groups: Groups) -> Scope:
    """Levels of each group: those of the templates, the exclusive level, subgroups as blocks."""
    head = groups.head
    whole = levels.of_object(head)
    exclusive, sub_level = head.annotations.get(EXCLUSIVE, ""), head.annotations.get(SUB_EXCLUSIVE, "")
    if exclusive:
        whole = levels.joined(Asks(required=Level(key=exclusive)), whole)
    roles = [(LEADER, _asks(groups, groups.leader)), (WORKER, _asks(groups, groups.worker))]
    if groups.leader.path == groups.worker.path:
        roles = [("", _asks(groups, groups.worker))]
    scope = levels.scope(whole, roles)
    if not (groups.sub and sub_level):
        return scope
    role, notes = _sub_role(groups), list(scope.notes)
    if role and not groups.leader_excluded:
        text = "the leader's place in the first subgroup cannot be said; the workers' subgroups count"
        notes.append(("spec.leaderWorkerTemplate.subGroupPolicy", NOT_SUPPORTED, text))
    if exclusive:
        text = "only the group has its domain to itself; subgroups share it but keep together"
        notes.append((f"metadata.annotations[{SUB_EXCLUSIVE}]", NOT_SUPPORTED, text))
    block = (role, Block(size=groups.sub, level=Level(key=sub_level), first=1 if role else 0))
    return Scope(scope.required, scope.preferred, (*scope.blocks, block), scope.role_levels, tuple(notes))


def _asks(groups: Groups, template: Template) -> Asks:
    asks = levels.of_template(template.annotations, template.path)
    return levels.sized(asks, groups.sub) if groups.sub else asks


def _sub_role(groups: Groups) -> str:
    """Whose pods are cut into subgroups: all ("") where they divide evenly, else the workers'."""
    return "" if groups.size % groups.sub == 0 and not groups.leader_excluded else WORKER


def _gang(groups: Groups, scope: Scope, g: int) -> GangOf:
    head = groups.head
    workers = groups.size - 1
    return GangOf(
        key=f"{head.key}-{g}",
        minimum=None,
        total=groups.size,
        roles=(Role(LEADER, 1), *((Role(WORKER, workers),) if workers else ())),
        optional_roles=(WORKER,) if groups.later and workers else (),
        queue=head.queue(),
        priority_class=head.labels.get("priorityClassName", ""),
        exclusive=_exclusive(groups),
        **scope.fields(),
    )


def _exclusive(groups: Groups) -> str:
    notes = groups.head.annotations
    return notes.get(EXCLUSIVE, "") or (notes.get(SUB_EXCLUSIVE, "") if groups.sub else "")


def _sets(groups: Groups, g: int) -> list[PodSet]:
    head = groups.head
    leader = f"{head.name}-{g}"
    key = hashlib.sha1(f"{head.namespace}/{leader}".encode(), usedforsecurity=False).hexdigest()
    labels = {NAME: head.name, GROUP_INDEX: str(g), f"{PREFIX}group-key": key}
    notes = {SIZE: str(groups.size)}
    notes |= {k: head.annotations[k] for k in (EXCLUSIVE, SUB_EXCLUSIVE) if k in head.annotations}
    if groups.sub:
        notes[f"{PREFIX}subgroup-size"] = str(groups.sub)
    made = PodSet(
        gang=f"{head.key}-{g}",
        role=LEADER,
        template=groups.leader,
        owners=[subject.owner("apps/v1", "StatefulSet", head.name)],
        count=1,
        stamp=_stamper(groups, leader, 0, groups.leader),
        labels=labels,
        annotations=notes,
    )
    workers = PodSet(
        gang=f"{head.key}-{g}",
        role=WORKER,
        template=groups.worker,
        owners=[subject.owner("apps/v1", "StatefulSet", leader)],
        count=groups.size - 1,
        stamp=_stamper(groups, leader, 1, groups.worker),
        labels=labels,
        annotations={**notes, f"{PREFIX}leader-name": leader},
        first_rank=1,
    )
    return [made, workers]


def _stamper(groups: Groups, leader: str, first: int, template: Template) -> Callable[[int], Stamp]:
    def stamp(i: int) -> Stamp:
        index = first + i
        name = f"{leader}-{index}" if index else leader
        labels = {WORKER_INDEX: str(index)}
        if groups.sub:
            labels[f"{PREFIX}subgroup-index"] = str(_subgroup(groups, index))
        spec: dict[str, Any] | None = with_claims(template.spec, groups.claims, name) if groups.claims else None
        return Stamp(name, labels, spec=spec)

    return stamp


def _subgroup(groups: Groups, index: int) -> int:
    """The subgroup of a pod; a leader that is one too many counts to the first."""
    if index and (groups.size - 1) % groups.sub == 0:
        return (index - 1) // groups.sub
    return index // groups.sub
