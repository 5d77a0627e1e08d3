"""Objects that pods and gangs refer to are read once when they come, so that a mistake is told under their own name
and never in the middle of a plan. Called by `World.object`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gangpool.intake import fabric, priority, references, runtime, storage
from gangpool.intake.store import Key, Object, kind_of
from gangpool.workloads import fields

NAMESPACE = ("", "Namespace")


def check(obj: Object) -> None:
    """Raises ObjectError or WorkloadError where a kind that is read later cannot be read."""
    reader = _READERS.get(kind_of(obj))
    if reader is not None:
        fields.text(obj, "metadata.name")
        reader(obj)


def labels_of(namespace: Object) -> dict[str, str]:
    """Labels of a Namespace. Raises WorkloadError."""
    return fields.texts(namespace, "metadata.labels")


def _priority(obj: Object) -> None:
    priority.value_of(obj)
    priority.is_default(obj)


_READERS: Mapping[Key, Callable[[Object], object]] = {
    NAMESPACE: labels_of,
    storage.CLAIM: storage.claim_of,
    storage.VOLUME: storage.volume_of,
    storage.CLASS: storage.class_of,
    priority.CLASS: _priority,
    runtime.CLASS: runtime.read,
    fabric.HYPERNODE: fabric.domain_of,
    **dict.fromkeys(fabric.TOPOLOGIES, fabric.keys_of),
    **dict.fromkeys(references.QUEUES, references.state_of),
}
