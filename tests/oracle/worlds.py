"""Random small worlds: uneven nodes, running pods, waiting gangs with every rule that the oracle judges.

`random_world` for seeded runs, `worlds` for hypothesis (it shrinks towards fewer nodes and rules), `world_as_dump`
for everything that reads a pool as `kubectl get … -A -o json` prints it.

A label of a level is never there without those above it, and rack names are unique in the pool, so that a level
means the same whether its path or its own key is compared. A pod has at most one required affinity term.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.oracle import world_gangs
from tests.oracle.world_gangs import chance
from tests.oracle.world_parts import CARD, RACK, ZONE, affinity, namespace, node, pod, selector, term

Json = dict[str, Any]


@dataclass(frozen=True)
class Knobs:
    """What may occur in a world. All on: everything, each with some probability."""

    n_gangs: int = 3
    max_members: int = 6
    n_singles: int = 2
    """Waiting pods without a gang, at most."""
    missing_labels: bool = True
    taints: bool = True
    """Tainted nodes, and tolerations in some gangs."""
    cordons: bool = True
    running: bool = True
    running_repel: bool = True
    """Running pods with anti-affinity, which keeps newcomers away."""
    leaving: bool = True
    """Running pods that are being deleted, and pods that have finished but still exist."""
    running_members: bool = True
    """Gangs some of whose members run already."""
    roles: bool = True
    loose_roles: bool = True
    """Role minima whose sum is below the gang's minimum, so that the rest may come from either role."""
    levels: bool = True
    blocks: bool = True
    elastic: bool = True
    """Minimum below the number of members."""
    uneven: bool = True
    """A member without a role of its own that asks for more than the others."""
    wishes: bool = True
    """Preferences of every kind; they break nothing and keep nobody waiting."""
    selectors: bool = True
    affinity: bool = True
    anti_affinity: bool = True
    cross_gang: bool = True
    """(Anti-)affinity to the pods of another gang or to running ones."""
    spread: bool = True
    host_ports: bool = True
    gates: bool = True
    volumes: bool = True
    sidecars: bool = True
    """Init containers, sidecars and overhead."""


_ALL_OFF: dict[str, Any] = {f.name: False for f in fields(Knobs) if f.type == "bool"}
PLAIN = Knobs(n_singles=0, **_ALL_OFF)
"""Only cards, CPU and memory: gangs of equals on nodes of different size."""


def random_world(rng: Random, n_nodes: int = 6, knobs: Knobs | None = None) -> Json:
    """A world of `n_nodes`; equal for an equal state of `rng`."""
    knobs = knobs or Knobs()
    world: Json = {
        "nodes": [_node(rng, f"n{i}", knobs) for i in range(n_nodes)],
        "pods": [],
        "gangs": [],
        "namespaces": [namespace("ml", team="red"), namespace("ops", team="blue")],
        "volumes": [],
    }
    if knobs.running:
        world["pods"] += _running(rng, world["nodes"], knobs)
    for i in range(rng.randint(1, max(knobs.n_gangs, 1)) if knobs.n_gangs else 0):
        world_gangs.add_gang(rng, world, f"g{i}", knobs)
    for i in range(rng.randint(0, knobs.n_singles)):
        world_gangs.add_single(rng, world, f"single-{i}", knobs)
    _stamp(world)
    return world


@st.composite
def worlds(draw: st.DrawFn, max_nodes: int = 8, knobs: Knobs | None = None) -> Json:
    """Worlds for hypothesis."""
    n_nodes = draw(st.integers(min_value=1, max_value=max_nodes))
    return random_world(draw(st.randoms(use_true_random=False)), n_nodes, knobs)


def world_as_dump(world: Json) -> Json:
    """The world as a `List`, with the PodGroup of each gang (of Volcano where it has roles).

    Levels stand on the pods, and on the PodGroup where the gang has roles: there a pod speaks for its role only."""
    groups = [_pod_group(gang) for gang in world["gangs"]]
    items = [*world["nodes"], *world["namespaces"], *groups, *world["pods"], *(world.get("volumes") or [])]
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}


