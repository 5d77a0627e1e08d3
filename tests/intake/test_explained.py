"""What `explain` says of pods and workloads: state, reason, what else, since when."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.intake import place
from gangpool.intake.config import Config
from gangpool.intake.explanation import NotThere
from gangpool.intake.said import refused, text_of
from tests.intake.asked import codes, items, why
from tests.intake.build import CARD, NOW, Json, deployment, job, jobset, jobset_pod, node, obj, pod, volcano

MADE, BOUND, ENDED = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", "2026-01-01T01:00:00Z"
GROUP = "scheduling.k8s.io/group-name"


def member(name: str, group: str, cards: int = 8, **more: Any) -> Json:
    """A pod of a PodGroup."""
    return pod(name, cards, annotations={GROUP: group, **more.pop("annotations", {})}, **more)


def group(name: str, minimum: int) -> Json:
    return obj("scheduling.volcano.sh/v1beta1", "PodGroup", name, spec={"minMember": minimum})


def with_conditions(made: Json, *conditions: Json) -> Json:
    return {**made, "status": {**made["status"], "conditions": list(conditions)}}


def condition(kind: str, status: str, at: str = BOUND, message: str = "") -> Json:
    return {"type": kind, "status": status, "lastTransitionTime": at, "message": message}


BIG = [group("big", 2), member("big-0", "big", created=MADE), member("big-1", "big", created=BOUND)]


def test_a_gang_that_does_not_fit() -> None:
    answer = why("pod/big-0", node("n1"), *BIG)
    assert (answer.object, answer.gang, answer.state) == ("pod/ml/big-0", "ml/big", "pending")
    assert answer.reason is not None
    assert (answer.reason.code, answer.reason.numbers) == ("cannot-fit", {"needed": 2, "best": 1, "unit": "members"})
    assert (answer.also, answer.node, answer.devices, answer.nodes) == ((), None, None, ())
    assert answer.members is not None and answer.members.minimum == 2 and answer.members.exist == 2
    assert [why(f"pod/big-{i}", node("n1"), *BIG).since for i in (0, 1)] == [MADE, BOUND]


@pytest.mark.parametrize("name", ["podgroup/big", "pg big", "podgroups.scheduling.volcano.sh/big", "gang/big"])
def test_its_group_says_the_same(name: str) -> None:
    answer, of_pod = why(name, node("n1"), *BIG), why("pod/big-1", node("n1"), *BIG)
    assert answer.reason == of_pod.reason
    assert (answer.gang, answer.state, answer.since) == ("ml/big", "pending", MADE)


@pytest.mark.parametrize(
    "objects",
    [
        [node("n1"), *BIG],
        [node("n1", 0), *BIG],
        [node("n1"), node("n2"), group("big", 3), *BIG[1:]],
        [node("n1"), node("n2"), *BIG[:2], member("big-1", "big", schedulingGates=[{"name": "g"}])],
        [node("n1"), pod("holds", 2, nodeName="n1"), *BIG],
    ],
)
def test_reasons_are_those_of_the_dry_run(objects: list[Json]) -> None:
    pending = place(items(objects), [], NOW, Config()).pending
    assert [entry.reason for entry in pending] == [why("gang/big", *objects).reason]


def test_a_pod_that_a_plan_would_seat_now() -> None:
    answer = why("pod/a", node("n1"), pod("a", 2))
    assert (answer.state, answer.node, codes(answer)) == ("pending", None, ["fits-now"])
    assert answer.reason is not None and answer.reason.message == "fits on n1 now"


def test_a_gang_that_a_plan_would_seat_now() -> None:
    answer = why("podgroup/big", node("n1"), node("n2"), *BIG)
    assert answer.reason is not None
    assert (answer.reason.message, answer.reason.numbers["best"]) == ("2 of 2 members fit on n1, n2 now", 2)


def test_a_placed_pod_with_its_devices() -> None:
    held = '{"v": 1, "containers": {"main": {"cards": [0, 1], "ports": []}}}'
    made = pod("a", 2, nodeName="n1", annotations={"gangpool.io/devices": held}, created=MADE)
    answer = why("pod/a", node("n1"), with_conditions(made, condition("PodScheduled", "True")))
    assert (answer.state, answer.reason, answer.node, answer.since) == ("placed", None, "n1", BOUND)
    assert answer.devices["containers"]["main"]["cards"] == [0, 1]


@pytest.mark.parametrize("text", ["", "[", "{" * 100_000, "\ud800"])
def test_devices_that_cannot_be_read_are_told(text: str) -> None:
    answer = why("pod/a", node("n1"), pod("a", nodeName="n1", annotations={"gangpool.io/devices": text}))
    assert (answer.devices, codes(answer)) == (None, ["", "devices-unreadable"])


def test_a_finished_pod() -> None:
    made = with_conditions(pod("a", nodeName="n1", phase="Succeeded"), condition("Ready", "False", ENDED))
    answer = why("pod/a", node("n1"), made)
    assert (answer.state, answer.reason, answer.node, answer.since) == ("finished", None, "n1", ENDED)


@pytest.mark.parametrize("where", [{}, {"nodeName": "n1"}])
def test_a_pod_of_another_scheduler(where: Json) -> None:
    answer = why("pod/a", node("n1"), pod("a", schedulerName="other", **where))
    assert (answer.state, answer.node, codes(answer)) == ("not-ours", where.get("nodeName"), ["not-ours"])
    assert answer.reason is not None and "other" in answer.reason.message and "gangpool" in answer.reason.message


def test_a_pod_that_is_deleted_before_it_had_a_node() -> None:
    answer = why("pod/a", node("n1"), pod("a", deleted=MADE))
    assert (answer.state, codes(answer)) == ("pending", ["leaving"])


def test_a_gated_member_of_a_gang_that_needs_it_not() -> None:
    """The minimum runs. 1. One member is gated: told so. 2. Another finds no room: told so. 3. The gang is placed."""
    objects = [
        node("n1", 2),
        group("g", 1),
        member("g-0", "g", 2, nodeName="n1"),
        member("g-1", "g", 2),
        member("g-2", "g", 2, schedulingGates=[{"name": "x"}]),
    ]
    assert codes(why("pod/g-1", *objects)) == ["cannot-fit"]
    assert codes(why("pod/g-2", *objects)) == ["cannot-fit", "gated"]
    answer = why("gang/g", *objects)
    assert (answer.state, codes(answer), answer.nodes) == ("placed", ["", "cannot-fit", "gated"], ("n1",))


def test_what_the_server_refuses_is_told_in_its_words() -> None:
    """Such a gang rests: the room is another's, as it is for the live scheduler."""
    said = text_of(refused("pods is forbidden: exceeded quota"))
    gang = [with_conditions(p, condition("PodScheduled", "False", message=said)) for p in BIG[1:]]
    objects = [node("n1"), node("n2"), BIG[0], *gang, pod("late", 8, created=ENDED)]
    answer = why("pod/big-1", *objects)
    assert (answer.state, codes(answer)) == ("pending", ["bind-refused"])
    assert answer.reason is not None and answer.reason.message == refused("pods is forbidden: exceeded quota").message
    assert codes(why("pod/late", *objects)) == ["fits-now"]


