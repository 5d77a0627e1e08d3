"""Exact quantities and what a pod asks for: the tool's own, independent reading of the Kubernetes rules.

Used by the judge of overcommit. It is deliberately slow and obvious (fractions, no caching).
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

Amounts = dict[str, Fraction]
_SUFFIX: dict[str, Fraction] = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
}
_SUFFIX |= {s: Fraction(1000) ** (i + 1) for i, s in enumerate(("k", "M", "G", "T", "P", "E"))}
_SUFFIX |= {s: Fraction(1024) ** (i + 1) for i, s in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))}
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?)$")


def quantity(text: object) -> Fraction:
    """Exact value.

    >>> quantity("1k"), quantity("0.5Gi") == 2**29, quantity("100m"), quantity("1e3")
    (Fraction(1000, 1), True, Fraction(1, 10), Fraction(1000, 1))
    """
    found = _QUANTITY.match(str(text))
    if not found:
        raise ValueError(f"{text!r} is not a quantity")
    number, exponent, suffix = found.groups()
    return Fraction(number) * (Fraction(10) ** int(exponent) if exponent else _SUFFIX[suffix or ""])


def _add(a: Amounts, b: Amounts) -> Amounts:
    return {k: a.get(k, Fraction(0)) + b.get(k, Fraction(0)) for k in a.keys() | b.keys()}


def _larger(a: Amounts, b: Amounts) -> Amounts:
    return {k: max(a.get(k, Fraction(0)), b.get(k, Fraction(0))) for k in a.keys() | b.keys()}


def _asked(container: dict[str, Any]) -> Amounts:
    resources = container.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {k: quantity(v) for k, v in asked.items()}


def pod_requests(pod: dict[str, Any]) -> Amounts:
    """Effective request of a pod: sidecars run beside, plain init containers before, overhead on top.

    Plain init containers count until the pod ends, as for kube-scheduler 1.37 (tried) and the kubelet.
    """
    spec = pod["spec"]
    total: Amounts = {}
    for c in spec["containers"]:
        total = _add(total, _asked(c))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for c in spec.get("initContainers") or []:
        if c.get("restartPolicy") == "Always":
            sidecars = _add(sidecars, _asked(c))
            peak = _larger(peak, sidecars)
        else:
            peak = _larger(peak, _add(sidecars, _asked(c)))
    total = _larger(_add(total, sidecars), peak)
    total = _add(total, {k: quantity(v) for k, v in (spec.get("overhead") or {}).items()})
    total["pods"] = Fraction(1)
    return total


def plain(value: Fraction) -> str:
    """For messages: whole numbers without a fraction."""
    return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"
