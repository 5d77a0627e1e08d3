"""RayCluster, RayJob, RayService."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core.model import Level, Role
from gangpool.workloads import registry
from tests.workloads.objects import codes, names, obj, template, the_gang

VOLCANO = {"ray.io/scheduler-name": "volcano"}


def group(name: str = "gpu", replicas: int = 2, **more: Any) -> dict[str, Any]:
    return {"groupName": name, "replicas": replicas, "template": template(8), **more}


def body(*groups: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"headGroupSpec": {"template": template()}, "workerGroupSpecs": list(groups), **spec}


def cluster(*groups: dict[str, Any], labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return obj("ray.io/v1 RayCluster", body(*groups, **spec), labels=VOLCANO if labels is None else labels)


@pytest.mark.parametrize(
    ("found", "minimum", "roles"),
    [
        # Without the autoscaler the wished replicas are the minimum, with it minReplicas; the head in any case.
        (cluster(group(replicas=3, minReplicas=1)), 4, (1, 3)),
        (cluster(group(replicas=3, minReplicas=1), enableInTreeAutoscaling=True), 2, (1, 1)),
        # A replica of several hosts counts as many pods.
        (cluster(group(replicas=2, numOfHosts=4)), 9, (1, 8)),
        (cluster(group(replicas=2, minReplicas=1, numOfHosts=4), enableInTreeAutoscaling=True), 5, (1, 4)),
        # Replicas are kept between their bounds.
        (cluster(group(replicas=0, minReplicas=2)), 3, (1, 2)),
        (cluster(group(replicas=9, maxReplicas=2)), 3, (1, 2)),
        (cluster(group(suspend=True)), 1, (1, 0)),
    ],
)
def test_minimum(found: dict[str, Any], minimum: int, roles: tuple[int, ...]) -> None:
    gang = the_gang(found)
    assert (gang.minimum, tuple(role.minimum for role in gang.roles)) == (minimum, roles)


@pytest.mark.parametrize(
    ("labels", "is_gang"),
    [
        ({}, False),
        ({"ray.io/gang-scheduling-enabled": "true"}, True),
        ({"ray.io/gang-scheduling-enabled": "false"}, False),
        ({"ray.io/scheduler-name": "kai-scheduler"}, True),
    ],
)
def test_a_gang_where_batch_scheduling_is_asked_for(labels: dict[str, str], is_gang: bool) -> None:
    found = registry.expand(cluster(group(), labels=labels))
    assert bool(found.gangs) is is_gang
    assert {key for key, _ in found.members} == ({"ml/a"} if is_gang else {""})
    assert names(found) == ["a-head", "a-gpu-worker-0", "a-gpu-worker-1"]


def test_volcano_marks_on_the_pods_and_labels_of_the_cluster() -> None:
    labels = {
        **VOLCANO,
        "volcano.sh/queue-name": "q",
        "ray.io/priority-class-name": "high",
        "volcano.sh/network-topology-mode": "hard",
        "volcano.sh/network-topology-highest-tier-allowed": "2",
    }
    found = registry.expand(cluster(group(), labels=labels))
    gang = found.gangs[0]
    assert (gang.queue, gang.priority_class, gang.required) == ("q", "high", Level(tier=2))
    worker = found.members[1][1].pod
    assert worker["spec"]["schedulerName"] == "volcano"
    assert worker["metadata"]["annotations"] == {
        "scheduling.k8s.io/group-name": "ray-a-pg",
        "volcano.sh/task-spec": "gpu",
    }
    assert worker["metadata"]["labels"].items() >= {
        ("ray.io/cluster", "a"),
        ("ray.io/group", "gpu"),
        ("ray.io/node-type", "worker"),
        ("volcano.sh/queue-name", "q"),
    }


def test_two_groups_of_one_name_are_a_contradiction() -> None:
    found = registry.expand(cluster(group("gpu"), group("gpu")))
    assert codes(found) == [("invalid-object", "spec.workerGroupSpecs[1].groupName")]
    assert found.gangs[0].error


def test_a_soft_level_is_preferred() -> None:
    labels = {**VOLCANO, "volcano.sh/network-topology-mode": "soft"}
    gang = the_gang(cluster(group(), labels=labels))
    assert (gang.required, gang.preferred) == (None, (Level(tier=1),))


def test_the_autoscaler_takes_room_in_the_head() -> None:
    head = registry.expand(cluster(enableInTreeAutoscaling=True)).members[0][1].pod
    assert [c["name"] for c in head["spec"]["containers"]] == ["main", "autoscaler"]
    assert head["spec"]["containers"][1]["resources"]["requests"] == {"cpu": "500m", "memory": "512Mi"}
    own = {"resources": {"requests": {"cpu": "2"}}}
    written = cluster(enableInTreeAutoscaling=True, autoscalerOptions=own)
    assert registry.expand(written).members[0][1].pod["spec"]["containers"][1]["resources"] == own["resources"]


def ray_job(labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    whole = {"rayClusterSpec": body(group()), **spec}
    return obj("ray.io/v1 RayJob", whole, labels=VOLCANO if labels is None else labels)


def test_the_submitter_comes_later_and_its_room_is_kept() -> None:
    found = registry.expand(ray_job())
    assert names(found) == ["a-head", "a-gpu-worker-0", "a-gpu-worker-1", "a-0"]
    gang = found.gangs[0]
    assert (gang.minimum, gang.total) == (3, 4)
    assert gang.roles == (Role("headgroup", 1), Role("gpu", 2), Role("submitter", 0))
    assert gang.optional_roles == ("submitter",)
    resources = found.members[3][1].pod["spec"]["containers"][0]["resources"]
    assert resources["requests"] == {"cpu": "500m", "memory": "200Mi"}


def test_a_submitter_as_written_and_modes_without_one() -> None:
    own = registry.expand(ray_job(submitterPodTemplate=template(1)))
    assert own.members[3][1].template_path == "spec.submitterPodTemplate"
    assert names(registry.expand(ray_job(submissionMode="HTTPMode"))) == ["a-head", "a-gpu-worker-0", "a-gpu-worker-1"]
    sidecar = registry.expand(ray_job(submissionMode="SidecarMode"))
    assert [c["name"] for c in sidecar.members[0][1].pod["spec"]["containers"]] == ["main", "ray-job-submitter"]
    assert sidecar.gangs[0].optional_roles == ()


def test_outside_volcano_the_submitter_is_a_pod_by_itself() -> None:
    found = registry.expand(ray_job({"ray.io/gang-scheduling-enabled": "true"}))
    assert [key for key, _ in found.members] == ["ml/a", "ml/a", "ml/a", ""]
    assert found.gangs[0].total == 3


def test_a_job_on_a_cluster_that_exists_brings_only_its_submitter() -> None:
    found = registry.expand(ray_job(clusterSelector={"ray.io/cluster": "other"}))
    assert (names(found), found.gangs) == (["a-0"], ())


@pytest.mark.parametrize("labels", [VOLCANO, {}])
def test_a_suspended_job_waits_as_a_whole(labels: dict[str, str]) -> None:
    found = registry.expand(ray_job(labels, suspend=True))
    assert found.gangs[0].suspended
    assert {key for key, _ in found.members} == {"ml/a"}


def test_a_service_has_its_cluster_elsewhere() -> None:
    service = obj("ray.io/v1 RayService", {"rayClusterConfig": body(group())}, labels=VOLCANO)
    found = registry.expand(service)
    assert [spec.template_path for _, spec in found.members][:2] == [
        "spec.rayClusterConfig.headGroupSpec.template",
        "spec.rayClusterConfig.workerGroupSpecs[0].template",
    ]
    assert len(registry.templates(service)) == 2
