"""JobSet: all replicated jobs together are one gang, each a role; the rank counts jobs, then completion indexes.

Levels. A level on the template of a replicated job is Kueue's podset-required-topology, and Kueue's podset is the
whole replicated job. With `exclusive-topology` every child job has a domain to itself, so two child jobs can never
share one: where the template requires the same level, it can only mean each child job. Then the role has blocks of
one child job in a domain each, and no level for the role. A template that requires another level keeps Kueue's
meaning beside the blocks. A slice level without a size means slices of one child job, as in Kueue.

Roles that come later (startupPolicy InOrder, dependsOn) do not hold up the start; their room is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec import Struct

from gangpool.core.model import Block, Level, Role
from gangpool.objects.pod import Pod
from gangpool.workloads import fields, job, levels, minimum, subject, templates
from gangpool.workloads.base import Context, Finding, GangOf, Object, PodLink
from gangpool.workloads.dialect import ROLE_STRIDE, Reader, label, place, with_later
from gangpool.workloads.findings import NOT_SUPPORTED
from gangpool.workloads.levels import Asks
from gangpool.workloads.subject import LABEL_LENGTH, Subject
from gangpool.workloads.templates import PodSet, Reading, Stamp, Template

GROUP = "jobset.x-k8s.io"
PREFIX = "jobset.sigs.k8s.io/"
NAME = f"{PREFIX}jobset-name"
ROLE = f"{PREFIX}replicatedjob-name"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"
RANDOM_SUFFIX = len("-xxxxx")
"""What the Job controller puts behind a pod's name."""


class ReplicatedJob(Struct, frozen=True):
    """One entry of spec.replicatedJobs: `jobs` child Jobs of `pods` pods each. `first`: index of its first child
    among all; `first_in_group` the same inside its group. `exclusive`: its own exclusive level, or ""."""

    path: str
    name: str
    group: str
    jobs: int
    pods: int
    template: Template
    asks: Asks
    exclusive: str
    later: bool
    first: int
    first_in_group: int


class JobSet(Reader):
    """jobset.x-k8s.io JobSet."""

    name = "jobset"
    kinds = ((GROUP, "JobSet"),)
    marks = (NAME,)

    def read(self, obj: Object, context: Context) -> Reading:
        """One gang with a role per replicated job."""
        head = subject.read(obj)
        return read(head, obj)

    def templates(self, obj: Object) -> Iterable[tuple[str, Object]]:
        """The pod template of each replicated job."""
        inner = "template.spec.template"
        found = fields.items(obj, "spec.replicatedJobs")
        return [(f"{path}.{inner}", fields.mapping(one, inner, path)) for path, one in found]

    def link(self, pod: Pod) -> PodLink | None:
        """By the JobSet's name; ranks count within the replicated job."""
        name = label(pod, NAME)
        if not name:
            return None
        index = (pod.metadata.annotations or {}).get(job.INDEX) or label(pod, job.INDEX)
        return PodLink(
            key=f"{pod.metadata.namespace}/{name}",
            source=self.name,
            role=label(pod, ROLE),
            rank=place(label(pod, f"{PREFIX}job-index")) * ROLE_STRIDE + place(index),
            defined_by=(GROUP, "JobSet", name),
        )


def read(head: Subject, obj: Object) -> Reading:
    """A JobSet, also one that a TrainJob makes (`head` is then the TrainJob's name)."""
    exclusive = head.annotations.get(EXCLUSIVE, "")
    jobs = _replicated(obj, exclusive)
    findings = [*subject.twice(head, ((f"{one.path}.name", one.name) for one in jobs)), *_too_long(head, jobs)]
    if NODE_SELECTOR in head.annotations:
        text = "the node selectors of this strategy are not made; levels and exclusive domains count"
        findings.append(head.finding(f"metadata.annotations[{NODE_SELECTOR}]", NOT_SUPPORTED, text))
    scope = levels.scope(levels.of_object(head), [(one.name, _asks(one)) for one in jobs])
    findings += scope.findings(head)
    total = sum(one.jobs * one.pods for one in jobs)
    wanted = minimum.asked(head, {}, "", (minimum.KAI_BATCH,))
    if wanted and wanted[1] > total:
        findings.append(head.invalid(wanted[0], f"is {wanted[1]}, but there are {total} pods"))
    later = tuple(one.name for one in jobs if one.later)
    counted = [(Role(one.name, 0 if wanted else one.jobs * one.pods), one.jobs * one.pods) for one in jobs]
    gang = GangOf(
        key=head.key,
        minimum=wanted[1] if wanted else None,
        total=total,
        roles=with_later(counted, wanted[1] if wanted else None, later),
        optional_roles=later,
        queue=head.queue(),
        priority_class=head.labels.get("priorityClassName", ""),
        suspended=fields.flag(obj, "spec.suspend"),
        exclusive=exclusive or next((one.exclusive for one in jobs if one.exclusive), ""),
        error=subject.gang_error(findings),
        **scope.fields(),
    )
    return Reading(head.namespace, (gang,), _sets(head, obj, jobs), tuple(findings))


