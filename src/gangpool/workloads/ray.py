"""KubeRay: RayCluster, RayJob and RayService; the head and the worker groups are roles.

A gang where batch scheduling is asked for by label, else pods one by one, as Ray takes them. The minimum is the head
and all workers, with the autoscaler the head and minReplicas of every group (as KubeRay's Volcano integration
counts); what the autoscaler may add comes one by one. A RayJob's submitter comes when the cluster runs. Where KubeRay
puts it into the gang (Volcano), it does not hold up the start and its room is kept; else it is a single pod.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from gangpool.core.model import Level, Role
from gangpool.objects.pod import Pod
from gangpool.workloads import fields, job, levels, subject, templates
from gangpool.workloads.base import Context, Finding, GangOf, Object, PodLink, WorkloadError
from gangpool.workloads.dialect import Reader, annotation, label, ordinal, place
from gangpool.workloads.levels import Asks
from gangpool.workloads.ray_pods import (
    GROUP_LABEL,
    HEAD,
    SUBMITTER,
    VOLCANO,
    Group,
    group_set,
    head_template,
    submitter_set,
)
from gangpool.workloads.subject import Subject
from gangpool.workloads.templates import PodSet, Reading, Template
from gangpool.workloads.volcano_group import ANNOTATIONS

GROUP = "ray.io"
CLUSTER = "ray.io/cluster"
SCHEDULER = "ray.io/scheduler-name"
GANG = "ray.io/gang-scheduling-enabled"
PRIORITY = "ray.io/priority-class-name"
MODE = "volcano.sh/network-topology-mode"
TIER = "volcano.sh/network-topology-highest-tier-allowed"
SPECS = {"RayCluster": "spec", "RayJob": "spec.rayClusterSpec", "RayService": "spec.rayClusterConfig"}
"""Where each kind has its cluster."""


class Cluster(Struct, frozen=True):
    """A Ray cluster as read: the head's template and the worker groups."""

    head: Template
    groups: list[Group]
    autoscaling: bool


class Ray(Reader):
    """ray.io RayCluster, RayJob and RayService."""

    name = "ray"
    kinds = tuple((GROUP, kind) for kind in SPECS)
    marks = (CLUSTER, job.NAME)

    def read(self, obj: Object, context: Context) -> Reading:
        """One gang, or pods one by one."""
        head = subject.read(obj)
        base = SPECS.get(head.kind, "spec")
        if head.kind == "RayJob" and fields.mapping(obj, "spec.clusterSelector"):
            return _submitter_only(head, obj)
        cluster = _cluster(head, obj, base)
        suspended = fields.flag(obj, "spec.suspend") or fields.flag(obj, f"{base}.suspend")
        is_gang = _is_gang(head)
        key = head.key if is_gang or suspended else ""
        sets = [group_set(head, key, _head_group(cluster), 0)]
        rank = 1
        for group in cluster.groups:
            sets.append(group_set(head, key, group, rank))
            rank += group.pods
        if head.kind == "RayJob":
            in_gang = suspended or head.labels.get(SCHEDULER) == VOLCANO
            sets += submitter_set(head, obj, key if in_gang else "", (cluster.head, rank))
        gang, findings = _gang(head, cluster, sets, suspended)
        if not is_gang and suspended:
            gang = GangOf(key=key, minimum=1, total=gang.total, queue=gang.queue, suspended=True)
        return Reading(head.namespace, (gang,) if key else (), tuple(sets), tuple(findings))

    def templates(self, obj: Object) -> Iterable[tuple[str, Object]]:
        """The templates of the head and of each worker group."""
        base = SPECS.get(fields.text(obj, "kind"), "spec")
        head = f"{base}.headGroupSpec.template"
        yield head, fields.mapping(obj, head)
        for path, group in fields.items(obj, f"{base}.workerGroupSpecs"):
            yield f"{path}.template", fields.mapping(group, "template", path)

    def link(self, pod: Pod) -> PodLink | None:
        """By the cluster's name, or the RayJob's where the PodGroup is named after that. A gang only where the
        object says so, or a PodGroup was made."""
        cluster, group = label(pod, CLUSTER), annotation(pod, ANNOTATIONS[0])
        if not cluster:
            return self._submitter(pod, group)
        grouped = group.startswith("ray-") and group.endswith("-pg")
        name = group.removeprefix("ray-").removesuffix("-pg") if grouped else cluster
        index = label(pod, "ray.io/worker-group-replica-index")
        return PodLink(
            key=f"{pod.metadata.namespace}/{name}",
            source=self.name,
            role=label(pod, GROUP_LABEL),
            rank=place(index) if index else ordinal(pod.metadata.name),
            defined_by=(GROUP, "RayCluster" if name == cluster else "RayJob", name),
            certain=grouped,
        )

    def _submitter(self, pod: Pod, group: str) -> PodLink | None:
        """The pod of the Job that submits, where KubeRay put it into the RayJob's PodGroup."""
        name = label(pod, job.NAME)
        if group != f"ray-{name}-pg":
            return None
        made_by = (GROUP, "RayJob", name)
        return PodLink(f"{pod.metadata.namespace}/{name}", self.name, role=SUBMITTER, defined_by=made_by)

    def made(self, group: str, link: PodLink) -> bool:
        """KubeRay names the PodGroup ray-NAME-pg."""
        return group == f"ray-{link.key.partition('/')[2]}-pg"


