"""Kueue's groups of plain pods: a label names the group, an annotation its size, and the group starts whole.

No object defines such a group (Kueue's own Workload is derived from the pods), so the count that the pods carry is
both total and minimum. The topology annotations are read in `levels`, for pods of any kind.
"""

from __future__ import annotations

from gangpool.objects.pod import Pod
from gangpool.workloads import fields
from gangpool.workloads.base import PodLink
from gangpool.workloads.dialect import Reader, annotation, label, ordinal, place

GROUP_NAME = "kueue.x-k8s.io/pod-group-name"
TOTAL = "kueue.x-k8s.io/pod-group-total-count"
INDEX = "kueue.x-k8s.io/pod-group-pod-index"
INDEX_LABEL = "kueue.x-k8s.io/pod-group-pod-index-label"


class KueueGroup(Reader):
    """Pods with Kueue's group label."""

    name = "kueue"
    marks = (GROUP_NAME,)

    def link(self, pod: Pod) -> PodLink | None:
        """By label; the rank by the index label, or the label that an annotation points at."""
        name = label(pod, GROUP_NAME)
        if not name:
            return None
        total = fields.whole(annotation(pod, TOTAL)) or None
        index = label(pod, annotation(pod, INDEX_LABEL) or INDEX)
        return PodLink(
            key=f"{pod.metadata.namespace}/{name}",
            source=self.name,
            rank=place(index) if index else ordinal(pod.metadata.name),
            total=total,
            minimum=total,
        )
