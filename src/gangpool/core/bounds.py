"""What a domain must have for all parts of an ask: tests that are cheap, and that never refuse what fits.

Called by the planner before it tries anything; what no domain passes is a proof. One numpy pass each, no claims.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gangpool.core.ask import Ask
from gangpool.core.descent import in_blocks
from gangpool.core.ledger import Ledger
from gangpool.core.room import Room
from gangpool.core.tally import sums_by_domain
from gangpool.core.vec import Bools, Ints


def bounds(ledger: Ledger, ask: Ask, rooms: list[Room], level: int) -> list[tuple[Bools, Ints]]:
    """Per bound (domains that pass, room): each part alone, and all parts as if each asked only the least of
    every resource (their meet). What fails here cannot fit."""
    fits: list[tuple[Bools, Ints]] = []
    for part, base in zip(ask.parts, rooms, strict=True):
        sums = base.sums(level)
        need = part.n
        if part.block_size and part.n >= part.block_size and level <= part.block_level:
            sums, need = in_blocks(base, part.block_size, part.block_level).sums[level], part.n // part.block_size
        fits.append((sums >= need, sums))
    if len(ask.parts) > 1:
        meet = _meet_sums(ledger, ask, rooms, level)
        fits.append((meet >= sum(part.n for part in ask.parts), np.zeros_like(meet)))
        fits.extend((passes, np.zeros_like(meet)) for passes in _resource_bounds(ledger, ask, rooms, level))
    return fits


def _meet_sums(ledger: Ledger, ask: Ask, rooms: list[Room], level: int) -> Ints:
    """Room of the elementwise smallest shape on nodes where any part may go."""
    asks = [{id(vec): (vec, amount) for vec, amount in part.kind.asks} for part in ask.parts]
    shared = set(asks[0]).intersection(*asks[1:])
    least = np.full(ledger.capacity, 1 << 31, dtype=np.int64)
    for key in shared:
        vec = asks[0][key][0]
        np.minimum(least, vec.view // min(a[key][1] for a in asks), out=least)
    most = rooms[0].fit
    for base in rooms[1:]:
        most = most + base.fit
    return sums_by_domain(ask.tree, level, np.minimum(np.maximum(least, 0), most))


def _resource_bounds(ledger: Ledger, ask: Ask, rooms: list[Room], level: int) -> Iterator[Bools]:
    """Per resource: what all parts ask in sum against what is free where some part that asks for it may go."""
    wanted: dict[int, list[int]] = {}
    vecs = {}
    for number, part in enumerate(ask.parts):
        for vec, _ in part.kind.asks:
            wanted.setdefault(id(vec), []).append(number)
            vecs[id(vec)] = vec
    for key, numbers in wanted.items():
        if len(numbers) < 2:
            continue
        vec = vecs[key]
        amounts = [next(a for v, a in ask.parts[p].kind.asks if v is vec) for p in numbers]
        total = sum(a * ask.parts[p].n for a, p in zip(amounts, numbers, strict=True))
        usable = np.zeros(ledger.capacity, dtype=np.bool_)
        for p in numbers:
            usable |= rooms[p].fit > 0
        grain = int(np.gcd.reduce(amounts))
        free = np.where(usable, np.maximum(vec.view, 0) // grain, 0)
        yield sums_by_domain(ask.tree, level, np.minimum(free, 1 << 40)) >= total // grain
