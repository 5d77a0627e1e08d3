"""Parts of a gang that differ in amounts only (a master that asks for more CPU than its workers) as members of one
size, so that ranks stay together in domains although the shapes differ. Called by the planner before it tries the
parts one after another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from gangpool.core.ask import Ask, Part
from gangpool.core.kind import Kind
from gangpool.core.ledger import Ledger
from gangpool.core.vec import Ints

Seats = tuple[Ints, Ints]


def joined_kind(ledger: Ledger, parts: Sequence[Part]) -> Kind | None:
    """The kind that asks, of each resource, for as much as the part that asks for most; None where the parts differ
    in cards, rules, levels or places."""
    first, *others = parts
    if not others or not all(_is_free(part) for part in parts):
        return None
    plain = replace(first.kind.shape, requests=())
    for part in others:
        kind = part.kind
        if kind.n_cards != first.kind.n_cards or kind.matches != first.kind.matches:
            return None
        if replace(kind.shape, requests=()) != plain:
            return None
    most: dict[str, int] = {}
    for part in parts:
        for name, amount in part.kind.shape.requests:
            most[name] = max(most.get(name, 0), amount)
    return ledger.kind_sized(first.kind, tuple(sorted(most.items())))


def _is_free(part: Part) -> bool:
    return not (part.kind.coupled or part.level or part.block_size or part.pin.level or part.near >= 0 or part.ties)


def dealt(ask: Ask, seats: Seats) -> tuple[Seats, ...]:
    """Slots in the order of ranks, dealt to the parts in their order."""
    slots = np.repeat(seats[0], seats[1])
    ends = np.cumsum([part.n for part in ask.parts])
    return tuple((piece, np.ones(len(piece), dtype=np.int64)) for piece in np.split(slots, ends[:-1]))
