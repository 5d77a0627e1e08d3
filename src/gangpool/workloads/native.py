"""Kubernetes' own groups (`scheduling.k8s.io`): Workload of 1.35, PodGroup of 1.36 and later.

1.35: a Workload lists podGroups; pods name workload, group and replica key in `spec.workloadRef`, and each key is a
gang of its own. 1.36: a PodGroup is an object, pods name it in `spec.schedulingGroup`; a Workload only holds templates,
from which a PodGroup copies its policy (it is looked up where the copy is missing). A group of PodGroups
(CompositePodGroup) cannot be said as one gang: its PodGroups count one by one, with a finding.
"""

from __future__ import annotations

import msgspec

from gangpool.core.model import Level
from gangpool.objects.pod import Pod
from gangpool.workloads import fields, levels, subject
from gangpool.workloads.base import Context, Finding, GangOf, Object, PodLink
from gangpool.workloads.dialect import Reader, ordinal
from gangpool.workloads.findings import NOT_SUPPORTED
from gangpool.workloads.subject import Subject
from gangpool.workloads.templates import Reading

GROUP = "scheduling.k8s.io"


class Native(Reader):
    """Workload, PodGroup and CompositePodGroup of Kubernetes itself."""

    name = "native"
    kinds = ((GROUP, "PodGroup"), (GROUP, "Workload"), (GROUP, "CompositePodGroup"))

    def read(self, obj: Object, context: Context) -> Reading:
        """Gangs of a PodGroup or of a 1.35 Workload; they have no pods of their own."""
        head = subject.read(obj)
        if head.kind == "PodGroup":
            return _pod_group(head, obj, context)
        if head.kind == "CompositePodGroup":
            return Reading(namespace=head.namespace, findings=tuple(_composite(head, "spec.schedulingPolicy")))
        gangs = []
        for path, group in fields.items(obj, "spec.podGroups"):
            name = fields.text(group, "name", path)
            gangs.append(_gang(f"{head.key}-{name}", group, "policy", path))
        found = _composite(head, "spec.compositePodGroupTemplates") if _nested(obj) else []
        return Reading(namespace=head.namespace, gangs=tuple(gangs), findings=tuple(found))

    def link(self, pod: Pod) -> PodLink | None:
        """By `spec.schedulingGroup` or `spec.workloadRef`."""
        spec, namespace = pod.spec, pod.metadata.namespace
        if spec.schedulingGroup and spec.schedulingGroup.podGroupName:
            name = spec.schedulingGroup.podGroupName
            made_by, key = (GROUP, "PodGroup", name), f"{namespace}/{name}"
        elif spec.workloadRef and spec.workloadRef.name:
            ref = spec.workloadRef
            parts = [ref.name, ref.podGroup, ref.podGroupReplicaKey]
            made_by, key = (GROUP, "Workload", ref.name), f"{namespace}/{'-'.join(filter(None, parts))}"
        else:
            return None
        return PodLink(key=key, source=self.name, rank=ordinal(pod.metadata.name), defined_by=made_by)


def _pod_group(head: Subject, obj: Object, context: Context) -> Reading:
    spec = fields.mapping(obj, "spec")
    if not fields.mapping(spec, "schedulingPolicy", "spec"):
        spec = {**_template(head, spec, context), **spec}
    findings = []
    if fields.text(spec, "parentCompositePodGroupName", "spec"):
        findings += _composite(head, "spec.parentCompositePodGroupName")
    if fields.items(spec, "resourceClaims", "spec"):
        text = "claims shared by a group are not looked at; its pods' own requests count"
        findings.append(head.finding("spec.resourceClaims", NOT_SUPPORTED, text))
    topology = fields.items(spec, "schedulingConstraints.topology", "spec")
    if len(topology) > 1:
        text = f"has {len(topology)} keys, one is allowed"
        findings.append(head.invalid("spec.schedulingConstraints.topology", text))
    gang = _gang(head.key, spec, "schedulingPolicy", "spec", subject.gang_error(findings))
    scope = levels.scope(levels.joined(levels.Asks(required=gang.required), levels.of_object(head)), ())
    gang = msgspec.structs.replace(gang, **scope.fields())
    return Reading(namespace=head.namespace, gangs=(gang,), findings=(*findings, *scope.findings(head)))


def _gang(key: str, spec: Object, policy: str, base: str, error: str = "") -> GangOf:
    """A group with policy `gang` has a minimum, one with `basic` is placed pod by pod in the same level."""
    gang = fields.mapping(spec, f"{policy}.gang", base)
    least = fields.optional_integer(gang, "minCount", f"{base}.{policy}.gang", (1, fields.MAX_PODS)) if gang else None
    if fields.find(spec, f"{policy}.basic", base) is not None and gang:
        error = error or f"{base}.{policy}: names both basic and gang"
    topology = fields.items(spec, "schedulingConstraints.topology", base)
    level = fields.text(topology[0][1], "key", topology[0][0]) if topology else ""
    return GangOf(
        key=key,
        minimum=least if least is not None else 1,
        required=Level(key=level) if level else None,
        priority_class=fields.text(spec, "priorityClassName", base),
        error=error,
    )


def _template(head: Subject, spec: Object, context: Context) -> Object:
    """The Workload's template that a PodGroup without a policy was made from; empty when it is not there."""
    for ref, name_field, workload_field in (
        ("workloadRef", "templateName", "workloadName"),
        ("podGroupTemplateRef.workload", "podGroupTemplateName", "workloadName"),
    ):
        name = fields.text(spec, f"{ref}.{name_field}", "spec")
        workload = context.get(GROUP, "Workload", head.namespace, fields.text(spec, f"{ref}.{workload_field}", "spec"))
        if not name or workload is None:
            continue
        for _, template in fields.items(workload, "spec.podGroupTemplates"):
            if template.get("name") == name:
                return template
    return {}


def _nested(obj: Object) -> bool:
    return bool(fields.items(obj, "spec.compositePodGroupTemplates"))


def _composite(head: Subject, field: str) -> list[Finding]:
    text = "a group of groups is not one gang here; each PodGroup counts for itself"
    return [head.finding(field, NOT_SUPPORTED, text)]
