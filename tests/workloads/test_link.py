"""Which gang a live pod belongs to, and what the object of that gang says."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.workloads import registry
from tests.workloads.objects import Objects, decoded, manifests, obj, pod, task, template, vcjob
from tests.workloads.test_jobset import jobset, replicated
from tests.workloads.test_kubeflow import mpi, pytorch
from tests.workloads.test_lws import lws
from tests.workloads.test_ray import VOLCANO, cluster, group, ray_job

NATIVE = {"schedulingGroup": {"podGroupName": "native"}}
VOLCANO_NOTE = {"scheduling.k8s.io/group-name": "volcano"}
PLUGINS_LABEL = {"scheduling.x-k8s.io/pod-group": "plugins"}
KUEUE_LABEL = {"kueue.x-k8s.io/pod-group-name": "kueue"}
KAI_NOTE = {"pod-group-name": "kai"}
JOB_LABELS = {"jobset.sigs.k8s.io/jobset-name": "owner", "batch.kubernetes.io/job-name": "owner-w-0"}


def test_the_order_of_dialects() -> None:
    """native, PodGroups, Kueue, KAI, owner: each row takes the winner of the row before away."""
    labels, notes = {**PLUGINS_LABEL, **KUEUE_LABEL, **JOB_LABELS}, {**VOLCANO_NOTE, **KAI_NOTE}
    found = []
    rows: list[tuple[dict[str, Any], dict[str, str], dict[str, str]]] = [
        (NATIVE, labels, notes),
        ({}, labels, notes),
        ({}, labels, KAI_NOTE),
        ({}, {**KUEUE_LABEL, **JOB_LABELS}, KAI_NOTE),
        ({}, JOB_LABELS, KAI_NOTE),
        ({}, JOB_LABELS, {}),
        ({}, {}, {}),
    ]
    for spec, labels_now, notes_now in rows:
        link, findings = registry.link(pod(labels=labels_now, metadata={"annotations": notes_now}, **spec))
        found.append((link.key.removeprefix("ml/") if link else None, len(findings)))
    # A finding for each other gang that is named outright; an owner is no contradiction.
    assert found == [
        ("native", 4),
        ("volcano", 3),
        ("plugins", 2),
        ("kueue", 1),
        ("kai", 0),
        ("owner", 0),
        (None, 0),
    ]


def test_two_dialects_with_one_name_are_one_gang() -> None:
    pods = manifests("workloads/12-bare-pods-gated.yaml")
    link, findings = registry.link(decoded(pods[1]))
    assert link is not None
    # Volcano's PodGroup defines it, Kueue's count is known beside it.
    assert (link.key, link.source, link.total, findings) == ("research/explore-77", "volcano-group", 3, ())


def test_a_contradiction_names_pod_and_gangs() -> None:
    _, (finding,) = registry.link(pod(labels=KUEUE_LABEL, metadata={"annotations": VOLCANO_NOTE}))
    assert (finding.object, finding.code) == ("Pod/ml/p-0", "gang-conflict")
    assert "ml/volcano" in finding.message
    assert "ml/kueue" in finding.message


@pytest.mark.parametrize("written", ["three", "", "-3", "0", "1.5"])
def test_a_count_that_is_no_number_is_left_out_with_a_finding(written: str) -> None:
    notes = {"kueue.x-k8s.io/pod-group-total-count": written}
    link, (finding,) = registry.link(pod(labels=KUEUE_LABEL, metadata={"annotations": notes}))
    assert link is not None
    assert (link.total, link.minimum) == (None, None)
    assert (finding.code, finding.field) == (
        "not-a-number",
        "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]",
    )


@pytest.mark.parametrize(
    ("labels", "notes", "rank"),
    [
        ({}, {}, 3),
        ({"kueue.x-k8s.io/pod-group-pod-index": "7"}, {}, 7),
        ({"mine": "5"}, {"kueue.x-k8s.io/pod-group-pod-index-label": "mine"}, 5),
        ({"kueue.x-k8s.io/pod-group-pod-index": "x"}, {}, 0),
    ],
)
def test_rank_of_a_kueue_pod(labels: dict[str, str], notes: dict[str, str], rank: int) -> None:
    link, _ = registry.link(pod("p-3", {**KUEUE_LABEL, **labels}, metadata={"annotations": notes}))
    assert link is not None
    assert link.rank == rank


@pytest.mark.parametrize("name", ["p-x", "p", "p-99999999999999999999", "p-²"])
def test_a_name_without_a_number_ranks_0(name: str) -> None:
    link, _ = registry.link(pod(name, PLUGINS_LABEL))
    assert link is not None
    assert link.rank == 0


def test_the_group_that_volcano_made_is_the_job() -> None:
    labels = {"volcano.sh/job-name": "train", "volcano.sh/task-spec": "worker", "volcano.sh/task-index": "2"}
    for made in ("train-0a1b2c", "train"):
        link, findings = registry.link(pod(labels=labels, metadata={"annotations": {VOLCANO_GROUP: made}}))
        assert link is not None
        assert (link.key, link.role, link.rank, link.defined_by[1:], findings) == (
            "ml/train",
            "worker",
            2,
            ("Job", "train"),
            (),
        )
    other, _ = registry.link(pod(labels=labels, metadata={"annotations": {VOLCANO_GROUP: "team"}}))
    assert other is not None
    assert other.key == "ml/team", "a group that Volcano didn't make counts before the owner"


VOLCANO_GROUP = "scheduling.k8s.io/group-name"

WORKLOADS: list[dict[str, Any]] = [
    vcjob(task("launcher", 1), task("worker", 3), minAvailable=4, queue="q"),
    obj("batch/v1 Job", {"completionMode": "Indexed", "parallelism": 3, "completions": 3, "template": template(1)}),
    obj("apps/v1 Deployment", {"replicas": 3, "template": template(1, {"gangpool.io/min-member": "2"})}),
    obj(
        "apps/v1 StatefulSet",
        {"replicas": 3, "podManagementPolicy": "Parallel", "template": template(1, {"gangpool.io/min-member": "2"})},
    ),
    jobset(replicated("driver", 1, 1), replicated("w", 2, 3)),
    lws(3, replicas=2),
    pytorch(Master=1, Worker=2),
    mpi(launcherCreationPolicy="WaitForWorkersReady"),
    mpi("v1"),
    cluster(group(replicas=2), labels=VOLCANO),
    cluster(group(replicas=2), labels={"ray.io/gang-scheduling-enabled": "true"}),
    ray_job(),
    obj("trainer.kubeflow.org/v1alpha1 TrainJob", {"runtimeRef": {"name": "r"}, "trainer": {"numNodes": 2}}),
]


@pytest.mark.parametrize("found", WORKLOADS, ids=lambda o: f"{o['apiVersion']} {o['kind']}")
def test_the_dry_run_and_the_live_pods_agree(found: dict[str, Any]) -> None:
    """`place` expands an object into pods with gang, role and rank. A scheduler that sees those pods must find the
    same: key, role, the order inside each role, and the same gang by the pod's object."""
    expansion = registry.expand(found)
    order: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for key, spec in expansion.members:
        link, findings = registry.link(decoded(spec.pod))
        assert link is not None
        assert (link.key, link.role, findings) == (key, spec.role, ())
        order.setdefault((key, spec.role), []).append((link.rank, spec.rank))
        if found["kind"] == "TrainJob":
            continue  # live there is a JobSet of the same name, which defines the gang
        gang, missing = registry.resolve(link, "ml", Objects([found]))
        assert gang is not None
        assert [gang] == [g for g in expansion.gangs if g.key == key]
        assert missing == ()
    for ranks in order.values():
        assert [live for live, _ in sorted(ranks)] == [live for live, _ in sorted(ranks, key=lambda r: r[1])]
        # Pods of a Deployment have no order.
        assert found["kind"] == "Deployment" or len({live for live, _ in ranks}) == len(ranks)


