"""Queues and PriorityClasses that a gang names: where it names them, whether they are there, whether that can be told.

A kind of which the input has no object at all cannot be checked: the reference counts as satisfied, with a doubt.
Called by `gangs` for the reason and by `World` for the doubt.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from gangpool.core.model import Reason
from gangpool.intake.priority import CLASS
from gangpool.intake.store import Key, Object, Store
from gangpool.workloads import fields
from gangpool.workloads.base import GangOf, WorkloadError
from gangpool.workloads.subject import QUEUE_ANNOTATION

VOLCANO_QUEUE = ("scheduling.volcano.sh", "Queue")
KAI_QUEUE = ("scheduling.run.ai", "Queue")
LOCAL_QUEUE = ("kueue.x-k8s.io", "LocalQueue")
QUEUES: tuple[Key, ...] = (VOLCANO_QUEUE, KAI_QUEUE, LOCAL_QUEUE)
DEFAULT_QUEUE = "default"

UNCHECKED = "reference-unchecked"
_ANNOTATIONS, _LABELS = "metadata.annotations", "metadata.labels"
_POLICY = "spec.runPolicy.schedulingPolicy"
_QUEUE_PLACES: tuple[tuple[str, str, Key], ...] = (
    ("spec", "queue", VOLCANO_QUEUE),
    (_POLICY, "queue", VOLCANO_QUEUE),
    (_ANNOTATIONS, QUEUE_ANNOTATION, VOLCANO_QUEUE),
    (_LABELS, "volcano.sh/queue-name", VOLCANO_QUEUE),
    (_LABELS, "kai.scheduler/queue", KAI_QUEUE),
    (_LABELS, "kueue.x-k8s.io/queue-name", LOCAL_QUEUE),
)
"""(path of a map, key in it, kind that is meant), in the order in which dialects read them."""
_PRIORITY_PLACES = (
    ("spec", "priorityClassName"),
    (_POLICY, "priorityClass"),
    (_LABELS, "priorityClassName"),
    (_LABELS, "ray.io/priority-class-name"),
)


class Origin(Struct, frozen=True):
    """Who tells of a gang: `subject` is `Kind/namespace/name`, `obj` the object where it is there."""

    subject: str
    obj: Object | None = None

    def holds(self, path: str, key: str, value: str) -> bool:
        """Does the object say this value there?"""
        try:
            return self.obj is not None and fields.mapping(self.obj, path).get(key) == value
        except WorkloadError:
            return False


def queue_place(name: str, origin: Origin) -> tuple[str, Key | None]:
    """(field that names the queue, kind of queue that it means); ("", None) where that cannot be told."""
    for path, key, kind in _QUEUE_PLACES:
        if origin.holds(path, key, name):
            return _field(path, key), kind
    return "", None


def priority_place(name: str, origin: Origin) -> str:
    """The field that names the PriorityClass, "" where that cannot be told."""
    return next((_field(path, key) for path, key in _PRIORITY_PLACES if origin.holds(path, key, name)), "")


def _field(path: str, key: str) -> str:
    return f"{path}[{key}]" if path in (_ANNOTATIONS, _LABELS) else f"{path}.{key}"


def queue_trouble(found: GangOf, origin: Origin, store: Store) -> Reason | None:
    """The reason of a gang whose queue is not there, or takes nothing new."""
    name = found.queue
    namespace = found.key.partition("/")[0]
    queue = next((obj for kind in QUEUES if (obj := store.get(*kind, namespace, name)) is not None), None)
    if queue is None:
        if not is_queue_known(name, origin, store):
            return None
        return Reason("object-missing", f"queue {name} not found", next_step="create the queue, or name another")
    state = state_of(queue)
    if state in ("Closed", "Closing"):
        return Reason("queue-closed", f"queue {name} is {state.lower()}", next_step="open the queue, or name another")
    return None


def is_queue_known(name: str, origin: Origin, store: Store) -> bool:
    """Can the input tell whether a queue of this name exists? Nobody needs the default one to."""
    if not name or name == DEFAULT_QUEUE:
        return False
    _, kind = queue_place(name, origin)
    return any(store.any_of(*one) for one in (QUEUES if kind is None else (kind,)))


def state_of(queue: Object) -> str:
    """The state that a queue's controller has written. Raises WorkloadError."""
    return fields.text(queue, "status.state")


def doubts(found: GangOf, origin: Origin, store: Store) -> Iterator[tuple[str, str, str]]:
    """(field, code, words) for references of a gang that the input cannot answer."""
    name = found.queue
    if name and name != DEFAULT_QUEUE and not is_queue_known(name, origin, store):
        namespace = found.key.partition("/")[0]
        if all(store.get(*kind, namespace, name) is None for kind in QUEUES):
            field, kind = queue_place(name, origin)
            kinds = f"{kind[1]}s of {kind[0]}" if kind else "queues"
            yield field, UNCHECKED, f"the input has no {kinds}; queue {name} is taken as there"
    name = found.priority_class
    if name and not store.any_of(*CLASS):
        yield priority_place(name, origin), UNCHECKED, no_classes(name)


def no_classes(name: str) -> str:
    """The doubt about a PriorityClass."""
    return f"the input has no PriorityClasses; {name} is taken as there, with priority 0"
