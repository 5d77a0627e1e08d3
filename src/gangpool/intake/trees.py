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
from gangpool.core.presets import domain_path, used_keys
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


def _node(node: NodeFacts, levels: Mapping[str, Sequence[str]]) -> TreeNode:
    style: str | None = None
    domains: tuple[DomainEntry, ...] = ()
    for name, keys in levels.items():
        path = domain_path(node.labels, keys)
        if path:
            style, domains = name, tuple(DomainEntry(key, domain) for key, domain in path)
            break
    memory_bytes = node.allocatable.get("memory")
    return TreeNode(node.name, style, domains, style is None, memory_bytes, amounts_text(node.allocatable))
