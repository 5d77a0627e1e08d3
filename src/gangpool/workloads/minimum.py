"""The minimum that an annotation asks for, on objects whose kind has no field for it.

Called by the dialects of Job, JobSet, Deployment and their like.
"""

from __future__ import annotations

from gangpool.workloads import fields
from gangpool.workloads.subject import Subject

OURS = "gangpool.io/min-member"
VOLCANO = "scheduling.volcano.sh/group-min-member"
KAI_BATCH = "kai.scheduler/batch-min-member"
"""Read by KAI on Job and JobSet only."""


def asked(
    head: Subject, template: dict[str, str], path: str, also: tuple[str, ...] = (VOLCANO,)
) -> tuple[str, int] | None:
    """(field path, minimum) from the object's annotations, else our own from those of its template at `path`."""
    for key in (OURS, *also):
        value = fields.number(head.annotations, key, "metadata.annotations")
        if value is not None:
            return f"metadata.annotations[{key}]", value
    where = f"{path}.metadata.annotations"
    value = fields.number(template, OURS, where)
    return None if value is None else (f"{where}[{OURS}]", value)
