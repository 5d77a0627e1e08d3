"""What `place -f` enters: the same object in pool and files, names, DaemonSets, the order of planning."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.intake.config import Config
from gangpool.intake.failure import IntakeError
from gangpool.intake.place import place
from gangpool.objects.located import Located
from tests.intake.build import (
    NOW,
    Json,
    ask,
    codes,
    deployment,
    job,
    jobset,
    jobset_pod,
    node,
    nodes_of,
    obj,
    owner,
    pod,
    priority_class,
    reason,
    template,
    volcano,
    where,
)

POOL = [node("n1"), node("n2")]


def owned(one: Json, by: str) -> Json:
    """The object with an owner."""
    one["metadata"]["ownerReferences"] = [owner(by)]
    return one


# ---- the same object in both


def test_a_pod_that_is_given_counts_once() -> None:
    assert where(ask([node("n1"), pod("p", 8)], pod("p", 8))) == {"p": "n1"}
    assert where(ask([node("n1"), pod("p", 8, nodeName="n1")], pod("p", 4), pod("q", 4))) == {"p": "n1", "q": "n1"}
    assert where(ask([node("n1"), pod("p", 8, nodeName="n1", namespace="web")], pod("p", 8))) == {}


def test_the_pods_of_a_job_that_is_given_are_those_of_the_file() -> None:
    old = [pod(f"a-{i}-xyz", 8, owner="Job/a/batch/v1", nodeName=f"n{i + 1}") for i in range(2)]
    assert where(ask([*POOL, *old], job("a", 2, 8))) == {"a-0": "n1", "a-1": "n2"}
    assert where(ask([*POOL, *old], job("b", 2, 8))) == {}


def test_the_pods_of_a_deployment_have_a_replicaset_between() -> None:
    labels = {"pod-template-hash": "6d4"}
    old = pod("web-6d4-x", 8, owner="ReplicaSet/web-6d4/apps/v1", labels=labels, nodeName="n1")
    assert where(ask([node("n1"), old], deployment("web", 1, 8))) == {"web-0": "n1"}
    assert where(ask([node("n1"), old], deployment("web-6d4", 1, 8))) == {}


def test_owners_of_owners_are_followed_through_the_pool() -> None:
    labels = {"batch.kubernetes.io/job-name": "burn-28"}
    old = pod("burn-28-x", 8, owner="Job/burn-28/batch/v1", labels=labels, nodeName="n1")
    made = owned(job("burn-28", 1, 8), "CronJob/burn/batch/v1")
    cron = obj(
        "batch/v1",
        "CronJob",
        "burn",
        spec={"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": template(8)}}},
    )
    assert where(ask([node("n1"), old, made], cron)) == {"burn-0": "n1"}


def test_a_jobsets_pods_are_known_by_their_labels() -> None:
    old = [jobset_pod("js", "w", 0, i, nodeName=f"n{i + 1}") for i in range(2)]
    assert len(where(ask([*POOL, *old], jobset("js", {"w": (1, 2)})))) == 2


def test_owners_in_a_circle_end() -> None:
    one, two = owned(job("a"), "Job/b/batch/v1"), owned(job("b"), "Job/a/batch/v1")
    old = pod("x", 8, owner="Job/a/batch/v1", nodeName="n1")
    assert where(ask([node("n1"), old, one, two], job("c", 1, 8))) == {}
    assert where(ask([node("n1"), old, one, two], job("b", 1, 8))) == {"b-0": "n1"}


@pytest.mark.parametrize("owners", [5, {}, [5], [{"kind": 7}], [{"controller": True, "uid": []}]])
def test_owners_that_cannot_be_read_own_nothing(owners: object) -> None:
    made = job("a")
    made["metadata"]["ownerReferences"] = owners
    old = pod("x", 8, owner="Job/a/batch/v1", nodeName="n1")
    assert where(ask([node("n1"), old, made], job("c", 1, 8))) == {}


def test_a_group_that_is_given_makes_no_pods_and_so_replaces_none() -> None:
    group = obj("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", spec={"minMember": 3})
    waiting = [pod(f"g-{i}", 1, labels={"scheduling.x-k8s.io/pod-group": "g"}) for i in range(2)]
    found = reason(ask([*POOL, *waiting], group), "ml/g")
    assert (found.code, found.numbers["needed"]) == ("members-missing", 3)


def test_context_that_is_given_wins_over_the_pools() -> None:
    pool = [node("n1"), priority_class("p", 1), obj("v1", "Namespace", "ml", None)]
    high = deployment("high", 1, 8, priorityClassName="p")
    usual = deployment("usual", 1, 8, priority=5)
    assert where(ask(pool, usual, high)) == {"usual-0": "n1"}
    assert where(ask(pool, usual, high, priority_class("p", 9))) == {"high-0": "n1"}


def test_a_node_that_is_given_wins_and_a_new_one_joins() -> None:
    answer = ask([node("n1", 4)], node("n1", 8), node("n2", 2), pod("p", 8))
    assert where(answer) == {"p": "n1"}
    assert (answer.pool.nodes, answer.pool.cards, answer.pool.cards_free_before) == (2, 10, 10)


def test_what_is_given_helps_the_pools_own_pods_first() -> None:
    """A node and a priority class given are there before anything is planned."""
    assert where(ask([pod("waits", 8)], node("n1"), pod("new", 8))) == {"waits": "n1"}


def test_an_object_that_stands_twice_counts_as_it_stands_last() -> None:
    answer = ask(POOL, job("a", 2, 8), job("a", 1, 8))
    assert len(answer.placed) == 1
    assert [(w.object, w.code) for w in answer.warnings] == [("Job/ml/a", "duplicate-object")]


# ---- names


def test_a_name_that_the_server_would_make_up_gets_a_number() -> None:
    one, two = job("x", 1, 8), job("x", 1, 8)
    for each in (one, two):
        del each["metadata"]["name"]
        each["metadata"]["generateName"] = "train-"
    answer = ask(POOL, one, two)
    assert where(answer) == {"train-0-0": "n1", "train-1-0": "n2"}
    assert answer.warnings == ()


def test_warnings_about_an_unnamed_object_name_its_file() -> None:
    unnamed = volcano("x", {"w": (1, 1)}, minMember=1)
    del unnamed["metadata"]["name"]
    unnamed["metadata"]["generateName"] = "train-"
    assert [(w.object, w.file) for w in ask(POOL, unnamed).warnings] == [("Job/ml/train-0", "f.yaml")]


def test_two_owners_that_name_their_pods_alike_keep_their_pods_apart() -> None:
    answer = ask(POOL, deployment("a", 1, 8), obj("apps/v1", "ReplicaSet", "a", spec={"template": template(8)}))
    assert sorted((e.pod, e.node) for e in answer.placed) == [("a-0", "n1"), ("a-0", "n2")]


def test_objects_without_a_namespace_are_in_the_default_one() -> None:
    group = obj("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", None, spec={"minMember": 2})
    made = [pod(f"g-{i}", 1, labels={"scheduling.x-k8s.io/pod-group": "g"}) for i in range(2)]
    for one in made:
        del one["metadata"]["namespace"]
    answer = ask(POOL, group, *made)
    assert [(e.namespace, e.gang) for e in answer.placed] == [("default", "default/g")] * 2
    assert answer.warnings == ()


# ---- what is expanded


def test_objects_given_are_planned_whatever_their_scheduler() -> None:
    assert where(ask([node("n1")], pod("p", 1, schedulerName="default-scheduler"))) == {"p": "n1"}
    assert where(ask([node("n1")], job("a", 2, 1, schedulerName="volcano"))) == {"a-0": "n1", "a-1": "n1"}


def test_requests_default_to_limits() -> None:
    small = node("n1", 0, room={"cpu": "3"})
    assert where(ask([small], pod("p", 0, limits={"cpu": "3"}))) == {"p": "n1"}
    assert where(ask([small], pod("p", 0, limits={"cpu": "3100m"}))) == {}


def daemon(name: str, **more: Any) -> Json:
    made = template(0, limits={"cpu": "1"}, **more)
    return obj("apps/v1", "DaemonSet", name, spec={"template": made})


def test_a_daemonset_is_booked_one_a_node_before_the_others() -> None:
    """1. Two nodes of two CPUs. 2. A pod of two CPUs stands first in the file, a DaemonSet of one CPU behind it. 3. The
    DaemonSet's pods are on every node, and the pod waits."""
    pool = [node(f"n{i}", 0, room={"cpu": "2"}) for i in (1, 2)]
    answer = ask(pool, pod("p", 0, limits={"cpu": "2"}, priority=10), daemon("d"))
    assert where(answer) == {"d-0": "n1", "d-1": "n2"}
    assert reason(answer, "p").code == "cannot-fit"
    assert where(ask(pool, pod("p", 0, limits={"cpu": "1"}), daemon("d")))["p"] in ("n1", "n2")


