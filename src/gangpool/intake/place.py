"""Would these workloads run on this pool now, where, and if not, why: the dry run.

The pool's own waiting pods are planned first, in live order, then the given workloads, expanded as their
controllers would make them. The same world, the same cycle as the live scheduler. Called by `gangpool place`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from gangpool.core.cards import indexes_of
from gangpool.core.cycle import Cycle
from gangpool.core.model import CARD, HOSTNAME, Member, Plan, Reason, Seat, Wait
from gangpool.core.topology import Tree
from gangpool.intake import answer
from gangpool.intake.config import Config
from gangpool.intake.daemons import book
from gangpool.intake.given import Given
from gangpool.intake.load import PoolItem, load
from gangpool.intake.world import World
from gangpool.objects.located import Located

POOL = "<pool>"
"""File of warnings about objects of the pool, whose name the caller knows."""


def place(
    pool: Iterable[PoolItem],
    workloads: Sequence[Located],
    now: float,
    config: Config,
    clock: Callable[[], float] | None = None,
) -> answer.PlaceAnswer:
    """Plan the workloads on the pool. `now`: seconds since the epoch, the age of what has no time stamp. `clock`:
    seconds of a steady clock, for `decision_ms`; without it that is 0. Raises IntakeError."""
    given = Given(workloads)
    world = load(pool, config, given.replaces)
    files = {**dict.fromkeys((note.object for note in world.notes), POOL), **given.files}
    given.enter_context(world)
    world.settle()
    before = free_cards(world)
    planner = Planner(Cycle(world.pool), clock)
    planner.run()
    for daemon in given.daemons(world):
        planner.book(world, daemon)
    given.enter_pods(world, now)
    planner.run()
    return _answer(world, planner, before, files)


class Planner:
    """Runs cycles and keeps their plans; mutable. `took_s`: what they took together."""

    def __init__(self, cycle: Cycle, clock: Callable[[], float] | None) -> None:
        self._cycle = cycle
        self._clock = clock or (lambda: 0.0)
        self.plans: list[Plan] = []
        self.took_s = 0.0

    def run(self) -> None:
        """Plan everything that waits."""
        started = self._clock()
        self.plans.append(self._cycle.run())
        self.took_s += self._clock() - started

    def book(self, world: World, daemon: Member) -> None:
        """Seat the pods of a DaemonSet."""
        started = self._clock()
        self.plans.append(Plan(tuple(book(world.pool, self._cycle, daemon)), ()))
        self.took_s += self._clock() - started


def free_cards(world: World) -> int:
    """Whole cards that nobody holds, over all nodes; a node with more use than cards counts as 0."""
    free = world.pool.ledger.free[CARD]
    return sum(max(free.at[i], 0) for i, _ in world.pool.ledger.alive())


def _answer(world: World, planner: Planner, before: int, files: Mapping[str, str]) -> answer.PlaceAnswer:
    nodes = [facts for _, facts in world.pool.ledger.alive()]
    cards = sum(facts.allocatable.get(CARD, 0) for facts in nodes)
    tree = world.pool.forest.tree(world.pool.forest.default_keys())
    return answer.PlaceAnswer(
        schema=answer.PLACE_SCHEMA,
        pool=answer.PoolEntry(len(nodes), cards, before, free_cards(world)),
        placed=tuple(_placed(world, tree, seat) for seat in in_gang_order(planner.plans)),
        pending=pending_of(planner.plans[-1].waits),
        warnings=tuple(
            answer.WarningEntry(files.get(note.object, ""), note.object, note.field, note.code, note.message)
            for note in world.notes
        ),
        decision_ms=round(planner.took_s * 1000, 1),
    )


def in_gang_order(plans: Iterable[Plan]) -> list[Seat]:
    """All seats: pods of one gang together and in rank order, gangs in the order in which they were first seated."""
    gangs: dict[str, list[Seat]] = {}
    for plan in plans:
        for seat in plan.seats:
            gangs.setdefault(seat.member.gang or f"pod:{seat.member.uid}", []).append(seat)
    return [seat for seats in gangs.values() for seat in sorted(seats, key=lambda seat: seat.member.rank)]


def _placed(world: World, tree: Tree, seat: Seat) -> answer.PlacedEntry:
    i = world.pool.ledger.slot[seat.node]
    facts = world.pool.ledger.facts[i]
    return answer.PlacedEntry(
        namespace=seat.member.namespace,
        pod=seat.member.name,
        gang=seat.member.gang or None,
        rank=seat.rank,
        node=seat.node,
        cards=indexes_of(seat.cards),
        cards_exact=facts is not None and bool(facts.cards),
        ports=seat.ports,
        domains=tuple(answer.DomainEntry(level, domain) for level, domain in tree.path_of(i) if level != HOSTNAME),
    )


def pending_of(waits: Iterable[Wait]) -> tuple[answer.PendingEntry, ...]:
    """One entry per gang; single pods of a namespace that wait for the same reason share one."""
    found: dict[tuple[str, str, str], tuple[list[str], Reason]] = {}
    for wait in waits:
        for member in wait.members:
            key = (member.namespace, wait.gang, "" if wait.gang else f"{wait.reason.code} {wait.reason.message}")
            found.setdefault(key, ([], wait.reason))[0].append(member.name)
    return tuple(
        answer.PendingEntry(namespace, gang or None, tuple(names), entry_of(reason))
        for (namespace, gang, _), (names, reason) in found.items()
    )


def entry_of(reason: Reason) -> answer.ReasonEntry:
    """A reason as answers show it."""
    return answer.ReasonEntry(
        code=reason.code,
        message=reason.message,
        numbers=reason.numbers,
        best_domain=reason.best_domain,
        next_step=reason.next_step,
        starts_at=reason.starts_at,
    )
