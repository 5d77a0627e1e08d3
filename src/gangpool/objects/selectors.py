"""Label selectors and node selectors of the API as the core's requirements.

Called by `objects.shape`, `objects.terms` and intake (namespaces, claims, groups). Whether something matches is the
core's question (`core.match`). Equal selectors come out equal, however they were written: requirements and values
are sorted and single. What the API server would refuse raises ObjectError with the path of the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gangpool.core.model import NAME_FIELD, NodeSelector, Operator, Requirement, Selector
from gangpool.objects.faults import ObjectError
from gangpool.objects.pod import LabelSelector, NodeSelectorTerm, NodeSelectorTerms, SelectorRequirement

_LABEL_OPERATORS: dict[str, Operator] = {
    "In": "In",
    "NotIn": "NotIn",
    "Exists": "Exists",
    "DoesNotExist": "DoesNotExist",
}
_NODE_OPERATORS: dict[str, Operator] = {**_LABEL_OPERATORS, "Gt": "Gt", "Lt": "Lt"}
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_INT64 = range(-(2**63), 2**63)


def selector_of(selector: LabelSelector | None, path: str = "labelSelector") -> Selector:
    """None, an absent selector, matches nothing; an empty one matches everything."""
    if selector is None:
        return None
    found = set(equalities(selector.matchLabels))
    for i, expression in enumerate(selector.matchExpressions or ()):
        found.add(_requirement(expression, _LABEL_OPERATORS, f"{path}.matchExpressions[{i}]"))
    return in_order(found)


def node_selector_of(selector: dict[str, str] | None) -> NodeSelector:
    """`spec.nodeSelector`: every label must have its value. () where there is none."""
    return (in_order(equalities(selector)),) if selector else ()


def node_terms_of(selector: NodeSelectorTerms, path: str) -> NodeSelector:
    """Required node affinity: one of the terms must hold; a term that says nothing matches no node."""
    if not selector.nodeSelectorTerms:
        raise ObjectError(f"{path}.nodeSelectorTerms", "needs at least one term")
    return tuple(
        node_term_of(term, f"{path}.nodeSelectorTerms[{i}]") for i, term in enumerate(selector.nodeSelectorTerms)
    )


def node_term_of(term: NodeSelectorTerm, path: str) -> tuple[Requirement, ...]:
    """All requirements of one term; those of `matchFields` ask for the node's name."""
    found: set[Requirement] = set()
    for i, expression in enumerate(term.matchExpressions or ()):
        found.add(_requirement(expression, _NODE_OPERATORS, f"{path}.matchExpressions[{i}]"))
    for i, expression in enumerate(term.matchFields or ()):
        found.add(_field_requirement(expression, f"{path}.matchFields[{i}]"))
    return in_order(found)


def equalities(labels: dict[str, str] | None) -> Iterable[Requirement]:
    """One requirement for each label that must have its value."""
    return (Requirement(key, "In", (value,)) for key, value in (labels or {}).items())


def in_order(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Sorted, so that the same requirements are the same value in whatever order they were written."""
    return tuple(sorted(requirements, key=lambda r: (r.key, r.operator, r.values)))


def _requirement(expression: SelectorRequirement, operators: dict[str, Operator], path: str) -> Requirement:
    operator = operators.get(expression.operator)
    values = expression.values or []
    if operator is None:
        raise ObjectError(f"{path}.operator", f"{expression.operator!r} is none of {', '.join(operators)}")
    if not expression.key:
        raise ObjectError(f"{path}.key", "is missing")
    if operator in ("In", "NotIn") and not values:
        raise ObjectError(f"{path}.values", f"operator {operator} needs at least one value")
    if operator in ("Exists", "DoesNotExist") and values:
        raise ObjectError(f"{path}.values", f"operator {operator} takes no values")
    if operator in ("Gt", "Lt"):
        return Requirement(expression.key, operator, (_integer(values, f"{path}.values"),))
    return Requirement(expression.key, operator, tuple(sorted(set(values))))


def _integer(values: list[str], path: str) -> str:
    """The one value of Gt or Lt in its shortest spelling."""
    if len(values) != 1:
        raise ObjectError(path, f"Gt and Lt take exactly one value, not {len(values)}")
    if not _INTEGER.fullmatch(values[0]) or int(values[0]) not in _INT64:
        raise ObjectError(path, f"Gt and Lt compare whole numbers, and {values[0]!r} is none")
    return str(int(values[0]))


def _field_requirement(expression: SelectorRequirement, path: str) -> Requirement:
    if expression.key != "metadata.name":
        raise ObjectError(f"{path}.key", f"{expression.key!r} cannot be asked for; only metadata.name can")
    if expression.operator not in ("In", "NotIn"):
        raise ObjectError(f"{path}.operator", f"{expression.operator!r} is neither In nor NotIn")
    values = expression.values or []
    if len(values) != 1:
        raise ObjectError(f"{path}.values", f"must be exactly one name, not {len(values)}")
    return Requirement(NAME_FIELD, _LABEL_OPERATORS[expression.operator], (values[0],))
