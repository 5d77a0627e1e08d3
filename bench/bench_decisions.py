"""Decisions a second where many gangs arrive at once, from the first event to the last decision, reasons included."""

from __future__ import annotations

import random

from msgspec import Struct

from bench import worlds
from bench.harness import Case, bench
from gangpool.core.cycle import Cycle
from gangpool.core.model import CARD, Plan
from gangpool.core.pool import Pool

N_NODES = 5_000
N_RACKS = 50
SHARE = 0.4
SEED = 7


class Day(Struct):
    """A pool that is in use, and the gangs that arrive. Mutable: a run changes the pool."""

    pool: Pool
    cycle: Cycle
    arrivals: list[worlds.Arrival]


def day(seed: int, large_level: str = worlds.RACK) -> Day:
    """5,000 nodes in 50 racks, 40 % of the cards in use, each by a pod of its own on a random node; 20 shapes.
    750 gangs of 4 within one rack, every twentieth with one member a node, and 9 gangs of 1,000 that require
    `large_level`: no rack holds one; "" lets them go anywhere. They come in random order; in the queue each gang
    of 1,000 is behind 75 more gangs of 4."""
    rng = random.Random(seed)
    of = worlds.shapes(20)
    pool = worlds.pool_of(worlds.rack_nodes(N_NODES, N_RACKS))
    worlds.fill(pool, [one for one in of if dict(one.requests)[CARD] == 1], SHARE, rng)
    arrivals = []
    for number in range(750):
        name, chosen = f"small-{number}", rng.choice(of)
        if number % 20 == 0:
            chosen = worlds.apart(chosen, name)
        arrivals.append(worlds.arrival(name, chosen, 4, worlds.RACK, created=number))
    for number in range(9):
        created = 75 * (number + 1) - 0.5
        arrivals.append(worlds.arrival(f"large-{number}", rng.choice(of), 1000, large_level, created))
    rng.shuffle(arrivals)
    cycle = Cycle(pool)
    worlds.warm(pool, cycle)
    return Day(pool, cycle, arrivals)


def plan(of: Day) -> Plan:
    """What is measured: events in, decisions out."""
    for one in of.arrivals:
        one.enter(of.pool)
    return of.cycle.run()


def _case(large_level: str, least: int, most: int) -> Case:
    """All 58 tallies are built within the measured time; the tree stands."""

    def prepare() -> Day:
        found = day(SEED, large_level)
        worlds.settle_memory()
        return found

    def check(of: Day, found: Plan) -> None:
        seated = worlds.check(of.pool, found, of.arrivals)
        assert least <= seated <= most, f"{seated} members are seated: not the workload that it was"

    return Case(work=plan, check=check, prepare=prepare, count=12_000)


@bench("decisions-5000")
def decisions() -> Case:
    """All gangs require a rack."""
    return _case(worlds.RACK, 2_000, 3_000)


@bench("decisions-5000-wide")
def decisions_wide() -> Case:
    """The gangs of 1,000 may go anywhere, so that some are seated: more claims, more nodes touched."""
    return _case("", 5_000, 11_500)
