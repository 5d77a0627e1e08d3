"""Whether labels meet requirements: the one place that knows the operators of Kubernetes selectors.

Called by the columns (node labels), the terms (pod labels) and the explanation. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gangpool.core.model import NodeSelector, Requirement, Selector, Taint, Toleration

INTEGER = re.compile(r"[+-]?[0-9]{1,63}")


def holds(requirement: Requirement, value: str | None) -> bool:
    """Does one label value (None: label absent) meet the requirement? Gt and Lt compare integers; text that is
    no integer never matches. NotIn is true for an absent label, as in the API."""
    operator = requirement.operator
    if operator == "In":
        return value is not None and value in requirement.values
    if operator == "NotIn":
        return value is None or value not in requirement.values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    left, right = _integer(value), _integer(requirement.values[0] if requirement.values else None)
    if left is None or right is None:
        return False
    return left > right if operator == "Gt" else left < right


def _integer(text: str | None) -> int | None:
    """As the API server parses it: 64 bits, no underscores or spaces, which `int` would take."""
    if text is None or not INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


def matches(selector: Selector, labels: Mapping[str, str]) -> bool:
    """A label selector on labels. None matches nothing, `()` everything."""
    return selector is not None and all(holds(r, labels.get(r.key)) for r in selector)


def node_matches(selector: NodeSelector, labels: Mapping[str, str]) -> bool:
    """Any term with at least one requirement, all of whose requirements hold. `()`: no restriction."""
    return not selector or any(term and all(holds(r, labels.get(r.key)) for r in term) for term in selector)


def tolerates(tolerations: tuple[Toleration, ...], taint: Taint) -> bool:
    """Does one of the tolerations cover this taint? An empty key with Exists covers every key."""
    return any(
        (not t.effect or t.effect == taint.effect)
        and (t.key == taint.key or (not t.key and t.operator == "Exists"))
        and (t.operator == "Exists" or t.value == taint.value)
        for t in tolerations
    )


def untolerated(tolerations: tuple[Toleration, ...], taints: tuple[Taint, ...], soft_too: bool = False) -> Taint | None:
    """The first taint that keeps a member away (PreferNoSchedule only with `soft_too`), None if there is none."""
    for taint in taints:
        if (soft_too or taint.effect != "PreferNoSchedule") and not tolerates(tolerations, taint):
            return taint
    return None
