"""Ranks: a live pod has the rank that `place -f` gives it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangpool.intake.ranks import AS_LINKED, Ranks, Run, by_word, tables_of
from gangpool.intake.store import Store
from gangpool.objects.typed import as_pod
from gangpool.workloads import registry
from gangpool.workloads.dialect import ROLE_STRIDE
from tests.intake.build import (
    Json,
    ask,
    job,
    jobset,
    jobset_pod,
    node,
    nodes_of,
    obj,
    reason,
    template,
    unit,
    volcano,
    where,
    world,
)

RACK = "topology.example/rack"


def racks(n: int, each: int, cards: int = 8) -> list[Json]:
    return [node(f"r{r}n{i}", cards, labels={RACK: f"r{r}"}) for r in range(n) for i in range(each)]


def replica(n: int) -> Json:
    return {"replicas": n, "template": template(1)}


WORKLOADS: dict[str, Json] = {
    "jobset": jobset("a", {"driver": (1, 1), "slice": (3, 4)}, 1),
    "volcano": volcano("a", {"master": (1, 1), "worker": (4, 1), "logger": (2, 0)}),
    "pytorch": obj(
        "kubeflow.org/v1", "PyTorchJob", "a", spec={"pytorchReplicaSpecs": {"Worker": replica(3), "Master": replica(1)}}
    ),
    "mpi": obj(
        "kubeflow.org/v2beta1", "MPIJob", "a", spec={"mpiReplicaSpecs": {"Launcher": replica(1), "Worker": replica(3)}}
    ),
    "lws": obj(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        "a",
        spec={"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": template(1)}},
    ),
    "job": job("a", 4, 1),
    "ray": obj(
        "ray.io/v1",
        "RayCluster",
        "a",
        spec={
            "headGroupSpec": {"template": template(0)},
            "workerGroupSpecs": [
                {"groupName": "gpu", "replicas": 3, "template": template(1)},
                {"groupName": "cpu", "replicas": 2, "template": template(0)},
            ],
        },
    ),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_live_pods_are_planned_in_the_order_of_their_manifest(name: str) -> None:
    """1. Every pod of the object as its controller makes it, waiting in the pool. 2. The same object with -f. 3. Both
    answers put the same pods in the same order, with the same ranks where the pods tell theirs."""
    workload = WORKLOADS[name]
    pool = [node(f"n{i}") for i in range(4)]
    by_manifest = [(e.pod, e.rank, e.gang) for e in ask(pool, workload).placed]
    made = [member.pod for _, member in registry.expand(workload).members]
    for one in made:
        one["spec"] = {**one["spec"], "schedulerName": "gangpool"}
    live = [(e.pod, e.rank, e.gang) for e in ask([*pool, workload, *made]).placed]
    assert by_manifest
    if name == "ray":  # its pods carry no index: only their groups are told apart
        assert sorted(p for p, _, _ in live) == sorted(p for p, _, _ in by_manifest)
    else:
        assert live == by_manifest


def test_a_table_knows_where_each_set_begins() -> None:
    found = tables_of(WORKLOADS["jobset"], Store())["ml/a"]
    assert dict(found.starts()) == {"driver": 0, "slice": 1}
    assert [found.of("slice", job_ * ROLE_STRIDE + i) for job_ in range(3) for i in (0, 3)] == [1, 4, 5, 8, 9, 12]
    assert found.of("unknown", 7) == 7


def test_a_group_or_a_stranger_has_no_table() -> None:
    group = obj("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", spec={"minMember": 2})
    assert tables_of(group, Store()) == {}
    assert tables_of(obj("v1", "Service", "s"), Store()) == {}


@given(st.dictionaries(st.sampled_from("abc"), st.tuples(st.integers(1, 4), st.integers(1, 5)), min_size=1))
def test_without_the_object_all_ranks_of_complete_child_jobs_are_different_and_dense(shape: dict[str, Any]) -> None:
    carried = [
        (role, child * ROLE_STRIDE + i) for role, (jobs, n) in shape.items() for child in range(jobs) for i in range(n)
    ]
    table = by_word(carried)
    if table is AS_LINKED:
        assert all(jobs == 1 for jobs, _ in shape.values())
    else:
        assert sorted(table.of(*one) for one in carried) == list(range(len(carried)))


def test_a_hostile_label_costs_no_memory() -> None:
    table = by_word([("w", 999_999_999 * ROLE_STRIDE), ("w", 1)])
    assert table.of("w", 1) == 1
    assert len(table.runs["w"]) == 2


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=6))
def test_ranks_keep_the_order_of_the_pods(sets: list[tuple[int, int]]) -> None:
    runs, first = [], 0
    for at, (gap, n) in enumerate(sets):
        runs.append(Run(at * 100 + gap, first))
        first += n
    table = Ranks({"w": tuple(runs)})
    found = [table.of("w", run.linked + i) for run, (_, n) in zip(runs, sets, strict=True) for i in range(n)]
    assert found == list(range(first))


EXCLUSIVE: Json = {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": RACK}}


def test_live_child_jobs_are_the_blocks_of_exclusive_topology() -> None:
    """The ranks that JobSet's pods carry are 2^20 apart from job to job, and no block begins there."""
    pods = [jobset_pod("js", "slice", child, i) for child in range(2) for i in range(3)]
    answer = ask([*racks(3, 4), jobset("js", {"slice": (2, 3)}, **EXCLUSIVE), *pods])
    by_job = {child: {n[:2] for p, n in where(answer).items() if p.startswith(f"js-slice-{child}")} for child in (0, 1)}
    assert all(len(found) == 1 for found in by_job.values())
    assert by_job[0] != by_job[1]
    assert [e.rank for e in answer.placed] == list(range(6))