def test_a_daemonset_goes_where_its_selector_and_tolerations_let_it() -> None:
    taint = {"key": "gpu", "effect": "NoSchedule"}
    pool = [
        node("plain"),
        node("tainted", taints=[taint]),
        node("cordoned", unschedulable=True),
        node("other", labels={"kind": "other"}),
    ]
    assert set(where(ask(pool, daemon("d"))).values()) == {"plain", "cordoned", "other"}
    assert set(where(ask(pool, daemon("d", nodeSelector={"kind": "other"}))).values()) == {"other"}
    tolerant = daemon("d", tolerations=[{"operator": "Exists"}])
    assert len(where(ask(pool, tolerant))) == 4


def test_a_daemonset_that_runs_already_is_replaced() -> None:
    pool = [
        node("n1", 0, room={"cpu": "1"}),
        pod("d-x", 0, limits={"cpu": "1"}, owner="DaemonSet/d/apps/v1", nodeName="n1"),
    ]
    assert where(ask(pool, daemon("d"))) == {"d-0": "n1"}
    assert where(ask(pool, daemon("e"))) == {}


def test_a_full_node_keeps_its_daemon_pod_waiting() -> None:
    pool = [node("n1", 0, room={"cpu": "1"}), pod("x", 0, limits={"cpu": "1"}, nodeName="n1")]
    assert reason(ask(pool, daemon("d")), "d-0").code == "cannot-fit"


