"""Kinds with one pod template: how template, annotations and counts become one gang, or pods one by one.

Called by the dialects of Job, Deployment, ReplicaSet, StatefulSet and DaemonSet.
"""

from __future__ import annotations

from msgspec import Struct

from gangpool.objects.pod import Pod
from gangpool.workloads import fields, levels, minimum, named, subject
from gangpool.workloads.base import Finding, GangOf
from gangpool.workloads.subject import Subject
from gangpool.workloads.templates import Template

SUSPENDED_MINIMUM = 1


class Crew(Struct, frozen=True):
    """The pods of one template as a whole. `is_gang`: the kind alone makes a gang of them; `whole_by_level`: a level
    in the annotations does (where the set is admitted as one). `minima`: other annotations for the minimum."""

    head: Subject
    template: Template
    count: int
    is_gang: bool = False
    whole_by_level: bool = False
    suspended: bool = False
    minima: tuple[str, ...] = (minimum.VOLCANO,)


def gang(crew: Crew, least: int | None = None) -> tuple[str, tuple[GangOf, ...], list[Finding]]:
    """(key of the pods' gang, gangs of the object, findings). `least`: the kind's own minimum, None for all.

    A group that the template names outright counts before the object; its own object says the rest. A suspended
    object is a gang in any case, so that something can wait for it to be resumed."""
    head, template = crew.head, crew.template
    outright = named.claims(template.pod(head.namespace))
    if outright:
        link, conflicts = named.merged(outright, _as_pod(crew))
        return link.key, (), list(conflicts)
    asks = levels.of_template(template.annotations, template.path)
    scope = levels.scope(levels.of_object(head), [("", asks)])
    wanted = minimum.asked(head, template.annotations, template.path, crew.minima)
    by_level = crew.whole_by_level and crew.count > 1 and bool(scope.required or scope.preferred or scope.blocks)
    findings = scope.findings(head)
    if not (crew.is_gang or wanted or by_level or crew.suspended):
        return "", (), findings
    if wanted and wanted[1] > crew.count:
        findings.append(head.invalid(wanted[0], f"is {wanted[1]}, but there are {crew.count} pods at a time"))
    alone = SUSPENDED_MINIMUM if not (crew.is_gang or by_level) else least
    found = GangOf(
        key=head.key,
        minimum=wanted[1] if wanted else alone,
        total=crew.count,
        queue=head.queue(),
        priority_class=head.labels.get("priorityClassName", ""),
        suspended=crew.suspended,
        error=subject.gang_error(findings),
        **scope.fields(),
    )
    return head.key, (found,), findings


def own_minimum(pod: Pod) -> int | None:
    """The minimum that a pod carries from its template."""
    return fields.whole((pod.metadata.annotations or {}).get(minimum.OURS, "")) or None


def _as_pod(crew: Crew) -> Pod:
    pod = crew.template.pod(crew.head.namespace)
    pod.metadata.name = f"{crew.head.name}-0"
    return pod
