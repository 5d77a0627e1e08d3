"""A gang in words, written as the kinds whose controllers make the pods.

The pods are those that gangpool itself expands the object to; tests/workloads compares that with each kind's own
documentation.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from gangpool.workloads import registry
from tests.scenarios import parts
from tests.scenarios.ask import GangAsk, RoleAsk
from tests.scenarios.dialects import Made, Writer, judged, labels, native, notes, podgroup, template
from tests.scenarios.vocabulary import Vocabulary

Json = dict[str, Any]


def volcano(ask: GangAsk, levels: Vocabulary) -> Made:
    """Volcano's Job: a task per role. Its networkTopology has one level, hard or soft, told by its tier; what it
    cannot say stands in our annotations on the Job."""
    topology: Json = {}
    if levels.mode != "named":
        if ask.required:
            topology = {"mode": "hard", "highestTierAllowed": levels.tier(ask.required)}
        elif len(ask.preferred) == 1:
            topology = {"mode": "soft", "highestTierAllowed": levels.tier(ask.preferred[0])}
    said = notes(ask, levels, required=not topology, preferred=topology.get("mode") != "soft")
    spec: Json = {
        "minAvailable": ask.minimum,
        "schedulerName": "gangpool",
        "queue": "default",
        "tasks": [
            {"name": role.name or "worker", "replicas": role.count, "template": template(ask, role)}
            for role in ask.roles
        ],
    }
    if topology:
        spec["networkTopology"] = topology
    return _made("batch.volcano.sh/v1alpha1", "Job", ask, levels, spec, said)


def job(ask: GangAsk, levels: Vocabulary) -> Made:
    """Kubernetes' own Job, Indexed."""
    spec = _job_spec(ask, _only(ask), ask.total, notes(ask, levels))
    said = {} if ask.minimum == ask.total else {"gangpool.io/min-member": str(ask.minimum)}
    return _made("batch/v1", "Job", ask, levels, spec, said)


def jobset(ask: GangAsk, levels: Vocabulary) -> Made:
    """A JobSet of two equal Jobs: ranks run through both."""
    half = ask.total // 2
    assert half * 2 == ask.total, "a jobset is written as two equal jobs"
    child = {"spec": _job_spec(ask, _only(ask), half, notes(ask, levels))}
    spec = {"replicatedJobs": [{"name": "slice", "replicas": 2, "template": child}]}
    return _made("jobset.x-k8s.io/v1alpha2", "JobSet", ask, levels, spec)


def lws(ask: GangAsk, levels: Vocabulary) -> Made:
    """A LeaderWorkerSet with one group; the leader is worker 0."""
    inner = {"size": ask.total, "workerTemplate": template(ask, _only(ask), notes(ask, levels))}
    spec = {"replicas": 1, "leaderWorkerTemplate": inner}
    made = _made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", ask, levels, spec)
    made.gang["key"] += "-0"
    return made


def pytorch(ask: GangAsk, levels: Vocabulary) -> Made:
    """A PyTorchJob: the master is rank 0, workers follow."""
    kinds = {
        (role.name or "worker").capitalize(): {
            "replicas": role.count,
            "restartPolicy": "Never",
            "template": template(ask, role),
        }
        for role in ask.roles
    }
    return _made("kubeflow.org/v1", "PyTorchJob", ask, levels, {"pytorchReplicaSpecs": kinds}, notes(ask, levels))


DIALECTS: dict[str, Writer] = {
    "volcano": volcano,
    "podgroup": podgroup,
    "native": native,
    "job": job,
    "jobset": jobset,
    "lws": lws,
    "pytorch": pytorch,
}
USUAL = ("volcano", "podgroup", "native")
"""What a scenario is written in unless its world says `dialects …`."""


def _only(ask: GangAsk) -> RoleAsk:
    assert len(ask.roles) == 1, "this kind has no roles"
    return ask.roles[0]


def _job_spec(ask: GangAsk, role: RoleAsk, count: int, said: dict[str, str]) -> Json:
    indexed = {"completionMode": "Indexed", "parallelism": count, "completions": count}
    return {**indexed, "template": template(ask, role, said)}


def _made(
    version: str, kind: str, ask: GangAsk, levels: Vocabulary, spec: Json, said: dict[str, str] | None = None
) -> Made:
    metadata: Json = {"name": ask.name, "namespace": parts.NAMESPACE, "labels": labels(ask)}
    if said:
        metadata["annotations"] = said
    owner = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
    found = sorted((member for _, member in registry.expand(owner).members), key=lambda member: member.rank)
    pods = [deepcopy(member.pod) for member in found]
    return Made([owner], pods, judged(ask, levels, pods))
