"""What `jobs` lists, with which counts and states."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.intake import load
from gangpool.intake.config import Config
from gangpool.intake.job_list import JobEntry, job_list
from gangpool.intake.said import refused, text_of
from gangpool.intake.seen import Seen
from tests.intake.asked import items, why
from tests.intake.build import CONFIG, Json, deployment, job, node, obj, pod, template, volcano

MADE = "2026-01-01T00:00:00Z"


def jobs(*objects: Json, space: str | None = None, config: Config = CONFIG) -> list[JobEntry]:
    seen = Seen(lambda pod: pod.spec.schedulerName in config.schedulerNames and space in (None, pod.metadata.namespace))
    return list(job_list(load(seen.watch(items(objects)), config), seen, space).jobs)


def one(*objects: Json) -> JobEntry:
    (entry,) = jobs(*objects)
    return entry


def indexed(name: str, i: int, cards: int = 8, **more: Any) -> Json:
    annotations = {"batch.kubernetes.io/job-completion-index": str(i)}
    return pod(f"{name}-{i}", cards, labels={"job-name": name}, annotations=annotations, **more)


def test_a_running_gang() -> None:
    labels = {"topology.kubernetes.io/zone": "z"}
    nodes = [node(f"n{i}", labels=labels) for i in (1, 2)]
    made = job("j") | {"metadata": {"name": "j", "namespace": "ml", "creationTimestamp": MADE}}
    entry = one(*nodes, made, indexed("j", 0, nodeName="n1"), indexed("j", 1, nodeName="n2", phase="Pending"))
    assert (entry.namespace, entry.name, entry.kind, entry.api_version) == ("ml", "j", "Job", "batch/v1")
    assert (entry.state, entry.reason, entry.cards, entry.nodes) == ("placed", None, 16, ("n1", "n2"))
    assert (entry.members.minimum, entry.members.exist, entry.members.bound, entry.members.running) == (2, 2, 2, 1)
    assert (entry.total, entry.created) == (2, MADE)


@pytest.mark.parametrize(
    ("pods", "state", "code"),
    [
        ([indexed("j", 0), indexed("j", 1)], "pending", "cannot-fit"),
        ([indexed("j", 0)], "pending", "members-missing"),
        ([indexed("j", 0, 4), indexed("j", 1, 4)], "pending", "fits-now"),
        ([indexed("j", 0, nodeName="n1"), indexed("j", 1)], "pending", "cannot-fit"),
        ([], "pending", "members-missing"),
        ([indexed("j", 0, phase="Succeeded"), indexed("j", 1, nodeName="n1")], "placed", None),
        ([indexed("j", 0, phase="Succeeded"), indexed("j", 1, phase="Failed")], "finished", None),
    ],
)
def test_states(pods: list[Json], state: str, code: str | None) -> None:
    objects = [node("n1"), job("j", schedulerName="gangpool"), *pods]
    entry = one(*objects)
    assert (entry.state, None if entry.reason is None else entry.reason.code) == (state, code)
    answer = why("job/j", *objects)
    assert (answer.state, answer.reason) == (entry.state, entry.reason)
    assert answer.members is None or answer.members == entry.members


def test_what_the_server_refuses() -> None:
    said = [{"type": "PodScheduled", "status": "False", "message": text_of(refused("quota"))}]
    pods = [
        {**made, "status": {"phase": "Pending", "conditions": said}} for made in (indexed("j", i, 1) for i in (0, 1))
    ]
    entry = one(node("n1"), job("j"), *pods)
    assert entry.reason is not None and entry.reason.code == "bind-refused"


def test_what_is_no_gang_of_ours_is_left_out() -> None:
    assert (
        jobs(
            node("n1"),
            pod("single"),
            pod("done", phase="Succeeded"),
            pod("one", labels={"job-name": "solo"}, phase="Succeeded"),
            deployment("d", 2),
            job("solo", 1),
            job("others", schedulerName="default-scheduler"),
            job("over", schedulerName="gangpool") | {"status": {"conditions": [{"type": "Failed", "status": "True"}]}},
            indexed("theirs", 0, schedulerName="other", nodeName="n1"),
            obj("scheduling.volcano.sh/v1beta1", "PodGroup", "pg", spec={"minMember": 3}),
            obj("batch/v1", "CronJob", "cj", spec={"jobTemplate": {"spec": job("x")["spec"]}}),
        )
        == []
    )


def test_a_child_is_not_listed_beside_its_parent() -> None:
    child = job("js-w-0", schedulerName="gangpool")
    child["metadata"]["ownerReferences"] = [{"kind": "JobSet", "name": "js", "apiVersion": "jobset.x-k8s.io/v1alpha2"}]
    assert jobs(node("n1"), child) == []


def test_a_volcano_job_without_pods_is_ours_unless_it_says_otherwise() -> None:
    assert one(volcano("v", {"w": (3, 1)}, queue="q")).queue == "q"
    assert one(volcano("v", {"w": (3, 1)}, schedulerName="gangpool")).members.minimum == 3
    assert jobs(volcano("v", {"w": (3, 1)}, schedulerName="volcano")) == []


def test_an_object_that_cannot_be_read_is_passed_over() -> None:
    broken = obj(
        "batch/v1", "Job", "b", spec={"parallelism": "many", "template": template(1, schedulerName="gangpool")}
    )
    assert [entry.name for entry in jobs(broken, job("j", schedulerName="gangpool"))] == ["j"]


@pytest.mark.parametrize("metadata", [{"labels": 3}, {"creationTimestamp": 3}, {"labels": {"a": 3}}])
def test_heads_that_cannot_be_read_are_taken_as_empty(metadata: Json) -> None:
    made = job("j", schedulerName="gangpool")
    entry = one(node("n1"), made | {"metadata": {"name": "j", "namespace": "ml", **metadata}}, indexed("j", 0))
    assert (entry.name, entry.created) == ("j", None)


def test_one_namespace_or_all() -> None:
    objects = [node("n1"), job("b"), job("a"), indexed("b", 0), indexed("a", 0, namespace="web"), indexed("a", 0)]
    assert [(e.namespace, e.name) for e in jobs(*objects)] == [("ml", "a"), ("ml", "b"), ("web", "a")]
    assert [e.name for e in jobs(*objects, space="web")] == ["a"]


def test_a_gang_that_only_its_pods_tell_of() -> None:
    pods = [pod(f"p-{i}", annotations={"scheduling.k8s.io/group-name": "g"}, created=MADE) for i in range(2)]
    entry = one(node("n1"), *pods)
    assert (entry.name, entry.kind, entry.members.exist, entry.created) == ("g", "", 2, MADE)
