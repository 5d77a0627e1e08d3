"""Bodies of conditions and events: what the API asks for, and when there is nothing to write."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.live import writes
from gangpool.live.writes import Happening, Subject
from tests.live.stage import pod_of

POD = Subject("v1", "Pod", "ml", "a", "uid-a")
FAILED = Happening("Warning", "FailedScheduling", "cannot-fit", "cannot-fit: no room")


def scheduled(status: str, reason: str = "Unschedulable", message: str = "x: y") -> list[dict[str, Any]]:
    return [{"type": "PodScheduled", "status": status, "reason": reason, "message": message}]


def test_first_condition_has_its_time_and_the_pods_uid() -> None:
    write = writes.condition(pod_of("a"), "gated: x", 60.0)
    assert write is not None
    assert (write.method, write.path) == ("PATCH", "/api/v1/namespaces/ml/pods/a/status")
    assert write.content_type == "application/strategic-merge-patch+json"
    assert write.body["metadata"] == {"uid": "uid-a"}
    assert write.body["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "gated: x",
            "lastTransitionTime": "1970-01-01T00:01:00Z",
        }
    ]


def test_time_of_a_condition_moves_only_with_its_status() -> None:
    write = writes.condition(pod_of("a", conditions=scheduled("False")), "gated: x", 60.0)
    assert write is not None
    assert "lastTransitionTime" not in write.body["status"]["conditions"][0]


@pytest.mark.parametrize(
    "pod",
    [
        pod_of("a", conditions=scheduled("False", message="gated: x")),
        pod_of("a", gates=["g"], conditions=scheduled("False", "SchedulingGated", "gated: x")),
        pod_of("a", deletionTimestamp="2026-01-01T00:00:00Z"),
    ],
    ids=["says so", "gated and says so", "terminating"],
)
def test_nothing_to_write(pod: Any) -> None:
    assert writes.condition(pod, "gated: x", 60.0) is None


def test_bound_pod_is_left_alone() -> None:
    pod = pod_of("a")
    pod.spec.nodeName = "n1"
    assert writes.condition(pod, "gated: x", 60.0) is None


def test_pod_whose_gates_went_gets_the_other_reason() -> None:
    pod = pod_of("a", conditions=scheduled("False", "SchedulingGated", "gated: x"))
    write = writes.condition(pod, "gated: x", 60.0)
    assert write is not None
    assert write.body["status"]["conditions"][0]["reason"] == "Unschedulable"


def test_new_event() -> None:
    write = writes.event(POD, FAILED, 0, 60.0)
    assert (write.method, write.path) == ("POST", "/api/v1/namespaces/ml/events")
    body = write.body
    assert body["involvedObject"] == {"apiVersion": "v1", "kind": "Pod", "namespace": "ml", "name": "a", "uid": "uid-a"}
    assert (body["type"], body["reason"], body["count"]) == ("Warning", "FailedScheduling", 1)
    assert body["reportingComponent"] == body["source"]["component"] == "gangpool"
    assert body["metadata"]["namespace"] == "ml"


def test_one_more_time_is_a_patch() -> None:
    write = writes.event(POD, FAILED, 3, 60.0)
    assert write.method == "PATCH"
    assert write.path == f"/api/v1/namespaces/ml/events/{writes.event_name(POD, FAILED)}"
    assert write.body == {"message": FAILED.text, "lastTimestamp": "1970-01-01T00:01:00Z", "count": 4}
    assert "count" not in writes.event(POD, FAILED, None, 60.0).body


def test_name_of_an_event_tells_subject_code_and_nothing_else() -> None:
    name = writes.event_name(POD, FAILED)
    assert name == writes.event_name(POD, Happening("Warning", "FailedScheduling", "cannot-fit", "other numbers"))
    assert name != writes.event_name(POD, Happening("Warning", "FailedScheduling", "gated", FAILED.text))
    assert name != writes.event_name(Subject("v1", "Pod", "ml", "a", "uid-other"), FAILED)
    long = writes.event_name(Subject("v1", "Pod", "ml", f"{'x' * 229}.{'y' * 20}", "u"), FAILED)
    assert len(long) <= 253
    assert ".." not in long


def test_long_text_is_cut() -> None:
    text = writes.event(POD, Happening("Warning", "FailedScheduling", "", "x" * 5000), 0, 0.0).body["message"]
    assert len(text) == 1024
    assert text.endswith("…")
