"""The answer of `gangpool place` as structs: exactly `gangpool.io/place/v1` of the machine interface.

Made by `gangpool.intake.place`, printed by `gangpool.cli`. Field names and their order are a promise to scripts:
fields may be added at the end of a struct, never renamed or removed. No struct omits its defaults when encoded.
"""

from __future__ import annotations

from msgspec import Struct

PLACE_SCHEMA = "gangpool.io/place/v1"


class PoolEntry(Struct, frozen=True):
    """The pool before and after the plan; `cards` counts whole cards of all nodes, also of unschedulable ones."""

    nodes: int
    cards: int
    cards_free_before: int
    cards_free_after: int


class SliceEntry(Struct, frozen=True):
    """A part of a card that a container gets: MIG (`profile`, `start`) or a share (`memory_mib`, `compute_pct`)."""

    container: str
    card: int
    resource: str
    profile: str | None = None
    start: int | None = None
    memory_mib: int | None = None
    compute_pct: int | None = None


class DomainEntry(Struct, frozen=True):
    """The domain of one level: `level` is the label key, `domain` the path of values from the widest level."""

    level: str
    domain: str


class PlacedEntry(Struct, frozen=True):
    """One pod and its place. `gang` and `rank` are None for a single pod; `cards_exact` False: the node names no
    cards, the numbers are the ledger's own."""

    namespace: str
    pod: str
    gang: str | None
    rank: int | None
    node: str
    cards: tuple[int, ...]
    cards_exact: bool
    slices: tuple[SliceEntry, ...] = ()
    ports: tuple[str, ...] = ()
    domains: tuple[DomainEntry, ...] = ()


class ReasonEntry(Struct, frozen=True):
    """Why something waits; `code` is one of the closed list of reasons."""

    code: str
    message: str
    numbers: dict[str, int | str] = {}
    best_domain: str | None = None
    next_step: str = ""
    starts_at: str | None = None


class PendingEntry(Struct, frozen=True):
    """Pods of one gang (or one single pod, `gang` None) that wait, with the one reason for all of them."""

    namespace: str
    gang: str | None
    pods: tuple[str, ...]
    reason: ReasonEntry


class EvictedEntry(Struct, frozen=True, rename={"beneficiary": "for"}):
    """A running pod that must go, and the gang or pod that gets its room."""

    namespace: str
    pod: str
    beneficiary: str


class WarningEntry(Struct, frozen=True):
    """A mistake or doubt in the input. `object` is `Kind/namespace/name`, `field` a path inside it."""

    file: str
    object: str
    field: str
    code: str
    message: str


class PlaceAnswer(Struct, frozen=True):
    """The whole answer. Pods of one gang stand together in rank order; `decision_ms` has one decimal."""

    schema: str
    pool: PoolEntry
    placed: tuple[PlacedEntry, ...] = ()
    pending: tuple[PendingEntry, ...] = ()
    evicted: tuple[EvictedEntry, ...] = ()
    warnings: tuple[WarningEntry, ...] = ()
    decision_ms: float = 0.0