def test_a_member_that_waits_for_the_others() -> None:
    """A gang that came about by half: who has a node says why the others have none."""
    answer = why("pod/big-0", node("n1"), BIG[0], member("big-0", "big", nodeName="n1"), BIG[2])
    assert (answer.state, answer.node, codes(answer)) == ("placed", "n1", ["", "cannot-fit"])
    assert why("gang/big", node("n1"), BIG[0], member("big-0", "big", nodeName="n1"), BIG[2]).state == "pending"


def test_a_gang_that_has_lost_a_member() -> None:
    answer = why("gang/big", node("n1"), BIG[0], member("big-0", "big", nodeName="n1"))
    assert (answer.state, codes(answer)) == ("placed", ["", "members-missing"])
    assert answer.also[0].message == "1 of 2 members exist"
    ended = member("big-1", "big", phase="Succeeded")
    assert codes(why("gang/big", node("n1"), BIG[0], member("big-0", "big", nodeName="n1"), ended)) == [""]


def test_a_placed_pod_that_is_being_deleted() -> None:
    answer = why("pod/a", node("n1"), pod("a", nodeName="n1", deleted=MADE))
    assert (answer.state, codes(answer)) == ("placed", ["", "leaving"])


def test_a_job_says_itself_why_it_has_no_pods() -> None:
    made = volcano("j", {"w": (2, 8)}) | {"status": {"state": {"phase": "Pending", "message": "quota q is too small"}}}
    answer = why("vcjob/j", node("n1"), made)
    assert [(entry.code, entry.message) for entry in answer.also] == [("status", "quota q is too small")]
    broken = made | {"status": {"state": {"phase": [], "message": 3}}}
    assert codes(why("vcjob/j", node("n1"), broken)) == ["members-missing"]


def test_older_words_on_a_pod_do_not_count() -> None:
    made = with_conditions(pod("a"), condition("PodScheduled", "False", message="cannot-fit: 0 of 1"))
    assert codes(why("pod/a", node("n1"), made)) == ["fits-now"]


