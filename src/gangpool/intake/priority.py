"""Priority of a class name, as the API server's admission would fill it in. Called by `World` and `gangs`."""

from __future__ import annotations

from gangpool.intake.store import Store
from gangpool.workloads import fields

CLASS = ("scheduling.k8s.io", "PriorityClass")
SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The two classes that every cluster has."""
LIMIT = (-(1 << 31), (1 << 31) - 1)


def priority_of(name: str, store: Store) -> int | None:
    """The value of a class; the default class for ""; None: there is no such class."""
    if name in SYSTEM:
        return SYSTEM[name]
    if name:
        found = store.get(*CLASS, "", name)
        return None if found is None else fields.integer(found, "value", within=LIMIT)
    for found in store.all_of(*CLASS):
        if fields.flag(found, "globalDefault"):
            return fields.integer(found, "value", within=LIMIT)
    return 0
