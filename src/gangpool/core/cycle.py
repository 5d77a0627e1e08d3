"""The cycle: waiting gangs in, decisions out. Reads as the table of contents of the core.

One unit after another in queue order: is it ready, what does it ask, seat it, settle the seats; then members above
the minimum; reasons for all that wait are made at the end, from one state. Called by `place`, the simulator and
the live scheduler alike.
"""

from __future__ import annotations

from msgspec.structs import replace

from gangpool.core.ask import Ask, Part, Refusal, Seating
from gangpool.core.composition import other_choices
from gangpool.core.explain import reason_for
from gangpool.core.gang import Planner, inner
from gangpool.core.kind import Kind
from gangpool.core.model import Member, Plan, Reason, Seat, Wait
from gangpool.core.needs import Batch, Needs, extras, needs_of
from gangpool.core.pool import Pool, Unit
from gangpool.core.ready import why_held_back, why_not_ready
from gangpool.core.seated import BY_RANK
from gangpool.core.vec import Ints

AskKey = tuple[object, ...]

MOST_SEARCHES = 3
"""Searches that may end without an answer before no other members are tried for a minimum."""


class Cycle:
    """Plans one pool; keeps the planner's tallies and what was refused between cycles."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.planner = Planner(pool.ledger)
        self._refused: dict[AskKey, tuple[int, int]] = {}
        self._reasons: dict[AskKey, tuple[int, Reason]] = {}

    def run(self, resting: frozenset[str] = frozenset()) -> Plan:
        """Plan everything that waits, but for units (by key) that rest after a refusal from outside."""
        self.pool.ledger.sweep(if_due=True)
        self.pool.guess()
        seats: list[Seat] = []
        waits: list[tuple[Unit, Reason | Refusal]] = []
        left = [unit for unit in self.pool.waiting() if unit.key not in resting]
        while left:
            again: list[Unit] = []
            before = len(seats)
            for unit in left:
                why = self._plan(unit, seats)
                if why is None:
                    continue
                if isinstance(why, Refusal) and is_helped(why.ask):
                    again.append(unit)  # a member placed later in this cycle may be what it waits for
                waits.append((unit, why))
            if len(seats) == before or not again:
                break
            waits = [(unit, why) for unit, why in waits if unit not in again]
            left = again
        return Plan(tuple(seats), tuple(self._wait(unit, why) for unit, why in waits))

    def _plan(self, unit: Unit, seats: list[Seat]) -> Reason | Refusal | None:
        """Seat what can be seated of one unit; what its members wait for, if any do."""
        why = why_not_ready(unit)
        if why is not None:
            return why
        needs = needs_of(self.pool, unit)
        if isinstance(needs, Reason):
            return needs
        if needs.batches:
            refusal = self._seat(unit, needs, needs.batches, seats)
            if refusal is not None and needs.left:
                needs, refusal = self._seat_others(unit, needs, refusal, seats)
            if refusal is not None:
                return refusal
        refusal = self._seat_extras(unit, needs, seats)
        if refusal is None and unit.waiting:
            return why_held_back(unit.waiting.values(), len(unit.waiting) + len(unit.seated))
        return refusal

    def _seat_others(
        self, unit: Unit, needs: Needs, refusal: Refusal, seats: list[Seat]
    ) -> tuple[Needs, Refusal | None]:
        """Seat other members as the minimum, where it leaves a choice; the refusal of the first that could fit."""

        def most(kind: Kind, beside: list[Kind]) -> int:
            return self.planner.most(kind, beside, self._ask(unit, needs, []))

        found = other_choices(self.pool, unit, needs, most)
        refusals = [refusal]
        for choice in found.needs:
            failed = self._seat(unit, choice, choice.batches, seats)
            if failed is None:
                return choice, None
            refusals.append(failed)
            if sum(not one.is_proved for one in refusals) >= MOST_SEARCHES:
                break
        is_proved = found.is_complete and all(one.is_proved for one in refusals)
        budget = sum(max(one.budget, 1) for one in refusals)
        return needs, replace(refusals[1 if len(refusals) > 1 else 0], is_proved=is_proved, budget=budget)

    def _seat_extras(self, unit: Unit, needs: Needs, seats: list[Seat]) -> Refusal | None:
        """Members above the minimum: as many as fit, one batch after another, one by one where rules couple them."""
        refusal: Refusal | None = None
        needs.batches = []  # the minimum runs: from here on a reason counts the members that it is about
        left = extras(self.pool, unit, needs)
        while left:
            batch = left.pop(0)
            n = min(len(batch.members), self._room_for(needs, batch))
            failed: Refusal | None = Refusal(self._ask(unit, needs, [batch.first(1).part]), is_proved=True)
            for k in dict.fromkeys((n, 1)) if n else ():
                failed = self._seat(unit, needs, [batch.first(k)], seats)
                if failed is None:
                    n = k
                    break
            if failed is not None:
                refusal = refusal or failed
                continue
            if n < len(batch.members):
                left.insert(0, batch.rest(n))
            if batch.part.level or batch.part.block_size or batch.part.ties or (needs.limit and not needs.pin.level):
                needs.left = [member for later in left for member in later.members]
                left = extras(self.pool, unit, needs)  # those seated now hold others to their domain
        return refusal

    def _room_for(self, needs: Needs, batch: Batch) -> int:
        part = batch.part
        if part.kind.coupled or part.block_size or part.level or part.ties:
            return part.block_size or 1
        base = self.planner.room(part.kind, needs.tree)
        inside = inner(part.pin, needs.pin)
        return int(base.sums(inside.level)[inside.domain])

    def _ask(self, unit: Unit, needs: Needs, parts: list[Part]) -> Ask:
        gang = unit.gang
        return Ask(
            parts=tuple(parts),
            tree=needs.tree,
            limit=needs.limit,
            pin=needs.pin,
            needed=gang.minimum if gang is not None and needs.batches else sum(part.n for part in parts),
            running=len(unit.seated) if needs.batches else 0,
            name=unit.key,
            is_single=gang is None,
        )

    def _seat(self, unit: Unit, needs: Needs, batches: list[Batch], seats: list[Seat]) -> Refusal | None:
        """Seat batches together: strictest wishes first, then fewer. On success the seats are settled."""
        refusal: Refusal | None = None
        depth = max(len(batch.wishes) for batch in batches)
        for step in range(depth):
            last = step == depth - 1
            wished = [batch.wishes[max(0, len(batch.wishes) - depth + step)] for batch in batches]
            ask = self._ask(unit, needs, [batch.with_kind(kind) for batch, kind in zip(batches, wished, strict=True)])
            key = ask_key(ask)
            if self._is_refused(key, ask):
                refusal = Refusal(ask, is_proved=self._refused[key][1] < 0, budget=max(self._refused[key][1], 0))
                continue
            mark = self.pool.ledger.mark()
            answer = self.planner.seat(ask, thorough=last)
            if isinstance(answer, Refusal):
                self._remember(key, answer)
                refusal = answer
                continue
            if not last:
                self.pool.ledger.rollback(mark)
                for batch, (nodes, counts) in zip(batches, answer.parts, strict=True):
                    self.planner.claim(batch.part.kind, nodes, counts)
            self.pool.ledger.keep(mark)
            self._settle(unit, batches, answer, seats)
            return None
        return refusal

    def _settle(self, unit: Unit, batches: list[Batch], answer: Seating, seats: list[Seat]) -> None:
        for batch, (nodes, counts) in zip(batches, answer.parts, strict=True):
            seats += self.pool.settle(unit, batch.part.kind, batch.members, spread_out(nodes, counts))

    # ---- refusals are remembered until room may have grown

    def _is_refused(self, key: AskKey, ask: Ask) -> bool:
        found = self._refused.get(key)
        if found is None:
            return False
        return found[0] == self._stamp(ask)

    def _remember(self, key: AskKey, refusal: Refusal) -> None:
        if len(self._refused) > 10_000:
            self._refused.clear()
        self._refused[key] = (self._stamp(refusal.ask), -1 if refusal.is_proved else refusal.budget)

    def _stamp(self, ask: Ask) -> int:
        """A refusal holds until this moves."""
        return self.pool.ledger.version if is_helped(ask) else self.pool.ledger.grow_version

    def _wait(self, unit: Unit, why: Reason | Refusal) -> Wait:
        members: tuple[Member, ...] = tuple(sorted(unit.waiting.values(), key=BY_RANK))
        gang = unit.key if unit.gang is not None else ""
        if isinstance(why, Reason):
            return Wait(gang, members, why)
        roles = tuple(part.last_role for part in why.ask.parts)
        key = (*ask_key(why.ask), why.ask.needed, why.ask.running, why.ask.is_single, why.is_proved, why.budget, roles)
        version = self.pool.ledger.version
        found = self._reasons.get(key)
        if found is None or found[0] != version:
            if len(self._reasons) > 10_000:
                self._reasons.clear()
            found = self._reasons[key] = (version, reason_for(self.planner, why))
        return Wait(gang, members, found[1])


def spread_out(nodes: Ints, counts: Ints) -> list[int]:
    """One slot per member, in the order of ranks."""
    return [i for i, k in zip(nodes.tolist(), counts.tolist(), strict=True) for _ in range(k)]


def is_helped(ask: Ask) -> bool:
    """Others that are placed may make room for this ask: near them, or by raising the least of a spread."""
    return any(part.kind.attracts or part.kind.spreads for part in ask.parts)


def ask_key(ask: Ask) -> AskKey:
    """Asks with the same key have the same answer in the same state."""
    parts = tuple(
        (p.kind.number, p.n, p.level, p.block_size, p.block_level, p.pin.level, p.pin.domain, p.near, p.ties)
        for p in ask.parts
    )
    return ask.tree.keys, ask.limit, ask.pin.level, ask.pin.domain, parts
