"""How many members of a coupled kind (one member's place changes the next one's) a domain takes.

Sums are only a bound here. Small cases are counted exactly, by asking the planner for fewer members; large ones by
seating one after the other. Called by `explain`; claims of the members that were counted stand.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from gangpool.core.ask import Ask, Part, Seating
from gangpool.core.choice import lowest
from gangpool.core.descent import Spot
from gangpool.core.gang import Planner
from gangpool.core.room import within
from gangpool.core.vec import Ints

EXACT = 40_000
"""Up to so many members x nodes the planner is asked; a few milliseconds for each domain looked at."""
SEARCHED = 16
"""Up to so many nodes it searches for an answer, and the count is exact."""
MOST_LOOKED_AT = 8
"""Domains that are counted, the ones with the largest bound."""


def most_coupled(planner: Planner, ask: Ask, pin: Spot, level: int) -> tuple[Spot, int, list[tuple[int, int]]]:
    """For an ask of one coupled part: the domain of the level that takes most members, how many, and the others
    that were counted with their numbers, best first."""
    part, tree = ask.parts[0], ask.tree
    first, last = tree.span(pin.level, pin.domain, level)
    sums = planner.room(part.kind, tree, frozenset(part.kind.matches)).sums(level)[first:last]
    bounds: Ints = np.where(tree.real[level][first:last], np.minimum(sums, part.n), -1)
    counted: list[tuple[int, int]] = []
    for p in np.argsort(-bounds, kind="stable").tolist()[:MOST_LOOKED_AT]:
        if bounds[p] <= max((n for _, n in counted), default=-1):
            break
        mark = planner.ledger.mark()
        counted.append((first + p, _count(planner, ask, Spot(level, first + p), int(bounds[p]))))
        planner.ledger.rollback(mark)
    if not counted:
        return pin, 0, []
    (domain, n), *others = sorted(counted, key=lambda entry: -entry[1])
    return Spot(level, domain), _count(planner, ask, Spot(level, domain), n), others


def _count(planner: Planner, ask: Ask, spot: Spot, most: int) -> int:
    """Members that a domain takes, at most so many; their claims stand."""
    part = ask.parts[0]
    if part.n * planner.ledger.n_slots > EXACT:
        return fill_coupled(planner, ask, part, spot)
    low, high = 0, most
    n = most
    while True:  # fewer members always fit where more do
        fewer = replace(ask, parts=(replace(part, n=n),), pin=spot, limit=max(ask.limit, spot.level))
        mark = planner.ledger.mark()
        if n == 0 or isinstance(planner.seat(fewer, planner.ledger.n_slots <= SEARCHED), Seating):
            low = n
            if low == high:
                return n
        else:
            high = n - 1
        planner.ledger.rollback(mark)
        n = (low + high + 1) // 2


def fill_coupled(planner: Planner, ask: Ask, part: Part, inside: Spot) -> int:
    """Seat one after the other what goes; members that must sit together go where most of them fit, blocks whole."""
    if part.block_size and part.block_level > inside.level:
        return _fill_blocks(planner, ask, part, inside)
    mask = planner.roomiest(part.kind, ask.tree, inside)
    done = 0
    while done < part.n:
        base = planner.room(part.kind, ask.tree)
        if mask is not None:
            base = within(base, mask)
        spot = lowest(base, 1, inside.level, inside)
        if spot is None:
            break
        planner.claim(part.kind, *planner.walk(base, spot, 1, None))
        done += 1
    return done


def _fill_blocks(planner: Planner, ask: Ask, part: Part, inside: Spot) -> int:
    done = 0
    while done < part.n:
        block = replace(part, n=min(part.block_size, part.n - done), block_size=0)
        domain = roomiest(planner, ask, part, inside, part.block_level)
        mark = planner.ledger.mark()
        if domain is None or fill_coupled(planner, ask, block, domain) < block.n:
            planner.ledger.rollback(mark)
            break
        done += block.n
    return done


def roomiest(planner: Planner, ask: Ask, part: Part, inside: Spot, depth: int) -> Spot | None:
    """The domain of a lower depth that has most room for a part now; the spot itself where it is as low; None where
    no node inside has that level."""
    if depth <= inside.level:
        return inside
    first, last = ask.tree.span(inside.level, inside.domain, depth)
    rooms = np.where(ask.tree.real[depth][first:last], planner.room(part.kind, ask.tree).sums(depth)[first:last], -1)
    best = int(rooms.argmax())
    return Spot(depth, first + best) if rooms[best] >= 0 else None
