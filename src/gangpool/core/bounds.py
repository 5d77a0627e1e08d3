"""What a domain must have for all parts of an ask: tests that are cheap, and that never refuse what fits.

Called by the planner before it tries anything; what no domain passes is a proof. One numpy pass each, no claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

import numpy as np

from gangpool.core.ask import Ask
from gangpool.core.descent import in_blocks
from gangpool.core.room import Room
from gangpool.core.tally import sums_by_domain
from gangpool.core.vec import Bools, Ints, Vec

Asked = list[tuple[Vec, dict[int, int]]]
"""Per resource, what a member of each part that asks for it gets: part number to amount."""


def bounds(ask: Ask, rooms: list[Room], level: int) -> list[tuple[Bools, Ints]]:
    """Per bound (domains that pass, room): each part alone, and all parts as if each asked only the least of
    every resource (their meet). What fails here cannot fit."""
    fits: list[tuple[Bools, Ints]] = []
    for part, base in zip(ask.parts, rooms, strict=True):
        sums = base.sums(level)
        need = part.n
        if part.block_size and part.n >= part.block_size and level < part.block_level:
            sums, need = in_blocks(base, part.block_size, part.block_level).sums[level], part.n // part.block_size
        fits.append((sums >= need, sums))
    if len(ask.parts) > 1:
        asked = _asked(ask)
        meet = _meet_sums(ask, asked, rooms, level)
        fits.append((meet >= sum(part.n for part in ask.parts), np.zeros_like(meet)))
        fits.extend((passes, np.zeros_like(meet)) for passes in _resource_bounds(ask, asked, rooms, level))
    return fits


def _meet_sums(ask: Ask, asked: Asked, rooms: list[Room], level: int) -> Ints:
    """Room of the elementwise smallest shape on nodes where any part may go."""
    least = rooms[0].fit.copy()
    for base in rooms[1:]:
        least += base.fit
    for vec, amounts in asked:
        if len(amounts) == len(ask.parts):
            np.minimum(least, vec.view // min(amounts.values()), out=least)
    return sums_by_domain(ask.tree, level, np.maximum(least, 0))


def _asked(ask: Ask) -> Asked:
    found: dict[int, tuple[Vec, dict[int, int]]] = {}
    for number, part in enumerate(ask.parts):
        for vec, amount in part.kind.asks:
            found.setdefault(id(vec), (vec, {}))[1][number] = amount
    return list(found.values())


def _resource_bounds(ask: Ask, asked: Asked, rooms: list[Room], level: int) -> Iterator[Bools]:
    """Per resource: what all parts ask in sum against what is free where some part that asks for it may go."""
    for vec, amounts in asked:
        if len(amounts) < 2:
            continue
        total = sum(amount * ask.parts[p].n for p, amount in amounts.items())
        usable = np.logical_or.reduce([rooms[p].fit > 0 for p in amounts])
        grain = gcd(*amounts.values())
        free = np.where(usable, np.maximum(vec.view, 0) // grain, 0)
        yield sums_by_domain(ask.tree, level, np.minimum(free, 1 << 40)) >= total // grain
