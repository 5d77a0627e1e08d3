"""How every gang and pod stands, and what a plan made now would do for it: one dry cycle over a loaded world.

The same cycle as the live scheduler's, so the reasons are its reasons. What only the live scheduler can know, that
the API server refuses a bind, is read off the pods; such gangs rest in the dry cycle as they do in the live one.
Called by `explain` and `jobs`. The world is used up by it: what is planned is seated there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gangpool.core.cycle import Cycle
from gangpool.core.model import Gang, Member, Reason, Seat
from gangpool.core.pool import Unit
from gangpool.core.ready import minimum_of, why_not_ready
from gangpool.core.topology import Tree
from gangpool.intake.answer import DomainEntry
from gangpool.intake.said import refusal_of
from gangpool.intake.world import World

FITS_STEP = "a scheduler that runs binds it within moments; if it stays so, see whether one runs and leads"
NODES_MOST = 4
"""Names of nodes in a text."""


class Stand(Struct, frozen=True):
    """A gang, or a single pod (`gang` None), before the plan; what the plan seats of it, and why the rest waits."""

    key: str
    gang: Gang | None
    minimum: int
    waiting: tuple[Member, ...]
    seated: tuple[Member, ...]
    seats: tuple[Seat, ...] = ()
    reason: Reason | None = None
    """Why members wait that the plan does not seat; None where it seats all."""

    @property
    def is_started(self) -> bool:
        """Its minimum has nodes, or had: who is left of it runs."""
        return len(self.seated) >= self.minimum or (bool(self.seated) and not self.waiting)


class Forecast:
    """The outcome of one dry cycle. `refusals`: what the API server said, by uid of the pods that wait for it."""

    def __init__(self, world: World, refusals: Mapping[str, str]) -> None:
        self.world = world
        self.tree: Tree = world.pool.forest.tree(world.pool.forest.default_keys())
        resting: dict[str, Reason] = {}
        for uid, text in refusals.items():
            refusal = refusal_of(text)
            if refusal is not None and world.pool.member(uid) is not None:
                resting.setdefault(self.key_of(uid), refusal)
        plan = Cycle(world.pool).run(frozenset(resting))
        self._seats: dict[str, list[Seat]] = {}
        for seat in plan.seats:
            self._seats.setdefault(_unit_key(seat.member), []).append(seat)
        self._reasons = {_unit_key(wait.members[0]): wait.reason for wait in plan.waits} | resting

    def key_of(self, uid: str) -> str:
        """The unit of a pod, "" where the world does not hold it."""
        member = self.world.pool.member(uid)
        return "" if member is None else _unit_key(member)

    def stand_of(self, key: str) -> Stand | None:
        """How a unit stands; None where no pod of it is in the world."""
        unit = self.world.pool.units.get(key)
        if unit is None or not (unit.waiting or unit.seated):
            return None
        seats = tuple(self._seats.get(key, ()))
        planned = {seat.member.uid for seat in seats}
        return Stand(
            key=key,
            gang=unit.gang,
            minimum=1 if unit.gang is None else minimum_of(unit, unit.gang),
            waiting=tuple(sorted((*unit.waiting.values(), *(seat.member for seat in seats)), key=_in_order)),
            seated=tuple(sorted((m for m in unit.seated.values() if m.uid not in planned), key=_in_order)),
            seats=seats,
            reason=self._reasons.get(key),
        )

    def n_cards(self, uid: str) -> int:
        """Whole cards that a pod holds."""
        claim = self.world.pool.ledger.claims.get(uid)
        return 0 if claim is None else claim.cards.bit_count()

    def domain_of(self, nodes: Sequence[str]) -> DomainEntry | None:
        """The narrowest domain that holds all these nodes; None where none does, or a node is unknown."""
        slots = [self.world.pool.ledger.slot.get(name) for name in nodes]
        paths = [() if slot is None else self.tree.path_of(slot) for slot in slots]
        shared = [step for step in paths[0] if all(step in path for path in paths[1:])] if paths else []
        return DomainEntry(*shared[-1]) if shared else None


def not_there(gang: Gang) -> Stand:
    """A gang of which no pod exists, by the same rules."""
    return Stand(gang.key, gang, gang.minimum, (), (), reason=why_not_ready(Unit(gang.key, gang)))


def fits_now(stand: Stand, domain: DomainEntry | None) -> Reason:
    """What there is to say of a unit, or a part of it, that the plan seats."""
    nodes = list(dict.fromkeys(seat.node for seat in stand.seats))
    if stand.gang is None:
        return Reason("fits-now", f"fits on {nodes[0]} now", next_step=FITS_STEP)
    n = len(stand.seats)
    best, needed = (n, n) if stand.is_started else (min(len(stand.seated) + n, stand.minimum), stand.minimum)
    where = ", ".join(nodes[:NODES_MOST]) + (f" and {len(nodes) - NODES_MOST} more" if len(nodes) > NODES_MOST else "")
    text = f"{best} of {needed} members fit on {where} now"
    numbers: dict[str, int | str] = {"needed": needed, "best": best, "unit": "members"}
    return Reason("fits-now", text, numbers, None if domain is None else domain.domain, FITS_STEP)


def _unit_key(member: Member) -> str:
    return member.gang or f"pod:{member.uid}"


def _in_order(member: Member) -> tuple[int, str]:
    return member.rank, member.name