def test_an_object_that_is_no_gang_says_so() -> None:
    elastic = obj(
        "batch/v1 Job", {"completionMode": "Indexed", "parallelism": 2, "completions": 9, "template": template(1)}
    )
    for _, spec in registry.expand(elastic).members:
        link, _ = registry.link(decoded(spec.pod))
        assert link is not None
        assert registry.resolve(link, "ml", Objects([elastic])) == (None, ())


@pytest.mark.parametrize(
    ("labels", "notes", "minimum", "total", "findings"),
    [
        # The count that the pods carry is the minimum.
        (KUEUE_LABEL, {"kueue.x-k8s.io/pod-group-total-count": "4"}, 4, 4, 0),
        # None: the members that are there.
        (KUEUE_LABEL, {}, None, None, 0),
        ({}, VOLCANO_NOTE, None, None, 1),
        ({}, {**VOLCANO_NOTE, "scheduling.volcano.sh/group-min-member": "3"}, 3, None, 1),
        ({"jobset.sigs.k8s.io/jobset-name": "x"}, {}, None, None, 1),
        ({"batch.kubernetes.io/job-name": "x"}, {"batch.kubernetes.io/job-completion-index": "0"}, None, None, 1),
    ],
)
def test_without_its_object_a_gang_is_what_the_pods_say(
    labels: dict[str, str], notes: dict[str, str], minimum: int | None, total: int | None, findings: int
) -> None:
    link, _ = registry.link(pod(labels=labels, metadata={"annotations": notes}))
    assert link is not None
    gang, found = registry.resolve(link, "ml", Objects([]))
    assert gang is not None
    assert (gang.minimum, gang.total) == (minimum, total)
    assert [f.code for f in found] == ["object-missing"] * findings


