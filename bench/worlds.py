"""Pools, shapes and gangs that the benchmarks are made of, and the invariants that every result must meet.

All random choices come from a seed. A world is made of the values that `gangpool.intake` would make; building it
is never measured, except where a benchmark says so. Called by the `bench_*.py` files.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from gangpool.core.cycle import Cycle
from gangpool.core.model import (
    CARD,
    HOSTNAME,
    Gang,
    Level,
    Member,
    NodeFacts,
    Plan,
    Requirement,
    Shape,
    Term,
)
from gangpool.core.pool import Pool

GIB = 1 << 30
RACK = "topology.kubernetes.io/rack"
CORE, SPINE, LEAF = (f"network.topology.nvidia.com/{level}" for level in ("core", "spine", "leaf"))
NODES_PER_LEAF = 16
LEAVES_PER_SPINE = 8
SPINES_PER_CORE = 10
ALLOCATABLE = {CARD: 8, "cpu": 192_000, "memory": 2048 * GIB, "pods": 110}
"""A common eight-card server."""


class Arrival(Struct, frozen=True):
    """A gang and its members, as events."""

    gang: Gang
    members: tuple[Member, ...]

    def enter(self, pool: Pool) -> None:
        """Tell the pool of them."""
        pool.set_gang(self.gang)
        for member in self.members:
            pool.set_member(member)


def rack_nodes(n: int, racks: int) -> list[NodeFacts]:
    """One level: racks of equal size."""
    return [_node(i, {RACK: f"rack-{i * racks // n}"}) for i in range(n)]


def fabric_nodes(n: int) -> list[NodeFacts]:
    """Three levels: 16 nodes a leaf, 8 leaves a spine, 10 spines a core (1,280 nodes)."""
    found = []
    for i in range(n):
        leaf = i // NODES_PER_LEAF
        spine = leaf // LEAVES_PER_SPINE
        core = spine // SPINES_PER_CORE
        found.append(_node(i, {CORE: f"core-{core}", SPINE: f"spine-{spine}", LEAF: f"leaf-{leaf}"}))
    return found


def _node(i: int, labels: dict[str, str]) -> NodeFacts:
    name = f"node-{i:06d}"
    return NodeFacts(name, ALLOCATABLE, {HOSTNAME: name, **labels})


def pool_of(nodes: Sequence[NodeFacts]) -> Pool:
    """A pool with these nodes, all free."""
    pool = Pool(capacity=len(nodes))
    for facts in nodes:
        pool.set_node(facts)
    return pool


def shape(cards: int, cpu: int, memory_gib: int) -> Shape:
    """What a member asks for: cards, cores, GiB."""
    asked = {CARD: cards, "cpu": cpu * 1000, "memory": memory_gib * GIB, "pods": 1}
    return Shape(tuple(sorted((name, amount) for name, amount in asked.items() if amount)))


def apart(of: Shape, name: str) -> Shape:
    """The same, and members of the gang `name` keep off each other's nodes."""
    term = Term(HOSTNAME, (Requirement("job-name", "In", (name,)),), ("team",))
    return replace(of, anti_affinity=(term,))


def shapes(n: int) -> list[Shape]:
    """Different shapes with 1, 2, 4 and 8 cards, as many of each, and 4 to 24 cores and 32 to 256 GiB a card.

    A node has 24 cores and 256 GiB a card."""
    rng = random.Random(n)
    found: dict[Shape, None] = {}
    for i in count():
        cards = (1, 2, 4, 8)[i % 4]
        found[shape(cards, cards * rng.choice((4, 8, 12, 16, 24)), cards * rng.choice((32, 64, 128, 200, 256)))] = None
        if len(found) == n:
            break
    return list(found)


def arrival(name: str, of: Shape, n: int, required: str = "", created: float = 0.0) -> Arrival:
    """A gang of `n` equal members; `required`: label key of the level that they share. As controllers do, each
    member has its index as a label, so that no two have the same labels."""
    key = f"team/{name}"
    gang = Gang(key, n, required=Level(required) if required else None, created=created)
    members = (
        Member(
            f"{name}-{rank}",
            "team",
            f"{name}-{rank}",
            of,
            (("batch.kubernetes.io/job-completion-index", str(rank)), ("job-name", name)),
            key,
            rank=rank,
            created=created,
        )
        for rank in range(n)
    )
    return Arrival(gang, tuple(members))


