"""Which node labels are levels of the fabric where nobody has said so, and the domains that a node's labels give.

Clouds and discovery tools each write their own keys; `preset_levels` knows them and picks the first style that a
pool uses. Called by the ledger's topology and by `gangpool tree`. Pure: label keys and values in, levels out.

Sources: the label references of the clouds and of topograph 0.1, 0.3 and 1.0, Kubernetes' well-known labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

_TIER = re.compile(r"fabric\.topograph\.run/tier-(0|[1-9]\d{0,3})")
"""topograph 1.0 writes as many tiers as the fabric has; 0 is the closest to the node."""

TOPOGRAPH = "topograph"
_NETWORK = "network.topology.nvidia.com"
_TOPOGRAPH_03_MARKS = frozenset({f"{_NETWORK}/core", f"{_NETWORK}/leaf"})
"""topograph 0.1 and 0.3 share `spine` and `accelerator`; these two keys are what only 0.3–0.5 write."""

PRESETS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "gke",
        (
            "cloud.google.com/gce-topology-block",
            "cloud.google.com/gce-topology-subblock",
            "cloud.google.com/gce-topology-host",
        ),
    ),
    (
        "eks",
        (
            "topology.k8s.aws/network-node-layer-1",
            "topology.k8s.aws/network-node-layer-2",
            "topology.k8s.aws/network-node-layer-3",
        ),
    ),
    ("oci", ("oci.oraclecloud.com/host.network_block_id", "oci.oraclecloud.com/host.rack_id")),
    (
        "coreweave",
        (
            "ib.coreweave.cloud/fabric",
            "ib.coreweave.cloud/superpod",
            "ib.coreweave.cloud/leafgroup",
            "node.coreweave.cloud/rack",
        ),
    ),
    # The tiers are found in the pool's own keys and come before these two.
    (TOPOGRAPH, ("accelerator.topograph.run/domain", "accelerator.topograph.run/sub-domain")),
    (
        "topograph-0.3",
        (f"{_NETWORK}/core", f"{_NETWORK}/spine", f"{_NETWORK}/leaf", f"{_NETWORK}/accelerator"),
    ),
    (
        "topograph-0.1",
        (f"{_NETWORK}/datacenter", f"{_NETWORK}/spine", f"{_NETWORK}/block", f"{_NETWORK}/accelerator"),
    ),
    ("nvlink", ("nvidia.com/gpu.clique",)),
    # Kubernetes has no standard key below the zone; these are the ones that sites commonly use.
    (
        "zone-rack",
        (
            "topology.kubernetes.io/region",
            "topology.kubernetes.io/zone",
            "topology.kubernetes.io/block",
            "topology.kubernetes.io/rack",
            "topology.rook.io/rack",
        ),
    ),
)
"""(style, label keys widest first), in the order in which they are tried."""


def preset_levels(label_keys: Iterable[str]) -> tuple[str, tuple[str, ...]] | None:
    """The first style of `PRESETS` with at least one of these keys, and its keys that are there, widest first.

    Give only keys that have a value on some node (`used_keys`): clouds write empty labels where they know nothing.

    >>> preset_levels(["topology.kubernetes.io/zone", "fabric.topograph.run/tier-0", "fabric.topograph.run/tier-1"])
    ('topograph', ('fabric.topograph.run/tier-1', 'fabric.topograph.run/tier-0'))
    >>> preset_levels(["kubernetes.io/hostname"]) is None
    True
    """
    keys = frozenset(label_keys)
    for style, candidates in PRESETS:
        if style == TOPOGRAPH:
            candidates = (*_tiers(keys), *candidates)
        elif style == "topograph-0.3" and not keys & _TOPOGRAPH_03_MARKS:
            continue
        found = tuple(key for key in candidates if key in keys)
        if found:
            return style, found
    return None


def pool_levels(labels_of_nodes: Iterable[Mapping[str, str]]) -> tuple[str, tuple[str, ...]] | None:
    """The style that most nodes carry, so that one odd node does not decide, and its levels on those nodes; of
    equally many the first one seen. O(nodes + different sets of keys x presets)."""
    votes: Counter[str] = Counter()
    keys_of: dict[str, set[str]] = {}
    style_of: dict[frozenset[str], str] = {}
    for labels in labels_of_nodes:
        keys = used_keys([labels])
        if keys not in style_of:
            found = preset_levels(keys)
            style_of[keys] = found[0] if found else ""
            keys_of.setdefault(style_of[keys], set()).update(keys)
        votes[style_of[keys]] += 1
    votes.pop("", None)
    return preset_levels(keys_of[max(votes, key=lambda style: votes[style])]) if votes else None


def used_keys(labels_of_nodes: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """Keys that have a value, not an empty one, on at least one node."""
    return frozenset(key for labels in labels_of_nodes for key, value in labels.items() if value)


def domain_path(labels: Mapping[str, str], keys: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """(key, domain) for each level that a node with these labels is in; `keys` widest first.

    A domain is the path of values from the widest level, so equal values under different wider ones are different
    domains. A missing or empty label ends the path: the node is outside that level and every narrower one, because
    nobody can say in which of the wider domains its narrower value lies.

    >>> domain_path({"spine": "s1", "leaf": "7"}, ("spine", "leaf"))
    (('spine', 's1'), ('leaf', 's1/7'))
    >>> domain_path({"leaf": "7"}, ("spine", "leaf"))
    ()
    """
    path: list[tuple[str, str]] = []
    above = ""
    for key in keys:
        value = labels.get(key)
        if not value:
            break
        above = f"{above}/{value}" if above else value
        path.append((key, above))
    return tuple(path)


def _tiers(keys: Iterable[str]) -> list[str]:
    """The tier keys among these, widest (largest number) first."""
    numbers = (int(match[1]) for key in keys if (match := _TIER.fullmatch(key)))
    return [f"fabric.topograph.run/tier-{number}" for number in sorted(numbers, reverse=True)]
