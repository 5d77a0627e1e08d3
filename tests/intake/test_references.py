"""Queues and priority classes that gangs name: there, not there, or nobody can tell."""

from __future__ import annotations

import pytest

from gangpool.intake.references import Origin, priority_place, queue_place
from gangpool.intake.world import World
from tests.intake.build import Json, ask, codes, job, jobset, node, obj, pod, priority_class, reason, volcano, world

POOL = [node("n1"), node("n2")]


def queue(name: str, **more: object) -> Json:
    return obj("scheduling.volcano.sh/v1beta1", "Queue", name, None, **more)


def local_queue(name: str, namespace: str = "ml") -> Json:
    return obj("kueue.x-k8s.io/v1beta1", "LocalQueue", name, namespace)


def test_without_queues_in_the_input_any_queue_counts_as_there() -> None:
    answer = ask(POOL, volcano("a", {"w": (2, 8)}, queue="research"))
    assert len(answer.placed) == 2
    assert [(w.object, w.field, w.code) for w in answer.warnings] == [("Job/ml/a", "spec.queue", "reference-unchecked")]


def test_with_other_queues_a_missing_one_refuses() -> None:
    found = reason(ask([*POOL, queue("other")], volcano("a", {"w": (2, 8)}, queue="research")), "ml/a")
    assert (found.code, found.message) == ("object-missing", "queue research not found")


def test_nobody_needs_the_default_queue_to_be_there() -> None:
    answer = ask([*POOL, queue("other")], volcano("a", {"w": (2, 8)}, queue="default"))
    assert (len(answer.placed), answer.warnings) == (2, ())


@pytest.mark.parametrize(("state", "waits"), [("Open", False), ("Closed", True), ("Closing", True), ("", False)])
def test_a_closed_queue_takes_nothing_new(state: str, waits: bool) -> None:
    answer = ask([*POOL, queue("q", status={"state": state})], volcano("a", {"w": (2, 8)}, queue="q"))
    assert bool(answer.pending) is waits
    if waits:
        assert reason(answer, "ml/a").code == "queue-closed"


def test_a_local_queue_is_one_of_the_gangs_namespace() -> None:
    mine = job("a", labels={"kueue.x-k8s.io/queue-name": "q"})
    assert len(ask([*POOL, local_queue("q")], mine).placed) == 2
    assert reason(ask([*POOL, local_queue("q", "web")], mine), "ml/a").code == "object-missing"


def test_queues_of_another_kind_tell_nothing() -> None:
    """1. The dump has Volcano's queues but no LocalQueue. 2. A Job names a queue of Kueue. 3. Whether that is there,
    nobody can know: a doubt, no refusal."""
    answer = ask([*POOL, queue("other")], job("a", labels={"kueue.x-k8s.io/queue-name": "q"}))
    assert len(answer.placed) == 2
    assert [(w.field, w.code) for w in answer.warnings] == [
        ("metadata.labels[kueue.x-k8s.io/queue-name]", "reference-unchecked")
    ]


def test_a_queue_that_comes_later_frees_what_waits_for_it() -> None:
    group = obj("scheduling.volcano.sh/v1beta1", "PodGroup", "g", spec={"minMember": 1, "queue": "q"})
    member = pod("g-0", annotations={"scheduling.k8s.io/group-name": "g"})
    found = world(*POOL, queue("other"), group, member)
    assert blocked(found) == "object-missing"
    found.object(queue("q"))
    found.settle()
    assert blocked(found) == ""
    found.object(queue("q", status={"state": "Closed"}))
    found.settle()
    assert blocked(found) == "queue-closed"
    found.object_gone(queue("q"))
    found.object_gone(queue("other"))
    found.settle()
    assert blocked(found) == ""


def blocked(found: World) -> str:
    gang = found.pool.units["ml/g"].gang
    assert gang is not None
    return gang.blocked.code if gang.blocked else ""


def test_a_priority_class_of_a_gang() -> None:
    high = volcano("a", {"w": (2, 8)}, priorityClassName="high")
    assert reason(ask([*POOL, priority_class("low", 1)], high), "ml/a").code == "object-missing"
    assert codes(ask(POOL, high)) == ["reference-unchecked"]
    assert ask([*POOL, priority_class("high", 1)], high).warnings == ()


@pytest.mark.parametrize(
    ("body", "field", "kind"),
    [
        ({"spec": {"queue": "q"}}, "spec.queue", "Queue"),
        (
            {"spec": {"runPolicy": {"schedulingPolicy": {"queue": "q"}}}},
            "spec.runPolicy.schedulingPolicy.queue",
            "Queue",
        ),
        (
            {"metadata": {"labels": {"kai.scheduler/queue": "q"}}},
            "metadata.labels[kai.scheduler/queue]",
            "Queue",
        ),
        ({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "other"}}}, "", None),
        ({"spec": []}, "", None),
        ({}, "", None),
    ],
)
def test_where_a_queue_is_named(body: Json, field: str, kind: str | None) -> None:
    found, of_kind = queue_place("q", Origin("Job/ml/a", body))
    assert (found, of_kind and of_kind[1]) == (field, kind)


def test_where_a_priority_class_is_named() -> None:
    assert priority_place("p", Origin("", {"spec": {"priorityClassName": "p"}})) == "spec.priorityClassName"
    assert priority_place("p", Origin("", {"metadata": {"labels": {"priorityClassName": "p"}}})) == (
        "metadata.labels[priorityClassName]"
    )
    assert priority_place("p", Origin("")) == ""


def test_the_queue_of_a_jobset_is_told_by_its_label() -> None:
    answer = ask(POOL, jobset("s", {"w": (1, 2)}, labels={"kueue.x-k8s.io/queue-name": "q"}))
    assert [w.field for w in answer.warnings] == ["metadata.labels[kueue.x-k8s.io/queue-name]"]
