"""A world with its objects found by name, and the answers that do not depend on a placement, worked out once.

A world is a dict: `nodes`, `pods`, `namespaces` (Kubernetes objects), `gangs` (see `rules_gang`), `volumes` (claims
and volumes, optional). Pods are named `namespace/name`. Rules take a `State`: the view and who sits where.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.oracle.requests import allocatable, effective_requests
from tests.oracle.selectors import label_selector_matches, node_is_selected, untolerated

Json = dict[str, Any]
Seats = Mapping[str, str]
"""Pod to node."""

FINISHED = ("Succeeded", "Failed")


class Term(NamedTuple):
    """A required inter-pod rule: the pods that `crowd` names, counted over the values of node label `key`."""

    key: str
    crowd: str


def pod_key(pod: Json) -> str:
    """`namespace/name`; a pod without a namespace lives in `default`."""
    return f"{pod['metadata'].get('namespace') or 'default'}/{pod['metadata']['name']}"


def namespace_of(key: str) -> str:
    """The namespace in `namespace/name`."""
    return key.split("/", 1)[0]


class View:
    """A world, indexed. Nothing here changes after the build, except the memory of answers."""

    def __init__(self, world: Json) -> None:
        self.gangs: list[Json] = world.get("gangs") or []
        self.volumes: list[Json] = world.get("volumes") or []
        self.nodes: dict[str, Json] = {node["metadata"]["name"]: node for node in world["nodes"]}
        self.labels: dict[str, dict[str, str]] = {n: o["metadata"].get("labels") or {} for n, o in self.nodes.items()}
        self.room: dict[str, dict[str, int]] = {name: allocatable(node) for name, node in self.nodes.items()}
        alive = [pod for pod in world["pods"] if (pod.get("status") or {}).get("phase") not in FINISHED]
        self.pods: dict[str, Json] = {pod_key(pod): pod for pod in alive}
        self.pod_labels = {key: pod["metadata"].get("labels") or {} for key, pod in self.pods.items()}
        self.requests: dict[str, dict[str, int]] = {key: effective_requests(pod) for key, pod in self.pods.items()}
        self.running: dict[str, str] = {
            k: p["spec"]["nodeName"] for k, p in self.pods.items() if p["spec"].get("nodeName")
        }
        self.namespaces: dict[str, dict[str, str]] = {namespace_of(key): {} for key in self.pods}
        for namespace in world.get("namespaces") or []:
            self.namespaces[namespace["metadata"]["name"]] = namespace["metadata"].get("labels") or {}
        for name, labels in self.namespaces.items():
            # The API server writes this label on every namespace.
            self.namespaces[name] = {"kubernetes.io/metadata.name": name, **labels}
        self._crowds: dict[str, frozenset[str]] = {}
        self._affinity = {key: self._terms(key, "podAffinity") for key in self.pods}
        self._repulsion = {key: self._terms(key, "podAntiAffinity") for key in self.pods}
        self._selected: dict[tuple[str, str], bool] = {}
        self._tolerated: dict[tuple[str, str], bool] = {}

    def affinity(self, pod: str) -> list[Term]:
        """The pod's required affinity terms."""
        return self._affinity[pod]

    def repulsion(self, pod: str) -> list[Term]:
        """The pod's required anti-affinity terms."""
        return self._repulsion[pod]

    def crowd(self, crowd: str) -> frozenset[str]:
        """The pods, running or not, that a term's selector and namespaces match."""
        return self._crowds[crowd]

    def peers(self, pod: str, constraint: Json) -> frozenset[str]:
        """The pods that a spread constraint of `pod` counts: only those of its own namespace."""
        selector = self._with_label_keys(constraint, pod)
        return self._crowd(selector, frozenset({namespace_of(pod)}))

    def is_selected(self, pod: str, node: str) -> bool:
        """Whether nodeSelector and required node affinity of the pod allow the node."""
        if (pod, node) not in self._selected:
            self._selected[pod, node] = node_is_selected(self.pods[pod], self.nodes[node])
        return self._selected[pod, node]

    def is_tolerated(self, pod: str, node: str) -> bool:
        """Whether no taint of the node keeps the pod away."""
        if (pod, node) not in self._tolerated:
            self._tolerated[pod, node] = not untolerated(self.pods[pod], self.nodes[node])
        return self._tolerated[pod, node]

    def _terms(self, pod: str, kind: str) -> list[Term]:
        affinity = (self.pods[pod]["spec"].get("affinity") or {}).get(kind) or {}
        terms = []
        for written in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or []:
            selector, namespaces = self._with_label_keys(written, pod), self._namespaces(written, pod)
            self._crowd(selector, namespaces)
            terms.append(Term(written["topologyKey"], _name(selector, namespaces)))
        return terms

    def _crowd(self, selector: Json | None, namespaces: frozenset[str]) -> frozenset[str]:
        name = _name(selector, namespaces)
        if name not in self._crowds:
            self._crowds[name] = frozenset(
                key
                for key in self.pods
                if namespace_of(key) in namespaces and label_selector_matches(selector, self.pod_labels[key])
            )
        return self._crowds[name]

    def _namespaces(self, term: Json, pod: str) -> frozenset[str]:
        """Those listed and those selected; the pod's own where the term says neither."""
        listed, selector = term.get("namespaces") or [], term.get("namespaceSelector")
        if not listed and selector is None:
            return frozenset({namespace_of(pod)})
        selected = [n for n, labels in self.namespaces.items() if label_selector_matches(selector, labels)]
        return frozenset([*listed, *selected])

    def _with_label_keys(self, rule: Json, pod: str) -> Json | None:
        """The rule's selector, narrowed to the pod's own values of matchLabelKeys (mismatchLabelKeys: any others)."""
        selector: Json | None = rule.get("labelSelector")
        if selector is None:
            return None
        own = self.pod_labels[pod]
        extra = [
            {"key": key, "operator": operator, "values": [own[key]]}
            for written, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in rule.get(written) or []
            if key in own
        ]
        return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or []), *extra]}


def _name(selector: Json | None, namespaces: frozenset[str]) -> str:
    return json.dumps([selector, sorted(namespaces)], sort_keys=True)


@dataclass
class State:
    """Who sits where: `before` (running, and placed in earlier steps) and `new` (placed together now)."""

    view: View
    before: Seats
    new: Seats
    seats: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Join both: a pod's node, whenever it came."""
        self.seats = {**self.before, **self.new}

    def value(self, pod: str, key: str) -> str | None:
        """The value of a node label where the pod sits; None where its node lacks the label or is not known."""
        return self.view.labels.get(self.seats[pod], {}).get(key)
