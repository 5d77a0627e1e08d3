"""How well gangs are packed: whole nodes left after a day of arrivals, and nodes that a gang of 4 is spread over."""

from __future__ import annotations

from functools import lru_cache
from statistics import mean

from msgspec import Struct

from bench import worlds
from bench.bench_decisions import day, plan
from bench.harness import figure
from bench.plain import PlainPlanner

N_WORLDS = 10


class Packed(Struct, frozen=True):
    """What is left of one world: whole nodes by our rule and by the plain one, nodes per gang of 4, members seated."""

    whole: int
    plain_whole: int
    spread: float
    plain_spread: float
    seated: int
    plain_seated: int


def pack(seed: int) -> Packed:
    """The workload of `decisions-5000` with another seed, by the planner and by the plain rule."""
    of = day(seed)
    facts = [facts for _, facts in of.pool.ledger.alive()]
    running = [member for unit in of.pool.units.values() for member in unit.seated.values()]
    plain = PlainPlanner(facts, worlds.RACK, running)
    found = plan(of)
    seated = worlds.check(of.pool, found, of.arrivals)
    nodes: dict[str, set[str]] = {}
    for seat in found.seats:
        nodes.setdefault(seat.member.gang, set()).add(seat.node)
    plain_seated = 0
    for one in sorted(of.arrivals, key=lambda a: a.gang.created):
        plain_seated += len(one.members) if plain.seat(one) else 0
    small = [one.gang.key for one in of.arrivals if len(one.members) == 4]
    return Packed(
        worlds.whole_nodes(of.pool),
        plain.whole_nodes(),
        mean(len(nodes[key]) for key in small if key in nodes),
        mean(len(plain.nodes_of[key]) for key in small if key in plain.nodes_of),
        seated,
        plain_seated,
    )


@lru_cache(maxsize=1)
def packed() -> list[Packed]:
    """Ten random worlds."""
    return [pack(seed) for seed in range(1, N_WORLDS + 1)]


@figure("packing-whole-nodes", "x")
def whole() -> float:
    """Whole nodes that are left, against the plain rule: mean of the ratios."""
    return mean(one.whole / one.plain_whole for one in packed())


@figure("packing-nodes-per-gang", "nodes")
def spread() -> float:
    """Nodes that a gang of 4 is spread over, mean over gangs and worlds."""
    return mean(one.spread for one in packed())


@figure("packing-seated", "x")
def seated() -> float:
    """Members that are seated, against the plain rule: whole nodes must not come from leaving members out."""
    return mean(one.seated / one.plain_seated for one in packed())
