"""Kubernetes Job and CronJob.

A Job is a gang when it is Indexed with parallelism = completions > 1, when an annotation gives a minimum, or when its
template asks for a level (Kueue admits such a set whole). Otherwise its pods come one by one. At most `parallelism`
pods exist at a time; a CronJob counts as one run, named like the CronJob itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from gangpool.objects.pod import Pod
from gangpool.workloads import fields, lint, minimum, solo, subject, templates
from gangpool.workloads.base import Context, Object, PodLink
from gangpool.workloads.dialect import Reader, annotation, label, place
from gangpool.workloads.subject import Subject
from gangpool.workloads.templates import PodSet, Reading, Stamp

INDEX = "batch.kubernetes.io/job-completion-index"
NAME = "batch.kubernetes.io/job-name"
OLD_NAME = "job-name"
KUEUE_MINIMUM = "kueue.x-k8s.io/job-min-parallelism"


class Job(Reader):
    """batch/v1 Job and CronJob."""

    name = "job"
    kinds = (("batch", "Job"), ("batch", "CronJob"))
    marks = (NAME, OLD_NAME)

    def read(self, obj: Object, context: Context) -> Reading:
        """One gang, or pods one by one."""
        head = subject.read(obj)
        base = _base(head.kind)
        return _read(head, fields.mapping(obj, base), base, fields.flag(obj, "spec.suspend"))

    def templates(self, obj: Object) -> Iterable[tuple[str, Object]]:
        """The pod template."""
        path = f"{_base(fields.text(obj, 'kind'))}.template"
        return [(path, fields.mapping(obj, path))]

    def link(self, pod: Pod) -> PodLink | None:
        """By the Job's name. Pods without an index are a gang only if the Job says so."""
        name = label(pod, NAME) or label(pod, OLD_NAME)
        if not name:
            return None
        index = annotation(pod, INDEX) or label(pod, INDEX)
        least = solo.own_minimum(pod)
        return PodLink(
            key=f"{pod.metadata.namespace}/{name}",
            source=self.name,
            rank=place(index),
            minimum=least,
            defined_by=("batch", "Job", name),
            certain=bool(index) or least is not None,
        )


def pods_at_a_time(spec: Object, base: str) -> tuple[int, int | None]:
    """(pods that exist at a time, completions) of a Job spec."""
    parallelism = fields.integer(spec, "parallelism", base, default=1, within=fields.INT32)
    completions = fields.optional_integer(spec, "completions", base, fields.INT32)
    return min(parallelism, parallelism if completions is None else completions), completions


def pod_labels(head: Subject, job: str) -> dict[str, str]:
    """What the Job controller writes on pods of a Job of this name."""
    labels = {NAME: job, OLD_NAME: job}
    if head.uid:
        labels |= {"batch.kubernetes.io/controller-uid": head.uid, "controller-uid": head.uid}
    return labels


def index_stamp(name: str, i: int, indexed: bool) -> Stamp:
    """Pod i of a Job; the random suffix of its name is left out."""
    index = {INDEX: str(i)} if indexed else templates.NONE
    return Stamp(f"{name}-{i}", index, index)


def _base(kind: str) -> str:
    return "spec.jobTemplate.spec" if kind == "CronJob" else "spec"


def _read(head: Subject, spec: Object, base: str, suspended: bool) -> Reading:
    count, completions = pods_at_a_time(spec, base)
    indexed = fields.text(spec, "completionMode", base) == "Indexed"
    template = templates.read(spec, "template", base)
    crew = solo.Crew(
        head=head,
        template=template,
        count=count,
        is_gang=indexed and count == completions and count > 1,
        whole_by_level=True,
        suspended=suspended or fields.flag(spec, "suspend", base),
        minima=(minimum.VOLCANO, minimum.KAI_BATCH, KUEUE_MINIMUM),
    )
    key, gangs, findings = solo.gang(crew)
    if gangs:
        findings += lint.nvlink_lost(head, template, count, f"{base}.parallelism")
    pods = PodSet(
        gang=key,
        role="",
        template=template,
        owners=[subject.owner("batch/v1", "Job", head.name, head.uid)],
        count=count if gangs or not crew.suspended else 0,
        stamp=lambda i: index_stamp(head.name, i, indexed),
        labels=pod_labels(head, head.name),
    )
    return Reading(head.namespace, gangs, (pods,), tuple(findings))
