"""Volcano's Job: minima, names, levels, and the pods as its controller makes them."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core.model import Block, Level, Role
from gangpool.workloads import registry
from tests.workloads.objects import codes, names, task, template, the_gang, vcjob

LONG = "a-very-long-name-that-leaves-no-room-for-what-is-made-from-it-later-on"


@pytest.mark.parametrize(
    ("job", "minimum", "roles"),
    [
        # The job's minimum counts all tasks; a task without one of its own has none.
        (vcjob(task("a", 2), task("b", 6), minAvailable=5), 5, (0, 0)),
        # A task's own minimum stands beside the job's.
        (vcjob(task("a", 2, minAvailable=1), task("b", 6), minAvailable=5), 5, (1, 0)),
        # minMember is an alias.
        (vcjob(task("a", 8), minMember=6), 6, (0,)),
        (vcjob(task("a", 8), minMember=6, minAvailable=6), 6, (0,)),
        # Without any, and with 0, which is the API's zero value: all replicas.
        (vcjob(task("a", 8)), None, (8,)),
        (vcjob(task("a", 8), minAvailable=0), None, (8,)),
        # Without the job's, the sum of the tasks' minima, where a task without one counts whole.
        (vcjob(task("a", 2, minAvailable=1), task("b", 6)), 7, (1, 6)),
        # A task may be dispensable, a gang is never of zero.
        (vcjob(task("a", 2, minAvailable=0)), 1, (0,)),
    ],
)
def test_minimum(job: dict[str, Any], minimum: int | None, roles: tuple[int, ...]) -> None:
    gang = the_gang(job)
    assert gang.minimum == minimum
    assert tuple(role.minimum for role in gang.roles) == roles
    assert gang.error == ""


@pytest.mark.parametrize(
    ("job", "field", "numbers"),
    [
        (vcjob(task(), name=LONG, plugins={"svc": []}), "metadata.name", ["70", "63"]),
        (vcjob(task("w" * 40), name="j" * 30), "metadata.name", ["63"]),
        (vcjob(task("worker"), task("worker")), "spec.tasks[1].name", ["worker"]),
        (vcjob(task("Worker")), "spec.tasks[0].name", ["DNS label"]),
        (vcjob(task(replicas=8), minAvailable=9), "spec.minAvailable", ["9", "8"]),
        (vcjob(task(replicas=8), minMember=9), "spec.minMember", ["9", "8"]),
        (vcjob(task(replicas=2, minAvailable=3)), "spec.tasks[0].minAvailable", ["3", "2"]),
        (vcjob(task(replicas=8), minMember=4, minAvailable=8), "spec.minMember", ["minMember", "minAvailable"]),
        (
            vcjob(task(replicas=7, partitionPolicy={"totalPartitions": 2, "partitionSize": 4})),
            "spec.tasks[0].partitionPolicy",
            ["8", "7"],
        ),
    ],
)
def test_a_job_that_can_never_run_names_the_field(job: dict[str, Any], field: str, numbers: list[str]) -> None:
    found = registry.expand(job)
    assert found.gangs[0].error.startswith(f"{field}: ")
    assert all(number in found.gangs[0].error for number in numbers)
    assert ("invalid-object", field) in codes(found)
    assert len(found.members) == found.gangs[0].total, "the pods are there, so that something can wait"


def test_pods_are_named_and_labelled_as_volcano_does() -> None:
    job = vcjob(
        task("launcher", 1),
        task("worker", 2),
        schedulerName="volcano",
        queue="q",
        volumes=[{"volumeClaimName": "data"}],
    )
    job["metadata"]["uid"] = "u-1"
    found = registry.expand(job)
    assert names(found) == ["a-launcher-0", "a-worker-0", "a-worker-1"]
    assert [spec.rank for _, spec in found.members] == [0, 1, 2]
    pod = found.members[2][1].pod
    assert (pod["apiVersion"], pod["kind"], pod["metadata"]["namespace"]) == ("v1", "Pod", "ml")
    assert pod["metadata"]["labels"] == {
        "volcano.sh/job-name": "a",
        "volcano.sh/job-namespace": "ml",
        "volcano.sh/queue-name": "q",
        "volcano.sh/task-spec": "worker",
        "volcano.sh/task-index": "1",
    }
    assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "a-u-1"
    assert pod["metadata"]["ownerReferences"] == [
        {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "a", "uid": "u-1", "controller": True}
    ]
    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def test_a_template_keeps_its_own_scheduler_and_nobody_invents_one() -> None:
    own = vcjob({"name": "w", "template": template(schedulerName="mine")}, schedulerName="volcano")
    assert registry.expand(own).members[0][1].pod["spec"]["schedulerName"] == "mine"
    assert "schedulerName" not in registry.expand(vcjob(task())).members[0][1].pod["spec"]


@pytest.mark.parametrize(
    ("topology", "required", "preferred"),
    [
        ({"mode": "hard", "highestTierAllowed": 2}, Level(tier=2), ()),
        ({"highestTierAllowed": 2}, Level(tier=2), ()),
        ({"mode": "hard"}, Level(tier=1), ()),
        ({"mode": "hard", "highestTierName": "rack"}, Level(tier_name="rack"), ()),
        ({"mode": "soft", "highestTierAllowed": 1}, None, (Level(tier=1),)),
    ],
)
def test_network_topology(topology: dict[str, Any], required: Level | None, preferred: tuple[Level, ...]) -> None:
    gang = the_gang(vcjob(task(), networkTopology=topology))
    assert (gang.required, gang.preferred) == (required, preferred)


def test_partitions_are_blocks_and_give_the_task_its_minimum() -> None:
    policy = {
        "totalPartitions": 3,
        "partitionSize": 2,
        "minPartitions": 2,
        "networkTopology": {"highestTierAllowed": 1},
    }
    found = registry.expand(vcjob(task("a", 1), task("b", 6, partitionPolicy=policy)))
    assert found.gangs[0].blocks == (("b", Block(2, Level(tier=1))),)
    assert found.gangs[0].roles == (Role("a", 1), Role("b", 4))
    assert found.gangs[0].minimum == 5
    ids = [spec.pod["metadata"]["labels"].get("volcano.sh/partition-id") for _, spec in found.members]
    assert ids == [None, "0", "0", "1", "1", "2", "2"]


def test_a_task_that_depends_on_another_does_not_hold_up_the_start() -> None:
    later = task("launcher", 1, dependsOn={"name": ["worker"]})
    gang = the_gang(vcjob(later, task("worker", 2), minAvailable=3))
    assert gang.optional_roles == ("launcher",)
    # Three are counted, the workers bring two: the launcher's room is the third.
    assert gang.roles == (Role("launcher", 1), Role("worker", 0))


def test_affinity_to_the_job_itself_is_alive() -> None:
    def near(labels: dict[str, str]) -> dict[str, Any]:
        term = {"topologyKey": "rack", "labelSelector": {"matchLabels": labels}}
        return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    alive = vcjob({"name": "w", "template": template(affinity=near({"volcano.sh/job-name": "a"}))})
    other_task = vcjob({"name": "w", "template": template(affinity=near({"volcano.sh/task-spec": "b"}))}, task("b"))
    dead = vcjob({"name": "w", "template": template(affinity=near({"job": "a"}))})
    assert codes(registry.expand(alive)) == codes(registry.expand(other_task)) == []
    field = "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector"
    assert codes(registry.expand(dead)) == [("dead-affinity", f"spec.tasks[0].template.spec.{field}")]


def test_spread_over_pods_that_are_not_there_is_dead() -> None:
    spread = [
        {"maxSkew": 1, "topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "x", "operator": "In"}]}}
    ]
    job = vcjob({"name": "w", "template": template(topologySpreadConstraints=spread)})
    assert codes(registry.expand(job)) == [
        ("dead-affinity", "spec.tasks[0].template.spec.topologySpreadConstraints[0].labelSelector")
    ]


@pytest.mark.parametrize(("replicas", "cards", "lost"), [(8, 1, True), (16, 1, True), (4, 1, False), (8, 8, False)])
def test_eight_pods_of_one_card_lose_nvlink(replicas: int, cards: int, lost: bool) -> None:
    found = registry.expand(vcjob({"name": "w", "replicas": replicas, "template": template(cards)}))
    assert (codes(found) == [("nvlink-lost", "spec.tasks[0].replicas")]) is lost


def test_all_pods_of_a_task_share_one_spec() -> None:
    specs = [spec.pod["spec"] for _, spec in registry.expand(vcjob(task(replicas=12_800))).members]
    assert len(specs) == 12_800
    assert all(spec is specs[0] for spec in specs)


def test_the_manifest_itself_stays_as_it_was() -> None:
    job = vcjob(task(), schedulerName="volcano", volumes=[{"volumeClaimName": "data"}])
    before = str(job)
    registry.expand(job)
    assert str(job) == before