def single(name: str, of: Shape, node: str) -> Member:
    """A pod without a gang that runs on a node."""
    return Member(name, "team", name, of, (("app", "single"),), node=node)


def fill(pool: Pool, of: Sequence[Shape], share: float, rng: random.Random) -> None:
    """Put single pods of random shapes on random nodes where they fit, until this share of the cards is in use."""
    names = [facts.name for _, facts in pool.ledger.alive()]
    left = round(share * ALLOCATABLE[CARD] * len(names))
    free = {name: dict(ALLOCATABLE) for name in names}
    for number in count():
        chosen, node = rng.choice(of), rng.choice(names)
        cards = dict(chosen.requests)[CARD]
        if cards <= left and all(free[node][r] >= amount for r, amount in chosen.requests):
            for r, amount in chosen.requests:
                free[node][r] -= amount
            pool.set_member(single(f"single-{number}", chosen, node))
            left -= cards
        if not left:
            return


def warm(pool: Pool, cycle: Cycle) -> None:
    """Plan a pod of a shape that nobody else has, so that the trees stand, as in a process that lives."""
    pool.set_member(Member("first", "team", "first", shape(0, 1, 1)))
    assert len(cycle.run().seats) == 1
    pool.drop_member("first")


def settle_memory() -> None:
    """What the live process does once its pool is built: everything that is there now is left out of collections
    (they would cost 30 to 40 ms now and then); the collector itself stays on."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


# ---- invariants


def check(pool: Pool, plan: Plan, arrivals: Iterable[Arrival]) -> int:
    """Every member of the gangs is decided once; books and cards are right; gangs are whole, or wait with a reason
    whose numbers say less than the minimum; levels and rules between members hold. Returns how many are seated."""
    for fault in pool.faults():
        raise AssertionError(fault)
    nodes: dict[str, list[str]] = {}
    decided = set()
    for seat in plan.seats:
        assert seat.member.uid not in decided, f"{seat.member.uid} is decided twice"
        decided.add(seat.member.uid)
        assert seat.cards.bit_count() == dict(seat.member.shape.requests).get(CARD, 0), "cards"
        nodes.setdefault(seat.member.gang, []).append(seat.node)
    for wait in plan.waits:
        for member in wait.members:
            assert member.uid not in decided, f"{member.uid} is decided twice"
            decided.add(member.uid)
        assert wait.gang not in nodes, f"part of {wait.gang} is seated"
        numbers = wait.reason.numbers
        assert int(numbers["best"]) < int(numbers["needed"]), "a reason that is none"
    for name, i in pool.ledger.slot.items():
        for resource, vec in pool.ledger.free.items():
            assert vec.at[i] >= 0, f"{name} gives more {resource} than it has"
    for of in arrivals:
        assert all(member.uid in decided for member in of.members), f"{of.gang.key} is not decided"
        _check_gang(pool, of, nodes.get(of.gang.key, []))
    return sum(len(found) for found in nodes.values())


def _check_gang(pool: Pool, of: Arrival, nodes: list[str]) -> None:
    if not nodes:
        return
    assert len(nodes) == len(of.members), f"{of.gang.key} is seated in part"
    if of.gang.required is not None:
        assert len(set(label(pool, nodes, of.gang.required.key))) == 1, f"{of.gang.key} leaves its domain"
    if of.members[0].shape.anti_affinity:
        assert len(set(nodes)) == len(nodes), f"{of.gang.key} shares a node with itself"


def label(pool: Pool, nodes: Iterable[str], key: str) -> Iterator[str]:
    """Values of a label on nodes."""
    for name in nodes:
        facts = pool.ledger.facts[pool.ledger.slot[name]]
        assert facts is not None
        yield facts.labels[key]


def whole_nodes(pool: Pool) -> int:
    """Nodes whose cards are all free."""
    return int((~pool.ledger.broken()).sum())
