"""Deployment, ReplicaSet and DaemonSet.

Their pods come one by one unless an annotation gives a minimum or the template names a group. The gang is the
Deployment, not one ReplicaSet of it: during a rollout the surge pod counts beside the pods of the old revision. The
one pod of a DaemonSet has the role `daemon`: intake books it on every node that it fits.
"""

from __future__ import annotations

from collections.abc import Iterable

from gangpool.objects.pod import Pod
from gangpool.workloads import fields, solo, subject, templates
from gangpool.workloads.base import Context, Object, PodLink
from gangpool.workloads.dialect import Reader, controller_of, label
from gangpool.workloads.subject import Subject
from gangpool.workloads.templates import PodSet, Reading, Stamp, Template

DAEMON = "daemon"
HASH = "pod-template-hash"
FIRST_HASH = "0"
"""Stands for the hash of the template, which is as good as random."""

TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
"""What the DaemonSet controller lets every pod tolerate."""


class Replicas(Reader):
    """apps/v1 Deployment, ReplicaSet and DaemonSet."""

    name = "replicas"
    kinds = (("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "DaemonSet"))

    def read(self, obj: Object, context: Context) -> Reading:
        """Pods one by one, or one gang."""
        head = subject.read(obj)
        template = templates.read(obj, "spec.template")
        if head.kind == "DaemonSet":
            return _daemon(head, template)
        count = fields.integer(obj, "spec.replicas", default=1)
        key, gangs, findings = solo.gang(solo.Crew(head=head, template=template, count=count))
        deployed = head.kind == "Deployment"
        owned = f"{head.name}-{FIRST_HASH}" if deployed else head.name
        pods = PodSet(
            gang=key,
            role="",
            template=template,
            owners=[subject.owner("apps/v1", "ReplicaSet", owned, "" if deployed else head.uid)],
            count=count,
            stamp=lambda i: Stamp(f"{head.name}-{i}"),
            labels={HASH: FIRST_HASH} if deployed else templates.NONE,
        )
        return Reading(head.namespace, gangs, (pods,), tuple(findings))

    def templates(self, obj: Object) -> Iterable[tuple[str, Object]]:
        """The pod template."""
        return [("spec.template", fields.mapping(obj, "spec.template"))]

    def link(self, pod: Pod) -> PodLink | None:
        """By the owning ReplicaSet; the Deployment's name is the ReplicaSet's without the hash."""
        owner = controller_of(pod)
        if owner is None or owner.kind != "ReplicaSet":
            return None
        written = label(pod, HASH)
        deployed = bool(written) and owner.name.endswith(f"-{written}")
        name = owner.name.removesuffix(f"-{written}") if deployed else owner.name
        least = solo.own_minimum(pod)
        return PodLink(
            key=f"{pod.metadata.namespace}/{name}",
            source=self.name,
            minimum=least,
            defined_by=("apps", "Deployment" if deployed else "ReplicaSet", name),
            certain=least is not None,
        )


def _daemon(head: Subject, template: Template) -> Reading:
    written = template.spec.get("tolerations") or []
    network = [("node.kubernetes.io/network-unavailable", "NoSchedule")] if template.typed.hostNetwork else []
    added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in (*TOLERATED, *network)]
    pods = PodSet(
        gang="",
        role=DAEMON,
        template=templates.with_spec(template, {"tolerations": [*written, *added]}),
        owners=head.controls(),
        count=1,
        stamp=lambda i: Stamp(f"{head.name}-{i}"),
    )
    return Reading(head.namespace, sets=(pods,))