def _replicated(obj: Object, exclusive: str) -> list[ReplicatedJob]:
    in_order = fields.text(obj, "spec.startupPolicy.startupPolicyOrder") == "InOrder"
    found: list[ReplicatedJob] = []
    for path, one in fields.items(obj, "spec.replicatedJobs"):
        base = f"{path}.template.spec"
        template = templates.read(one, "template.spec.template", path)
        pods, _ = job.pods_at_a_time(fields.mapping(one, "template.spec", path), base)
        group = fields.text(one, "groupName", path, default="default")
        own = fields.texts(one, "template.metadata.annotations", path).get(EXCLUSIVE, "")
        found.append(
            ReplicatedJob(
                path=path,
                name=fields.text(one, "name", path) or f"{len(found)}",
                group=group,
                jobs=fields.integer(one, "replicas", path, default=1),
                pods=pods,
                template=template,
                asks=levels.of_template(template.annotations, template.path),
                exclusive=exclusive or own,
                later=bool(fields.find(one, "dependsOn", path)) or (in_order and bool(found)),
                first=sum(other.jobs for other in found),
                first_in_group=sum(other.jobs for other in found if other.group == group),
            )
        )
    return found


def _asks(one: ReplicatedJob) -> Asks:
    """Levels of one replicated job; see the top of this file."""
    asks = levels.sized(one.asks, max(one.pods, 1))
    if not one.exclusive:
        return asks
    level = Level(key=one.exclusive)
    asks = levels.with_blocks(asks, (Block(size=max(one.pods, 1), level=level),))
    if asks.required and asks.required.key == one.exclusive:
        asks = msgspec.structs.replace(asks, required=None)
    return msgspec.structs.replace(asks, preferred=tuple(p for p in asks.preferred if p.key != one.exclusive))


def _too_long(head: Subject, jobs: list[ReplicatedJob]) -> Iterator[Finding]:
    """The child Job's name is a label; a pod's name has its index and a random suffix behind that."""
    for one in jobs:
        child = f"{head.name}-{one.name}-{max(one.jobs - 1, 0)}"
        pod = len(f"{child}-{max(one.pods - 1, 0)}") + RANDOM_SUFFIX
        if pod > LABEL_LENGTH:
            text = f"leaves no room: pods of job {child} get names of {pod} characters, {LABEL_LENGTH} are allowed"
            yield head.invalid("metadata.name", text)
            return


def _sets(head: Subject, obj: Object, jobs: list[ReplicatedJob]) -> Iterator[PodSet]:
    everywhere = {NAME: head.name, f"{PREFIX}global-replicas": str(sum(one.jobs for one in jobs))}
    if head.uid:
        everywhere[f"{PREFIX}jobset-uid"] = head.uid
    coordinator = _coordinator(head, obj)
    if coordinator:
        everywhere[f"{PREFIX}coordinator"] = coordinator
    rank = 0
    for one in jobs:
        in_group = sum(other.jobs for other in jobs if other.group == one.group)
        shared = {
            **everywhere,
            ROLE: one.name,
            f"{PREFIX}replicatedjob-replicas": str(one.jobs),
            f"{PREFIX}group-name": one.group,
            f"{PREFIX}group-replicas": str(in_group),
        }
        for i in range(one.jobs):
            child = f"{head.name}-{one.name}-{i}"
            indexes = _indexes(head, one, i, child)
            yield PodSet(
                gang=head.key,
                role=one.name,
                template=one.template,
                owners=[subject.owner("batch/v1", "Job", child)],
                count=one.pods,
                stamp=_stamper(child),
                labels={**shared, **indexes, job.NAME: child, job.OLD_NAME: child},
                annotations={**shared, **indexes},
                first_rank=rank,
            )
            rank += one.pods


def _indexes(head: Subject, one: ReplicatedJob, i: int, child: str) -> dict[str, str]:
    return {
        f"{PREFIX}job-index": str(i),
        f"{PREFIX}job-global-index": str(one.first + i),
        f"{PREFIX}job-group-index": str(one.first_in_group + i),
        f"{PREFIX}job-key": hashlib.sha1(f"{head.namespace}/{child}".encode(), usedforsecurity=False).hexdigest(),
    }


def _stamper(child: str) -> Callable[[int], Stamp]:
    return lambda i: job.index_stamp(child, i, indexed=True)


def _coordinator(head: Subject, obj: Object) -> str:
    """Host name of the coordinator: its pod in the JobSet's service."""
    where = fields.mapping(obj, "spec.coordinator")
    if not where:
        return ""
    role = fields.text(where, "replicatedJob", "spec.coordinator")
    child = fields.integer(where, "jobIndex", "spec.coordinator")
    pod = fields.integer(where, "podIndex", "spec.coordinator")
    service = fields.text(obj, "spec.network.subdomain") or head.name
    return f"{head.name}-{role}-{child}-{pod}.{service}"
