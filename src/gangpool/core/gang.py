"""Seats the parts of a gang together or not at all: bounds first, then trials domain by domain, then a complete
search where the case is small. Claims are left in the ledger when it succeeds; the caller keeps or rolls back.

One kind without coupled rules is exact by its sums. Several kinds, and kinds whose members change each other's
room, are tried in the domains that pass every bound, tightest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from msgspec.structs import replace

from gangpool.core.ask import Ask, Part, Refusal, Seating
from gangpool.core.bounds import bounds
from gangpool.core.choice import candidates, lowest
from gangpool.core.descent import Descent, Spot, Units, beside_rest, in_blocks, meet
from gangpool.core.joined import dealt, joined_kind
from gangpool.core.kind import Kind
from gangpool.core.ledger import Ledger
from gangpool.core.room import Room, room, within
from gangpool.core.search import Search
from gangpool.core.tally import Tallies
from gangpool.core.terms import Match
from gangpool.core.topology import Tree
from gangpool.core.vec import Bools, Ints

TRIES_PER_LEVEL = 4
"""Domains of one level in which a mixed gang is tried before the next wider level."""

Seats = tuple[Ints, Ints]


class Planner:
    """Plans asks against one ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.tallies = Tallies(ledger)
        self.search = Search(ledger, self.tallies)

    def room(self, kind: Kind, tree: Tree, own: frozenset[Match] = frozenset()) -> Room:
        return room(self.ledger, tree, self.tallies.of(kind), own, kind)

    def most(self, kind: Kind, beside: Iterable[Kind], ask: Ask) -> int:
        """How many members of a kind one domain of the ask's limit holds at most, beside members of these kinds."""
        level = max(ask.limit, ask.pin.level)
        first, last = ask.tree.span(ask.pin.level, ask.pin.domain, level)
        base = self.room(kind, ask.tree, frozenset(match for other in beside for match in other.matches))
        sums = base.sums(level)[first:last][ask.tree.real[level][first:last]]
        return int(sums.max()) if len(sums) else 0

    def seat(self, ask: Ask, thorough: bool = True) -> Seating | Refusal:
        """Seat everything the ask says; on success the claims stand in the ledger, on refusal nothing does.
        `thorough`: where trials fail, search; a preference is not worth that."""
        if len(ask.parts) == 1 and not ask.parts[0].kind.coupled:
            return self._seat_one(ask, ask.parts[0])
        return self._seat_joined(ask) or self._seat_many(ask, thorough)

    # ---- one kind: exact

    def _seat_one(self, ask: Ask, part: Part) -> Seating | Refusal:
        base = self.room(part.kind, ask.tree)
        inside = inner(ask.pin, part.pin)
        seats = self._choose(base, part, ask.limit, inside) if meet(ask.tree, ask.pin, part.pin) else None
        if seats is None:
            return Refusal(ask, is_proved=True)
        self.claim(part.kind, *seats)
        return Seating((seats,))

    def _choose(self, base: Room, part: Part, limit: int, inside: Spot) -> Seats | None:
        """Slots for one part inside a domain, by the room as it is; None when the room does not hold it."""
        tree = base.tree
        limit = max(limit, part.level)
        if part.block_size and part.n >= part.block_size:
            return self._choose_blocks(base, part, limit, inside)
        if part.block_size:
            limit = max(limit, part.block_level)
        if part.near >= 0:
            return self._choose_near(base, part, limit, inside)
        spot = lowest(base, part.n, limit, inside)
        if spot is None:
            return None
        walk = Descent(base)
        walk.take(spot, part.n)
        assert tree is walk.tree
        return walk.result()

    def _choose_near(self, base: Room, part: Part, limit: int, inside: Spot) -> Seats | None:
        """Back to the domain of a running member: the lowest one around it that holds them all, else anywhere."""
        tree = base.tree
        for level in range(tree.depth, max(limit, inside.level) - 1, -1):
            domain = tree.dom[level][part.near]
            if level and not tree.real[level][domain]:
                continue
            if tree.above(level, domain, inside.level) == inside.domain and base.sums(level)[domain] >= part.n:
                walk = Descent(base)
                walk.take(Spot(level, domain), part.n)
                return walk.result()
        spot = lowest(base, part.n, limit, inside) if tree.dom[inside.level][part.near] == inside.domain else None
        return None if spot is None else self.walk(base, spot, part.n, None)

    def _choose_blocks(self, base: Room, part: Part, limit: int, inside: Spot) -> Seats | None:
        """Whole blocks as units, then what is left over as one smaller block."""
        size, level = part.block_size, part.block_level
        blocks, rest = divmod(part.n, size)
        limit = max(limit, inside.level)
        if limit >= level:  # they share a domain of the blocks' level anyway
            spot = lowest(base, part.n, limit, inside)
            return self.walk(base, spot, part.n, None) if spot else None
        units = in_blocks(base, size, level)
        if rest:
            units = beside_rest(base, units, blocks, rest, limit)
        spot = lowest(base, blocks, limit, inside, units)
        if spot is None:
            return None
        seats = self.walk(base, spot, blocks, units)
        if not rest:
            return seats
        mark = self.ledger.mark()
        self.claim(part.kind, *seats)
        left = self.room(part.kind, base.tree)
        around = Spot(limit, base.tree.above(spot.level, spot.domain, limit))
        last = lowest(left, rest, level, around)
        tail = None if last is None else self.walk(left, last, rest, None)
        self.ledger.rollback(mark)
        if tail is None:
            return None
        return np.concatenate((seats[0], tail[0])), np.concatenate((seats[1], tail[1]))

    def walk(self, base: Room, spot: Spot, n: int, units: Units | None) -> Seats:
        walk = Descent(base)
        walk.take(spot, n, units)
        return walk.result()

    def claim(self, kind: Kind, nodes: Ints, counts: Ints) -> None:
        """Claim members on nodes; a node may come several times."""
        if len(nodes) <= 16:
            for i, k in zip(nodes.tolist(), counts.tolist(), strict=True):
                self.ledger.claim(i, kind, k)
        elif is_strictly_rising(np.sort(nodes)):
            self.ledger.claim_run(nodes, kind, counts)
        else:
            unique, inverse = np.unique(nodes, return_inverse=True)
            self.ledger.claim_run(unique, kind, np.bincount(inverse, weights=counts).astype(np.int64))

    # ---- several kinds, or coupled ones

    def _seat_joined(self, ask: Ask) -> Seating | None:
        """All parts as members of one size, where that takes no wider level than their bounds do."""
        kind = joined_kind(self.ledger, ask.parts)
        if kind is None:
            return None
        base = self.room(kind, ask.tree)
        n = sum(part.n for part in ask.parts)
        spot = lowest(base, n, ask.limit, ask.pin)
        if spot is None:
            return None
        for level in range(ask.tree.depth, spot.level, -1):
            fits = bounds(ask, self._bounding_rooms(ask), level)
            if next(candidates(ask.tree, fits, level, ask.pin), None) is not None:
                return None
        seats = dealt(ask, self.walk(base, spot, n, None))
        for part, (nodes, counts) in zip(ask.parts, seats, strict=True):
            self.claim(part.kind, nodes, counts)
        return Seating(seats)

    def _seat_many(self, ask: Ask, thorough: bool) -> Seating | Refusal:
        tried = 0
        passed = 0
        for level in range(ask.tree.depth, max(ask.limit, ask.pin.level) - 1, -1):
            fits = bounds(ask, self._bounding_rooms(ask), level)
            for spot in candidates(ask.tree, fits, level, ask.pin):
                passed += 1
                if passed > TRIES_PER_LEVEL * (ask.tree.depth - level + 1):
                    break
                tried += 1
                seating = self._try(ask, spot)
                if seating is not None:
                    return seating
        if not passed:
            return Refusal(ask, is_proved=True)
        if not thorough:
            return Refusal(ask, is_proved=False, budget=tried)
        return self.search.run(ask, self._bounding_rooms(ask), tried)

    def _bounding_rooms(self, ask: Ask) -> list[Room]:
        """Upper bounds for each part. They follow the ledger, so every trial calls for new ones."""
        own = frozenset(m for part in ask.parts for m in part.kind.matches)
        return [self.room(part.kind, ask.tree, own) for part in ask.parts]

    def _try(self, ask: Ask, spot: Spot) -> Seating | None:
        """One trial in one domain: parts with the fewest places first, then the largest share."""
        for order in self._orders(ask, spot):
            mark = self.ledger.mark()
            found = self._try_parts(ask, order, spot, 0)
            if found is not None:
                return Seating(tuple(found[number] for number in range(len(ask.parts))))
            self.ledger.rollback(mark)
        return None

    def _try_parts(self, ask: Ask, numbers: list[int], inside: Spot, tied: int) -> dict[int, Seats] | None:
        """Parts one after the other inside a domain; those that share a domain of a lower depth than `tied`
        together."""
        found: dict[int, Seats] = {}
        for number in numbers:
            if number in found:
                continue
            tie = next((tie for tie in ask.parts[number].ties if tie.level > max(inside.level, tied)), None)
            if tie is None:
                seats = self._try_part(ask, ask.parts[number], inside)
                placed = None if seats is None else {number: seats}
            else:
                together = [n for n in numbers if n not in found and tie in ask.parts[n].ties]
                placed = self._try_tied(ask, together, inside, tie.level)
            if placed is None:
                return None
            found |= placed
        return found

    def _try_tied(self, ask: Ask, numbers: list[int], inside: Spot, level: int) -> dict[int, Seats] | None:
        """Parts that share a domain of a depth: in each domain that could hold them, tightest first."""
        tree = ask.tree
        for number in numbers:
            pin = above(tree, ask.parts[number].pin, level)
            if not meet(tree, inside, pin):
                return None
            inside = inner(inside, pin)
        some = replace(ask, parts=tuple(ask.parts[number] for number in numbers))
        fits = bounds(some, self._bounding_rooms(some), level)
        for spot in islice(candidates(tree, fits, level, inside), 4 * TRIES_PER_LEVEL):
            mark = self.ledger.mark()
            found = self._try_parts(ask, numbers, spot, level)
            if found is not None:
                return found
            self.ledger.rollback(mark)
        return None

    def _orders(self, ask: Ask, spot: Spot) -> Iterator[list[int]]:
        """Orders in which parts are tried: those that others need (affinity) first, tightest next; then the same
        backwards."""
        slack = []
        for number, part in enumerate(ask.parts):
            sums = self.room(part.kind, ask.tree).sums(spot.level)[spot.domain]
            waits = any(
                a.match in other.kind.matches for a in part.kind.attracts for other in ask.parts if other != part
            )
            share = sum(amount * part.n for _, amount in part.kind.asks[:1])
            slack.append((waits, int(sums) // part.n, -part.kind.n_cards, -share, number))
        first = [entry[-1] for entry in sorted(slack)]
        yield first
        if len(first) > 1:
            yield first[::-1]

    def _try_part(self, ask: Ask, part: Part, spot: Spot) -> Seats | None:
        if not meet(ask.tree, spot, part.pin):
            return None
        inside = inner(spot, part.pin)
        if not part.kind.coupled:
            base = self.room(part.kind, ask.tree)
            seats = self._choose(base, part, inside.level, inside)
            if seats is not None:
                self.claim(part.kind, *seats)
            return seats
        for mask in self._affinity_masks(ask, part, inside):
            mark = self.ledger.mark()
            seats = self._step(ask, part, inside, mask)
            if seats is not None:
                return seats
            self.ledger.rollback(mark)
        return None

    def _affinity_masks(self, ask: Ask, part: Part, inside: Spot) -> Iterator[Bools | None]:
        """A kind that must sit with itself, and sits nowhere yet, goes into one value of the key: each value that
        has room for all, tightest first."""
        values = self._room_by_value(part.kind, ask.tree, inside)
        if values is None:
            yield None
            return
        usable, ids, rooms, order = values
        for value in order[rooms[order] >= part.n].tolist()[: 4 * TRIES_PER_LEVEL]:
            yield usable & (ids == value)

    def roomiest(self, kind: Kind, tree: Tree, inside: Spot) -> Bools | None:
        """For a kind that must sit with itself and sits nowhere yet: the nodes of the value with most room."""
        values = self._room_by_value(kind, tree, inside)
        if values is None:
            return None
        usable, ids, rooms, order = values
        if not len(rooms):
            return usable
        result: Bools = usable & (ids == order[np.searchsorted(rooms[order], rooms.max())])
        return result

    def _room_by_value(self, kind: Kind, tree: Tree, inside: Spot) -> tuple[Bools, Ints, Ints, Ints] | None:
        """(nodes with the key of its first such affinity, value on each node, room by value, values by room and then by
        tree order); None: not such a kind."""
        fresh = [a for a in kind.attracts if a.is_fresh()]
        if not fresh:
            return None
        base = self.room(kind, tree)
        ids = fresh[0].column.of.view
        usable = np.zeros(self.ledger.capacity, dtype=np.bool_)
        usable[tree.nodes(inside.level, inside.domain)] = True
        usable &= ids >= 0
        rooms = np.bincount(ids[usable], weights=base.fit[usable], minlength=len(fresh[0].column.values))
        nodes = tree.order[::-1]
        nodes = nodes[ids[nodes] >= 0]
        first = np.zeros(len(rooms), dtype=np.int64)
        first[ids[nodes]] = tree.position[nodes]  # the last write counts: the first node of each value
        return usable, ids, rooms.astype(np.int64), np.lexsort((first, rooms))

    def _step(self, ask: Ask, part: Part, inside: Spot, mask: Bools | None) -> Seats | None:
        """Members of a coupled kind one after another, each by the rules as they are then, close to the last."""
        tree = ask.tree
        taken: list[int] = []
        level_spot = inside
        if max(part.level, part.block_level) > inside.level:
            return self._step_levels(ask, part, inside, mask)
        for _ in range(part.n):
            base = self.room(part.kind, tree)
            if mask is not None:
                base = within(base, mask)
            near = taken[-1] if taken else part.near
            one = Part(part.kind, 1, near=near)
            seats = self._choose(base, one, level_spot.level, level_spot)
            if seats is None:
                return None
            taken.append(int(seats[0][0]))
            self.ledger.claim(taken[-1], part.kind)
        return np.array(taken, dtype=np.int64), np.ones(len(taken), dtype=np.int64)

    def _step_levels(self, ask: Ask, part: Part, inside: Spot, mask: Bools | None) -> Seats | None:
        """The same where the part, or each of its blocks, has a domain of its own level: each is tried in the
        domains of that level, tightest first."""
        by_role = part.level > inside.level
        level, size = (part.level, part.n) if by_role else (part.block_level, part.block_size)
        blocks = (part.block_size, part.block_level) if by_role else (0, 0)
        left = part.n
        nodes: list[Ints] = []
        while left:
            n = min(size, left)
            base = self.room(part.kind, ask.tree, frozenset(part.kind.matches))
            for spot in candidates(ask.tree, [(base.sums(level) >= n, base.sums(level))], level, inside):
                mark = self.ledger.mark()
                one = Part(part.kind, n, block_size=blocks[0], block_level=blocks[1], near=part.near)
                seats = self._step(ask, one, spot, mask)
                if seats is not None:
                    nodes.append(seats[0])
                    break
                self.ledger.rollback(mark)
            else:
                return None
            left -= n
        all_nodes = np.concatenate(nodes)
        return all_nodes, np.ones(len(all_nodes), dtype=np.int64)


def above(tree: Tree, spot: Spot, level: int) -> Spot:
    """The domain of a wider level around a spot; the spot itself where it is as wide."""
    return Spot(level, tree.above(spot.level, spot.domain, level)) if spot.level > level else spot


def is_strictly_rising(values: Ints) -> bool:
    """No value comes twice in a sorted vector."""
    return bool((values[1:] > values[:-1]).all())


def inner(one: Spot, other: Spot) -> Spot:
    """The narrower of two domains, one of which lies in the other."""
    return one if one.level >= other.level else other
