"""Gangs of every dialect that the scheduler takes live, drawn from a seed, as objects to create.

Called by the fault scenarios. Each pod carries the judge's label, so that the judge needs no dialect. No gang asks for
more than the pool of `stage` has, so at the end of a load all of them have run.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from tests.faults.judge import GANG, Gang

SPACE = "ml"
LEAF = "topology.example/leaf"
DIALECTS = ("volcano", "indexed", "native", "plugins", "plain")
Object = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """One gang, or one pod, and what to create for it in this order. `is_remade`: a controller makes lost pods anew."""

    gang: Gang
    objects: tuple[Object, ...]
    is_remade: bool

    @property
    def name(self) -> str:
        """Its name, which is that of its objects."""
        return self.gang.name


def draw(rng: random.Random, prefix: str, count: int) -> list[Work]:
    """Mixed gangs, every dialect among the first five."""
    works = []
    for i in range(count):
        dialect = DIALECTS[i % len(DIALECTS)]
        works.append(work(rng, dialect, f"{prefix}-{dialect}-{i}"))
    return works


def work(rng: random.Random, dialect: str, name: str) -> Work:
    """A gang of 2 to 8 members of 1 to 8 cards, at most half of the pool."""
    cards = rng.choice((1, 1, 2, 2, 4, 8))
    n = 1 if dialect == "plain" else rng.randint(2, min(8, 32 // cards))
    minimum = n if dialect == "indexed" or rng.random() < 0.7 else rng.randint(max(1, n // 2), n)
    level = LEAF if dialect == "native" and n * cards <= 16 and rng.random() < 0.5 else ""
    gang = Gang(name, minimum, n, level)
    spec = pod_spec(rng, cards)
    if dialect == "volcano":
        return Work(gang, (volcano(gang, spec),), is_remade=True)
    if dialect == "indexed":
        return Work(gang, (indexed(gang, spec),), is_remade=True)
    if dialect == "native":
        return Work(gang, native(gang, spec), is_remade=False)
    if dialect == "plugins":
        return Work(gang, plugins(gang, spec), is_remade=False)
    return Work(gang, (_pod(gang, 0, spec),), is_remade=False)


def pod_spec(rng: random.Random, cards: int) -> Object:
    """One container; sometimes an init container that asks for more CPU than it."""
    amounts = {"cpu": f"{rng.choice((500, 1000, 4000)) * max(cards, 1)}m", "memory": f"{rng.choice((1, 4, 16))}Gi"}
    main = {"name": "main", "image": "x", "resources": {"requests": amounts, "limits": {"nvidia.com/gpu": str(cards)}}}
    spec: Object = {"schedulerName": "gangpool", "containers": [main], "restartPolicy": "Never"}
    if rng.random() < 0.2:
        before = {"name": "fetch", "image": "x", "resources": {"requests": {"cpu": "8"}}}
        spec["initContainers"] = [before]
    return spec


def volcano(gang: Gang, spec: Object) -> Object:
    """A Volcano Job of one task."""
    template = {"metadata": {"labels": {GANG: gang.name}}, "spec": spec}
    tasks = [{"name": "w", "replicas": gang.total, "template": template}]
    wants = {"minAvailable": gang.minimum, "tasks": tasks, "schedulerName": "gangpool"}
    return _object("batch.volcano.sh/v1alpha1", "Job", gang.name, wants)


def indexed(gang: Gang, spec: Object) -> Object:
    """An Indexed Job: its pods are a gang."""
    wants = {
        "completions": gang.total,
        "parallelism": gang.total,
        "completionMode": "Indexed",
        "template": {"metadata": {"labels": {GANG: gang.name}}, "spec": spec},
    }
    return _object("batch/v1", "Job", gang.name, wants)


def native(gang: Gang, spec: Object) -> tuple[Object, ...]:
    """Kubernetes' own PodGroup with bare pods, sometimes within a leaf."""
    wants: Object = {"schedulingPolicy": {"gang": {"minCount": gang.minimum}}}
    if gang.level:
        wants["schedulingConstraints"] = {"topology": [{"key": gang.level}]}
    group = _object("scheduling.k8s.io/v1beta1", "PodGroup", gang.name, wants)
    member = {**spec, "schedulingGroup": {"podGroupName": gang.name}}
    return group, *(_pod(gang, i, member) for i in range(gang.total))


def plugins(gang: Gang, spec: Object) -> tuple[Object, ...]:
    """PodGroup of scheduler-plugins with bare pods."""
    group = _object("scheduling.x-k8s.io/v1alpha1", "PodGroup", gang.name, {"minMember": gang.minimum})
    label = {"scheduling.x-k8s.io/pod-group": gang.name}
    return group, *(_pod(gang, i, spec, label) for i in range(gang.total))


def single(name: str, spec: Object) -> Object:
    """A pod by itself, the only member of its own gang."""
    return _pod(Gang(name, 1, 1), 0, spec)


def _pod(gang: Gang, i: int, spec: Object, labels: dict[str, str] | None = None) -> Object:
    pod = _object("v1", "Pod", f"{gang.name}-{i}", spec)
    pod["metadata"]["labels"] = {GANG: gang.name, **(labels or {})}
    return pod


def _object(version: str, kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": SPACE}, "spec": spec}


def node(name: str, leaf: str, cards: int = 8) -> Object:
    """A node as an administrator or a kubelet would write it."""
    has = {"cpu": "64", "memory": "256Gi", "pods": "20", "nvidia.com/gpu": str(cards)}
    labels = {"kubernetes.io/hostname": name, LEAF: leaf}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": has, "capacity": has, "conditions": [{"type": "Ready", "status": "True"}]},
    }


GROUP_CRD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "podgroups.scheduling.x-k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
    },
    "spec": {
        "group": "scheduling.x-k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        ],
    },
}
"""scheduler-plugins' PodGroup, as far as the API server must know it."""
