"""HyperNodes and Topologies as levels: resolved against the nodes that exist, whenever those change."""

from __future__ import annotations

import pytest

from gangpool.intake.fabric import domain_of, hypernodes_of, keys_of, topologies_of
from gangpool.intake.store import Store
from gangpool.objects.node import facts
from gangpool.objects.typed import as_node
from gangpool.workloads.base import WorkloadError
from tests.intake.build import Json, ask, node, nodes_of, obj, reason, volcano, world

NODES = [node(f"gpu-{i}", labels={"rack": f"r{i // 2}"}) for i in range(4)]


def hyper(name: str, tier: int, *members: Json, **more: object) -> Json:
    return obj(
        "topology.volcano.sh/v1alpha1", "HyperNode", name, None, spec={"tier": tier, "members": list(members), **more}
    )


def member(selector: Json, kind: str = "Node") -> Json:
    return {"type": kind, "selector": selector}


def exact(name: str, kind: str = "Node") -> Json:
    return member({"exactMatch": {"name": name}}, kind)


def matching(pattern: str) -> Json:
    return member({"regexMatch": {"pattern": pattern}})


def labelled(**labels: str) -> Json:
    return member({"labelMatch": {"matchLabels": labels}})


def topology(name: str, *keys: str, group: str = "kueue.x-k8s.io/v1beta1") -> Json:
    return obj(group, "Topology", name, None, spec={"levels": [{"nodeLabel": key} for key in keys]})


def members_of(*objects: Json) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """HyperNode to (nodes, HyperNodes)."""
    store = Store()
    for one in objects:
        store.put(one)
    found = hypernodes_of(store, [facts(as_node(n))[0] for n in NODES])
    return {h.name: (h.nodes, h.children) for h in found}


def test_members_by_name_whether_they_are_known_or_not() -> None:
    assert members_of(hyper("s0", 1, exact("gpu-0"), exact("gpu-9")))["s0"] == (("gpu-0", "gpu-9"), ())


def test_members_by_pattern() -> None:
    """As Go's MatchString: the pattern may match anywhere in the name unless it says where."""
    assert members_of(hyper("s0", 1, matching("gpu-[01]$")))["s0"] == (("gpu-0", "gpu-1"), ())
    assert members_of(hyper("s0", 1, matching("pu-3")))["s0"] == (("gpu-3",), ())
    assert members_of(hyper("s0", 1, matching("^pu")))["s0"] == ((), ())


def test_members_by_labels_all_of_which_must_hold() -> None:
    assert members_of(hyper("s0", 1, labelled(rack="r1")))["s0"] == (("gpu-2", "gpu-3"), ())
    assert members_of(hyper("s0", 1, labelled(rack="r1", zone="z")))["s0"] == ((), ())
    assert members_of(hyper("s0", 1, member({"labelMatch": {}})))["s0"] == ((), ())


def test_hypernodes_are_members_of_wider_ones() -> None:
    found = members_of(
        hyper("s0", 1, exact("gpu-0")), hyper("t", 2, exact("s0", "HyperNode"), exact("s0", "HyperNode"))
    )
    assert found["t"] == ((), ("s0",))


def test_a_gang_is_held_to_a_tier() -> None:
    switches = [
        hyper("s0", 1, matching("gpu-[01]")),
        hyper("s1", 1, labelled(rack="r1")),
        hyper("top", 2, exact("s0", "HyperNode"), exact("s1", "HyperNode")),
    ]
    near = volcano("near", {"w": (2, 8)}, networkTopology={"mode": "hard", "highestTierAllowed": 1})
    wide = volcano("wide", {"w": (3, 8)}, networkTopology={"mode": "hard", "highestTierAllowed": 1})
    higher = volcano("wide", {"w": (3, 8)}, networkTopology={"mode": "hard", "highestTierAllowed": 2})
    assert nodes_of(ask([*NODES, *switches], near), "ml/near") == ["gpu-0", "gpu-1"]
    found = reason(ask([*NODES, *switches], wide), "ml/wide")
    assert (found.code, found.numbers["best"]) == ("cannot-fit", 2)
    assert len(nodes_of(ask([*NODES, *switches], higher), "ml/wide")) == 3


