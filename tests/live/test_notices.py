"""What is said about whoever waits, and when. Each test is a short story in a cluster in memory."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.live import notices as module
from tests.live.stage import NATIVE, PLUGINS, VOLCANO, Stage, group_of, in_group, pod_of

FULL = "cannot-fit: 1 of 2 members fit in the pool; wait for room"
JOB: dict[str, Any] = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "uid-j"}


# ---- single pods


def test_single_pod_is_told_at_once() -> None:
    stage = Stage()
    stage.add(pod_of("a"))
    assert stage.plan(a="cannot-fit: cpu asked 8, best 4; ask for less") == [
        "condition a: cannot-fit: cpu asked 8, best 4; ask for less",
        "event Pod a x1: FailedScheduling cannot-fit: cpu asked 8, best 4; ask for less",
    ]


def test_nothing_is_written_while_nothing_changes() -> None:
    stage = Stage()
    stage.add(pod_of("a"))
    stage.gang("g", 2)
    stage.plan(a=FULL, g=FULL)
    stage.plan(2, a=FULL, g=FULL)
    for _ in range(700):
        assert stage.plan(1, a=FULL, g=FULL) == []


def test_pod_that_is_bound_is_not_spoken_of() -> None:
    stage = Stage()
    stage.add(pod_of("a"))
    stage.notices.waits(stage.now, [], {})
    assert stage.bind("a") == ["event Pod a x1: Scheduled bound to node-a"]
    assert stage.plan(1) == []


def test_queued_words_about_a_pod_that_got_its_node_are_dropped() -> None:
    stage = Stage()
    stage.gang("g", 2)
    stage.plan(g=FULL)
    stage.now += 2
    stage.hear(g=FULL)
    assert stage.notices.n_queued > 0
    assert not [line for line in stage.bind("g-0", "g-1") if "condition" in line]


# ---- gangs


def test_gang_gets_two_seconds_while_its_pods_are_made() -> None:
    stage = Stage()
    stage.put(group_of(VOLCANO, "g", 3))
    for i in range(3):
        stage.add(pod_of(f"g-{i}", **in_group(VOLCANO, "g")))
        assert stage.plan(0.5, g=f"members-missing: {i + 1} of 3 members exist") == []
    assert stage.plan(0.9, g=FULL) == []
    assert stage.plan(0.2, g=FULL) == [
        f"condition g-0: {FULL}",
        "status g: Inqueue Unschedulable=True(NotEnoughResources)",
        f"event PodGroup g x1: FailedScheduling {FULL}",
        f"event Pod g-0 x1: FailedScheduling {FULL}",
        f"condition g-1: {FULL}",
        f"condition g-2: {FULL}",
    ]


def test_one_pod_of_each_gang_comes_first() -> None:
    stage = Stage()
    stage.gang("g", 2)
    stage.gang("h", 2)
    stage.plan(g=FULL, h=FULL)
    told = [line.split(":")[0] for line in stage.plan(2, g=FULL, h=FULL)]
    assert told[:4] == ["condition g-0", "status g", "condition h-0", "status h"]
    assert told[-2:] == ["condition g-1", "condition h-1"]


def test_events_about_a_job_are_about_workload_and_first_pod() -> None:
    """An Indexed Job is a gang without a PodGroup."""
    stage = Stage()
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "ml", "uid": "uid-j"},
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "completionMode": "Indexed",
            "template": {"spec": {"containers": []}},
        },
    }
    stage.put(job)
    for i in range(2):
        labels = {"batch.kubernetes.io/job-name": "j", "batch.kubernetes.io/job-completion-index": str(i)}
        stage.add(pod_of(f"j-{i}", labels=labels, owner=JOB))
    assert stage.plan(j=FULL) == []
    told = [line for line in stage.plan(2, j=FULL) if line.startswith("event")]
    assert told == [f"event Job j x1: FailedScheduling {FULL}", f"event Pod j-0 x1: FailedScheduling {FULL}"]
    about = next(e["involvedObject"] for e in stage.events.values() if e["involvedObject"]["kind"] == "Job")
    assert about == {"apiVersion": "batch/v1", "kind": "Job", "namespace": "ml", "name": "j", "uid": "uid-j"}


def test_volcano_job_is_told_with_its_group() -> None:
    stage = Stage()
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "uid": "uid-train"}
    spec = {"minAvailable": 2, "tasks": [{"name": "w", "replicas": 2, "template": {"spec": {"containers": []}}}]}
    meta = {"name": "train", "namespace": "ml", "uid": "uid-train"}
    stage.put({"apiVersion": owner["apiVersion"], "kind": "Job", "metadata": meta, "spec": spec})
    group = group_of(VOLCANO, "train-uid", 2)
    group["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    stage.put(group)
    labels = {"volcano.sh/job-name": "train", "volcano.sh/task-spec": "w"}
    named = in_group(VOLCANO, "train-uid")
    stage.add(*(pod_of(f"train-w-{i}", labels=labels, owner=owner, **named) for i in range(2)))
    stage.plan(train=FULL)
    told = [line.partition(": ")[0] for line in stage.plan(2, train=FULL)]
    assert told == [
        "condition train-w-0",
        "status train-uid",
        "event Job train x1",
        "event PodGroup train-uid x1",
        "event Pod train-w-0 x1",
        "condition train-w-1",
    ]


def test_member_that_comes_later_is_told_what_the_others_say() -> None:
    stage = Stage()
    stage.gang("g", 2)
    stage.plan(g=FULL)
    stage.plan(2, g=FULL)
    stage.add(pod_of("g-2", **in_group(VOLCANO, "g")))
    assert stage.plan(1, g=FULL) == [f"condition g-2: {FULL}"]


# ---- changes


def test_new_code_is_said_soon_and_new_numbers_when_they_rest() -> None:
    stage = Stage()
    stage.add(pod_of("a"))
    stage.plan(a="cannot-fit: best 1")
    assert stage.plan(5, a="gated: by x")[0] == "condition a: gated: by x"
    for i in range(60):
        assert stage.plan(1, a=f"gated: {i}") == []
    assert stage.plan(28, a="gated: 59") == []
    assert stage.plan(2, a="gated: 59")[0] == "condition a: gated: 59"


def test_code_that_flaps_is_not_followed_at_its_pace() -> None:
    stage = Stage()
    stage.add(pod_of("a"))
    told = []
    for i in range(200):
        told += stage.plan(0.1, a="cannot-fit: x" if i % 2 else "not-found: y")
    assert len([line for line in told if line.startswith("condition")]) <= 20 / module.HOLD_S + 1


def test_numbers_that_come_back_are_no_change() -> None:
    stage = Stage()
    stage.add(pod_of("a"))
    stage.plan(a="cannot-fit: best 1")
    assert stage.plan(10, a="cannot-fit: best 2") == []
    assert stage.plan(40, a="cannot-fit: best 1") == []


@pytest.mark.parametrize("pause_s", [0.1, 1.0, 7.0])
def test_a_job_makes_few_events_whatever_its_numbers_do(pause_s: float) -> None:
    """The case with the harshest changes: another code each time. At most 6 objects and 12 writes a minute."""
    stage = Stage()
    stage.gang("g", 2)
    at: list[float] = []
    for i in range(int(180 / pause_s)):
        told = stage.plan(pause_s, g=f"cannot-fit: {i}" if i // 3 % 2 else f"not-found: {i}")
        at += [stage.now for line in told if line.startswith("event")]
    assert len(stage.events) <= 6
    assert at
    assert max(sum(t <= other < t + 60 for other in at) for t in at) <= 12


def test_events_of_one_code_are_one_object_with_a_count() -> None:
    stage = Stage()
    stage.add(pod_of("a"))
    stage.plan(a="cannot-fit: 1")
    stage.plan(60, a="cannot-fit: 2")
    told = stage.plan(31, a="cannot-fit: 2")
    assert told == ["condition a: cannot-fit: 2", "event Pod a x2: FailedScheduling cannot-fit: 2"]
    assert len(stage.events) == 1
    event = next(iter(stage.events.values()))
    assert (event["firstTimestamp"], event["lastTimestamp"]) == ("1970-01-01T00:01:40Z", "1970-01-01T00:03:11Z")


# ---- gates and refusals


def test_gated_pod_keeps_the_reason_of_the_api_server_and_gets_no_event() -> None:
    stage = Stage()
    stage.add(pod_of("a", gates=["x"]))
    assert stage.plan(a="gated: 1 of 1 members wait behind gate x") == [
        "condition a: gated: 1 of 1 members wait behind gate x"
    ]
    condition = (stage.pods["uid-a"].status.conditions or [])[0]
    assert condition.reason == "SchedulingGated"


def test_refused_bind_is_told_in_the_servers_words() -> None:
    stage = Stage()
    stage.gang("g", 2)
    stage.plan(resting={"ml/g": "admission denied: out of budget"})
    told = stage.plan(2, resting={"ml/g": "admission denied: out of budget"})
    assert told[0].startswith("condition g-0: bind-refused: the API server refuses the bind: admission denied: out of")
    assert told[1] == "status g: Inqueue Unschedulable=True(NotEnoughResources)"
    assert stage.plan(1) == []  # it is planned and tried again: nothing new
    assert stage.plan(1, resting={"ml/g": "admission denied: out of budget"}) == []


def test_refusal_of_a_unit_that_is_gone_is_nothing() -> None:
    stage = Stage()
    assert stage.plan(resting={"ml/g": "x", "pod:y": "x"}) == []


# ---- binds


@pytest.mark.parametrize(
    ("dialect", "status"),
    [
        (VOLCANO, "Running Scheduled=True(Scheduled)"),
        (PLUGINS, "Scheduling"),
        (NATIVE, "PodGroupInitiallyScheduled=True(Scheduled)"),
    ],
)
def test_gang_that_is_bound_is_told_once(dialect: str, status: str) -> None:
    stage = Stage()
    stage.gang("g", 3, dialect)
    stage.plan()
    assert stage.bind("g-0", "g-1", "g-2") == [
        f"status g: {status}",
        "event PodGroup g x1: Scheduled 3 members bound to node-g-0, node-g-1, node-g-2",
    ]
    assert stage.plan(1) == []


def test_replaced_member_is_no_news() -> None:
    stage = Stage()
    stage.gang("g", 3, minimum=2)
    stage.plan()
    stage.bind("g-0", "g-1")
    assert stage.bind("g-2") == []


def test_members_above_the_minimum_wait_while_the_gang_runs() -> None:
    stage = Stage()
    stage.gang("g", 3, minimum=2)
    stage.plan()
    stage.bind("g-0", "g-1")
    stage.plan(1, g=FULL)
    told = stage.plan(2, g=FULL)
    assert told[0] == f"condition g-2: {FULL}"
    assert not [line for line in told if line.startswith("status")]
    assert stage.status(VOLCANO, "g")["phase"] == "Running"


def test_gang_that_is_half_bound_does_not_run() -> None:
    stage = Stage()
    stage.gang("g", 2, NATIVE)
    stage.plan()
    assert stage.bind("g-0") == []
    assert "conditions" not in stage.status(NATIVE, "g")
    assert stage.bind("g-1") == [
        "status g: PodGroupInitiallyScheduled=True(Scheduled)",
        "event PodGroup g x1: Scheduled 1 member bound to node-g-1",
    ]


def test_waiting_words_are_taken_back_when_it_runs() -> None:
    stage = Stage()
    stage.gang("g", 2)
    stage.plan(g=FULL)
    stage.plan(2, g=FULL)
    told = stage.bind("g-0", "g-1")
    assert told[0] == "status g: Running Unschedulable=False(NotEnoughResources) Scheduled=True(Scheduled)"


def test_gang_that_waits_again_is_told_anew() -> None:
    """1. A gang runs. 2. It is undone, its pods are made again. 3. It waits: in peace for 2 s, then with words."""
    stage = Stage()
    stage.gang("g", 2)
    stage.plan()
    stage.bind("g-0", "g-1")
    stage.plan(1)
    stage.drop("g-0", "g-1")
    stage.add(*(pod_of(f"g-{i}", **in_group(VOLCANO, "g")) for i in range(2)))
    assert stage.plan(1, g=FULL) == []
    assert f"condition g-1: {FULL}" in stage.plan(2, g=FULL)
    assert stage.bind("g-0", "g-1")[-1].startswith("event PodGroup g x2: Scheduled")


def test_news_of_binds_never_queue_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SCHEDULED_MOST", 3)
    stage = Stage()
    names = [f"p{i}" for i in range(10)]
    stage.add(*(pod_of(name) for name in names))
    for name in names:
        seats = stage.seat(name)
        stage.notices.bound(f"pod:uid-{name}", seats)
    assert len(stage.say()) == 3
    stage.add(pod_of("later"))
    assert stage.bind("later") == ["event Pod later x1: Scheduled bound to node-later"]


# ---- numbers for metrics


def test_refusals_are_counted_by_code() -> None:
    stage = Stage()
    stage.add(pod_of("a"), pod_of("b"))
    stage.plan(a="cannot-fit: 1", b="cannot-fit: 1")
    stage.plan(5, a="cannot-fit: 2", b="gated: x")
    assert stage.notices.refusals == {"cannot-fit": 2, "gated": 1}
    assert sorted((code, len(members)) for code, members in stage.notices.waiting()) == [
        ("cannot-fit", 1),
        ("gated", 1),
    ]
