"""From what a dialect says of a gang to the core's Gang: priority, age, what keeps it from starting.

Called by `World` whenever the objects or the members of a gang have changed."""

from __future__ import annotations

from collections.abc import Sequence

from gangpool.core.model import Gang, Member, Reason
from gangpool.intake import times
from gangpool.intake.priority import priority_of, why_no_priority
from gangpool.intake.references import Origin, queue_trouble
from gangpool.intake.store import Store
from gangpool.workloads.base import GangOf


def gang_from(found: GangOf, members: Sequence[Member], store: Store, origin: Origin) -> Gang:
    """`members`: those that are known. As old as the object that tells of it, else as its oldest member."""
    minimum = found.minimum
    if minimum is None:
        minimum = found.total if found.total is not None else len(members)
    named = priority_of(found.priority_class, store) if found.priority_class else None
    created = times.created(origin.obj)
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
        created=created if created is not None else min((m.created for m in members), default=0.0),
        blocked=why_blocked(found, store, origin),
        optional_roles=found.optional_roles,
    )


def why_blocked(found: GangOf, store: Store, origin: Origin) -> Reason | None:
    """What keeps a gang from starting whatever the room."""
    if found.error:
        return Reason("invalid-object", found.error, next_step="correct the object")
    if found.suspended:
        return Reason("suspended", "the workload is suspended", next_step="resume it")
    return why_no_priority(found.priority_class, store) or queue_trouble(found, origin, store)
