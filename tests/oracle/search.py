"""The walk through all seatings of some pods, used by `brute`: depth first, one pod after the other.

It cuts a branch only where a lasting rule is broken for good, or where the mirror image was or will be tried.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.oracle.rules_gang import path
from tests.oracle.rules_node import ports_of, same_port
from tests.oracle.view import View

HOSTNAME = "kubernetes.io/hostname"


class Search:
    """One search over a world. Mutable: counts its tries over all runs, and where it stands in the current one."""

    def __init__(self, view: View, limit: int, accepts: Callable[[dict[str, str]], bool]) -> None:
        self.view = view
        self.left = limit
        self.accepts = accepts
        self.order = {node: i for i, node in enumerate(view.nodes)}
        self.twins = _twins(view)
        self.ports = {pod: ports_of(view.pods[pod]) for pod in view.pods}

    @property
    def is_spent(self) -> bool:
        """Whether the tries are used up, so that "none found" proves nothing."""
        return self.left <= 0

    def run(
        self,
        groups: Sequence[Sequence[str]],
        allowed: Mapping[str, Sequence[str]],
        blocks: Mapping[str, tuple[Any, Sequence[str]]],
    ) -> dict[str, str] | None:
        """The first accepted seating of all pods; None where there is none or the tries are used up.

        `groups`: the pods in groups of equals. `allowed`: nodes worth trying per pod. `blocks`: pod to its block
        and the label keys that the block's nodes share."""
        self._pods = [(pod, group[i - 1] if i else None) for group in groups for i, pod in enumerate(group)]
        self._allowed, self._blocks = allowed, blocks
        self._used: dict[str, Counter[str]] = {node: Counter() for node in self.view.nodes}
        for pod, node in self.view.running.items():
            self._used.setdefault(node, Counter()).update(self.view.requests[pod])
        placed: dict[str, str] = {}
        return placed if self._seat(0, placed) else None

    def _seat(self, i: int, placed: dict[str, str]) -> bool:
        if i == len(self._pods):
            return self.accepts(placed)
        pod, equal_before = self._pods[i]
        lowest = self.order[placed[equal_before]] if equal_before is not None else 0
        for node in self._allowed[pod]:
            if self.order[node] < lowest or self._is_mirror_image(node, placed):
                continue
            self.left -= 1
            if self.is_spent:
                return False
            if not self._may_sit(pod, node, placed):
                continue
            placed[pod] = node
            self._used[node].update(self.view.requests[pod])
            if self._seat(i + 1, placed):
                return True
            self._used[node].subtract(self.view.requests[pod])
            del placed[pod]
        return False

    def _is_mirror_image(self, node: str, placed: Mapping[str, str]) -> bool:
        """Of equal nodes that nobody uses yet, only the first is tried."""
        used = set(placed.values())
        if node in used:
            return False
        return any(twin not in used for twin in self.twins[node] if self.order[twin] < self.order[node])

    def _may_sit(self, pod: str, node: str, placed: Mapping[str, str]) -> bool:
        """Room, ports, anti-affinity and blocks beside the pods placed so far. (`allowed` covers what runs.)"""
        view = self.view
        if any(self._used[node][r] + n > view.room[node].get(r, 0) for r, n in view.requests[pod].items()):
            return False
        for other, its_node in placed.items():
            if its_node == node and any(same_port(a, b) for a in self.ports[pod] for b in self.ports[other]):
                return False
            for owner, guest in ((pod, other), (other, pod)):
                for term in view.repulsion(owner):
                    value = view.labels[node].get(term.key)
                    meets = value is not None and view.labels[its_node].get(term.key) == value
                    if meets and guest in view.crowd(term.crowd):
                        return False
        if pod in self._blocks:
            block, keys = self._blocks[pod]
            seats = {**view.running, **placed}
            mates = [p for p, (b, _) in self._blocks.items() if b == block and p in seats]
            domain = path(view.labels[node], keys)
            return domain is not None and all(path(view.labels[seats[p]], keys) == domain for p in mates)
        return True


def _twins(view: View) -> dict[str, list[str]]:
    """Node to the nodes that nothing tells from it: empty, equal but for the name, and no pod asks for names."""
    specs = json.dumps([[p["spec"].get("nodeSelector"), _node_affinity(p)] for p in view.pods.values()])
    if view.volumes or "metadata.name" in specs or HOSTNAME in specs:
        return {node: [] for node in view.nodes}
    busy = set(view.running.values())
    looks = {}
    for name, node in view.nodes.items():
        labels = {key: value for key, value in view.labels[name].items() if key != HOSTNAME or value != name}
        look = [
            labels,
            HOSTNAME in view.labels[name],
            node.get("spec"),
            node.get("status"),
            name if name in busy else "",
        ]
        looks[name] = json.dumps(look, sort_keys=True)
    return {name: [twin for twin in looks if twin != name and looks[twin] == looks[name]] for name in looks}


def _node_affinity(pod: dict[str, Any]) -> Any:
    return (pod["spec"].get("affinity") or {}).get("nodeAffinity")
