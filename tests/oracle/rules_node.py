"""Rules that look at one node and the pods on it: selection, taints, gates, room, host ports, bound volumes.

Each rule takes a `State` and yields one sentence per violation by the new pods.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from tests.oracle.selectors import node_terms_match, untolerated
from tests.oracle.view import State, namespace_of

Json = dict[str, Any]
Port = tuple[str, str, int]
"""Host address, protocol, number."""

EVERY_ADDRESS = "0.0.0.0"


def selection(state: State) -> Iterator[str]:
    """nodeSelector, required node affinity, taints, scheduling gates."""
    view = state.view
    for pod, node in state.new.items():
        if not view.is_selected(pod, node):
            yield f"{pod}: node {node} is not selected by its nodeSelector and required node affinity"
        if not view.is_tolerated(pod, node):
            keys = ", ".join(taint["key"] for taint in untolerated(view.pods[pod], view.nodes[node]))
            yield f"{pod}: node {node} has a taint that it does not tolerate: {keys}"
        if gates := view.pods[pod]["spec"].get("schedulingGates"):
            yield f"{pod}: waits behind scheduling gate {gates[0]['name']}"


def room(state: State) -> Iterator[str]:
    """On each node that gets a pod: what all its pods ask is not more than it gives, in what the new pods ask."""
    view = state.view
    used: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pod, node in state.seats.items():
        used[node].update(view.requests[pod])
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for pod, node in state.new.items():
        asked[node].update(view.requests[pod])
    for node, resources in asked.items():
        for resource in sorted(resources):
            has = view.room[node].get(resource, 0)
            if used[node][resource] > has:
                yield f"node {node}: {used[node][resource]} {resource} asked, {has} there"


def host_ports(state: State) -> Iterator[str]:
    """No two pods of a node want the same port and protocol on the same address."""
    on_node: defaultdict[str, list[str]] = defaultdict(list)
    for pod, node in state.seats.items():
        on_node[node].append(pod)
    for new, node in state.new.items():
        mine = ports_of(state.view.pods[new])
        for other in on_node[node]:
            if other == new or (other in state.new and other < new):
                continue
            theirs = ports_of(state.view.pods[other]) if mine else []
            for port in mine:
                if any(same_port(port, taken) for taken in theirs):
                    yield f"{new}: host port {port[2]}/{port[1]} on node {node} is also wanted by {other}"


def ports_of(pod: Json) -> list[Port]:
    """The host ports of containers and sidecars. On the host's network every declared port is one."""
    spec = pod["spec"]
    sidecars = [c for c in spec.get("initContainers") or [] if c.get("restartPolicy") == "Always"]
    ports = []
    for container in [*(spec.get("containers") or []), *sidecars]:
        for port in container.get("ports") or []:
            number = port.get("hostPort") or (port["containerPort"] if spec.get("hostNetwork") else 0)
            if number:
                ports.append((port.get("hostIP") or EVERY_ADDRESS, port.get("protocol") or "TCP", number))
    return ports


def volumes(state: State) -> Iterator[str]:
    """Claims exist, and a bound volume can be reached from the node. Worlds without any claim ask nothing."""
    claims = {
        (o["metadata"].get("namespace") or "default", o["metadata"]["name"]): o
        for o in state.view.volumes
        if o["kind"] == "PersistentVolumeClaim"
    }
    if not claims:
        return
    bound = {o["metadata"]["name"]: o for o in state.view.volumes if o["kind"] == "PersistentVolume"}
    for pod, node in state.new.items():
        for volume in state.view.pods[pod]["spec"].get("volumes") or []:
            name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            if not name:
                continue
            claim = claims.get((namespace_of(pod), name))
            if claim is None:
                yield f"{pod}: claim {name} does not exist"
                continue
            backing = bound.get(claim["spec"].get("volumeName") or "", {})
            required = ((backing.get("spec") or {}).get("nodeAffinity") or {}).get("required")
            if required is not None and not node_terms_match(required, state.view.nodes[node]):
                yield f"{pod}: the volume of claim {name} cannot be reached from node {node}"


def same_port(one: Port, other: Port) -> bool:
    return one[1:] == other[1:] and (one[0] == other[0] or EVERY_ADDRESS in (one[0], other[0]))
