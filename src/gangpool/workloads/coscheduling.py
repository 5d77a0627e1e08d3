"""scheduler-plugins' PodGroup (`scheduling.x-k8s.io`), as the coscheduling plugin reads it: a minimum, and pods that
name the group by a label."""

from __future__ import annotations

from gangpool.objects.pod import Pod
from gangpool.workloads import fields, levels, subject
from gangpool.workloads.base import Context, GangOf, Object, PodLink
from gangpool.workloads.dialect import Reader, label, ordinal
from gangpool.workloads.templates import Reading

GROUP = "scheduling.x-k8s.io"
LABEL = "scheduling.x-k8s.io/pod-group"
OLD_LABEL = "pod-group.scheduling.sigs.k8s.io"
"""Before scheduler-plugins 0.22."""


class Coscheduling(Reader):
    """PodGroup of scheduler-plugins."""

    name = "coscheduling"
    kinds = ((GROUP, "PodGroup"),)
    marks = (LABEL, OLD_LABEL)

    def read(self, obj: Object, context: Context) -> Reading:
        """One gang, no pods. Without minMember the first pod may start alone."""
        head = subject.read(obj)
        minimum = fields.integer(obj, "spec.minMember", default=1)
        scope = levels.scope(levels.of_object(head), ())
        gang = GangOf(key=head.key, minimum=max(minimum, 1), queue=head.queue(), **scope.fields())
        return Reading(namespace=head.namespace, gangs=(gang,), findings=tuple(scope.findings(head)))

    def link(self, pod: Pod) -> PodLink | None:
        """By label."""
        name = label(pod, LABEL) or label(pod, OLD_LABEL)
        if not name:
            return None
        return PodLink(
            key=f"{pod.metadata.namespace}/{name}",
            source=self.name,
            rank=ordinal(pod.metadata.name),
            defined_by=(GROUP, "PodGroup", name),
        )
