"""StatefulSet: ordinal names, and one claim per pod and volumeClaimTemplate.

A gang when an annotation gives a minimum or the template asks for a level (Kueue admits the set whole). The claims
TEMPLATE-POD are made by the controller; they come with the expansion, so that nobody misses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gangpool.objects.pod import Pod
from gangpool.workloads import fields, minimum, solo, subject, templates
from gangpool.workloads.base import Context, Object, PodLink
from gangpool.workloads.dialect import Reader, controller_of, ordinal
from gangpool.workloads.findings import ORDERED_READY
from gangpool.workloads.templates import PodSet, Reading, Stamp

KAI_MINIMUM = "kai.scheduler/min-member"
INDEX = "apps.kubernetes.io/pod-index"


class StatefulSet(Reader):
    """apps/v1 StatefulSet."""

    name = "statefulset"
    kinds = (("apps", "StatefulSet"),)

    def read(self, obj: Object, context: Context) -> Reading:
        """Pods one by one, or one gang."""
        head = subject.read(obj)
        template = templates.read(obj, "spec.template")
        count = fields.integer(obj, "spec.replicas", default=1)
        start = fields.integer(obj, "spec.ordinals.start", within=fields.INT32)
        claims = claim_templates(obj, "spec.volumeClaimTemplates")
        minima = (minimum.VOLCANO, KAI_MINIMUM)
        crew = solo.Crew(head=head, template=template, count=count, whole_by_level=True, minima=minima)
        key, gangs, findings = solo.gang(crew)
        if gangs and count > 1 and fields.text(obj, "spec.podManagementPolicy") != "Parallel":
            text = "pods are created one after the other when the one before is ready; a gang needs Parallel"
            findings.append(head.finding("spec.podManagementPolicy", ORDERED_READY, text))

        def stamp(i: int) -> Stamp:
            name = f"{head.name}-{start + i}"
            labels = {"statefulset.kubernetes.io/pod-name": name, INDEX: str(start + i)}
            return Stamp(name, labels, spec=with_claims(template.spec, claims, name) if claims else None)

        pods = PodSet(key, "", template, head.controls(), count, stamp)
        names = (f"{head.name}-{start + i}" for i in range(count))
        made = made_claims(claims, names, head.namespace)
        return Reading(head.namespace, gangs, (pods,), tuple(findings), made)

    def templates(self, obj: Object) -> Iterable[tuple[str, Object]]:
        """The pod template."""
        return [("spec.template", fields.mapping(obj, "spec.template"))]

    def link(self, pod: Pod) -> PodLink | None:
        """By the owning StatefulSet."""
        owner = controller_of(pod)
        if owner is None or owner.kind != "StatefulSet":
            return None
        least = solo.own_minimum(pod)
        return PodLink(
            key=f"{pod.metadata.namespace}/{owner.name}",
            source=self.name,
            rank=ordinal(pod.metadata.name),
            minimum=least,
            defined_by=("apps", "StatefulSet", owner.name),
            certain=least is not None,
        )


def claim_templates(obj: Object, path: str) -> dict[str, Object]:
    """Name to claim spec of each volumeClaimTemplate."""
    found = {}
    for where, claim in fields.items(obj, path):
        found[fields.text(claim, "metadata.name", where)] = fields.mapping(claim, "spec", where)
    return found


def with_claims(spec: dict[str, Any], claims: Mapping[str, Object], pod: str) -> dict[str, Any]:
    """The pod's spec with its own claims; they replace volumes of the same name."""
    others = [v for v in spec.get("volumes") or () if v.get("name") not in claims]
    own = [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{pod}"}} for name in claims]
    return {**spec, "volumes": [*others, *own]}


def made_claims(claims: Mapping[str, Object], pods: Iterable[str], namespace: str) -> Iterator[dict[str, Any]]:
    """The claims as objects, one for each pod and template."""
    for pod in pods:
        for name, spec in claims.items():
            yield {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": f"{name}-{pod}", "namespace": namespace},
                "spec": spec,
            }
