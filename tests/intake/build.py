"""Kubernetes objects for the tests of intake, as short as they can be said, and the dry run asked about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gangpool.core.pool import Pool
from gangpool.intake import load, place
from gangpool.intake.answer import PlaceAnswer, ReasonEntry
from gangpool.intake.config import Config
from gangpool.intake.world import World
from gangpool.objects.located import Located

Json = dict[str, Any]
NOW = 1_800_000_000.0
CONFIG = Config()
CARD = "nvidia.com/gpu"


def node(name: str, cards: int = 8, **more: Any) -> Json:
    """A node. `labels`, `annotations`, `taints` (dicts), `room` (other resources); the rest goes into its spec."""
    labels = {"kubernetes.io/hostname": name, **more.pop("labels", {})}
    room = {"cpu": "64", "memory": "512Gi", "pods": "110", CARD: str(cards), **more.pop("room", {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": more.pop("annotations", {})},
        "spec": more,
        "status": {"allocatable": room},
    }


def pod(name: str, cards: int = 1, **more: Any) -> Json:
    """A waiting pod of ours in namespace ml. `labels`, `annotations`, `owner` (kind/name or kind/name/group),
    `created`, `deleted`, `phase`, `asks` (requests instead of limits); the rest goes into its spec."""
    meta: Json = {"name": name, "namespace": more.pop("namespace", "ml")}
    meta |= {key: more.pop(key) for key in ("labels", "annotations", "uid") if key in more}
    for key, field in (("created", "creationTimestamp"), ("deleted", "deletionTimestamp")):
        if key in more:
            meta[field] = more.pop(key)
    if "owner" in more:
        meta["ownerReferences"] = [owner(more.pop("owner"))]
    phase = more.pop("phase", "Running" if "nodeName" in more else "Pending")
    spec = {"schedulerName": "gangpool", "containers": containers(cards, more.pop("limits", {})), **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": phase}}


def containers(cards: int = 1, limits: Json | None = None) -> list[Json]:
    """One container with so many cards."""
    return [{"name": "main", "resources": {"limits": {**({CARD: cards} if cards else {}), **(limits or {})}}}]


def owner(text: str) -> Json:
    """`Kind/name/apiVersion` as a controlling owner reference."""
    kind, name, *version = text.split("/", 2)
    return {"kind": kind, "name": name, "apiVersion": (version or ["v1"])[0], "uid": f"u-{name}", "controller": True}


def obj(version: str, kind: str, name: str, namespace: str | None = "ml", **more: Any) -> Json:
    """Any object; `labels`, `annotations` and `created` go into its metadata."""
    meta: Json = {"name": name} | ({"namespace": namespace} if namespace else {})
    meta |= {key: more.pop(key) for key in ("labels", "annotations") if key in more}
    if "created" in more:
        meta["creationTimestamp"] = more.pop("created")
    return {"apiVersion": version, "kind": kind, "metadata": meta, **more}


def template(cards: int = 1, **more: Any) -> Json:
    """A pod template; `labels` and `annotations` go into its metadata, the rest into its spec."""
    meta = {key: more.pop(key) for key in ("labels", "annotations") if key in more}
    return {"metadata": meta, "spec": {"containers": containers(cards, more.pop("limits", {})), **more}}


def job(name: str, n: int = 2, cards: int = 8, **more: Any) -> Json:
    """An Indexed Job of n pods, which is a gang."""
    spec = {"parallelism": n, "completions": n, "completionMode": "Indexed", **more.pop("spec", {})}
    meta = {key: more.pop(key) for key in ("labels", "annotations", "namespace") if key in more}
    return obj("batch/v1", "Job", name, **meta, spec={**spec, "template": template(cards, **more)})


def deployment(name: str, n: int = 1, cards: int = 1, **more: Any) -> Json:
    """A Deployment of n pods, placed one by one."""
    return obj("apps/v1", "Deployment", name, spec={"replicas": n, "template": template(cards, **more)})


def volcano(name: str, tasks: dict[str, tuple[int, int]], **more: Any) -> Json:
    """A Volcano Job; `tasks`: name to (replicas, cards)."""
    made = [{"name": task, "replicas": n, "template": template(cards)} for task, (n, cards) in tasks.items()]
    return obj("batch.volcano.sh/v1alpha1", "Job", name, spec={"tasks": made, **more})


def jobset(name: str, jobs: dict[str, tuple[int, int]], cards: int = 8, **more: Any) -> Json:
    """A JobSet; `jobs`: name to (child jobs, pods in each)."""
    made = [
        {
            "name": role,
            "replicas": n,
            "template": {"spec": {"parallelism": pods, "completions": pods, "template": template(cards)}},
        }
        for role, (n, pods) in jobs.items()
    ]
    return obj("jobset.x-k8s.io/v1alpha2", "JobSet", name, spec={"replicatedJobs": made}, **more)


def jobset_pod(name: str, role: str, child: int, index: int, cards: int = 8, **more: Any) -> Json:
    """A live pod of a JobSet, with the labels that JobSet and Job controllers write."""
    prefix = "jobset.sigs.k8s.io/"
    job_name = f"{name}-{role}-{child}"
    labels = {
        f"{prefix}jobset-name": name,
        f"{prefix}replicatedjob-name": role,
        f"{prefix}job-index": str(child),
        "batch.kubernetes.io/job-name": job_name,
        "batch.kubernetes.io/job-completion-index": str(index),
    }
    return pod(f"{job_name}-{index}-abcde", cards, labels=labels, owner=f"Job/{job_name}/batch/v1", **more)


def priority_class(name: str, value: int, **more: Any) -> Json:
    return obj("scheduling.k8s.io/v1", "PriorityClass", name, None, value=value, **more)


def given(*objects: Json, file: str = "f.yaml") -> list[Located]:
    """Objects as they come from a file."""
    return [Located(file, one) for one in objects]


def ask(pool: Iterable[Json], *workloads: Json, config: Config = CONFIG) -> PlaceAnswer:
    """The dry run of these workloads on this pool."""
    return place(pool, given(*workloads), NOW, config)


def where(answer: PlaceAnswer) -> dict[str, str]:
    """Pod to node."""
    return {entry.pod: entry.node for entry in answer.placed}


def nodes_of(answer: PlaceAnswer, gang: str) -> list[str]:
    """Nodes of a gang's pods, in the order of the answer."""
    return [entry.node for entry in answer.placed if entry.gang == gang]


def reason(answer: PlaceAnswer, name: str) -> ReasonEntry:
    """Why this gang (its key) or pod waits."""
    return next(e.reason for e in answer.pending if e.gang == name or (e.gang is None and name in e.pods))


def codes(answer: PlaceAnswer) -> list[str]:
    """Codes of the warnings."""
    return [entry.code for entry in answer.warnings]


def world(*objects: Json, config: Config = CONFIG) -> World:
    """A world of these objects."""
    return load(objects, config)


def unit(pool: Pool, key: str) -> dict[str, int]:
    """Member name to rank, of those that wait."""
    return {m.name: m.rank for m in pool.units[key].waiting.values()}
