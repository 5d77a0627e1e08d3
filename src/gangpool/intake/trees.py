"""The fabric as `gangpool tree` shows it: for each node its style of labels and the domains that it is in.

Pure: node facts and levels in, `gangpool.io/tree/v1` out. Called by `gangpool.cli.tree`.

Rules. A level that no node of the pool has is no level. A node belongs to the first style that gives it at least
one domain. A missing or empty label ends the node's path there (`core.presets.domain_path`); with no domain at all
it is `ungrouped` and has no style.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from gangpool.core.model import NodeFacts
from gangpool.core.pool import Pool
from gangpool.core.presets import domain_path, pool_levels, used_keys
from gangpool.intake.amounts import amounts_text
from gangpool.intake.answer import DomainEntry

TREE_SCHEMA = "gangpool.io/tree/v1"


class TreeNode(Struct, frozen=True):
    """One node: `domains` widest first; `memory_bytes` None where the node says none; `allocatable` plain decimals."""

    name: str
    style: str | None
    domains: tuple[DomainEntry, ...]
    ungrouped: bool
    memory_bytes: int | None
    allocatable: dict[str, str]


class TreeAnswer(Struct, frozen=True):
    """The whole answer, nodes in the order of the input."""

    schema: str
    nodes: tuple[TreeNode, ...]


def tree(nodes: Iterable[NodeFacts], styles: Mapping[str, Sequence[str]]) -> TreeAnswer:
    """`styles`: name to label keys, widest first, in the order in which they are tried."""
    facts = list(nodes)
    used = used_keys(node.labels for node in facts)
    levels = {style: tuple(key for key in keys if key in used) for style, keys in styles.items()}
    return TreeAnswer(TREE_SCHEMA, tuple(_node(node, levels) for node in facts))


def tree_of(pool: Pool) -> TreeAnswer:
    """The tree that the scheduler uses where a workload names no levels of its own."""
    forest = pool.forest
    levels = forest.tree(forest.default_keys())
    style = _default_style(pool)
    nodes = []
    for i, facts in pool.ledger.alive():
        path = tuple(DomainEntry(level, domain) for level, domain in levels.path_of(i))
        nodes.append(_entry(facts, style if path else None, path))
    return TreeAnswer(TREE_SCHEMA, tuple(nodes))


def _default_style(pool: Pool) -> str:
    """Where the levels come from: the configuration, objects, or a preset."""
    forest = pool.forest
    if forest.levels is not None:
        return "configured"
    if forest.hypernodes:
        return "hypernodes"
    if len(forest.topologies) == 1:
        return next(iter(forest.topologies))
    found = pool_levels(facts.labels for _, facts in pool.ledger.alive())
    return found[0] if found else ""


def _node(node: NodeFacts, levels: Mapping[str, Sequence[str]]) -> TreeNode:
    style: str | None = None
    domains: tuple[DomainEntry, ...] = ()
    for name, keys in levels.items():
        path = domain_path(node.labels, keys)
        if path:
            style, domains = name, tuple(DomainEntry(key, domain) for key, domain in path)
            break
    return _entry(node, style, domains)


def _entry(node: NodeFacts, style: str | None, domains: tuple[DomainEntry, ...]) -> TreeNode:
    memory_bytes = node.allocatable.get("memory")
    return TreeNode(node.name, style, domains, not domains, memory_bytes, amounts_text(node.allocatable))