def test_blocks_of_a_second_role_begin_at_its_first_rank() -> None:
    """A driver of one pod comes first: blocks of four workers begin at rank 1, not at 0 and 4."""
    both = jobset("js", {"driver": (1, 1), "slice": (2, 4)}, **EXCLUSIVE)
    answer = ask(racks(4, 4), both)
    slices = [e.node[:2] for e in answer.placed if "-slice-" in e.pod]
    assert len(slices) == 8
    assert len(set(slices[:4])) == len(set(slices[4:])) == 1
    assert slices[0] != slices[4]


def test_a_lost_pod_of_a_block_returns_to_its_block() -> None:
    both = jobset("js", {"driver": (1, 1), "slice": (2, 3)}, 4, **EXCLUSIVE)
    places = {(0, 0): "r0n0", (0, 1): "r0n1", (1, 0): "r1n0", (1, 2): "r1n2"}
    running = [jobset_pod("js", "slice", c, i, 4, nodeName=at, uid=f"{c}{i}") for (c, i), at in places.items()]
    running.append(jobset_pod("js", "driver", 0, 0, 4, nodeName="r2n0", uid="d"))
    lost = [jobset_pod("js", "slice", 0, 2, 4, uid="02"), jobset_pod("js", "slice", 1, 1, 4, uid="11")]
    answer = ask([*racks(4, 3), both, *running, *lost])
    assert {e.pod: e.node[:2] for e in answer.placed} == {"js-slice-0-2-abcde": "r0", "js-slice-1-1-abcde": "r1"}
    assert [e.rank for e in answer.placed] == [3, 5]


def test_the_order_of_arrival_does_not_change_ranks() -> None:
    both = jobset("js", {"driver": (1, 1), "slice": (2, 2)})
    pods = [jobset_pod("js", "driver", 0, 0), *(jobset_pod("js", "slice", c, i) for c in range(2) for i in range(2))]
    expected = None
    for order in itertools.permutations([both, *pods[:3]]):
        found = world()
        for one in (*order, *pods[3:]):
            if one is both:
                found.object(one)
            else:
                found.pod(as_pod(one))
            found.settle()
        ranks = unit(found.pool, "ml/js")
        expected = expected or ranks
        assert ranks == expected
        assert sorted(ranks.values()) == [0, 1, 2, 3, 4]


def test_blocks_that_only_the_pods_ask_for_follow_the_child_jobs() -> None:
    """No JobSet object: the pods' own annotations ask for slices of three in one rack."""
    slices = {
        "kueue.x-k8s.io/podset-slice-required-topology": RACK,
        "kueue.x-k8s.io/podset-slice-size": "3",
    }
    pods = [jobset_pod("js", "w", child, i, annotations=slices) for child in range(2) for i in range(3)]
    answer = ask([*racks(2, 4), *pods])
    found = nodes_of(answer, "ml/js")
    assert len({n[:2] for n in found[:3]}) == len({n[:2] for n in found[3:]}) == 1
    assert len(found) == 6


def test_a_jobset_without_room_for_its_slices_names_the_rack() -> None:
    found = reason(ask(racks(2, 3), jobset("js", {"slice": (2, 4)}, **EXCLUSIVE)), "ml/js")
    assert (found.code, "rack" in found.message) == ("cannot-fit", True)
