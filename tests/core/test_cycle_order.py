"""Determinism: the same events give the same plan, and what came in which order before does not matter: nodes, pods
of others, units of one queue order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random

import pytest
from msgspec.structs import replace

from gangpool.core.cycle import Cycle
from gangpool.core.model import Gang, Member, NodeFacts, Plan
from gangpool.core.pool import Pool
from tests.core.build import RACK, ZONE
from tests.core.history import History

EVENTS = 90


def before_a_cycle(seed: str) -> History:
    """A history with much that waits and was never planned."""
    history = History(seed)
    for _ in range(EVENTS):
        history.step()
    for _ in range(10):
        history.end_something()
    for _ in range(8):
        history.new_gang()
        history.new_single()
    return history


def plans(seed: str) -> list[Plan]:
    history = History(seed)
    return [made for _ in range(EVENTS) if (made := history.step()) is not None]


@pytest.mark.parametrize("number", range(3))
def test_the_same_events_give_the_same_plans(number: int, seed: int) -> None:
    first = plans(f"{seed} order {number}")
    assert first == plans(f"{seed} order {number}")
    assert any(made.seats for made in first)
    assert any(made.waits for made in first)


class Snapshot:
    """What a list of all objects would say of a history: nodes, pods with their nodes, gangs."""

    def __init__(self, history: History) -> None:
        pool = history.pool
        self.nodes: list[NodeFacts] = [facts for _, facts in pool.ledger.alive()]
        self.namespaces = dict(pool.ledger.terms.namespaces)
        self.gangs: list[Gang] = [unit.gang for unit in pool.units.values() if unit.gang is not None]
        self.running: list[Member] = []
        self.waiting: list[Member] = []
        for unit in pool.units.values():
            self.waiting += unit.waiting.values()
            for uid, member in unit.seated.items():
                claim = pool.ledger.claims.get(uid)
                if claim is not None:
                    facts = pool.ledger.facts[claim.node]
                    assert facts is not None
                    cards = tuple(i for i in range(8) if claim.cards >> i & 1)
                    self.running.append(replace(member, node=facts.name, cards=cards, ports=claim.ports))

    def pool(self, rng: Random) -> Pool:
        """A pool that got all of this in some order."""
        pool = Pool((ZONE, RACK), capacity=rng.choice([1, 64, 100]))
        events: list[Callable[[], None]] = [partial(pool.set_node, facts) for facts in self.nodes]
        events += [partial(pool.set_member, member) for member in (*self.running, *self.waiting)]
        events += [partial(pool.set_gang, gang) for gang in self.gangs]
        rng.shuffle(events)
        for name, labels in rng.sample(sorted(self.namespaces.items()), len(self.namespaces)):
            pool.set_namespace(name, labels)
        for event in events:
            event()
        return pool


def told(made: Plan) -> tuple[dict[str, tuple[str, int]], dict[str, str]]:
    seats = {seat.member.uid: (seat.node, seat.cards) for seat in made.seats}
    return seats, {m.uid: wait.reason.code for wait in made.waits for m in wait.members}


@pytest.mark.parametrize("number", range(8))
def test_a_restart_decides_as_a_live_pool_whatever_the_order_of_the_list(number: int, seed: int) -> None:
    """A history runs for a while; then a new pool gets the same objects in any order, and plans the same."""
    rng = Random(f"{seed} {number}")
    snapshot = Snapshot(before_a_cycle(f"{seed} restart {number}"))
    first, second = (told(Cycle(snapshot.pool(rng)).run()) for _ in range(2))
    assert first == second
    assert first[0]


@pytest.mark.parametrize("number", range(6))
def test_names_of_nodes_do_not_change_how_many_domains_are_used(number: int, seed: int) -> None:
    """Equal nodes are told apart by name only: with other names other nodes may be chosen, but as few of them."""
    rng = Random(f"{seed} names {number}")
    snapshot = Snapshot(before_a_cycle(f"{seed} names {number}"))
    one = first_gang(Cycle(snapshot.pool(rng)).run(), snapshot)
    shuffled = [facts.name for facts in snapshot.nodes]
    rng.shuffle(shuffled)
    new = dict(zip((facts.name for facts in snapshot.nodes), shuffled, strict=True))
    snapshot.nodes = [
        replace(f, name=new[f.name], labels=f.labels | {"kubernetes.io/hostname": new[f.name]}) for f in snapshot.nodes
    ]
    snapshot.running = [replace(member, node=new[member.node]) for member in snapshot.running]
    assert first_gang(Cycle(snapshot.pool(rng)).run(), snapshot) == one


def first_gang(made: Plan, snapshot: Snapshot) -> tuple[str, int, int, int]:
    """The first gang of several members that is seated, before others have made a difference: members, nodes, racks."""
    labels = {facts.name: facts.labels for facts in snapshot.nodes}
    sizes = Counter(seat.member.gang for seat in made.seats)
    gang = next(seat.member.gang for seat in made.seats if seat.member.gang and sizes[seat.member.gang] > 1)
    nodes = {seat.node for seat in made.seats if seat.member.gang == gang}
    return gang, sizes[gang], len(nodes), len({(labels[n].get(ZONE), labels[n].get(RACK)) for n in nodes})
