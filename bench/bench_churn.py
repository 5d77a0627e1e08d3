"""One placement in pools of different size: cost must follow what changed, not the pool.

Gangs of 4 of 50 shapes come and go at equal fill: before each placement, one gang leaves. The planner stays warm, as
in a process that lives: a tally has last looked when its shape was asked for, some 50 placements ago. Measured is the
cycle alone, of each placement; a run's figure is the median of 1,000.
"""

from __future__ import annotations

import random
import time
from functools import cache
from statistics import median

from bench import worlds
from bench.harness import Case, bench
from gangpool.core.cycle import Cycle
from gangpool.core.model import CARD, Plan
from gangpool.core.pool import Pool

FILL = 0.6
N_PLACEMENTS = 1_000
N_SHAPES = 50
N_RUNNING = 40
"""Gangs of the churn that run at a time, in pools of every size; the rest of the fill are single pods."""
CARDS_RUNNING = N_RUNNING * 4 * 15 // 4
"""What they hold on average: 4 members of 1, 2, 4 or 8 cards."""


class Churn:
    """A pool, its planner and the gangs of 4 that come and go. Mutable; it goes on from run to run."""

    def __init__(self, n_nodes: int) -> None:
        self.rng = random.Random(n_nodes)
        self.shapes = worlds.shapes(N_SHAPES)
        self.pool: Pool = worlds.pool_of(worlds.fabric_nodes(n_nodes))
        n_cards = n_nodes * worlds.ALLOCATABLE[CARD]
        worlds.fill(self.pool, self.shapes, FILL - CARDS_RUNNING / n_cards, self.rng)
        self.cycle = Cycle(self.pool)
        self.running: list[worlds.Arrival] = []
        self.n_total = 0
        for _ in range(N_RUNNING):
            self.place()

    def n_cards(self) -> int:
        """Cards in use."""
        books = self.pool.ledger
        return int(books.total[CARD].view.sum() - books.free[CARD].view.sum())

    def place(self) -> tuple[float, Plan]:
        """One gang leaves, one comes: CPU seconds of the cycle, and its plan."""
        if len(self.running) >= N_RUNNING:
            gone = self.running.pop(self.rng.randrange(len(self.running)))
            for member in gone.members:
                self.pool.drop_member(member.uid)
            self.pool.drop_gang(gone.gang.key)
        arrival = worlds.arrival(f"gang-{self.n_total}", self.rng.choice(self.shapes), 4)
        self.n_total += 1
        arrival.enter(self.pool)
        self.running.append(arrival)
        before = time.process_time()
        plan = self.cycle.run()
        return time.process_time() - before, plan

    def thousand(self) -> list[tuple[float, Plan]]:
        """A thousand placements."""
        return [self.place() for _ in range(N_PLACEMENTS)]


@cache
def churn(n_nodes: int) -> Churn:
    """Built once: 128,000 nodes take a while."""
    made = Churn(n_nodes)
    worlds.settle_memory()
    return made


def case(n_nodes: int) -> Case:
    """A thousand placements on so many nodes."""

    def check(of: Churn, found: list[tuple[float, Plan]]) -> None:
        for _, plan in found:
            assert len(plan.seats) == 4, plan
            assert not plan.waits
        for fault in of.pool.faults():
            raise AssertionError(fault)
        share = of.n_cards() / (n_nodes * worlds.ALLOCATABLE[CARD])
        assert abs(share - FILL) < 0.03, share

    return Case(
        prepare=lambda: churn(n_nodes),
        work=Churn.thousand,
        check=check,
        seconds=lambda found: median(seconds for seconds, _ in found),
    )


@bench("churn-1280")
def churn_1280() -> Case:
    """The smallest pool."""
    return case(1_280)


@bench("churn-12800", reference="churn-1280")
def churn_12800() -> Case:
    """Ten times as many nodes."""
    return case(12_800)


@bench("churn-128000", reference="churn-1280")
def churn_128000() -> Case:
    """A hundred times as many."""
    return case(128_000)