def test_domains_of_hypernodes_are_told_with_the_answer() -> None:
    switches = [hyper("s0", 1, matching("gpu-[01]")), hyper("top", 2, exact("s0", "HyperNode"))]
    answer = ask([*NODES[:2], *switches], volcano("a", {"w": (1, 8)}))
    assert [(d.level, d.domain) for d in answer.placed[0].domains] == [("tier:2", "top"), ("tier:1", "top/s0")]


def test_a_tier_by_its_name() -> None:
    switches = [hyper("s0", 1, exact("gpu-0"), tierName="switch"), hyper("s1", 1, exact("gpu-1"), tierName="switch")]
    topology_ = {"mode": "hard", "highestTierName": "switch"}
    one = volcano("a", {"w": (1, 8)}, networkTopology=topology_)
    two = volcano("a", {"w": (2, 8)}, networkTopology=topology_)
    assert len(nodes_of(ask([*NODES, *switches], one), "ml/a")) == 1
    assert reason(ask([*NODES, *switches], two), "ml/a").code == "cannot-fit"


def test_a_level_that_no_object_knows() -> None:
    job = volcano("a", {"w": (1, 8)}, networkTopology={"mode": "hard", "highestTierName": "row"})
    found = reason(ask([*NODES, hyper("s0", 1, exact("gpu-0"))], job), "ml/a")
    assert (found.code, "row" in found.message) == ("level-unknown", True)


def test_hypernodes_follow_nodes_that_come_later() -> None:
    found = world(NODES[0], hyper("s0", 1, labelled(rack="r0")))
    found.node(as_node(NODES[1]))
    found.settle()
    assert found.pool.forest.hypernodes["s0"].nodes == ("gpu-0", "gpu-1")
    found.object_gone(hyper("s0", 1))
    found.settle()
    assert found.pool.forest.hypernodes == {}


@pytest.mark.parametrize("group", ["kueue.x-k8s.io/v1beta1", "kai.scheduler/v1alpha1"])
def test_a_topology_names_the_levels(group: str) -> None:
    found = topology("fabric", "zone", "rack", "kubernetes.io/hostname", group=group)
    answer = ask([*NODES, found], volcano("a", {"w": (1, 8)}))
    assert answer.placed[0].domains == ()  # no node has a zone
    pool = [node("n", labels={"zone": "z", "rack": "r"}), found]
    domains = ask(pool, volcano("a", {"w": (1, 8)})).placed[0].domains
    assert [(d.level, d.domain) for d in domains] == [("zone", "z"), ("rack", "z/r")]


def test_a_topology_without_levels_or_with_one_twice() -> None:
    store = Store()
    store.put(topology("a", "zone", "", "zone", "rack"))
    store.put(obj("kai.scheduler/v1alpha1", "Topology", "b", None))
    assert topologies_of(store) == {"a": ("zone", "rack"), "b": ()}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"tier": "1"}, "spec.tier"),
        ({"tier": -1}, "spec.tier"),
        ({"tier": 10**30}, "spec.tier"),
        ({"members": {}}, "spec.members"),
        ({"members": ["gpu-0"]}, "spec.members[0]"),
        ({"members": [{"type": 5}]}, "spec.members[0].type"),
        ({"members": [{"selector": {"exactMatch": "x"}}]}, "spec.members[0].selector.exactMatch"),
        ({"members": [{"selector": {"labelMatch": {"matchLabels": {"a": 1}}}}]}, "spec.members[0].selector.labelMatch"),
        ({"members": [{"selector": {"regexMatch": {"pattern": "("}}}]}, "spec.members[0].selector.regexMatch.pattern"),
        (
            {"members": [{"selector": {"regexMatch": {"pattern": "a{99999999999}"}}}]},
            "spec.members[0].selector.regexMatch.pattern",
        ),
    ],
)
def test_a_hypernode_that_cannot_be_read_names_its_field(spec: Json, field: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        domain_of({"metadata": {"name": "h"}, "spec": spec})
    assert caught.value.field.startswith(field)


@pytest.mark.parametrize(
    ("spec", "field"), [({"levels": 5}, "spec.levels"), ({"levels": [{"nodeLabel": 5}]}, "spec.levels[0].")]
)
def test_a_topology_that_cannot_be_read_names_its_field(spec: Json, field: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        keys_of({"spec": spec})
    assert caught.value.field.startswith(field)
