"""One gang as large as the pool, and refusals of gangs that nearly fit: the time of one cycle.

The pool is ready: its trees stand, as in a process that lives. The gang's shape is new to the planner (no tally of
it stands), and nothing is remembered of earlier refusals. A refusal is so short that a run makes 25, each by a planner
of its own, and its figure is their median.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from bench import worlds
from bench.harness import Case, bench
from gangpool.core.cycle import Cycle
from gangpool.core.model import Gang, Level, Member, Plan, Role, Shape
from gangpool.core.pool import Pool

N_REFUSALS = 25
WORKER = worlds.shape(8, 64, 512)


class Ready(Struct, frozen=True):
    """A pool with what waits in it."""

    pool: Pool
    cycle: Cycle
    arrival: worlds.Arrival


def ready(n_nodes: int, running: Sequence[Member], of: worlds.Arrival) -> Ready:
    """A pool of three levels with these members on it, in which one cycle has planned a pod of another shape."""
    pool = worlds.pool_of(worlds.fabric_nodes(n_nodes))
    for member in running:
        pool.set_member(member)
    cycle = Cycle(pool)
    worlds.warm(pool, cycle)
    of.enter(pool)
    worlds.settle_memory()
    return Ready(pool, cycle, of)


def run(of: Ready) -> Plan:
    """What is measured."""
    return of.cycle.run()


def run_refused(of: Ready) -> tuple[list[float], Plan]:
    """CPU seconds of each refusal, and the last answer: they change nothing in the pool."""
    took_s: list[float] = []
    plan = Plan((), ())
    for _ in range(N_REFUSALS):
        cycle = Cycle(of.pool)
        before = time.process_time()
        plan = cycle.run()
        took_s.append(time.process_time() - before)
    return took_s, plan


# ---- one gang on the whole pool


def whole_pool(n_nodes: int) -> Case:
    """As many members of 8 cards as the pool has nodes."""

    def check(of: Ready, found: Plan) -> None:
        assert worlds.check(of.pool, found, [of.arrival]) == n_nodes
        assert len({seat.node for seat in found.seats}) == n_nodes
        assert [seat.rank for seat in found.seats] == list(range(n_nodes))
        leaves = list(worlds.label(of.pool, [seat.node for seat in found.seats], worlds.LEAF))
        moves = sum(a != b for a, b in itertools.pairwise(leaves))
        assert moves == len(set(leaves)) - 1, "ranks are not consecutive in the leaves"

    arrival = worlds.arrival("all", WORKER, n_nodes)
    return Case(prepare=lambda: ready(n_nodes, (), arrival), work=run, check=check, count=n_nodes)


@bench("gang-1280", runs=9)
def gang_1280() -> Case:
    """1,280 members of 8 cards on 1,280 nodes."""
    return whole_pool(1_280)


@bench("gang-12800")
def gang_12800() -> Case:
    """12,800 members of 8 cards on 12,800 nodes."""
    return whole_pool(12_800)


# ---- refusals, on 1,280 nodes


N_NODES = 1_280


def on_each(of: Shape, every: int = 1, first: int = 0) -> list[Member]:
    """A pod of this shape on every so many nodes."""
    return [worlds.single(f"on-{i}", of, f"node-{i:06d}") for i in range(first, N_NODES, every)]


def refused(
    running: Sequence[Member], of: worlds.Arrival, code: str, needed: int, best: int, words: Sequence[str]
) -> Case:
    """A gang that must wait for this reason: code, numbers and words of its message."""

    def check(made: Ready, found: tuple[list[float], Plan]) -> None:
        _, plan = found
        worlds.check(made.pool, plan, [of])
        (wait,) = plan.waits
        reason = wait.reason
        assert not plan.seats
        assert reason.code == code, reason
        assert (reason.numbers["needed"], reason.numbers["best"]) == (needed, best), reason
        assert all(word in reason.message for word in words), reason

    return Case(
        prepare=lambda: ready(N_NODES, running, of),
        work=run_refused,
        check=check,
        seconds=lambda found: median(found[0]),
    )


@bench("refusal-one-short", runs=9)
def one_short() -> Case:
    """1,280 members of 8 cards; one card of one node is in use."""
    busy = [worlds.single("busy", worlds.shape(1, 8, 64), "node-000700")]
    words = ("1279 of 1280 members fit in the pool", "nvidia.com/gpu asked 8", "node-000700 has 7")
    return refused(busy, worlds.arrival("all", WORKER, N_NODES), "cannot-fit", N_NODES, N_NODES - 1, words)


@bench("refusal-cpu", runs=9)
def in_cpu() -> Case:
    """The cards of all nodes are free, the cores of one are not: 1,279 of 1,280 members."""
    busy = [worlds.single("busy", worlds.shape(0, 150, 64), "node-000700")]
    words = ("1279 of 1280 members fit in the pool", "cpu asked 64", "node-000700 has 42")
    return refused(busy, worlds.arrival("all", WORKER, N_NODES), "cannot-fit", N_NODES, N_NODES - 1, words)


@bench("refusal-leaf", runs=9)
def leaf_only() -> Case:
    """16 members within one leaf of 16 nodes, each of which has one node in use. The pool holds 1,200 of them."""
    running = on_each(worlds.shape(1, 8, 64), every=worlds.NODES_PER_LEAF)
    arrival = worlds.arrival("leaf", WORKER, 16, worlds.LEAF)
    words = ("15 of 16 members fit in leaf", "nvidia.com/gpu asked 8", "has 7")
    return refused(running, arrival, "cannot-fit", 16, 15, words)


def mixed(parts: Sequence[tuple[str, Shape, int]], required: str = "") -> worlds.Arrival:
    """A gang of several roles, all of whose members it needs."""
    key = "team/mixed"
    n = sum(count for _, _, count in parts)
    roles = tuple(Role(role, count) for role, _, count in parts)
    gang = Gang(key, n, roles, required=Level(required) if required else None)
    members = tuple(
        Member(f"{role}-{rank}", "team", f"{role}-{rank}", of, (("role", role),), key, role, rank)
        for role, of, count in parts
        for rank in range(count)
    )
    return worlds.Arrival(gang, members)


@bench("refusal-mixed-proved", runs=9)
def mixed_proved() -> Case:
    """A master of 4 and 15 workers of 8 cards within one leaf, each of which has 15 whole nodes and one with 3 free
    cards: each role fits, both together do not, and a bound says so."""
    running = on_each(worlds.shape(5, 8, 64), every=worlds.NODES_PER_LEAF)
    arrival = mixed([("master", worlds.shape(4, 32, 256), 1), ("worker", WORKER, 15)], worlds.LEAF)
    return refused(running, arrival, "cannot-fit", 16, 15, ("15 of 16 members fit in leaf",))


@bench("refusal-mixed-search", runs=9)
def mixed_search() -> Case:
    """640 members of 5 cards and 3,201 of 2 on 1,280 free nodes: a node holds 5 + 2 or 2 + 2 + 2 + 2, so that one
    has no place. Every bound passes, the search ends without a proof."""
    n_five = N_NODES // 2
    n_two = n_five + 4 * (N_NODES - n_five) + 1
    arrival = mixed([("five", worlds.shape(5, 32, 256), n_five), ("two", worlds.shape(2, 16, 128), n_two)])
    n = n_five + n_two
    return refused((), arrival, "not-found", n, n - 1, ("no proof",))
