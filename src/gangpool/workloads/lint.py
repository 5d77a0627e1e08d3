"""Doubts about a workload's own pods: affinity that can never match, cards split over pods.

Called by the dialects of gangs. Pure: a template and the labels of the pods in, findings out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gangpool.core.match import matches
from gangpool.core.model import Requirement, Selector
from gangpool.objects.pod import LabelSelector, PodAffinityTerm
from gangpool.workloads.base import Finding
from gangpool.workloads.findings import DEAD_AFFINITY, NVLINK_LOST
from gangpool.workloads.subject import Subject
from gangpool.workloads.templates import Template

CARDS_OF_A_NODE = 8
"""Cards of an HGX or DGX board, which one NVSwitch fabric joins."""

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def nvlink_lost(head: Subject, template: Template, count: int, field: str) -> list[Finding]:
    """Eight pods of a gang with one card each may land on eight nodes and then talk over the network."""
    if count < CARDS_OF_A_NODE or count % CARDS_OF_A_NODE or template.cards() != 1:
        return []
    nodes = count // CARDS_OF_A_NODE
    whole = f"{nodes} pod{'s' if nodes > 1 else ''} with {CARDS_OF_A_NODE} cards"
    text = f"{count} pods with one card each may share no node; {whole} would keep NVLink between the cards"
    return [head.finding(field, NVLINK_LOST, text)]


def dead_affinity(head: Subject, template: Template, own: Sequence[Mapping[str, str]], namespace: str) -> list[Finding]:
    """podAffinity and spread rules whose selector matches no pod of the workload (`own`: labels of its pods)."""
    found = []
    for field, selector in _selectors(template, namespace):
        chosen = _selector(selector)
        if not any(matches(chosen, labels) for labels in own):
            text = f"the selector {_text(selector)} matches no pod of this {head.kind}, so the rule does nothing"
            found.append(head.finding(f"{template.path}.spec.{field}", DEAD_AFFINITY, text))
    return found


def _selectors(template: Template, namespace: str) -> Iterator[tuple[str, LabelSelector | None]]:
    """(field path in the pod spec, selector) of each rule that may be meant for pods of the same workload."""
    affinity = template.typed.affinity
    together = affinity.podAffinity if affinity else None
    if together:
        for i, term in enumerate(getattr(together, REQUIRED) or ()):
            if _here(term, namespace):
                yield f"affinity.podAffinity.{REQUIRED}[{i}].labelSelector", term.labelSelector
        for i, weighted in enumerate(getattr(together, PREFERRED) or ()):
            term = weighted.podAffinityTerm
            if term and _here(term, namespace):
                yield f"affinity.podAffinity.{PREFERRED}[{i}].podAffinityTerm.labelSelector", term.labelSelector
    for i, spread in enumerate(template.typed.topologySpreadConstraints or ()):
        yield f"topologySpreadConstraints[{i}].labelSelector", spread.labelSelector


def _here(term: PodAffinityTerm, namespace: str) -> bool:
    """Does the term look at the pod's own namespace?"""
    return term.namespaceSelector is not None or not term.namespaces or namespace in term.namespaces


def _selector(selector: LabelSelector | None) -> Selector:
    if selector is None:
        return None
    equal = [Requirement(k, "In", (v,)) for k, v in (selector.matchLabels or {}).items()]
    more = [_requirement(e.key, e.operator, tuple(e.values or ())) for e in selector.matchExpressions or ()]
    return (*equal, *more)


def _requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    """An operator that the API does not have matches nothing."""
    for known in ("In", "NotIn", "Exists", "DoesNotExist"):
        if operator == known:
            return Requirement(key, known, values)
    return Requirement(key, "In")


def _text(selector: LabelSelector | None) -> str:
    if selector is None:
        return "that is missing"
    parts = [f"{k}={v}" for k, v in (selector.matchLabels or {}).items()]
    parts += [f"{e.key} {e.operator} {','.join(e.values or ())}".rstrip() for e in selector.matchExpressions or ()]
    return ", ".join(parts) or "{}"