def _is_gang(head: Subject) -> bool:
    return head.labels.get(GANG, "").lower() == "true" or bool(head.labels.get(SCHEDULER))


def _cluster(head: Subject, obj: Object, base: str) -> Cluster:
    scheduler = head.labels.get(SCHEDULER, "")
    autoscaling = fields.flag(obj, f"{base}.enableInTreeAutoscaling")
    groups = [_group(path, one, scheduler) for path, one in fields.items(obj, f"{base}.workerGroupSpecs")]
    return Cluster(head_template(obj, base, scheduler), groups, autoscaling)


def _group(path: str, one: Object, scheduler: str) -> Group:
    """A worker group. Replicas are kept between their bounds; each has numOfHosts pods."""
    hosts = fields.integer(one, "numOfHosts", path, default=1, within=(1, fields.MAX_PODS))
    low = fields.integer(one, "minReplicas", path)
    high = fields.integer(one, "maxReplicas", path, default=fields.INT32[1], within=fields.INT32)
    wanted = fields.integer(one, "replicas", path)
    if fields.flag(one, "suspend", path):
        low = wanted = high = 0
    replicas = min(max(wanted, low), high)
    if replicas * hosts > fields.MAX_PODS:
        raise WorkloadError(f"{path}.replicas", f"asks for {replicas * hosts} pods, at most {fields.MAX_PODS}")
    return Group(
        path=path,
        name=fields.text(one, "groupName", path) or "worker",
        pods=replicas * hosts,
        least=min(low, replicas) * hosts,
        template=templates.with_scheduler(templates.read(one, "template", path), scheduler),
    )


def _head_group(cluster: Cluster) -> Group:
    return Group(path="", name=HEAD, pods=1, least=1, template=cluster.head)


def _gang(head: Subject, cluster: Cluster, sets: list[PodSet], suspended: bool) -> tuple[GangOf, list[Finding]]:
    groups = [_head_group(cluster), *cluster.groups]
    minima = [g.least if cluster.autoscaling else g.pods for g in groups]
    asks = [(g.name, levels.of_template(g.template.annotations, g.template.path)) for g in groups]
    scope = levels.scope(levels.joined(_labelled(head), levels.of_object(head)), asks)
    findings = [*subject.twice(head, ((f"{g.path}.groupName", g.name) for g in groups)), *scope.findings(head)]
    submits = any(s.role == SUBMITTER and s.gang for s in sets)
    roles = [Role(g.name, least) for g, least in zip(groups, minima, strict=True)]
    gang = GangOf(
        key=head.key,
        minimum=sum(minima),
        total=sum(s.count for s in sets if s.gang),
        roles=(*roles, *((Role(SUBMITTER),) if submits else ())),
        optional_roles=(SUBMITTER,) if submits else (),
        queue=head.queue(),
        priority_class=head.labels.get(PRIORITY, ""),
        suspended=suspended,
        error=subject.gang_error(findings),
        **scope.fields(),
    )
    return gang, findings


def _labelled(head: Subject) -> Asks:
    """Volcano's level, which KubeRay takes from labels of the cluster."""
    mode = head.labels.get(MODE, "")
    if not mode:
        return Asks()
    level = Level(tier=fields.number(head.labels, TIER, "metadata.labels", least=0) or 1)
    return Asks(preferred=(level,)) if mode == "soft" else Asks(required=level)


def _submitter_only(head: Subject, obj: Object) -> Reading:
    """A RayJob on a cluster that exists already."""
    return Reading(head.namespace, sets=tuple(submitter_set(head, obj, "", (None, 0))))