def test_a_given_pod_with_a_node_holds_its_room_and_a_finished_one_does_not() -> None:
    assert where(ask([node("n1")], pod("old", 8, nodeName="n1"), pod("new", 8))) == {}
    assert where(ask([node("n1")], pod("old", 8, nodeName="n1", phase="Failed"), pod("new", 8))) == {"new": "n1"}


def test_members_of_a_gang_partly_in_the_pool_and_partly_given() -> None:
    labels = {"scheduling.x-k8s.io/pod-group": "g"}
    group = obj("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", spec={"minMember": 2})
    answer = ask([*POOL, group, pod("g-0", 8, labels=labels)], pod("g-1", 8, labels=labels))
    assert nodes_of(answer, "ml/g") == ["n1", "n2"]
    assert answer.pending == ()


# ---- order


def test_our_pods_of_the_pool_come_before_those_given_whatever_the_priority() -> None:
    answer = ask([node("n1"), pod("waits", 8, priority=-5)], pod("new", 8, priority=100))
    assert where(answer) == {"waits": "n1"}


def test_the_pools_pods_come_in_live_order() -> None:
    """Priority, then age, then name."""
    times = {"old": "2026-01-01T00:00:00Z", "young": "2026-01-02T00:00:00Z"}
    a, b = pod("b", 8, created=times["old"]), pod("a", 8, created=times["young"])
    assert where(ask([node("n1"), b, a])) == {"b": "n1"}
    assert where(ask([node("n1"), a, b])) == {"b": "n1"}
    urgent = pod("z", 8, created=times["young"], priority=1)
    assert where(ask([node("n1"), a, b, urgent])) == {"z": "n1"}
    same = [pod(name, 8, created=times["old"]) for name in ("y", "x")]
    assert where(ask([node("n1"), *same])) == {"x": "n1"}


