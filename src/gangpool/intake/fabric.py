"""Objects that describe the fabric, as the core's levels: Volcano HyperNodes, Kueue and KAI Topologies.

Called by `World` when such objects are there or have changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gangpool.core.match import matches
from gangpool.core.model import NodeFacts, Requirement
from gangpool.core.topology import HyperNode
from gangpool.intake.store import Object, Store
from gangpool.workloads import fields

HYPERNODE = ("topology.volcano.sh", "HyperNode")
TOPOLOGIES = (("kueue.x-k8s.io", "Topology"), ("kai.scheduler", "Topology"))
KINDS = frozenset((HYPERNODE, *TOPOLOGIES))


def topologies_of(store: Store) -> dict[str, tuple[str, ...]]:
    """Name of each Topology to its label keys, widest first."""
    found: dict[str, tuple[str, ...]] = {}
    for kind in TOPOLOGIES:
        for obj in store.all_of(*kind):
            keys = tuple(fields.text(level, "nodeLabel", path) for path, level in fields.items(obj, "spec.levels"))
            found[fields.text(obj, "metadata.name")] = tuple(key for key in keys if key)
    return found


def hypernodes_of(store: Store, nodes: Iterable[NodeFacts]) -> list[HyperNode]:
    """HyperNodes with their selectors resolved against the nodes that exist. O(HyperNodes x nodes) for patterns."""
    facts = list(nodes)
    objects = list(store.all_of(*HYPERNODE))
    names = [fields.text(obj, "metadata.name") for obj in objects]
    found = []
    for obj, name in zip(objects, names, strict=True):
        members: dict[str, list[str]] = {"Node": [], "HyperNode": []}
        for path, member in fields.items(obj, "spec.members"):
            kind = fields.text(member, "type", path) or "Node"
            known = [f.name for f in facts] if kind == "Node" else names
            labels = {f.name: f.labels for f in facts} if kind == "Node" else {}
            members.setdefault(kind, []).extend(_selected(member, path, known, labels))
        tier = fields.integer(obj, "spec.tier", within=(0, 1000))
        tier_name = fields.text(obj, "spec.tierName")
        found.append(HyperNode(name, tier, tuple(members["Node"]), tuple(members["HyperNode"]), tier_name))
    return found


def _selected(member: Object, path: str, known: list[str], labels: Mapping[str, Mapping[str, str]]) -> list[str]:
    exact = fields.text(member, "selector.exactMatch.name", path)
    if exact:
        return [exact]
    pattern = fields.text(member, "selector.regexMatch.pattern", path)
    if pattern:
        try:
            compiled = re.compile(pattern)
        except re.error:
            return []
        return [name for name in known if compiled.fullmatch(name)]
    wanted = fields.texts(member, "selector.labelMatch.matchLabels", path)
    selector = tuple(Requirement(key, "In", (value,)) for key, value in sorted(wanted.items()))
    return [name for name in known if selector and matches(selector, labels.get(name, {}))]
