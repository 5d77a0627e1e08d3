"""The codes of findings that the dialects make: what each means. The table of the docs is made from it.

Used by every dialect; `check`, `place` and the webhook show them with object, field and message.
"""

from __future__ import annotations

MINMEMBER_IN_JOB = "minmember-in-job"
TASK_NAME_MISSING = "task-name-missing"
DEAD_AFFINITY = "dead-affinity"
NVLINK_LOST = "nvlink-lost"
INVALID_OBJECT = "invalid-object"
OBJECT_MISSING = "object-missing"
NOT_SUPPORTED = "not-supported"
GANG_CONFLICT = "gang-conflict"
LEVEL_CONFLICT = "level-conflict"
LEVEL_INCOMPLETE = "level-incomplete"
ORDERED_READY = "ordered-ready"
NOT_A_NUMBER = "not-a-number"

CODES: dict[str, str] = {
    MINMEMBER_IN_JOB: "A Volcano Job has `minMember`, a field of the PodGroup; it is taken as `minAvailable`.",
    TASK_NAME_MISSING: "A task of a Volcano Job has no name; it is called `default` and its index.",
    DEAD_AFFINITY: "A selector matches none of the workload's own pods, so its rule does nothing.",
    NVLINK_LOST: "Pods with one card each that could be one pod with all cards of a node, joined by NVLink.",
    INVALID_OBJECT: "The object contradicts itself or can never run; its gang waits with the same code.",
    OBJECT_MISSING: "An object that this one refers to is not there.",
    NOT_SUPPORTED: "The object asks for something that gangpool cannot say; the rest of it counts.",
    GANG_CONFLICT: "A pod names two different gangs; the first dialect in the order of the registry counts.",
    LEVEL_CONFLICT: "Two annotations name different required levels; the first in the order of the docs counts.",
    LEVEL_INCOMPLETE: "A block size without a level, or a level of blocks without a size; no blocks are made.",
    ORDERED_READY: "Members are created one after the other, so a gang of them can never be complete.",
    NOT_A_NUMBER: "An annotation or label that must be a whole number is none; it is left out.",
}
