"""Small worlds for the tests of the core: nodes, shapes, members, gangs, and pools written as text.

A world is a line per rack, `zone/rack: name=cards name=cards-used …`; `-` stands for a label that is not there:

    a/a1: n1=8 n2=8-3
    b/-: n3=4

gives n1 (8 cards, all free), n2 (5 of 8 free) in rack a1 of zone a, and n3 in zone b without a rack.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gangpool.core.cycle import Cycle
from gangpool.core.kind import Kind
from gangpool.core.ledger import Ledger
from gangpool.core.model import (
    CARD,
    HOSTNAME,
    Gang,
    Level,
    Member,
    NodeFacts,
    NodeSelector,
    Plan,
    Requirement,
    Selector,
    Shape,
    Spread,
    Taint,
    Term,
    Wait,
)
from gangpool.core.pool import Pool
from gangpool.core.vec import Ints

ZONE, RACK = "zone", "rack"
LEVELS = (ZONE, RACK)
GIB = 1 << 30


def node(
    name: str, gpu: int = 8, *, cpu: int = 64, gib: int = 512, pods: int = 110, host: bool = True, **more: Any
) -> NodeFacts:
    """A node; `cpu` in cores, `gib` of memory, `more`: `labels` and other fields of NodeFacts."""
    labels = {HOSTNAME: name} if host else {}
    labels |= more.pop("labels", {})
    room = {CARD: gpu, "cpu": 1000 * cpu, "memory": gib * GIB, "pods": pods} | more.pop("room", {})
    return NodeFacts(name, {k: v for k, v in room.items() if v}, labels, **more)


def shape(gpu: int = 1, *, cpu: int = 1, gib: int = 1, **rules: Any) -> Shape:
    """What a member asks for; 0 leaves a resource out. `rules`: fields of Shape, `room` other resources."""
    asks = {CARD: gpu, "cpu": 1000 * cpu, "memory": gib * GIB, "pods": 1} | rules.pop("room", {})
    return Shape(tuple(sorted((k, v) for k, v in asks.items() if v)), **rules)


def requirement(text: str) -> Requirement:
    """`key=a,b` `key!=a` `key` `!key` `key>3` `key<3`."""
    if text.startswith("!"):
        return Requirement(text[1:], "DoesNotExist")
    for sign, operator in (("!=", "NotIn"), ("=", "In"), (">", "Gt"), ("<", "Lt")):
        if sign in text:
            key, value = text.split(sign, 1)
            return Requirement(key, operator, tuple(value.split(",")))  # type: ignore[arg-type]
    return Requirement(text, "Exists")


def selector(text: str) -> tuple[Requirement, ...]:
    """`a=1 b` as requirements that all must hold."""
    return tuple(requirement(part) for part in text.split())


def either(*terms: str) -> NodeSelector:
    """A node selector: any of the terms."""
    return tuple(selector(term) for term in terms)


def term(key: str, who: str, *spaces: str, by_label: Selector = None) -> Term:
    """An inter-pod term over pods `who` in namespaces (default `ml`)."""
    return Term(key, selector(who), spaces or ("ml",), by_label)


def spread(key: str, who: str, skew: int = 1, **more: Any) -> Spread:
    return Spread(key, skew, selector(who), "ml", **more)


def taint(text: str) -> Taint:
    """`key=value:Effect`."""
    rest, effect = text.rsplit(":", 1)
    key, _, value = rest.partition("=")
    return Taint(key, value, effect)  # type: ignore[arg-type]


def member(uid: str, what: Shape | None = None, gang: str = "", **more: Any) -> Member:
    """A pod of ours in namespace ml; `labels` as text (`app=web team=red`)."""
    labels = more.pop("labels", "")
    if isinstance(labels, str):
        labels = tuple(sorted(tuple(part.split("=", 1)) for part in labels.split()))
    space = more.pop("namespace", "ml")
    return Member(uid, space, uid, what or shape(), labels=labels, gang=gang, **more)


def members(gang: str, n: int, what: Shape | None = None, start: int = 0, **more: Any) -> list[Member]:
    """Members `g-0`, `g-1`, … of a gang `ml/g`, by rank. One shape object for all, as intake makes them."""
    what = what or shape()
    name = gang.rsplit("/", 1)[-1]
    infix = f"-{more['role']}" if more.get("role") else ""
    return [member(f"{name}{infix}-{r}", what, gang, rank=r, **dict(more)) for r in range(start, start + n)]


def foreign(uid: str, where: str, what: Shape, **more: Any) -> Member:
    """A running pod of somebody else."""
    return member(uid, what, node=where, ours=False, **more)


def nodes_of(world: str) -> list[tuple[NodeFacts, int]]:
    """(node, cards in use) of a world as text, in the order of the text."""
    found = []
    for line in world.strip().splitlines():
        path, _, rest = line.strip().partition(":")
        labels = {key: value for key, value in zip(LEVELS, path.split("/"), strict=True) if value != "-"}
        for entry in rest.split():
            name, _, cards = entry.partition("=")
            total, _, used = cards.partition("-")
            found.append((node(name, int(total), labels=labels), int(used or 0)))
    return found


def pool_of(world: str, levels: tuple[str, ...] | None = LEVELS) -> Pool:
    """A pool of a world as text; cards in use are held by one foreign pod per node."""
    pool = Pool(levels)
    for facts, used in nodes_of(world):
        pool.set_node(facts)
        if used:
            pool.set_member(foreign(f"on-{facts.name}", facts.name, shape(used, cpu=0, gib=0)))
    return pool


def ledger_of(world: str) -> Ledger:
    """The ledger of such a pool."""
    return pool_of(world).ledger


def kind(ledger: Ledger, what: Shape, labels: str = "", space: str = "ml") -> Kind:
    return ledger.kind(what, space, member("x", labels=labels).labels)[0]


def submit(pool: Pool, name: str, n: int, what: Shape | None = None, **more: Any) -> str:
    """Add a gang `ml/NAME` of n equal members, minimum n unless `minimum` says otherwise; fields of Gang in `more`
    except `labels`, which are the members'."""
    key = f"ml/{name}"
    labels = more.pop("labels", "")
    pool.set_gang(Gang(key, more.pop("minimum", n), **more))
    for one in members(key, n, what, labels=labels):
        pool.set_member(one)
    return key


def plan(pool: Pool) -> Plan:
    """One cycle of a planner that has seen nothing before."""
    return Cycle(pool).run()


def places(made: Plan) -> dict[str, str]:
    """uid to node."""
    return {seat.member.uid: seat.node for seat in made.seats}


def seated(pool: Pool) -> dict[str, str]:
    """uid to node for all that one cycle seats."""
    return places(plan(pool))


def only_wait(made: Plan) -> Wait:
    """The wait of a plan that has exactly one."""
    assert len(made.waits) == 1, made.waits
    return made.waits[0]


def level(key: str) -> Level:
    return Level(key=key)


def ints(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)
