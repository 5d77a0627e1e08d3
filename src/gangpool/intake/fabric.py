"""Objects that describe the fabric, as the core's levels: Volcano HyperNodes, Kueue and KAI Topologies.

Called by `World` when such objects are there or have changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from gangpool.core.match import matches
from gangpool.core.model import NodeFacts, Requirement
from gangpool.core.topology import HyperNode
from gangpool.intake.store import Object, Store
from gangpool.workloads import fields
from gangpool.workloads.base import WorkloadError

HYPERNODE = ("topology.volcano.sh", "HyperNode")
TOPOLOGIES = (("kueue.x-k8s.io", "Topology"), ("kai.scheduler", "Topology"))
KINDS = frozenset((HYPERNODE, *TOPOLOGIES))
TIERS = (0, 1000)


class Chosen(Struct, frozen=True):
    """One entry of a HyperNode's members: a name, or a pattern, or labels."""

    kind: str
    name: str = ""
    pattern: re.Pattern[str] | None = None
    labels: tuple[Requirement, ...] = ()

    def among(self, known: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
        """Names that this entry means; `known`: name to labels. A name counts whether it is known or not."""
        if self.name:
            yield self.name
        elif self.pattern is not None:
            yield from (name for name in known if self.pattern.search(name))
        elif self.labels:
            yield from (name for name, labels in known.items() if matches(self.labels, labels))


class Domain(Struct, frozen=True):
    """A HyperNode as it is written."""

    name: str
    tier: int
    tier_name: str
    members: tuple[Chosen, ...]


def topologies_of(store: Store) -> dict[str, tuple[str, ...]]:
    """Name of each Topology to its label keys, widest first."""
    return {fields.text(obj, "metadata.name"): keys_of(obj) for kind in TOPOLOGIES for obj in store.all_of(*kind)}


def keys_of(topology: Object) -> tuple[str, ...]:
    """The label keys of a Topology, widest first. Raises WorkloadError."""
    keys = (fields.text(level, "nodeLabel", path) for path, level in fields.items(topology, "spec.levels"))
    return tuple(dict.fromkeys(key for key in keys if key))


def hypernodes_of(store: Store, nodes: Iterable[NodeFacts]) -> list[HyperNode]:
    """HyperNodes with their selectors resolved against the nodes that exist. O(HyperNodes x nodes) for patterns."""
    domains = [domain_of(obj) for obj in store.all_of(*HYPERNODE)]
    known: dict[str, Mapping[str, Mapping[str, str]]] = {
        "Node": {facts.name: facts.labels for facts in nodes},
        "HyperNode": {domain.name: {} for domain in domains},
    }
    found = []
    for domain in domains:
        names = {
            kind: tuple(dict.fromkeys(n for m in domain.members if m.kind == kind for n in m.among(known[kind])))
            for kind in known
        }
        found.append(HyperNode(domain.name, domain.tier, names["Node"], names["HyperNode"], domain.tier_name))
    return found


def domain_of(obj: Object) -> Domain:
    """A HyperNode object. Raises WorkloadError."""
    members = tuple(_chosen(member, path) for path, member in fields.items(obj, "spec.members"))
    return Domain(
        name=fields.text(obj, "metadata.name"),
        tier=fields.integer(obj, "spec.tier", within=TIERS),
        tier_name=fields.text(obj, "spec.tierName"),
        members=members,
    )


def _chosen(member: Object, path: str) -> Chosen:
    kind = fields.text(member, "type", path) or "Node"
    name = fields.text(member, "selector.exactMatch.name", path)
    pattern = fields.text(member, "selector.regexMatch.pattern", path)
    labels = fields.texts(member, "selector.labelMatch.matchLabels", path)
    try:
        compiled = re.compile(pattern) if pattern else None
    except (re.error, RecursionError, OverflowError):
        raise WorkloadError(f"{path}.selector.regexMatch.pattern", "is no pattern that can be read") from None
    wanted = tuple(Requirement(key, "In", (value,)) for key, value in sorted(labels.items()))
    return Chosen(kind, name, compiled, wanted)
