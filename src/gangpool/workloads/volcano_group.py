"""Volcano's PodGroup (`scheduling.volcano.sh`), and pods that name one by annotation.

Controllers make PodGroups too: for a Volcano Job one named JOB-UID, for Ray `ray-NAME-pg`, for a LeaderWorkerSet one
per group. Such a gang has the key of the workload, on the PodGroup (by its owner) as on the pods (see `registry`).
"""

from __future__ import annotations

import re

from gangpool.core.model import Block, Role
from gangpool.objects.pod import Pod
from gangpool.workloads import fields, levels, subject
from gangpool.workloads.base import Context, Finding, GangOf, Object, PodLink
from gangpool.workloads.dialect import Reader, annotation, label, ordinal
from gangpool.workloads.findings import NOT_SUPPORTED
from gangpool.workloads.subject import Subject
from gangpool.workloads.templates import Reading

GROUP = "scheduling.volcano.sh"
ANNOTATIONS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
TASK = "volcano.sh/task-spec"
TASK_INDEX = "volcano.sh/task-index"


class VolcanoGroup(Reader):
    """PodGroup of Volcano."""

    name = "volcano-group"
    kinds = ((GROUP, "PodGroup"),)
    marks = ANNOTATIONS

    def read(self, obj: Object, context: Context) -> Reading:
        """One gang, no pods. A minimum of 0 is Volcano's zero value: the first pod may start alone."""
        head = subject.read(obj)
        findings: list[Finding] = []
        minima = fields.mapping(obj, "spec.minTaskMember")
        roles = {str(task): fields.integer(minima, str(task), "spec.minTaskMember") for task in minima}
        blocks: list[tuple[str, Block]] = []
        for path, policy in fields.items(obj, "spec.subGroupPolicy"):
            _policy(head, policy, path, (roles, blocks, findings))
        scope = levels.scope(levels.joined(levels.network(obj, "spec.networkTopology"), levels.of_object(head)), ())
        gang = GangOf(
            key=f"{head.namespace}/{_owner_key(obj, head)}",
            minimum=max(fields.integer(obj, "spec.minMember", default=1), 1),
            roles=tuple(Role(name, minimum) for name, minimum in roles.items()),
            required=scope.required,
            preferred=scope.preferred,
            blocks=(*scope.blocks, *blocks),
            queue=head.queue(fields.text(obj, "spec.queue")),
            priority_class=fields.text(obj, "spec.priorityClassName"),
        )
        return Reading(namespace=head.namespace, gangs=(gang,), findings=(*findings, *scope.findings(head)))

    def link(self, pod: Pod) -> PodLink | None:
        """By annotation; task and index where a controller wrote them."""
        name = annotation(pod, ANNOTATIONS[0]) or annotation(pod, ANNOTATIONS[1])
        if not name:
            return None
        index = label(pod, TASK_INDEX) or annotation(pod, TASK_INDEX)
        return PodLink(
            key=f"{pod.metadata.namespace}/{name}",
            source=self.name,
            role=label(pod, TASK) or annotation(pod, TASK),
            rank=int(index) if fields.whole(index) is not None else ordinal(pod.metadata.name),
            minimum=fields.whole(annotation(pod, MIN_MEMBER)) or None,
            defined_by=(GROUP, "PodGroup", name),
        )


def _policy(
    head: Subject, policy: Object, path: str, into: tuple[dict[str, int], list[tuple[str, Block]], list[Finding]]
) -> None:
    """A subGroupPolicy as blocks and, for the pods of one task, as the role's minimum."""
    roles, blocks, findings = into
    size = fields.integer(policy, "subGroupSize", path, default=1, within=(1, fields.MAX_PODS))
    least = fields.optional_integer(policy, "minSubGroups", path)
    labels = fields.texts(policy, "labelSelector.matchLabels", path)
    expressions = fields.items(policy, "labelSelector.matchExpressions", path)
    if expressions or not set(labels) <= {TASK}:
        text = f"subgroups by labels other than {TASK} cannot be said; this policy is left out"
        findings.append(head.finding(f"{path}.labelSelector", NOT_SUPPORTED, text))
        return
    role = labels.get(TASK, "")
    if role and least:
        roles[role] = max(roles.get(role, 0), size * least)
    asks = levels.network(policy, "networkTopology", path)
    if asks.required:
        blocks.append((role, Block(size=size, level=asks.required)))
    elif asks.preferred:
        text = "a soft level for subgroups cannot be said; it is left out"
        findings.append(head.finding(f"{path}.networkTopology.mode", NOT_SUPPORTED, text))


def _owner_key(obj: Object, head: Subject) -> str:
    """The workload's name when a controller made this PodGroup for a workload that we know, else its own."""
    for path, owner in fields.items(obj, "metadata.ownerReferences"):
        kind, name = fields.text(owner, "kind", path), fields.text(owner, "name", path)
        group = fields.text(owner, "apiVersion", path).partition("/")[0]
        if (group, kind) == ("batch.volcano.sh", "Job") or (group == "ray.io" and kind in ("RayCluster", "RayJob")):
            return name or head.name
        made = re.match(rf"{re.escape(name)}-\d+(?=-|$)", head.name)
        if (group, kind) == ("leaderworkerset.x-k8s.io", "LeaderWorkerSet") and made:
            return made.group()
    return head.name
