"""Nodes, gangs and pods as API objects, the same for every scheduler that is measured.

Called by the workloads of this folder. Gangs are native PodGroups that require one rack, the one form that gangpool and
kube-scheduler both take. Each member asks for a card and some CPU and memory; nodes have 16 cards, so that 10,000
members fit on 1,000 nodes. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

Object = dict[str, Any]

SPACE = "load"
RACK = "topology.kubernetes.io/rack"
NODES_PER_RACK = 50
HAS = {"cpu": "128", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "16"}
ASKS = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
OURS, THEIRS = "gangpool", "default-scheduler"
"""schedulerName of gangpool and of kube-scheduler."""


class Gang(NamedTuple):
    """A PodGroup to be, of `size` members, all of them needed."""

    name: str
    size: int


def gangs(n_pods: int) -> list[Gang]:
    """Gangs of 4 and 8 by turns, of so many members together (a multiple of 4)."""
    found: list[Gang] = []
    while n_pods:
        size = min(n_pods, 4 + 4 * (len(found) % 2))
        found.append(Gang(f"g{len(found)}", size))
        n_pods -= size
    return found


def node(i: int) -> Object:
    """A node with its status; the server takes the status in a second write."""
    name = f"n{i}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, RACK: f"r{i // NODES_PER_RACK}"}},
        "status": {"allocatable": HAS, "capacity": HAS, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def group(gang: Gang) -> Object:
    """The native PodGroup of a gang: all or nothing, in one rack."""
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": gang.name, "namespace": SPACE},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": gang.size}},
            "schedulingConstraints": {"topology": [{"key": RACK}]},
        },
    }


def pod(name: str, scheduler: str, gang: str = "", node: str = "") -> Object:
    """A pod of one container; with `node` it is born there."""
    spec: Object = {
        "schedulerName": scheduler,
        "containers": [{"name": "main", "image": "example.com/train:1", "resources": {"limits": ASKS}}],
    }
    if gang:
        spec["schedulingGroup"] = {"podGroupName": gang}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": SPACE}, "spec": spec}


def pods(found: list[Gang], scheduler: str) -> Iterator[Object]:
    """The members of gangs."""
    for gang in found:
        for i in range(gang.size):
            yield pod(f"{gang.name}-{i}", scheduler, gang.name)
