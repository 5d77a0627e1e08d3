"""The world: any order of events gives the same pool, and what pods are in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangpool.core.cycle import Cycle
from gangpool.intake.config import Config
from gangpool.intake.members import GROUP
from gangpool.intake.world import World
from gangpool.objects.faults import ObjectError
from gangpool.objects.typed import as_node, as_pod
from gangpool.workloads.base import WorkloadError
from tests.intake.build import (
    Json,
    ask,
    job,
    jobset,
    jobset_pod,
    node,
    obj,
    pod,
    priority_class,
    reason,
    where,
    world,
)

RACK = "topology.example/rack"
MINIMUM: Json = {"annotations": {"gangpool.io/min-member": "2"}}
EXCLUSIVE: Json = {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": RACK}}
SCHEDULER_PLUGINS = "scheduling.x-k8s.io/v1alpha1"


def annotated_job(name: str) -> Json:
    """A Job whose pods carry no index: only the Job says that they are a gang."""
    found = job(name, 2, **MINIMUM)
    del found["spec"]["completionMode"]
    return found


def job_pod(name: str, of: str, cards: int = 4, **more: Any) -> Json:
    return pod(name, cards, labels={"job-name": of}, owner=f"Job/{of}/batch/v1", uid=name, **more)


def member(name: str, group: str, **more: Any) -> Json:
    return pod(name, 2, labels={"scheduling.x-k8s.io/pod-group": group}, uid=name, **more)


def everything() -> list[Json]:
    """Objects that bear on each other in many ways."""
    claim = obj("v1", "PersistentVolumeClaim", "data", spec={"volumeName": "pv"})
    volume = obj("v1", "PersistentVolume", "pv", None, labels={"topology.kubernetes.io/zone": "b"})
    return [
        *(node(f"{r}{i}", labels={RACK: r, "topology.kubernetes.io/zone": r}) for r in "abc" for i in range(2)),
        annotated_job("plain"),
        job_pod("plain-x", "plain"),
        job_pod("plain-y", "plain"),
        job_pod("lone-x", "lone"),
        obj(SCHEDULER_PLUGINS, "PodGroup", "g", spec={"minMember": 2}),
        member("g-0", "g", priorityClassName="high"),
        member("g-1", "g"),
        member("h-0", "h"),
        jobset("js", {"w": (1, 2)}, 2, **EXCLUSIVE),
        jobset_pod("js", "w", 0, 0, 2, uid="js0", nodeName="c0"),
        jobset_pod("js", "w", 0, 1, 2, uid="js1"),
        claim,
        volume,
        priority_class("high", 10),
        pod("user", 1, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}], uid="user"),
        obj("v1", "Namespace", "ml", None, labels={"team": "a"}),
    ]


def put(found: World, one: Json) -> None:
    if one["kind"] == "Node":
        found.node(as_node(one))
    elif one["kind"] == "Pod":
        found.pod(as_pod(one))
    else:
        found.object(one)


def outcome(found: World) -> dict[str, Any]:
    """What one cycle makes of it: places, ranks and reasons."""
    found.settle()
    plan = Cycle(found.pool).run()
    assert not list(found.pool.faults())
    seats: dict[str, Any] = {s.member.name: (s.node, s.rank, s.member.gang) for s in plan.seats}
    return seats | {m.name: (wait.gang, wait.reason.code) for wait in plan.waits for m in wait.members}


def in_order() -> dict[str, Any]:
    found = World(Config())
    for one in everything():
        put(found, one)
    return outcome(found)


@settings(max_examples=25)
@given(st.permutations(range(len(everything()))), st.sets(st.integers(0, len(everything())), max_size=3))
def test_any_order_of_events_gives_the_same_plan(order: list[int], stops: set[int]) -> None:
    objects = everything()
    found = World(Config())
    for at, index in enumerate(order):
        put(found, objects[index])
        if at in stops:
            found.settle()
    expected = in_order()
    assert outcome(found) == expected
    assert expected["plain-x"][2] == expected["plain-y"][2] == "ml/plain"
    assert expected["lone-x"][2] == ""
    assert expected["js-w-0-1-abcde"][0] in ("c0", "c1")
    assert expected["user"][0].startswith("b")


def test_pods_become_single_again_when_their_job_goes() -> None:
    found = world(node("n1"), annotated_job("plain"), job_pod("plain-x", "plain"))
    assert outcome(found) == {"plain-x": ("ml/plain", "members-missing")}
    found.object_gone(annotated_job("plain"))
    assert outcome(found) == {"plain-x": ("n1", None, "")}


def test_a_gang_that_loses_its_last_pod_is_forgotten() -> None:
    found = world(node("n1"), member("g-0", "g"))
    assert "ml/g" in found.pool.units
    found.pod_gone("g-0")
    found.settle()
    assert "ml/g" not in found.pool.units
    assert outcome(found) == {}


def test_a_pod_may_move_to_another_gang() -> None:
    found = world(node("n1"), member("g-0", "g"), member("g-1", "g"))
    found.pod(as_pod(member("g-1", "other")))
    found.settle()
    assert set(found.pool.units["ml/g"].waiting) == {"g-0"}
    assert set(found.pool.units["ml/other"].waiting) == {"g-1"}


def test_a_group_that_is_missing_is_made_of_the_pods_that_name_it_with_a_warning() -> None:
    answer = ask([node("n1"), node("n2"), member("h-0", "h"), member("h-1", "h")])
    assert {e.gang for e in answer.placed} == {"ml/h"}
    assert [(w.object, w.code) for w in answer.warnings] == [("PodGroup/ml/h", "object-missing")]
    assert "the members that are there" in answer.warnings[0].message


def test_a_count_that_any_of_the_pods_writes_counts() -> None:
    total = {"annotations": {"kueue.x-k8s.io/pod-group-total-count": "3"}}
    pods = [pod(f"k-{i}", 1, labels={"kueue.x-k8s.io/pod-group-name": "k"}, **(total if i else {})) for i in range(2)]
    found = reason(ask([node("n1"), *pods]), "ml/k")
    assert (found.code, found.numbers) == ("members-missing", {"needed": 3, "best": 2, "unit": "members"})


def test_an_object_that_cannot_be_read_is_told_under_its_own_name() -> None:
    found = World(Config())
    with pytest.raises(WorkloadError, match="value"):
        found.object(priority_class("a", "high"))  # type: ignore[arg-type]
    with pytest.raises(ObjectError, match=r"spec\.volumeName"):
        found.object(obj("v1", "PersistentVolumeClaim", "c", spec={"volumeName": []}))
    with pytest.raises(WorkloadError, match=r"metadata\.labels"):
        found.object(obj("v1", "Namespace", "n", None, labels={"a": 1}))


def test_a_gang_whose_object_cannot_be_read_waits_and_the_others_do_not() -> None:
    broken = obj(SCHEDULER_PLUGINS, "PodGroup", "g", spec={"minMember": "two"})
    answer = ask([node("n1"), broken, member("g-0", "g"), member("h-0", "h")])
    assert where(answer) == {"h-0": "n1"}
    found = reason(answer, "ml/g")
    assert found.code == "invalid-object"
    assert found.message.startswith("PodGroup/ml/g: spec.minMember: must be a whole number")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_pods_hold_nothing(phase: str) -> None:
    assert where(ask([node("n1"), pod("old", 8, nodeName="n1", phase=phase), pod("new", 8)])) == {"new": "n1"}


def test_a_pod_that_finishes_gives_its_room_back() -> None:
    found = world(node("n1"), pod("old", 8, nodeName="n1", uid="o"), pod("new", 8))
    assert outcome(found)["new"] == ("", "cannot-fit")
    found.pod(as_pod(pod("old", 8, nodeName="n1", uid="o", phase="Succeeded")))
    assert outcome(found)["new"][0] == "n1"


@pytest.mark.parametrize(
    "more",
    [
        {"schedulerName": "default-scheduler"},
        {"deleted": "2026-01-01T00:00:00Z"},
        {"annotations": {"kubernetes.io/config.mirror": "x"}, "schedulerName": ""},
        {"owner": "DaemonSet/d/apps/v1"},
        {"phase": "Unknown"},
    ],
)
def test_whatever_has_a_node_holds_its_room(more: Json) -> None:
    pool = [node("n1"), pod("old", 1, nodeName="n1", **more)]
    assert where(ask([*pool, pod("new", 8)])) == {}
    assert where(ask([*pool, pod("new", 7)])) == {"new": "n1"}


def test_gated_pods_hold_nothing_and_wait_by_the_name_of_their_gate() -> None:
    gated = pod("g", 8, schedulingGates=[{"name": "example.com/hold"}])
    answer = ask([node("n1"), gated, pod("free", 8)])
    assert where(answer) == {"free": "n1"}
    assert "example.com/hold" in reason(answer, "g").message


def test_a_pod_that_is_deleted_before_it_has_a_node_is_no_member_any_more() -> None:
    """1. A member that waits is deleted; the Job controller's finalizer keeps the object for seconds. 2. It is neither
    placed (the server would refuse its bind, again and again) nor counted as a member."""
    leaving: Json = {"deleted": "2026-01-01T00:00:00Z"}
    pool = [node("n1"), obj(SCHEDULER_PLUGINS, "PodGroup", "a", spec={"minMember": 2})]
    answer = ask([*pool, member("a-0", "a"), member("a-1", "a", **leaving), pod("single", **leaving)])
    assert where(answer) == {}
    assert [(entry.pods, entry.reason.code) for entry in answer.pending] == [(("a-0",), "members-missing")]


def test_pods_of_others_that_wait_hold_nothing_and_are_not_told() -> None:
    answer = ask([node("n1"), pod("theirs", 8, schedulerName="kube"), pod("ours", 8)])
    assert where(answer) == {"ours": "n1"}
    assert answer.pending == ()


def test_a_pod_on_a_node_that_nobody_knows_holds_its_room_when_the_node_comes() -> None:
    found = world(node("n1"), pod("lost", 8, nodeName="n2"), pod("new", 8))
    found.node(as_node(node("n2")))
    assert outcome(found)["new"][0] == "n1"
    answer = ask([node("n1"), pod("lost", 8, nodeName="n2")], pod("new", 8))
    assert where(answer) == {"new": "n1"}


def test_the_names_of_our_schedulers_are_configured() -> None:
    config = Config(schedulerNames=("a", "b"))
    pool = [node("n1"), pod("x", 1, schedulerName="b"), pod("y", 1)]
    assert where(ask(pool, config=config)) == {"x": "n1"}


def test_exclusive_groups_repel_pods_of_ours_only() -> None:
    racks = [node(f"{r}0", labels={RACK: r}) for r in "ab"]
    exclusive = jobset("js", {"w": (1, 1)}, **EXCLUSIVE)
    theirs = pod("theirs", 0, nodeName="a0", schedulerName="kube")
    ours = pod("ours", 0, nodeName="a0")
    assert set(where(ask([*racks[:1], theirs], exclusive))) == {"js-w-0-0"}
    assert where(ask([*racks[:1], ours], exclusive)) == {}
    assert where(ask([*racks, ours], exclusive)) == {"js-w-0-0": "b0"}
    answer = ask(racks[:1], exclusive, pod("late", 0))
    assert set(where(answer)) == {"js-w-0-0"}
    assert "anti-affinity" in reason(answer, "late").message


def test_labels_of_the_core_are_not_those_of_users() -> None:
    found = world(node("n1"), jobset("js", {"w": (1, 1)}, **EXCLUSIVE), jobset_pod("js", "w", 0, 0))
    (waiting,) = found.pool.units["ml/js"].waiting.values()
    assert dict(waiting.labels)[GROUP] == "ml/js//0"


def test_namespace_labels_reach_the_rules_between_pods() -> None:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {},
        "namespaceSelector": {"matchLabels": {"t": "a"}},
    }
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    other = pod("other", 0, namespace="web", nodeName="n1")
    pool = [node("n1"), other]
    named = obj("v1", "Namespace", "web", None, labels={"t": "a"})
    assert where(ask([*pool, named, pod("p", 0, affinity=rule)])) == {}
    assert where(ask([*pool, pod("p", 0, affinity=rule)])) == {"p": "n1"}


def test_a_doubtful_node_is_told_once() -> None:
    answer = ask([node("n1", room={"rdma/ib": "1.5"}), node("n1", room={"rdma/ib": "1.5"})])
    assert [(w.object, w.field, w.code) for w in answer.warnings] == [
        ("Node//n1", "status.allocatable[rdma/ib]", "node-doubt")
    ]
