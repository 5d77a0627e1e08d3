"""The nodes of a pool with what is free on each: the answer of `gangpool nodes`, `gangpool.io/nodes/v1`.

Pure, and read from the ledger, so that it cannot differ from what the planner sees. Called by `gangpool.cli.nodes`.
"""

from __future__ import annotations

from msgspec import Struct

from gangpool.core.ledger import Ledger
from gangpool.core.match import matches
from gangpool.core.model import CARD, PODS, NodeFacts, Selector
from gangpool.core.topology import Tree
from gangpool.intake.amounts import amounts_text
from gangpool.intake.answer import DomainEntry

NODES_SCHEMA = "gangpool.io/nodes/v1"
NOT_READY = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
CORDONED = "node.kubernetes.io/unschedulable"


class NodeEntry(Struct, frozen=True):
    """One node. `cards_free` and `free` may be negative where allocatable fell below use; `ports` is None where the
    node does not say which it has; `taints` as `key=value:effect`; `pods` counts those that hold room."""

    name: str
    ready: bool
    schedulable: bool
    cards: int
    cards_free: int
    ports: int | None
    pods: int
    pods_max: int
    domains: tuple[DomainEntry, ...]
    taints: tuple[str, ...]
    allocatable: dict[str, str]
    free: dict[str, str]


class NodesAnswer(Struct, frozen=True):
    """The whole answer, nodes in the order of the pool."""

    schema: str
    nodes: tuple[NodeEntry, ...]


def node_list(ledger: Ledger, tree: Tree, selector: Selector = ()) -> NodesAnswer:
    """The nodes whose labels the selector matches, with their domains in this tree. O(nodes x their resources)."""
    chosen = ((i, facts) for i, facts in ledger.alive() if matches(selector, facts.labels))
    return NodesAnswer(NODES_SCHEMA, tuple(_entry(ledger, tree, i, facts) for i, facts in chosen))


def _entry(ledger: Ledger, tree: Tree, i: int, facts: NodeFacts) -> NodeEntry:
    free = {name: ledger.resource(name).at[i] for name in facts.allocatable}
    keys = {taint.key for taint in facts.taints}
    return NodeEntry(
        name=facts.name,
        ready=not keys & NOT_READY,
        schedulable=CORDONED not in keys,
        cards=facts.allocatable.get(CARD, 0),
        cards_free=free.get(CARD, 0),
        ports=len(facts.ports) or None,
        pods=len(ledger.on_node[i]),
        pods_max=facts.allocatable.get(PODS, 0),
        domains=tuple(DomainEntry(level, domain) for level, domain in tree.path_of(i)),
        taints=tuple(map(str, facts.taints)),
        allocatable=amounts_text(facts.allocatable),
        free=amounts_text(free),
    )
