"""Kubernetes objects for tests, as plain dicts: only what a placement depends on, all of it by name.

Used by the oracle's own tests and by `worlds`. What the API server writes by itself (hostname label, phase, the
label of a namespace) is written here too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]
Texts = Mapping[str, str]

CARD = "nvidia.com/gpu"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
RACK = "topology.kubernetes.io/rack"
RANK = "batch.kubernetes.io/job-completion-index"
ROOM = {"cpu": "64", "memory": "512Gi", "pods": "110", CARD: "8"}


def node(
    name: str, labels: Mapping[str, str] | None = None, room: Mapping[str, str] | None = None, **spec: Any
) -> Json:
    """A ready node with 8 cards. `labels` and `room` change or add; a label or resource of "" is left out."""
    all_labels = {HOSTNAME: name, **(labels or {})}
    all_room = {**ROOM, **(room or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {k: v for k, v in all_labels.items() if v}},
        "spec": spec,
        "status": {
            "allocatable": {k: v for k, v in all_room.items() if v},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(
    name: str,
    asks: Texts | None = None,
    labels: Texts | None = None,
    on: str = "",
    namespace: str = "ml",
    **spec: Any,
) -> Json:
    """A pod of ours with one container; it runs on node `on`, or waits. `asks` are its requests and limits."""
    asks = dict(asks or {})
    placed = {"nodeName": on} if on else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{namespace}-{name}",
            "labels": dict(labels or {}),
        },
        "spec": {
            "schedulerName": "gangpool",
            "containers": [{"name": "main", "image": "train:1", "resources": {"requests": asks, "limits": asks}}],
            **placed,
            **spec,
        },
        "status": {"phase": "Running" if on else "Pending"},
    }


def namespace(name: str, **labels: str) -> Json:
    """A namespace with its labels."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name, **labels}},
    }


def world(nodes: Sequence[Json], pods: Sequence[Json] = (), gangs: Sequence[Json] = (), **more: Any) -> Json:
    """All of it together, with the namespaces that the pods live in."""
    names = sorted({p["metadata"]["namespace"] for p in pods})
    return {
        "nodes": list(nodes),
        "pods": list(pods),
        "gangs": list(gangs),
        "namespaces": [namespace(name) for name in names],
        **more,
    }


def gang(key: str, members: Sequence[str], minimum: int | None = None, **more: Any) -> Json:
    """A gang as the oracle reads it; all members are the minimum unless said otherwise."""
    return {"key": key, "members": list(members), "minimum": len(members) if minimum is None else minimum, **more}


def selector(**labels: str) -> Json:
    """A label selector of equalities."""
    return {"matchLabels": labels}


def term(key: str, label_selector: Json | None, **more: Any) -> Json:
    """A pod affinity or anti-affinity term."""
    return {"topologyKey": key, "labelSelector": label_selector, **more}


def affinity(near: Sequence[Json] = (), apart: Sequence[Json] = (), on: Sequence[Json] | None = None) -> Json:
    """`spec.affinity` with required terms: pod affinity, pod anti-affinity, node selector terms."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    written: Json = {}
    if near:
        written["podAffinity"] = {required: list(near)}
    if apart:
        written["podAntiAffinity"] = {required: list(apart)}
    if on is not None:
        written["nodeAffinity"] = {required: {"nodeSelectorTerms": list(on)}}
    return written


def spread(key: str, label_selector: Json | None, max_skew: int = 1, **more: Any) -> Json:
    """A hard topology spread constraint."""
    return {
        "maxSkew": max_skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": label_selector,
        **more,
    }


def host_port(number: int, **more: Any) -> list[Json]:
    """Containers with one host port and no requests."""
    return [{"name": "main", "ports": [{"containerPort": number, "hostPort": number, **more}]}]
