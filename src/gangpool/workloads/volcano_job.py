"""Volcano's Job (`batch.volcano.sh`): tasks are roles, the whole job is one gang.

Minimum: `minAvailable`; `minMember`, as tutorials write it, is taken for it with a finding, and beside a different
`minAvailable` it is a contradiction. Without either (or 0, the API's zero value) it is the sum over the tasks of
their minAvailable or else all replicas. A task's own minimum is what it writes; one that writes none has none where
the job has a minimum. A task that depends on another comes later, so only its room is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gangpool.core.model import Role
from gangpool.objects.pod import Pod
from gangpool.workloads import fields, levels, lint, subject, templates, volcano_tasks
from gangpool.workloads.base import Context, Finding, GangOf, Object, PodLink
from gangpool.workloads.dialect import Reader, annotation, label, place, with_later
from gangpool.workloads.findings import MINMEMBER_IN_JOB
from gangpool.workloads.subject import Subject
from gangpool.workloads.templates import PodSet, Reading, Stamp
from gangpool.workloads.volcano_group import ANNOTATIONS, TASK, TASK_INDEX
from gangpool.workloads.volcano_tasks import Task

GROUP = "batch.volcano.sh"
JOB_NAME = "volcano.sh/job-name"
PARTITION = "volcano.sh/partition-id"


class VolcanoJob(Reader):
    """Job of Volcano."""

    name = "volcano-job"
    kinds = ((GROUP, "Job"),)
    marks = (JOB_NAME,)

    def read(self, obj: Object, context: Context) -> Reading:
        """One gang with a role per task."""
        head = subject.read(obj)
        tasks = volcano_tasks.read(obj, fields.text(obj, "spec.schedulerName"))
        queue = head.queue(fields.text(obj, "spec.queue"))
        least, written, findings = _minimum(head, obj, tasks)
        findings += volcano_tasks.doubts(head, tasks)
        sets = tuple(_sets(head, tasks, queue, _claims(obj)))
        own = [{**s.template.labels, **s.labels, **s.stamp(0).labels} for s in sets]
        for task in tasks:
            findings += lint.dead_affinity(head, task.template, own, head.namespace)
            findings += lint.nvlink_lost(head, task.template, task.replicas, f"{task.path}.replicas")
        whole = levels.joined(levels.network(obj, "spec.networkTopology"), levels.of_object(head))
        scope = levels.scope(whole, [(t.name, t.asks) for t in tasks])
        findings += scope.findings(head)
        total = sum(task.replicas for task in tasks)
        later = tuple(t.name for t in tasks if t.later)
        gang = GangOf(
            key=head.key,
            minimum=least,
            total=total,
            roles=with_later([(_role(t, written), t.replicas) for t in tasks], least, later),
            optional_roles=later,
            queue=queue,
            priority_class=fields.text(obj, "spec.priorityClassName"),
            error=subject.gang_error(findings),
            **scope.fields(),
        )
        return Reading(head.namespace, (gang,), sets, tuple(findings))

    def templates(self, obj: Object) -> Iterable[tuple[str, Object]]:
        """The template of each task."""
        tasks = fields.items(obj, "spec.tasks")
        return [(f"{path}.template", fields.mapping(task, "template", path)) for path, task in tasks]

    def link(self, pod: Pod) -> PodLink | None:
        """By the job's name, whatever its PodGroup is called; ranks count within the task."""
        name = label(pod, JOB_NAME)
        if not name:
            return None
        return PodLink(
            key=f"{pod.metadata.namespace}/{name}",
            source=self.name,
            role=label(pod, TASK) or annotation(pod, TASK),
            rank=place(label(pod, TASK_INDEX) or annotation(pod, TASK_INDEX) or pod.metadata.name.rpartition("-")[2]),
            defined_by=(GROUP, "Job", name),
        )

    def made(self, group: str, link: PodLink) -> bool:
        """Volcano names the PodGroup JOB-UID (older versions: JOB)."""
        name = link.key.partition("/")[2]
        return group == name or group.startswith(f"{name}-")


def _minimum(head: Subject, obj: Object, tasks: list[Task]) -> tuple[int | None, bool, list[Finding]]:
    """(the gang's minimum, None for all; whether the job writes one; what is wrong with it)."""
    available = fields.integer(obj, "spec.minAvailable")
    member = fields.integer(obj, "spec.minMember")
    total = sum(task.replicas for task in tasks)
    findings = []
    if member and available and member != available:
        text = f"minMember is {member} and minAvailable {available}; a Volcano Job has only minAvailable"
        findings.append(head.invalid("spec.minMember", text))
    elif fields.find(obj, "spec.minMember") is not None:
        text = "a Volcano Job has no minMember, the field is called minAvailable; it is taken as that"
        findings.append(head.finding("spec.minMember", MINMEMBER_IN_JOB, text))
    least = available or member
    if least > total:
        field = "spec.minAvailable" if available else "spec.minMember"
        findings.append(head.invalid(field, f"is {least}, but all tasks together have {total} replicas"))
    if least:
        return least, True, findings
    by_task = sum(task.replicas if task.minimum is None else task.minimum for task in tasks)
    return (None if by_task == total else max(by_task, 1)), False, findings


def _role(task: Task, job_has_minimum: bool) -> Role:
    default = 0 if job_has_minimum else task.replicas
    return Role(task.name, default if task.minimum is None else task.minimum)


def _sets(head: Subject, tasks: list[Task], queue: str, volumes: list[dict[str, Any]]) -> Iterator[PodSet]:
    group = f"{head.name}-{head.uid}" if head.uid else head.name
    shared = {JOB_NAME: head.name, "volcano.sh/job-namespace": head.namespace}
    if queue:
        shared["volcano.sh/queue-name"] = queue
    rank = 0
    for task in tasks:
        template = task.template
        if volumes:
            mounted = [*(template.spec.get("volumes") or ()), *volumes]
            template = templates.with_spec(template, {"volumes": mounted})
        names = {**shared, TASK: task.name}
        yield PodSet(
            gang=head.key,
            role=task.name,
            template=template,
            owners=head.controls(),
            count=task.replicas,
            stamp=_stamper(head.name, task),
            labels=names,
            annotations={**names, ANNOTATIONS[0]: group, "volcano.sh/job-version": "0"},
            first_rank=rank,
        )
        rank += task.replicas


def _stamper(job: str, task: Task) -> Callable[[int], Stamp]:
    def stamp(i: int) -> Stamp:
        labels = {TASK_INDEX: str(i)}
        if task.partition:
            labels[PARTITION] = str(i // task.partition.size)
        return Stamp(f"{job}-{task.name}-{i}", labels, {TASK_INDEX: str(i)})

    return stamp


def _claims(obj: Object) -> list[dict[str, Any]]:
    """The job's volumes with a named claim, which every pod gets. Claims that Volcano makes itself have a random
    name and no place of their own yet."""
    names = [fields.text(volume, "volumeClaimName", path) for path, volume in fields.items(obj, "spec.volumes")]
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names) if name]
