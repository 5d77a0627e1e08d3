"""Gangs that pods name outright, by a field, label or annotation of a group, in the order in which they count.

Called by `registry.link` for live pods and by the controllers' dialects for what their templates say.
"""

from __future__ import annotations

import msgspec

from gangpool.objects.pod import Pod
from gangpool.workloads.base import Finding, PodLink
from gangpool.workloads.coscheduling import Coscheduling
from gangpool.workloads.dialect import Reader
from gangpool.workloads.findings import GANG_CONFLICT
from gangpool.workloads.kai import Kai
from gangpool.workloads.kueue import KueueGroup
from gangpool.workloads.native import Native
from gangpool.workloads.volcano_group import VolcanoGroup

NATIVE = Native()
MARKED: tuple[Reader, ...] = (VolcanoGroup(), Coscheduling(), KueueGroup(), Kai())
GROUPS: tuple[Reader, ...] = (NATIVE, *MARKED)
"""The order in which claims count: native, PodGroups, Kueue, KAI."""

MARKS = frozenset(mark for group in MARKED for mark in group.marks)


def claims(pod: Pod) -> list[PodLink]:
    """Every gang that the pod names outright, the one that counts first. O(labels) for a pod that names none."""
    links = []
    if pod.spec.schedulingGroup is not None or pod.spec.workloadRef is not None:
        links.append(NATIVE.link(pod))
    labels, annotations = pod.metadata.labels, pod.metadata.annotations
    if (labels and not MARKS.isdisjoint(labels)) or (annotations and not MARKS.isdisjoint(annotations)):
        links += [group.link(pod) for group in MARKED]
    return [found for found in links if found is not None]


def merged(links: list[PodLink], pod: Pod) -> tuple[PodLink, tuple[Finding, ...]]:
    """The claim that counts, with the counts that others add for the same gang; a finding for each other gang."""
    first, findings = links[0], []
    for other in links[1:]:
        if other.key == first.key:
            first = msgspec.structs.replace(
                first,
                role=first.role or other.role,
                total=first.total if first.total is not None else other.total,
                minimum=first.minimum if first.minimum is not None else other.minimum,
            )
        else:
            text = f"names gang {first.key} ({first.source}) and {other.key} ({other.source}); the first counts"
            about = f"Pod/{pod.metadata.namespace}/{pod.metadata.name}"
            findings.append(Finding(object=about, field="metadata", code=GANG_CONFLICT, message=text))
    return first, tuple(findings)
