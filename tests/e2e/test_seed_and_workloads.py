"""The example manifests on pools made for them, from their files to the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.desk import Answer, Desk, message, pods, where
from tests.e2e.terminal import EXAMPLES
from tests.intake.build import Json, job, node, obj, pod, priority_class

RACK = "topology.example/rack"
EXAMPLE_WORKLOADS = sorted(path for path in EXAMPLES.rglob("*.yaml") if path.stem != "nodes")
SEED, WORKLOADS = EXAMPLES / "seed", EXAMPLES / "workloads"
PLENTY = {
    "cpu": "192",
    "memory": "2Ti",
    "ephemeral-storage": "8Ti",
    "rdma/hca": "8",
    "rdma/ib": "100",
    "rdma/hca_shared_devices_a": "100",
}


def workload(number: int) -> Path:
    return next(WORKLOADS.glob(f"{number:02}-*.yaml"))


def plenty(n: int, **more: Any) -> list[Json]:
    """Nodes with everything that the examples ask for, four to a rack."""
    room = {**PLENTY, **more.pop("room", {})}
    labels = {"workload": "gpu-train", **more.pop("labels", {})}
    return [node(f"n{i}", room=room, labels={**labels, RACK: f"r{i // 4}"}, **more) for i in range(n)]


def loaded(path: Path) -> list[Json]:
    return [document for document in yaml.safe_load_all(path.read_text(encoding="utf-8")) if document]


def of_gang(answer: Answer, gang: str) -> list[Json]:
    return [entry for entry in answer["placed"] if entry["gang"] == gang]


# ---- train-qwen


def gpu_train(free: int) -> list[Json]:
    """A labelled node with so many free cards, and one with eight that has no label."""
    running = [pod("old", 8 - free, nodeName="train")] if free < 8 else []
    return [node("train", labels={"workload": "gpu-train"}), node("other"), *running]


def test_train_qwen_seats_eight_with_eight_free_cards_on_labelled_nodes(desk: Desk) -> None:
    answer = desk.ask(gpu_train(8), SEED / "train-qwen.yaml")
    assert pods(answer) == [f"train-qwen-default0-{i}" for i in range(8)]
    assert {entry["node"] for entry in answer["placed"]} == {"train"}
    assert [entry["cards"] for entry in answer["placed"]] == [[i] for i in range(8)]
    assert [entry["rank"] for entry in answer["placed"]] == list(range(8))


def test_train_qwen_seats_none_with_seven(desk: Desk) -> None:
    answer = desk.ask(gpu_train(7), SEED / "train-qwen.yaml", code=3)
    assert answer["placed"] == []
    assert answer["pending"][0]["reason"]["numbers"] == {"needed": 8, "best": 7, "unit": "members"}
    assert message(answer).startswith("7 of 8 members fit in the pool; nvidia.com/gpu asked 1, best ")
    assert "1 do not match workload=gpu-train" in message(answer)


def test_train_qwen_names_its_mistakes(desk: Desk) -> None:
    answer = desk.ask(gpu_train(8), SEED / "train-qwen.yaml")
    assert [warning["code"] for warning in answer["warnings"]] == [
        "minmember-in-job",
        "task-name-missing",
        "dead-affinity",
        "nvlink-lost",
    ]
    assert {warning["file"] for warning in answer["warnings"]} == {str(SEED / "train-qwen.yaml")}


# ---- 04: JobSet with exclusive racks


def racks_of(entries: list[Json]) -> list[int]:
    """Rack number of each pod of `plenty`'s nodes."""
    return [int(entry["node"][1:]) // 4 for entry in entries]


def test_two_slices_of_four_nodes_in_two_racks_of_their_own(desk: Desk) -> None:
    found = racks_of(of_gang(desk.ask(plenty(12), workload(4)), "vision/diffusion-xl"))
    assert len(found) == 8
    assert len(set(found[:4])) == len(set(found[4:])) == 1
    assert found[0] != found[4]


def test_other_pods_of_ours_stay_out_of_the_slices_racks(desk: Desk) -> None:
    others = job("others", 8, 4)
    answer = desk.ask(plenty(12), workload(4), others)
    slices, rest = of_gang(answer, "vision/diffusion-xl"), of_gang(answer, "ml/others")
    assert len(slices) == len(rest) == 8
    assert not set(racks_of(slices)) & set(racks_of(rest))
    answer = desk.ask(plenty(8), workload(4), others)
    assert of_gang(answer, "ml/others") == []
    assert "anti-affinity" in message(answer)


def test_slices_stay_out_of_racks_where_pods_of_ours_run(desk: Desk) -> None:
    running = [pod(f"ours-{rack}", 0, nodeName=f"n{4 * rack}") for rack in (0, 2)]
    found = racks_of(of_gang(desk.ask([*plenty(16), *running], workload(4)), "vision/diffusion-xl"))
    assert sorted(set(found)) == [1, 3]
    theirs = [pod(f"theirs-{i}", 0, nodeName=f"n{i}", schedulerName="kube") for i in range(8)]
    assert len(of_gang(desk.ask([*plenty(8), *theirs], workload(4)), "vision/diffusion-xl")) == 8


def test_a_rack_that_is_short_of_one_node_takes_no_slice(desk: Desk) -> None:
    broken = pod("old", 1, nodeName="n6", schedulerName="kube")
    answer = desk.ask([*plenty(8), broken], workload(4), code=3)
    assert answer["pending"][0]["reason"]["numbers"]["best"] == 4
    assert "rack" in message(answer)


# ---- 03: MPIJob whose launcher comes later


def mpi_pods() -> list[Json]:
    """Its two workers as the operator makes them, waiting in the pool; the launcher is not made yet."""
    labels = {
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": "nccl-allreduce-2n",
        "training.kubeflow.org/job-role": "worker",
    }
    owner = "MPIJob/nccl-allreduce-2n/kubeflow.org/v2beta1"
    made = [{**labels, "training.kubeflow.org/replica-index": str(i)} for i in range(2)]
    return [pod(f"nccl-allreduce-2n-worker-{i}", 8, namespace="ops", labels=made[i], owner=owner) for i in range(2)]


def test_an_mpijob_is_its_workers_and_its_launcher(desk: Desk) -> None:
    answer = desk.ask(plenty(2), workload(3))
    assert pods(answer) == [
        "nccl-allreduce-2n-worker-0",
        "nccl-allreduce-2n-worker-1",
        "nccl-allreduce-2n-launcher",
    ]
    assert [entry["rank"] for entry in answer["placed"]] == [0, 1, 2]


def test_the_launchers_room_counts_although_it_comes_later(desk: Desk) -> None:
    """Each node holds a worker (32 CPUs) and nothing more: the launcher of two CPUs would never find a place."""
    tight = plenty(2, room={"cpu": "33"})
    answer = desk.ask(tight, workload(3), code=3)
    assert answer["pending"][0]["reason"]["numbers"]["best"] == 2
    assert "role launcher has no place" in message(answer)


def test_workers_start_without_the_launcher_that_waits_for_them(desk: Desk) -> None:
    answer = desk.ask([*plenty(2), *loaded(workload(3)), *mpi_pods()], priority_class("health-check", 1))
    assert pods(answer) == ["nccl-allreduce-2n-worker-0", "nccl-allreduce-2n-worker-1"]
    assert answer["pending"] == []


# ---- 05: elastic RayCluster


def test_an_elastic_raycluster_starts_with_its_minimum_and_grows_as_far_as_there_is_room(desk: Desk) -> None:
    """Four nodes of 72 CPUs: four GPU workers take 64 each, the head takes 4.5 of what is left of one; on the three
    others one CPU worker fits, and seven wait."""
    answer = desk.ask(plenty(4, room={"cpu": "72"}), workload(5))
    names = pods(answer)
    assert len(names) == 8
    assert sum("gpu" in name for name in names) == 4
    assert sum("cpu-envs" in name for name in names) == 3
    assert [len(entry["pods"]) for entry in answer["pending"]] == [7]
    assert "cpu asked 8" in message(answer)


def test_an_elastic_raycluster_does_not_start_below_its_minimum(desk: Desk) -> None:
    answer = desk.ask(plenty(3), workload(5), code=3)
    assert answer["placed"] == []
    assert answer["pending"][0]["reason"]["numbers"]["needed"] == 5


# ---- the others


def test_a_volcano_gang_is_held_to_the_nearest_tier(desk: Desk) -> None:
    """Its networkTopology is hard with tier 1; racks are the only level of this pool."""
    levels = obj("kueue.x-k8s.io/v1beta1", "Topology", "racks", None, spec={"levels": [{"nodeLabel": RACK}]})
    board = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    wide = [node(f"n{i}", room=PLENTY, labels={**board, RACK: f"r{i // 8}"}) for i in range(16)]
    assert len(desk.ask([*wide, levels], workload(1))["placed"]) == 8
    narrow = [node(f"n{i}", room=PLENTY, labels={**board, RACK: f"r{i // 7}"}) for i in range(14)]
    reason = desk.ask([*narrow, levels], workload(1), code=3)["pending"][0]["reason"]
    assert (reason["best_domain"], reason["numbers"]["best"]) == ("r0", 7)


def test_a_pytorchjob_waits_for_all_of_its_pods(desk: Desk) -> None:
    """Four pods of four cards each."""
    assert len(desk.ask(plenty(2), workload(2))["placed"]) == 4
    assert desk.ask(plenty(1), workload(2), code=3)["placed"] == []


def test_groups_of_a_leaderworkerset_are_gangs_of_their_own(desk: Desk) -> None:
    answer = desk.ask(plenty(3), workload(6))
    assert {entry["gang"] for entry in answer["placed"]} == {"serving/vllm-405b-0"}
    assert [entry["gang"] for entry in answer["pending"]] == ["serving/vllm-405b-1"]
    assert len(desk.ask(plenty(4), workload(6))["placed"]) == 4


def test_deployments_are_placed_one_by_one(desk: Desk) -> None:
    memory = {"aliyun.com/gpu-mem": "25"}
    answer = desk.ask(plenty(2, room=memory), workload(7))
    assert (len(answer["placed"]), sum(len(entry["pods"]) for entry in answer["pending"])) == (4, 2)
    assert {entry["gang"] for entry in answer["placed"]} == {None}


def test_gated_pods_wait_for_their_gates(desk: Desk) -> None:
    answer = desk.ask(plenty(4), workload(12), code=3)
    assert answer["pending"][0]["reason"]["code"] == "gated"
    assert "3 of 3 members wait behind gate kueue.x-k8s.io/admission" in message(answer)


def test_the_rdma_plugin_is_booked_on_every_node(desk: Desk) -> None:
    answer = desk.ask(plenty(3), SEED / "rdma-device-plugin.yaml")
    assert sorted(where(answer).values()) == ["n0", "n1", "n2"]


@pytest.mark.parametrize("path", EXAMPLE_WORKLOADS, ids=lambda path: path.stem)
def test_every_example_has_an_answer_on_a_shape(path: Path, desk: Desk) -> None:
    outcome = desk.run("-f", str(path), "--pool", "h100:1280,label=workload:gpu-train", "-o", "json")
    assert outcome.code in (0, 3)
    answer = outcome.answer()
    assert answer["placed"] or answer["pending"]
    assert all(entry["reason"]["next_step"] for entry in answer["pending"])


# ---- examples/live


def test_of_the_live_examples_one_job_runs_and_one_waits(desk: Desk) -> None:
    answer = desk.ask(loaded(EXAMPLES / "live/nodes.yaml"), EXAMPLES / "live/jobs.yaml")
    assert pods(answer) == [f"train-worker-{i}" for i in range(3)]
    assert [(entry["gang"], entry["reason"]["code"]) for entry in answer["pending"]] == [
        ("default/waits", "cannot-fit")
    ]