def test_the_age_of_a_gang_is_its_objects() -> None:
    old = obj("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", created="2025-01-01T00:00:00Z", spec={"minMember": 1})
    late = pod("g-0", 8, labels={"scheduling.x-k8s.io/pod-group": "g"}, created="2026-03-01T00:00:00Z")
    single = pod("a", 8, created="2026-01-01T00:00:00Z")
    assert where(ask([node("n1"), single, late, old])) == {"g-0": "n1"}


def test_those_given_are_planned_by_priority_then_in_the_order_of_the_files() -> None:
    first, second = deployment("z", 1, 8), deployment("a", 1, 8)
    assert where(ask([node("n1")], first, second)) == {"z-0": "n1"}
    urgent = deployment("m", 1, 8, priority=5)
    assert where(ask([node("n1")], first, second, urgent)) == {"m-0": "n1"}


def test_pods_of_one_owner_are_planned_by_their_index() -> None:
    found = list(where(ask([node("n1", 16)], deployment("web", 12, 1))))
    assert found == [f"web-{i}" for i in range(12)]


def test_without_a_clock_the_answer_is_the_same_every_time() -> None:
    items = [Located("f.yaml", job("a", 2, 8))]
    assert place(POOL, items, NOW, Config()) == place(POOL, items, NOW, Config())
    ticks = iter([0.0, 0.25, 1.0, 1.5])
    assert place(POOL, items, NOW, Config(), lambda: next(ticks)).decision_ms == 750.0


# ---- errors


@pytest.mark.parametrize(
    ("objects", "says"),
    [
        (
            [deployment("web", limits={"cpu": "fast"})],
            "f.yaml: Deployment/ml/web: spec.template.spec.containers[0].resources.limits[cpu]: 'fast' is no quantity",
        ),
        ([pod("p", limits={"cpu": "fast"})], "f.yaml: Pod/ml/p: spec.containers[0].resources.limits[cpu]: 'fast'"),
        (
            [volcano("v", {"a": (1, 1), "b": (1, -1)})],
            "f.yaml: Job/ml/v: spec.tasks[1].template.spec.containers[0].resources.limits[nvidia.com/gpu]: '-1' is",
        ),
        (
            [deployment("web", tolerations=[{}])],
            "f.yaml: Deployment/ml/web: spec.template.spec.tolerations[0].operator",
        ),
        ([daemon("d", tolerations=[{"operator": "x"}])], "f.yaml: DaemonSet/ml/d: spec.template.spec.tolerations[0]."),
        ([obj("batch/v1", "Job", "a")], "f.yaml: Job/ml/a: spec.template: a pod template is missing"),
        ([priority_class("a", 10**12)], "f.yaml: PriorityClass//a: value: must be from"),
        ([node("")], "f.yaml: Node//: metadata.name: is missing"),
    ],
)
def test_what_cannot_be_read_names_file_object_and_field(objects: list[Json], says: str) -> None:
    with pytest.raises(IntakeError) as caught:
        ask(POOL, *objects)
    assert str(caught.value).startswith(says)


def test_an_error_in_the_pool_names_the_object() -> None:
    with pytest.raises(IntakeError, match=r"^Pod/ml/p: spec.containers\[0\].resources.limits\[nvidia.com/gpu\]: '-1'"):
        ask([node("n1"), pod("p", -1)])


def test_contradictions_wait_and_the_others_do_not() -> None:
    answer = ask(POOL, volcano("bad", {"w": (2, 1)}, minAvailable=3), job("good", 2, 1))
    assert {e.gang for e in answer.placed} == {"ml/good"}
    assert reason(answer, "ml/bad").code == "invalid-object"
    assert "invalid-object" in codes(answer)


def test_a_missing_owner_is_no_error() -> None:
    answer = ask([*POOL, pod("a-0-x", 1, owner="Job/a/batch/v1", labels={"job-name": "a"})])
    assert [(e.pod, e.gang, e.rank) for e in answer.placed] == [("a-0-x", None, None)]