def test_pods_of_a_plain_job_are_single_without_it() -> None:
    link, _ = registry.link(pod(labels={"batch.kubernetes.io/job-name": "x"}))
    assert link is not None
    assert registry.resolve(link, "ml", Objects([])) == (None, ())


def test_a_group_that_wants_more_than_its_pods_say_they_are_can_never_start() -> None:
    group_of_four = obj("scheduling.volcano.sh/v1beta1 PodGroup", {"minMember": 4}, "g")
    notes = {VOLCANO_GROUP: "g", "kueue.x-k8s.io/pod-group-total-count": "3"}
    link, _ = registry.link(pod(labels={"kueue.x-k8s.io/pod-group-name": "g"}, metadata={"annotations": notes}))
    assert link is not None
    gang, _ = registry.resolve(link, "ml", Objects([group_of_four]))
    assert gang is not None
    assert "minimum of 4" in gang.error
    assert "3" in gang.error


def test_a_pod_in_a_manifest_is_single_where_its_owner_says_no_gang() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": True}
    metadata = {"name": "web-1-x", "ownerReferences": [owner], "labels": {"pod-template-hash": "1"}}
    found = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "c"}]}}
    assert [key for key, _ in registry.expand(found).members] == [""]
    gang = obj("apps/v1 Deployment", {"replicas": 2, "template": template(1, {"gangpool.io/min-member": "2"})}, "web")
    gang["metadata"]["namespace"] = "default"
    assert [key for key, _ in registry.expand(found, Objects([gang])).members] == ["default/web"]


def test_every_dialect_has_a_name_of_its_own_and_every_kind_one_dialect() -> None:
    names = [dialect.name for dialect in registry.DIALECTS]
    kinds = [kind for dialect in registry.DIALECTS for kind in dialect.kinds]
    assert len(set(names)) == len(names)
    assert len(set(kinds)) == len(kinds)
