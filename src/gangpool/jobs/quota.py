"""Whether the quotas of a namespace can ever take a Job's minimum. Pure; called before its first pod is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gangpool.core.amount import amount_text
from gangpool.objects.books import in_ledger_units, sorted_requests
from gangpool.objects.quantity import QuantityError, milli
from gangpool.objects.typed import as_pod
from gangpool.workloads import fields, registry

Object = Mapping[str, Any]


def shortage(job: Object, quotas: Sequence[Object]) -> str:
    """Quota, limit and need, where some quota has not room for the minimum; "" where all have."""
    expansion = registry.expand(job)
    gang = expansion.gangs[0] if expansion.gangs else None
    least = gang.minimum if gang is not None and gang.minimum is not None else len(expansion.members)
    needs: dict[str, int] = {"pods": 0}
    for _, member in expansion.members[:least]:
        for name, amount in sorted_requests(as_pod(member.pod)):
            needs[name] = needs.get(name, 0) + amount
    for quota in quotas:
        hard = fields.find(quota, "status.hard") or fields.find(quota, "spec.hard")
        used = fields.find(quota, "status.used")
        if not isinstance(hard, Mapping):
            continue
        for resource, limit in hard.items():
            name = str(resource).removeprefix("requests.")
            if name not in needs:
                continue
            has = _amount(name, limit)
            taken = _amount(name, used.get(resource, 0)) if isinstance(used, Mapping) else 0
            if has is not None and needs[name] > has - (taken or 0):
                return (
                    f"quota {fields.text(quota, 'metadata.name')} cannot take the minimum: {resource} is limited to "
                    f"{amount_text(name, has)}, {amount_text(name, taken or 0)} are used, "
                    f"the job needs {amount_text(name, needs[name])}"
                )
    return ""


def _amount(resource: str, quantity: Any) -> int | None:
    try:
        return in_ledger_units(resource, milli(quantity))
    except QuantityError:
        return None