def _pod_group(gang: Json) -> Json:
    space, name = gang["key"].split("/", 1)
    group: Json = {"kind": "PodGroup", "metadata": {"namespace": space, "name": name}}
    if not gang.get("roles"):
        return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", **group, "spec": {"minMember": gang["minimum"]}}
    group["metadata"]["annotations"] = world_gangs.level_notes(gang)
    minima = {role: it["minimum"] for role, it in gang["roles"].items()}
    spec = {"minMember": gang["minimum"], "minTaskMember": minima}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", **group, "spec": spec}


def _node(rng: Random, name: str, knobs: Knobs) -> Json:
    zone = rng.choice(["a", "b"])
    labels = {
        ZONE: zone,
        RACK: f"{zone}{rng.choice('12')}",
        "board": rng.choice(["h100", "a100"]),
        "slot": str(rng.randint(1, 4)),
    }
    if knobs.missing_labels and chance(rng, 20):
        labels[RACK] = ""
        if chance(rng, 40):
            labels[ZONE] = ""
    room = {
        CARD: rng.choice(["8", "8", "4", "2", ""]),
        "cpu": rng.choice(["32", "16", "8500m"]),
        "memory": rng.choice(["256Gi", "64G", "16Gi"]),
        "pods": rng.choice(["110", "110", "5"]),
    }
    spec: Json = {}
    if knobs.taints and chance(rng, 25):
        effect = rng.choice(["PreferNoSchedule", "NoSchedule", "NoExecute"])
        spec["taints"] = [{"key": "dedicated", "value": rng.choice(["ml", "ops"]), "effect": effect}]
    if knobs.cordons and chance(rng, 10):
        spec["unschedulable"] = True
    return node(name, labels, room, **spec)


def _running(rng: Random, nodes: list[Json], knobs: Knobs) -> list[Json]:
    """Pods of others on the nodes; few enough to fit, but for nodes that have lost cards since. Some run with
    labels of a gang that is to come, as the pods of its last run would."""
    pods: list[Json] = []
    has_port: set[str] = set()
    for i in range(rng.randint(0, len(nodes))):
        where = rng.choice(nodes)
        asks = {"cpu": rng.choice(["500m", "1", "2"]), "memory": "1Gi"}
        if where["status"]["allocatable"].get(CARD):
            asks[CARD] = rng.choice(["1", "2"])
        app = rng.choice(["web", "store"]) if not (knobs.leaving and chance(rng, 15)) else "g0"
        labels = {"app": app, "team": rng.choice(["red", "blue"])}
        spec: Json = {"schedulerName": "default-scheduler"}
        if knobs.running_repel and chance(rng, 20):
            spec["affinity"] = affinity(apart=[_repelled(rng)])
        name = where["metadata"]["name"]
        made = pod(f"run-{i}", asks, labels, name, "ml" if app == "g0" else "ops", **spec)
        if knobs.host_ports and name not in has_port and chance(rng, 20):
            made["spec"]["containers"][0]["ports"] = [{"containerPort": 29500, "hostPort": 29500}]
            has_port.add(name)
        if knobs.leaving and chance(rng, 10):
            made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if knobs.leaving and chance(rng, 10):
            made["status"]["phase"] = rng.choice(["Succeeded", "Failed"])
        pods.append(made)
    return pods


def _repelled(rng: Random) -> Json:
    who = selector(team=rng.choice(["red", "blue"]))
    where: Json = rng.choice(
        [{"namespaces": ["ml"]}, {"namespaceSelector": {}}, {"namespaceSelector": selector(team="red")}]
    )
    return term(rng.choice(["kubernetes.io/hostname", "kubernetes.io/hostname", RACK]), who, **where)


def _stamp(world: Json) -> None:
    """Creation times in the order of the list: running pods first, then gang after gang."""
    for i, made in enumerate(world["pods"]):
        made["metadata"]["creationTimestamp"] = f"2026-01-01T00:{i // 60:02d}:{i % 60:02d}Z"
