"""Random histories of a pool of some 45 nodes: gangs of every sort come, run, lose members and nodes, and go.

One `History` per seed; `step()` makes one event and, mostly, a cycle. What must hold after each is in `invariants`.
"""

from __future__ import annotations

from random import Random
from typing import Any

from msgspec.structs import replace

from gangpool.core.cycle import Cycle
from gangpool.core.model import CARD, HOSTNAME, Block, Gang, Level, Member, NodeFacts, Plan, Role, Shape, Toleration
from gangpool.core.pool import Pool
from tests.core.build import (
    RACK,
    ZONE,
    either,
    foreign,
    level,
    member,
    node,
    requirement,
    selector,
    shape,
    spread,
    taint,
)
from tests.core.build import term as over

TAINTS = (
    taint("dedicated=ml:NoSchedule"),
    taint("slow:PreferNoSchedule"),
    taint("node.kubernetes.io/unschedulable:NoSchedule"),
)
PORT = (("", "TCP", 29500),)
MOST_WAITING = 14
"""Units that wait at a time: enough to compete, few enough to be quick."""


class History:
    """Mutable: a pool with its planner, and what the world around it knows."""

    def __init__(self, seed: str) -> None:
        self.rng = Random(seed)
        self.pool = Pool((ZONE, RACK), capacity=16)
        self.cycle = Cycle(self.pool)
        self.lost: list[NodeFacts] = []
        self.unbound: dict[str, Member] = {}
        """Seated by a plan, and not yet told to be bound."""
        self.disturbed: set[str] = set()
        """Gangs that lost a running member, or whose minimum was raised, from outside."""
        self.n_made = 0
        self.log: list[str] = []
        for i in range(45):
            self.pool.set_node(self.facts(f"n{i}"))

    def chance(self, percent: int) -> bool:
        return self.rng.randrange(100) < percent

    def name(self, prefix: str) -> str:
        self.n_made += 1
        return f"{prefix}{self.n_made}"

    # ---- events

    def step(self) -> Plan | None:
        """One event; a plan if a cycle followed."""
        events = [self.new_gang] * 5 + [self.new_single] * 3 + [self.new_foreign] * 2 + [self.end_something] * 4
        events += [self.lose_member] * 2 + [self.open_gate, self.lose_node, self.return_node, self.change_node]
        events += [self.bind, self.change_namespace, self.change_labels, self.change_gang]
        event = self.rng.choice(events)
        if len(self.pool.waiting()) > MOST_WAITING:
            event = self.end_something
        self.log.append(event.__name__)
        event()
        if self.chance(25):
            return None
        plan = self.cycle.run()
        for seat in plan.seats:
            bound = replace(seat.member, node=seat.node, cards=_indexes(seat.cards), ports=seat.ports)
            self.unbound[seat.member.uid] = bound
        if self.chance(50):
            self.bind()
        return plan

    def bind(self) -> None:
        """The API server says that what was planned is bound."""
        for uid, bound in self.unbound.items():
            if self.pool.member(uid) is not None and bound.node in self.pool.ledger.slot:
                self.pool.set_member(bound)
        self.unbound.clear()

    def new_gang(self) -> None:
        rng, name = self.rng, self.name("g")
        key, size = f"ml/{name}", rng.choice([1, 2, 2, 3, 4, 4, 6, 8, 12])
        gang = Gang(
            key, size if self.chance(70) else rng.randint(0, size), priority=rng.randrange(3), created=self.n_made
        )
        if self.chance(35):
            gang = replace(gang, required=self.level())
        if self.chance(15):
            gang = replace(gang, preferred=(self.level(),))
        if self.chance(30) and size > 2:
            self.mixed_gang(gang, size)
            return
        if self.chance(20):
            gang = replace(gang, blocks=(("", Block(rng.choice([2, 3, 4]), self.level())),))
        self.pool.set_gang(gang)
        self.add(gang, size, self.shape(name), "")

    def mixed_gang(self, gang: Gang, size: int) -> None:
        """A master and workers; each role has its own shape, minimum, sometimes level and blocks."""
        rng, name = self.rng, gang.key.split("/")[1]
        least = rng.randint(0, size - 1)
        gang = replace(gang, roles=(Role("m", 1), Role("w", least)), minimum=max(gang.minimum, 1 + least))
        if self.chance(25):
            gang = replace(gang, role_levels=(("w", self.level()),))
        if self.chance(20):
            gang = replace(gang, blocks=(("w", Block(rng.choice([2, 3]), self.level())),))
        self.pool.set_gang(gang)
        master = self.shape(name)
        if self.chance(25):
            master = replace(master, anti_affinity=(over(HOSTNAME, f"app={name} role=w"),))
        self.add(gang, 1, master, "m")
        self.add(gang, size - 1, self.shape(name), "w")

    def add(self, gang: Gang, n: int, what: Shape, role: str) -> None:
        name = gang.key.split("/")[1]
        gates = ("example.com/hold",) if self.chance(10) else ()
        for rank in range(n):
            uid = f"{name}{'-' if role else ''}{role}-{rank}"
            held = gates if rank == n - 1 else ()
            labels = f"app={name} team={name[-1]}" + (f" role={role}" if role else "")
            self.pool.set_member(member(uid, what, gang.key, role=role, rank=rank, gates=held, labels=labels))

    def level(self) -> Level:
        return self.rng.choice([level(ZONE), level(RACK), Level(tier=1), Level(tier=2), level(RACK)])

    def shape(self, name: str) -> Shape:
        """Amounts, and now and then some rules, of a gang or pod whose members are labelled app=NAME."""
        rng = self.rng
        rules: dict[str, Any] = {}
        if self.chance(15):
            rules["node_selectors"] = (
                rng.choice([either("board=h100"), either("zone=a", "board=a100"), either("rack!=a1")]),
            )
        if self.chance(40):
            rules["tolerations"] = (Toleration("dedicated", "Exists"),)
        if self.chance(10):
            key = rng.choice([HOSTNAME, HOSTNAME, RACK, ZONE])
            who = rng.choice([f"app={name}", f"team={rng.randrange(10)}"])
            rules["anti_affinity"] = (over(key, who, by_label=rng.choice([None, selector("env=prod")])),)
        if self.chance(8):
            key = rng.choice([RACK, ZONE])
            rules["affinity"] = (over(key, rng.choice([f"app={name}", f"app={name}", "kind=web"]), "ml", "ops"),)
        if self.chance(10):
            rules["spread"] = (spread(rng.choice([ZONE, RACK, HOSTNAME]), f"app={name}", rng.choice([1, 2, 4])),)
        if self.chance(6):
            rules["host_ports"] = PORT
        if self.chance(8):
            rules["preferred"] = ((10, (requirement("board=a100"),)),)
        if self.chance(6):
            rules["soft_terms"] = ((-5, over(HOSTNAME, f"app={name}")),)
        return shape(rng.choice([0, 1, 1, 2, 4, 8]), cpu=rng.choice([1, 2, 6]), **rules)

    def new_single(self) -> None:
        name = self.name("p")
        labels = f"app={name} team={name[-1]}"
        self.pool.set_member(member(name, self.shape(name), labels=labels, priority=self.rng.randrange(2)))

    def new_foreign(self) -> None:
        """A pod of another scheduler starts on a node that has room for it."""
        rng, name = self.rng, self.name("f")
        what = shape(rng.choice([0, 1, 2]), cpu=rng.choice([1, 4]), anti_affinity=())
        if self.chance(20):
            what = replace(what, anti_affinity=(over(HOSTNAME, f"team={rng.randrange(10)}", by_label=()),))
        i = rng.choice([i for i, _ in self.pool.ledger.alive()])
        facts = self.pool.ledger.facts[i]
        kind, _ = self.pool.ledger.kind(what, "ops", ())
        if facts is not None and self.pool.ledger.room_on(i, kind):
            self.pool.set_member(foreign(name, facts.name, what, namespace="ops", labels="kind=web"))

    def end_something(self) -> None:
        """A whole unit, or a foreign pod, ends or is deleted."""
        if not self.pool.units:
            return
        unit = self.pool.units[self.rng.choice(sorted(self.pool.units))]
        for uid in (*unit.waiting, *unit.seated):
            self.pool.drop_member(uid)
        if unit.gang is not None:
            self.pool.drop_gang(unit.key)

    def lose_member(self) -> None:
        """Up to three running members die; their controller makes new pods for most of them at once."""
        units = [unit for key, unit in sorted(self.pool.units.items()) if unit.gang is not None and unit.seated]
        if not units:
            return
        unit = self.rng.choice(units)
        self.disturbed.add(unit.key)
        uids = sorted(unit.seated)
        for uid in self.rng.sample(uids, min(len(uids), self.rng.choice([1, 1, 2, 3]))):
            old = unit.seated[uid]
            self.pool.drop_member(uid)
            if self.chance(80):
                self.pool.set_member(replace(old, uid=self.name(f"{uid}-again"), node="", cards=None, ports=None))

    def open_gate(self) -> None:
        for unit in self.pool.waiting():
            for one in list(unit.waiting.values()):
                if one.gates:
                    self.pool.set_member(replace(one, gates=()))
                    return

    def change_gang(self) -> None:
        """A gang is scaled: another minimum, one member more."""
        units = [unit for key, unit in sorted(self.pool.units.items()) if unit.gang is not None and not unit.gang.roles]
        if not units:
            return
        unit = self.rng.choice(units)
        assert unit.gang is not None
        everyone = [*unit.waiting.values(), *unit.seated.values()]
        self.pool.set_gang(replace(unit.gang, minimum=self.rng.randint(0, len(everyone))))
        self.disturbed.add(unit.key)
        if everyone and self.chance(50):
            last = max(everyone, key=lambda m: m.rank)
            more = replace(last, uid=self.name("more"), rank=last.rank + 1, node="", cards=None, ports=None, gates=())
            self.pool.set_member(more)

    # ---- events: nodes and namespaces

    def facts(self, name: str) -> NodeFacts:
        rng = self.rng
        labels = {"board": rng.choice(["h100", "a100"])}
        if self.chance(95):
            labels[ZONE] = rng.choice("abc")
            if self.chance(90):
                labels[RACK] = labels[ZONE] + rng.choice("1234")
        taints = tuple(one for one in TAINTS if self.chance(6))
        return node(name, rng.choice([8, 8, 8, 4, 0]), cpu=rng.choice([16, 32]), labels=labels, taints=taints)

    def lose_node(self) -> None:
        """A node and all that runs there are gone; unbound plans too are told to be lost or stay."""
        names = sorted(self.pool.ledger.slot)
        if len(names) < 38:
            return
        name = self.rng.choice(names)
        i = self.pool.ledger.slot[name]
        facts = self.pool.ledger.facts[i]
        assert facts is not None
        self.lost.append(facts)
        uids = sorted(self.pool.ledger.on_node[i])
        self.disturbed |= {one.gang for uid in uids if (one := self.pool.member(uid)) is not None}
        self.pool.drop_node(name)
        if self.chance(60):
            for uid in uids:
                self.pool.drop_member(uid)

    def return_node(self) -> None:
        if self.lost:
            facts = self.lost.pop(self.rng.randrange(len(self.lost)))
            self.pool.set_node(facts if self.chance(70) else self.facts(facts.name))

    def change_node(self) -> None:
        """Cordon, cards that fail or heal, another rack."""
        rng = self.rng
        name = rng.choice(sorted(self.pool.ledger.slot))
        facts = self.pool.ledger.facts[self.pool.ledger.slot[name]]
        assert facts is not None
        match rng.randrange(3):
            case 0:
                facts = replace(facts, taints=() if facts.taints else (rng.choice(TAINTS),))
            case 1:
                facts = replace(facts, allocatable={**facts.allocatable, CARD: rng.choice([8, 7, 4])})
            case _:
                facts = replace(facts, labels=self.facts(name).labels)
        self.pool.set_node(facts)

    def change_namespace(self) -> None:
        labels = self.rng.choice([None, {"env": "prod"}, {"env": "dev"}])
        self.pool.set_namespace(self.rng.choice(["ml", "ops"]), labels)

    def change_labels(self) -> None:
        """The labels of a pod change, whether it waits or runs."""
        uids = sorted(self.pool._member_of)
        if not uids:
            return
        old = self.pool.member(self.rng.choice(uids))
        if old is not None and old.uid not in self.unbound:
            labels = dict(old.labels) | {"team": str(self.rng.randrange(10))}
            self.pool.set_member(replace(old, labels=tuple(sorted(labels.items()))))


def _indexes(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)
