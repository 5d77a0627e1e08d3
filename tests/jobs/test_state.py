"""What the jobs controller does about one Job and its pods, without a server."""

from __future__ import annotations

from typing import Any

import msgspec

from gangpool.jobs.quota import shortage
from gangpool.jobs.state import Actions, decide, group_of
from gangpool.objects.pod import Pod

NOW = "2026-11-30T00:00:00Z"


def job(**spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 4}}}]}}
    tasks = [{"name": "worker", "replicas": 2, "template": template}]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ml", "uid": "u-1"},
        "spec": {"minAvailable": 2, "tasks": tasks, **spec},
    }


def pod(name: str, phase: str = "Running", **status: Any) -> Pod:
    obj = {"metadata": {"name": name, "namespace": "ml", "uid": name}, "status": {"phase": phase, **status}}
    return msgspec.convert(obj, Pod)


def after(found: Actions, obj: dict[str, Any]) -> dict[str, Any]:
    """The job as the server shows it once the status is written."""
    return {**obj, "status": found.status}


def test_missing_pods_are_made_with_owner_and_scheduler() -> None:
    found = decide(job(), [], NOW, "gangpool")
    assert [p["metadata"]["name"] for p in found.create] == ["train-worker-0", "train-worker-1"]
    assert found.create[0]["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    assert found.create[0]["spec"]["schedulerName"] == "gangpool"
    assert found.status["state"]["phase"] == "Pending"


def test_the_jobs_own_scheduler_counts() -> None:
    found = decide(job(schedulerName="volcano"), [], NOW, "gangpool")
    assert {p["spec"]["schedulerName"] for p in found.create} == {"volcano"}


def test_only_the_lost_pod_is_made_again() -> None:
    found = decide(job(), [pod("train-worker-0")], NOW, "gangpool")
    assert [p["metadata"]["name"] for p in found.create] == ["train-worker-1"]


def test_a_job_runs_when_its_minimum_runs_and_the_stamp_stays() -> None:
    pods = [pod("train-worker-0"), pod("train-worker-1")]
    first = decide(job(), pods, NOW, "gangpool")
    assert first.status["state"] == {"phase": "Running", "lastTransitionTime": NOW}
    again = decide(after(first, job()), pods, "2026-11-30T01:00:00Z", "gangpool")
    assert again.status == first.status


def test_pods_beyond_the_replicas_go() -> None:
    pods = [pod("train-worker-0"), pod("train-worker-1"), pod("train-worker-2")]
    assert [p.metadata.name for p in decide(job(), pods, NOW, "gangpool").delete] == ["train-worker-2"]


def test_a_failure_that_leaves_fewer_than_the_minimum_ends_the_job() -> None:
    ended = {"containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 3}}}]}
    found = decide(job(), [pod("train-worker-0", "Failed", **ended), pod("train-worker-1")], NOW, "gangpool")
    assert found.status["state"]["phase"] == "Failed"
    assert found.status["state"]["message"] == "pod train-worker-0 failed with exit code 3"
    assert [p.metadata.name for p in found.delete] == ["train-worker-1"]
    assert not found.create


def test_a_failure_that_the_minimum_survives_does_not() -> None:
    found = decide(job(minAvailable=1), [pod("train-worker-0", "Failed"), pod("train-worker-1")], NOW, "gangpool")
    assert found.status["state"]["phase"] == "Running"
    assert not found.delete


def test_all_succeeded_is_completed_and_then_nothing_is_made() -> None:
    pods = [pod("train-worker-0", "Succeeded"), pod("train-worker-1", "Succeeded")]
    found = decide(job(), pods, NOW, "gangpool")
    assert found.status["state"]["phase"] == "Completed"
    assert decide(after(found, job()), [], NOW, "gangpool") == Actions()


def test_the_group_is_named_as_volcano_names_it() -> None:
    group = group_of(job(queue="research"))
    assert group["metadata"]["name"] == "train-u-1"
    assert group["spec"] == {"minMember": 2, "queue": "research"}


def test_a_quota_without_room_for_the_minimum_is_told_with_numbers() -> None:
    quota = {
        "metadata": {"name": "cards", "namespace": "ml"},
        "status": {"hard": {"requests.nvidia.com/gpu": "10"}, "used": {"requests.nvidia.com/gpu": "4"}},
    }
    text = shortage(job(), [quota])
    assert "cards" in text
    assert "limited to 10, 4 are used, the job needs 8" in text
    assert not shortage(job(minAvailable=1), [quota])
    found = decide(job(), [], NOW, "gangpool", text)
    assert not found.create
    assert found.status["state"]["message"] == text
