"""Every manifest of examples/seed and examples/workloads, and what it must give. Each row says why, from the
documentation of its kind."""

from __future__ import annotations

import pytest
from msgspec import Struct

from gangpool.core.model import Block, Level, Role
from gangpool.workloads import registry
from gangpool.workloads.base import GangOf
from tests.workloads.objects import EXAMPLES, Objects, codes, manifests

RACK = Level(key="topology.example/rack")
AFFINITY = "spec.tasks[0].template.spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"


class Row(Struct, frozen=True):
    """One manifest. `pods`: (gang key, name, role, rank, path of the template) in order; `findings`: (code, field)."""

    path: str
    gangs: tuple[GangOf, ...] = ()
    pods: tuple[tuple[str, str, str, int, str], ...] = ()
    findings: tuple[tuple[str, str], ...] = ()
    claims: tuple[str, ...] = ()


def several(key: str, name: str, role: str, path: str, ranks: range) -> tuple[tuple[str, str, str, int, str], ...]:
    """Pods NAME0, NAME1, … with these ranks."""
    return tuple((key, f"{name}{i}", role, rank, path) for i, rank in enumerate(ranks))


ROWS = [
    # A Pod is placed by itself.
    Row("seed/infer-mig.yaml", pods=(("", "infer-mig", "", 0, ""),)),
    Row("seed/training-worker.yaml", pods=(("", "training-worker", "", 0, ""),)),
    # A ConfigMap brings no pods; of a DaemonSet one pod stands for the one of each node.
    Row("seed/rdma-device-plugin.yaml", pods=(("", "rdma-device-plugin-0", "daemon", 0, "spec.template"),)),
    # Volcano's Job has no minMember (its PodGroup has), so it is named and taken for minAvailable. Its admission calls
    # an unnamed task `default<index>`, its controller names pods JOB-TASK-INDEX. No pod of it has a label `job`, and
    # eight pods with one card may land on eight nodes.
    Row(
        "seed/train-qwen.yaml",
        gangs=(GangOf("default/train-qwen", 8, 8, roles=(Role("default0"),)),),
        pods=several("default/train-qwen", "train-qwen-default0-", "default0", "spec.tasks[0].template", range(8)),
        findings=(
            ("minmember-in-job", "spec.minMember"),
            ("task-name-missing", "spec.tasks[0].name"),
            ("dead-affinity", f"{AFFINITY}.podAffinityTerm.labelSelector"),
            ("nvlink-lost", "spec.tasks[0].replicas"),
        ),
    ),
    # minAvailable is the job's minimum; a task without minAvailable has none of its own beside it. networkTopology of
    # mode hard keeps the gang below a HyperNode of tier 1, the nearest. Queue and priority class are the job's.
    Row(
        "workloads/01-volcano-gang-8x8-rdma.yaml",
        gangs=(
            GangOf(
                "llm/pretrain-9b",
                8,
                8,
                roles=(Role("worker"),),
                required=Level(tier=1),
                queue="foundation",
                priority_class="training",
            ),
        ),
        pods=several("llm/pretrain-9b", "pretrain-9b-worker-", "worker", "spec.tasks[0].template", range(8)),
    ),
    # The training operator makes JOB-TYPE-INDEX, and a PodGroup of schedulingPolicy.minAvailable; its queue goes before
    # the label, which is Kueue's. All four are the minimum, so each type needs all of its replicas.
    Row(
        "workloads/02-pytorchjob.yaml",
        gangs=(
            GangOf(
                "research/sft-mistral",
                4,
                4,
                roles=(Role("master", 1), Role("worker", 3)),
                queue="research",
                priority_class="normal",
            ),
        ),
        pods=(
            ("research/sft-mistral", "sft-mistral-master-0", "master", 0, "spec.pytorchReplicaSpecs.Master.template"),
            *several(
                "research/sft-mistral",
                "sft-mistral-worker-",
                "worker",
                "spec.pytorchReplicaSpecs.Worker.template",
                range(1, 4),
            ),
        ),
    ),
    # The MPI operator counts launcher and workers (minAvailable 3). WaitForWorkersReady creates the launcher when the
    # workers run, so they start without it. mpirun ranks the hosts of its host file, which are the workers.
    Row(
        "workloads/03-mpijob-nccl-tests.yaml",
        gangs=(
            GangOf(
                "ops/nccl-allreduce-2n",
                3,
                3,
                roles=(Role("worker", 2), Role("launcher", 1)),
                optional_roles=("launcher",),
                queue="ops",
                priority_class="health-check",
            ),
        ),
        pods=(
            *several(
                "ops/nccl-allreduce-2n",
                "nccl-allreduce-2n-worker-",
                "worker",
                "spec.mpiReplicaSpecs.Worker.template",
                range(2),
            ),
            (
                "ops/nccl-allreduce-2n",
                "nccl-allreduce-2n-launcher",
                "launcher",
                2,
                "spec.mpiReplicaSpecs.Launcher.template",
            ),
        ),
    ),
    # JobSet creates JOBSET-REPLICATEDJOB-JOB and its Job JOB-INDEX. exclusive-topology gives each child job a rack of
    # its own, so that the required rack of the template can only mean each child job: two blocks of four.
    Row(
        "workloads/04-jobset.yaml",
        gangs=(
            GangOf(
                "vision/diffusion-xl",
                None,
                8,
                roles=(Role("slice", 8),),
                blocks=(("", Block(4, RACK)),),
                queue="vision",
                exclusive="topology.example/rack",
            ),
        ),
        pods=(
            *several(
                "vision/diffusion-xl",
                "diffusion-xl-slice-0-",
                "slice",
                "spec.replicatedJobs[0].template.spec.template",
                range(4),
            ),
            *several(
                "vision/diffusion-xl",
                "diffusion-xl-slice-1-",
                "slice",
                "spec.replicatedJobs[0].template.spec.template",
                range(4, 8),
            ),
        ),
    ),
    # KubeRay's Volcano integration makes a PodGroup of the head and, with the autoscaler, minReplicas of every group:
    # 1 + 4 + 0. All 15 pods are created; those above the minimum come one by one.
    Row(
        "workloads/05-raycluster.yaml",
        gangs=(
            GangOf(
                "rl/rl-rollout",
                5,
                15,
                roles=(Role("headgroup", 1), Role("gpu", 4), Role("cpu-envs", 0)),
                queue="rl",
                priority_class="normal",
            ),
        ),
        pods=(
            ("rl/rl-rollout", "rl-rollout-head", "headgroup", 0, "spec.headGroupSpec.template"),
            *several(
                "rl/rl-rollout", "rl-rollout-gpu-worker-", "gpu", "spec.workerGroupSpecs[0].template", range(1, 5)
            ),
            *several(
                "rl/rl-rollout",
                "rl-rollout-cpu-envs-worker-",
                "cpu-envs",
                "spec.workerGroupSpecs[1].template",
                range(5, 15),
            ),
        ),
    ),
    # Each group of a LeaderWorkerSet is a unit: leader NAME-GROUP, workers NAME-GROUP-1 and on, size 2. With
    # LeaderCreated the workers are created as soon as the leader is, so nothing comes later.
    Row(
        "workloads/06-leaderworkerset-vllm.yaml",
        gangs=tuple(
            GangOf(f"serving/vllm-405b-{g}", None, 2, roles=(Role("leader", 1), Role("worker", 1))) for g in range(2)
        ),
        pods=tuple(
            pod
            for g in range(2)
            for pod in (
                (
                    f"serving/vllm-405b-{g}",
                    f"vllm-405b-{g}",
                    "leader",
                    0,
                    "spec.leaderWorkerTemplate.leaderTemplate",
                ),
                (
                    f"serving/vllm-405b-{g}",
                    f"vllm-405b-{g}-1",
                    "worker",
                    1,
                    "spec.leaderWorkerTemplate.workerTemplate",
                ),
            )
        ),
    ),
    # Replicas of a Deployment serve each for itself.
    Row(
        "workloads/07-deployment-vllm-gpu-mem.yaml",
        pods=several("", "embed-small-", "", "spec.template", range(6)),
    ),
    Row("workloads/08-deployment-mig.yaml", pods=several("", "ocr-", "", "spec.template", range(4))),
    # 400 completions, 20 at a time: an index may run long before another, so no gang. The PriorityClass is context.
    Row("workloads/09-job-preemptible.yaml", pods=several("", "caption-backfill-", "", "spec.template", range(20))),
    # Ordinal names; the claim TEMPLATE-POD is made for each pod.
    Row(
        "workloads/10-statefulset.yaml",
        pods=several("", "ann-index-", "", "spec.template", range(3)),
        claims=("index-ann-index-0", "index-ann-index-1", "index-ann-index-2"),
    ),
    # One run is one Job with one pod.
    Row("workloads/11-cronjob.yaml", pods=several("", "gpu-burnin-", "", "spec.jobTemplate.spec.template", range(1))),
    # The pods name the group twice, as Volcano's PodGroup and as Kueue's pod group of 3, and both agree; gates do not
    # change who belongs to it.
    Row(
        "workloads/12-bare-pods-gated.yaml",
        gangs=(GangOf("research/explore-77", 3, queue="research", priority_class="normal"),),
        pods=several("research/explore-77", "explore-77-", "", "", range(3)),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.path)
def test_example(row: Row) -> None:
    objects = manifests(row.path)
    found = [registry.expand(one, Objects(objects)) for one in objects]
    pods = [
        (key, spec.pod["metadata"]["name"], spec.role, spec.rank, spec.template_path)
        for expansion in found
        for key, spec in expansion.members
    ]
    assert tuple(gang for expansion in found for gang in expansion.gangs) == row.gangs
    assert tuple(pods) == row.pods
    assert tuple(code for expansion in found for code in codes(expansion)) == row.findings
    assert tuple(c["metadata"]["name"] for expansion in found for c in expansion.claims) == row.claims


def test_no_example_is_left_out() -> None:
    files = {str(p.relative_to(EXAMPLES)) for folder in ("seed", "workloads") for p in (EXAMPLES / folder).iterdir()}
    assert {row.path for row in ROWS} == files


def test_the_findings_of_the_article_name_the_object_and_say_what_to_write() -> None:
    (job,) = manifests("seed/train-qwen.yaml")
    findings = {f.code: f for f in registry.expand(job).findings}
    assert {f.object for f in findings.values()} == {"Job/default/train-qwen"}
    assert "minAvailable" in findings["minmember-in-job"].message
    assert "default0" in findings["task-name-missing"].message
    assert "job=train-qwen" in findings["dead-affinity"].message
    assert "1 pod with 8 cards" in findings["nvlink-lost"].message
