"""The answer of `gangpool explain` as structs: exactly `gangpool.io/explain/v1` of the machine interface.

Made by `explained` and `explained_node`, printed by `gangpool.cli`. Field names and their order are a promise to
scripts: fields may be added at the end of a struct, never renamed or removed.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from gangpool.intake.answer import DomainEntry, ReasonEntry
from gangpool.intake.crew import MembersEntry
from gangpool.intake.world import Note

EXPLAIN_SCHEMA = "gangpool.io/explain/v1"


class AlsoEntry(Struct, frozen=True):
    """Something else that is worth knowing: the code of a reason, or of a finding."""

    code: str
    message: str


def doubt_of(note: Note) -> AlsoEntry:
    """What the world could not use of an object."""
    return AlsoEntry(note.code, f"{note.field}: {note.message}" if note.field else note.message)


class ResourceEntry(Struct, frozen=True):
    """Amounts as plain decimals. `capacity` None where the node does not say; `free` may be negative."""

    resource: str
    capacity: str | None
    allocatable: str
    held: str
    free: str


class HolderEntry(Struct, frozen=True):
    """A pod that holds room on a node. `cards` as `place` shows them; `ours`: it names our scheduler."""

    namespace: str
    pod: str
    gang: str | None
    cards: tuple[int, ...]
    cards_exact: bool
    ours: bool


class CardEntry(Struct, frozen=True):
    """A card that the node names."""

    index: int
    healthy: bool
    reason: str | None


class NodeRoom(Struct, frozen=True):
    """What a node has, what is free, who holds the rest. `cards` empty where the node names none."""

    ready: bool
    schedulable: bool
    resources: tuple[ResourceEntry, ...]
    taints: tuple[str, ...]
    domains: tuple[DomainEntry, ...]
    cards: tuple[CardEntry, ...]
    pods: tuple[HolderEntry, ...]


class ExplainAnswer(Struct, frozen=True):
    """The whole answer. `state` of a node: `open` or `closed` to new pods. `reason` None: nothing is in the way.
    `node` and `devices`: of a pod. `members`: of its gang, or of the workload; `nodes` and `domain`: where those are.
    `room`: of a node."""

    schema: str
    object: str
    gang: str | None
    state: str
    reason: ReasonEntry | None = None
    also: tuple[AlsoEntry, ...] = ()
    node: str | None = None
    devices: Any = None
    since: str | None = None
    members: MembersEntry | None = None
    nodes: tuple[str, ...] = ()
    domain: DomainEntry | None = None
    room: NodeRoom | None = None


class NotThere(Exception):
    """No such object; the message says so in one sentence, with names that are close."""
