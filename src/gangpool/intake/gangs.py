"""From what a dialect says of a gang to the core's Gang: priority, age, what keeps it from starting.

Called by `World` whenever the objects or the members of a gang have changed."""

from __future__ import annotations

from collections.abc import Sequence

from gangpool.core.model import Gang, Member, Reason
from gangpool.intake.priority import CLASS, priority_of
from gangpool.intake.store import Store
from gangpool.workloads import fields
from gangpool.workloads.base import GangOf

QUEUES = (
    ("scheduling.volcano.sh", "Queue"),
    ("scheduling.run.ai", "Queue"),
    ("kueue.x-k8s.io", "LocalQueue"),
)
DEFAULT_QUEUE = "default"


def gang_from(found: GangOf, members: Sequence[Member], store: Store, created: float | None) -> Gang:
    """`members`: those that are known; `created`: of the object that defines the gang, None: unknown."""
    minimum = found.minimum
    if minimum is None:
        minimum = found.total if found.total is not None else len(members)
    named = priority_of(found.priority_class, store) if found.priority_class else None
    ages = [m.created for m in members]
    return Gang(
        key=found.key,
        minimum=max(minimum, 1),
        roles=found.roles,
        required=found.required,
        preferred=found.preferred,
        blocks=found.blocks,
        role_levels=found.role_levels,
        queue=found.queue,
        priority=named if named is not None else max((m.priority for m in members), default=0),
        created=created if created is not None else min(ages, default=0.0),
        blocked=why_blocked(found, store),
        optional_roles=found.optional_roles,
    )


def why_blocked(found: GangOf, store: Store) -> Reason | None:
    """What keeps a gang from starting whatever the room."""
    if found.error:
        return Reason("invalid-object", found.error, next_step="correct the object")
    if found.suspended:
        return Reason("suspended", "the workload is suspended", next_step="resume it")
    if found.priority_class and is_priority_missing(found.priority_class, store):
        return missing_priority(found.priority_class)
    return _queue_trouble(found, store)


def is_priority_missing(name: str, store: Store) -> bool:
    """The input has PriorityClasses, but not this one."""
    return store.any_of(*CLASS) and priority_of(name, store) is None


def missing_priority(name: str) -> Reason:
    """The reason of who names a PriorityClass that is not there."""
    return Reason("object-missing", f"priorityclass {name} not found", next_step="create it, or correct the name")


def _queue_trouble(found: GangOf, store: Store) -> Reason | None:
    name = found.queue
    kinds = [kind for kind in QUEUES if store.any_of(*kind)]
    if not name or name == DEFAULT_QUEUE or not kinds:
        return None
    namespace = found.key.partition("/")[0]
    queue = next((obj for kind in kinds if (obj := store.get(*kind, namespace, name)) is not None), None)
    if queue is None:
        return Reason("object-missing", f"queue {name} not found", next_step="create the queue, or name another")
    state = fields.text(queue, "status.state")
    if state in ("Closed", "Closing"):
        return Reason("queue-closed", f"queue {name} is {state.lower()}", next_step="open the queue, or name another")
    return None
