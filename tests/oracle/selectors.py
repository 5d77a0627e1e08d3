"""Label selectors, node selectors and tolerations, one test after the other as the documentation words them.

Sources: "Labels and Selectors", "Assigning Pods to Nodes" (table of operators), "Taints and Tolerations".
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
Labels = dict[str, str]

HOLDS_PODS_OFF = ("NoSchedule", "NoExecute")
"""Effects that keep a new pod away; PreferNoSchedule is only a wish."""


def requirement_holds(requirement: Json, labels: Labels) -> bool:
    """One of matchExpressions. NotIn and DoesNotExist also hold where the label is absent; Gt and Lt want integers."""
    key, operator, values = requirement["key"], requirement["operator"], requirement.get("values") or []
    match operator:
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt" | "Lt":
            has, wants = _integer(labels.get(key)), _integer(values[0])
            if has is None or wants is None:
                return False
            return has > wants if operator == "Gt" else has < wants
    raise ValueError(f"unknown operator {operator}")


def label_selector_matches(selector: Json | None, labels: Labels) -> bool:
    """An absent selector matches nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = (selector.get("matchLabels") or {}).items()
    return all(labels.get(key) == value for key, value in wanted) and all(
        requirement_holds(requirement, labels) for requirement in selector.get("matchExpressions") or []
    )


def node_is_selected(pod: Json, node: Json) -> bool:
    """nodeSelector and required node affinity, both."""
    labels = node["metadata"].get("labels") or {}
    spec = pod["spec"]
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or node_terms_match(required, node)


def node_terms_match(selector: Json, node: Json) -> bool:
    """Any of the terms; inside a term everything. A term without any requirement matches no node."""
    return any(_node_term_matches(term, node) for term in selector.get("nodeSelectorTerms") or [])


def _node_term_matches(term: Json, node: Json) -> bool:
    labels = node["metadata"].get("labels") or {}
    fields = {"metadata.name": node["metadata"]["name"]}
    expressions, on_fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not on_fields:
        return False
    return all(requirement_holds(r, labels) for r in expressions) and all(
        requirement_holds(r, fields) for r in on_fields
    )


def taints_of(node: Json) -> list[Json]:
    """The node's taints, and those that stand for cordon and for a Ready condition that is not True."""
    spec = node.get("spec") or {}
    taints = list(spec.get("taints") or [])
    if spec.get("unschedulable"):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    for condition in (node.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "Ready" and condition.get("status") in ("False", "Unknown"):
            name = "not-ready" if condition["status"] == "False" else "unreachable"
            taints.append({"key": f"node.kubernetes.io/{name}", "effect": "NoSchedule"})
    return taints


def untolerated(pod: Json, node: Json) -> list[Json]:
    """Taints of the node that keep this pod away."""
    tolerations = pod["spec"].get("tolerations") or []
    return [
        taint
        for taint in taints_of(node)
        if taint["effect"] in HOLDS_PODS_OFF and not any(_tolerates(t, taint) for t in tolerations)
    ]


def _tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    exists = toleration.get("operator") == "Exists"
    if not toleration.get("key"):
        return exists
    if toleration["key"] != taint["key"]:
        return False
    return exists or (toleration.get("value") or "") == (taint.get("value") or "")


def _integer(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