def test_pods_that_come_one_by_one_are_told_together() -> None:
    owned = [
        pod(f"d-{i}", 8, owner="ReplicaSet/d-5/apps/v1", labels={"pod-template-hash": "5"}, **more)
        for i, more in enumerate(({"nodeName": "n1"}, {}, {}))
    ]
    answer = why("deployment/d", node("n1"), *owned)
    assert (answer.gang, answer.state, codes(answer)) == (None, "pending", ["cannot-fit"])
    assert answer.reason is not None and answer.reason.numbers == {"needed": 8, "best": 0, "unit": CARD}
    assert answer.members is not None and answer.members.minimum is None
    assert (answer.members.exist, answer.members.bound) == (3, 1)
    running = why("deploy/d", node("n1"), owned[0])
    assert (running.state, running.node, running.nodes) == ("placed", None, ("n1",))


def test_of_pods_one_by_one_those_without_room_are_told_first() -> None:
    labels = {"pod-template-hash": "5"}
    owned = [pod(f"d-{i}", 8, owner="ReplicaSet/d-5/apps/v1", labels=labels) for i in range(2)]
    assert codes(why("deployment/d", node("n1"), *owned)) == ["cannot-fit", "fits-now"]


def test_pods_are_found_by_the_owner_of_their_owner() -> None:
    run = job("nightly-1", 2) | {"metadata": {"name": "nightly-1", "namespace": "ml"}}
    run["metadata"]["ownerReferences"] = [{"kind": "CronJob", "name": "nightly", "apiVersion": "batch/v1"}]
    made = pod("nightly-1-0", labels={"job-name": "nightly-1"}, owner="Job/nightly-1/batch/v1")
    assert why("cronjob/nightly", node("n1"), run, made).state == "pending"
    with pytest.raises(NotThere):
        why("cronjob/nightly", node("n1"), made)


def test_a_jobset_is_one_gang() -> None:
    made = jobset("js", {"w": (2, 1)})
    pods = [jobset_pod("js", "w", i, 0) for i in range(2)]
    answer = why("jobset/js", node("n1"), made, *pods)
    assert (answer.gang, codes(answer)) == ("ml/js", ["cannot-fit"])


@pytest.mark.parametrize(
    ("made", "state", "found"),
    [
        (job("j"), "pending", ["members-missing"]),
        (job("j", spec={"suspend": True}), "pending", ["suspended"]),
        (volcano("j", {"w": (2, 8)}) | {"status": {"state": {"phase": "Completed"}}}, "finished", [""]),
        (job("j") | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}, "finished", [""]),
        (job("j") | {"status": {"conditions": [{"type": "Complete", "status": "False"}, 3]}}, "pending", None),
        (deployment("j", 0), "pending", ["members-missing"]),
    ],
)
def test_a_workload_without_pods(made: Json, state: str, found: list[str] | None) -> None:
    answer = why(f"{made['kind'].lower()}/j", node("n1"), made)
    assert answer.state == state
    assert found is None or codes(answer) == found


def test_doubts_about_the_object_are_told() -> None:
    made = job("j", labels={"kueue.x-k8s.io/queue-name": "q"})
    answer = why("job/j", node("n1"), made, indexed("j", 0))
    assert "reference-unchecked" in codes(answer)


def indexed(name: str, i: int) -> Json:
    annotations = {"batch.kubernetes.io/job-completion-index": str(i)}
    return pod(f"{name}-{i}", labels={"job-name": name}, annotations=annotations, owner=f"Job/{name}/batch/v1")


@pytest.mark.parametrize(
    ("name", "space", "text"),
    [
        ("pod/bgi-0", "ml", "pod/ml/bgi-0 is not there; did you mean big-0 or big-1?"),
        ("pod/big-0", "web", "pod/web/big-0 is not there, but namespace ml has one of that name: give -n"),
        (
            "pod/bgi-0",
            "web",
            "pod/web/bgi-0 is not there; did you mean big-0 in namespace ml or big-1 in namespace ml?",
        ),
        ("podgroup/bg", "ml", "podgroup/ml/bg is not there; did you mean big?"),
        ("job/x", "ml", "job/ml/x is not there"),
        ("job/big", "ml", "job/ml/big is not there, but a gang of that name is: ask for gang/big"),
        ("node/n", "ml", "node/n is not there; did you mean n1?"),
    ],
)
def test_what_is_not_there(name: str, space: str, text: str) -> None:
    with pytest.raises(NotThere) as caught:
        why(name, node("n1"), *BIG, space=space)
    assert str(caught.value) == text


def test_jobs_of_two_kinds_may_share_a_name() -> None:
    """Pods belong to the kind that made them."""
    ours = volcano("same", {"w": (1, 8)})
    answer = why("job.batch.volcano.sh/same", node("n1"), ours, job("same"), indexed("same", 0))
    assert codes(answer) == ["members-missing"]
