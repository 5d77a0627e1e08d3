"""Priority of a class name, as the API server's admission would fill it in. Called by `World` and `gangs`."""

from __future__ import annotations

from gangpool.core.model import Reason
from gangpool.intake.store import Object, Store
from gangpool.workloads import fields

CLASS = ("scheduling.k8s.io", "PriorityClass")
SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The two classes that every cluster has."""
LIMIT = (-(1 << 31), (1 << 31) - 1)


def priority_of(name: str, store: Store) -> int | None:
    """The value of a class; that of the default class for ""; None: there is no such class."""
    if name in SYSTEM:
        return SYSTEM[name]
    if name:
        found = store.get(*CLASS, "", name)
        return None if found is None else value_of(found)
    defaults = [value_of(found) for found in store.all_of(*CLASS) if is_default(found)]
    return min(defaults, default=0)  # of several the lowest, as the API server takes it


def value_of(obj: Object) -> int:
    """The value of a PriorityClass. Raises WorkloadError."""
    return fields.integer(obj, "value", within=LIMIT)


def is_default(obj: Object) -> bool:
    """Does it count for pods that name no class? Raises WorkloadError."""
    return fields.flag(obj, "globalDefault")


def why_no_priority(name: str, store: Store) -> Reason | None:
    """The reason of who names a PriorityClass that is not there, though the input has others."""
    if not name or not store.any_of(*CLASS) or priority_of(name, store) is not None:
        return None
    return Reason("object-missing", f"priorityclass {name} not found", next_step="create it, or correct the name")
