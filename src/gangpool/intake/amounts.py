"""Amounts of the ledger back as text for people and scripts: plain decimals in Kubernetes' own units.

The ledger counts CPU in milli-CPU and everything else in whole units. Called by the answers of `tree` and `nodes`.
"""

from __future__ import annotations

from collections.abc import Mapping

CPU = "cpu"


def amounts_text(amounts: Mapping[str, int]) -> dict[str, str]:
    """Each amount as plain decimal text.

    >>> amounts_text({"cpu": 191500, "nvidia.com/gpu": 8})
    {'cpu': '191.5', 'nvidia.com/gpu': '8'}
    """
    return {name: amount_text(name, amount) for name, amount in amounts.items()}


def amount_text(resource: str, amount: int) -> str:
    """One amount as plain decimal text; a node that is over-booked has negative ones.

    >>> amount_text("cpu", -1250)
    '-1.25'
    """
    if resource != CPU:
        return str(amount)
    whole, milli = divmod(abs(amount), 1000)
    tail = f".{milli:03}".rstrip("0").rstrip(".")
    return f"{'-' if amount < 0 else ''}{whole}{tail}"
