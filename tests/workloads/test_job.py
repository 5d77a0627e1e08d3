"""Job and CronJob: when they are a gang, how many pods they have at a time."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core.model import Level
from gangpool.workloads import registry
from tests.workloads.objects import codes, names, obj, template, the_gang

INDEXED: dict[str, Any] = {"completionMode": "Indexed", "parallelism": 4, "completions": 4}


def job(
    annotations: dict[str, str] | None = None, on_template: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    return obj("batch/v1 Job", {"template": template(1, on_template), **spec}, annotations=annotations or {})


@pytest.mark.parametrize(
    ("found", "pods"),
    [
        (job(), 1),
        (job(parallelism=3), 3),
        (job(parallelism=20, completions=400), 20),
        (job(parallelism=5, completions=2), 2),
        (job(parallelism=0), 0),
    ],
)
def test_at_most_parallelism_pods_exist_and_come_one_by_one(found: dict[str, Any], pods: int) -> None:
    expansion = registry.expand(found)
    assert (expansion.gangs, len(expansion.members)) == ((), pods)
    assert all(key == "" for key, _ in expansion.members)


@pytest.mark.parametrize(
    ("found", "minimum", "total"),
    [
        # Indexed with as many pods as completions: ranks of one job.
        (job(**INDEXED), None, 4),
        # A minimum by annotation, on the Job or its template.
        (job({"gangpool.io/min-member": "3"}, parallelism=4), 3, 4),
        (job(None, {"gangpool.io/min-member": "3"}, parallelism=4), 3, 4),
        (job({"gangpool.io/min-member": "3"}, parallelism=4, completions=100), 3, 4),
        (job({"kai.scheduler/batch-min-member": "2"}, parallelism=4), 2, 4),
        (job({"scheduling.volcano.sh/group-min-member": "2"}, parallelism=4), 2, 4),
        (job({"kueue.x-k8s.io/job-min-parallelism": "2"}, **INDEXED), 2, 4),
        # Kueue admits a podset with a topology whole.
        (job(None, {"kueue.x-k8s.io/podset-required-topology": "rack"}, parallelism=4), None, 4),
    ],
)
def test_gangs(found: dict[str, Any], minimum: int | None, total: int) -> None:
    gang = the_gang(found)
    assert (gang.key, gang.minimum, gang.total, gang.error) == ("ml/a", minimum, total, "")
    assert all(key == "ml/a" for key, _ in registry.expand(found).members)


@pytest.mark.parametrize(
    "found",
    [
        job(completionMode="Indexed", parallelism=1, completions=1),
        job(completionMode="Indexed", parallelism=2, completions=4),
        job(completionMode="NonIndexed", parallelism=4, completions=4),
        job(None, {"kueue.x-k8s.io/podset-required-topology": "rack"}, parallelism=1),
    ],
)
def test_no_gangs(found: dict[str, Any]) -> None:
    assert registry.expand(found).gangs == ()


def test_a_minimum_above_the_pods_names_the_annotation() -> None:
    found = registry.expand(job({"gangpool.io/min-member": "5"}, parallelism=4))
    assert found.gangs[0].error.startswith("metadata.annotations[gangpool.io/min-member]: is 5")
    assert codes(found) == [("invalid-object", "metadata.annotations[gangpool.io/min-member]")]


def test_indexed_pods_carry_their_index_and_their_job() -> None:
    found = registry.expand(job(**INDEXED))
    assert names(found) == ["a-0", "a-1", "a-2", "a-3"]
    metadata = found.members[2][1].pod["metadata"]
    assert metadata["annotations"]["batch.kubernetes.io/job-completion-index"] == "2"
    assert metadata["labels"]["batch.kubernetes.io/job-completion-index"] == "2"
    assert metadata["labels"]["batch.kubernetes.io/job-name"] == metadata["labels"]["job-name"] == "a"
    assert metadata["ownerReferences"][0]["kind"] == "Job"


@pytest.mark.parametrize("found", [job(suspend=True, parallelism=2), job(suspend=True, **INDEXED)])
def test_a_suspended_job_waits_as_a_whole(found: dict[str, Any]) -> None:
    gang = the_gang(found)
    assert gang.suspended
    assert {key for key, _ in registry.expand(found).members} == {"ml/a"}


def test_a_group_that_the_template_names_goes_before_the_job() -> None:
    named = job(None, {"scheduling.k8s.io/group-name": "team"}, **INDEXED)
    found = registry.expand(named)
    assert found.gangs == (), "the PodGroup says the rest"
    assert {key for key, _ in found.members} == {"ml/team"}
    named["spec"]["suspend"] = True
    assert registry.expand(named).members == (), "a suspended job has no pods, and no gang of its own to wait"


def test_a_cron_job_is_one_run() -> None:
    inner = {"template": template(1), **INDEXED}
    cron = obj("batch/v1 CronJob", {"schedule": "@daily", "jobTemplate": {"spec": inner}}, "nightly")
    found = registry.expand(cron)
    assert names(found) == ["nightly-0", "nightly-1", "nightly-2", "nightly-3"]
    assert found.members[0][1].template_path == "spec.jobTemplate.spec.template"
    assert not found.gangs[0].suspended
    cron["spec"]["suspend"] = True
    assert the_gang(cron).suspended


def test_levels_queue_and_class_of_a_gang() -> None:
    found = job(None, {"kueue.x-k8s.io/podset-required-topology": "rack"}, **INDEXED)
    found["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q", "priorityClassName": "train"}
    gang = the_gang(found)
    assert (gang.required, gang.queue, gang.priority_class) == (Level(key="rack"), "q", "train")


def test_a_name_may_be_generated() -> None:
    found = job(parallelism=1)
    found["metadata"] = {"generateName": "run-"}
    assert names(registry.expand(found)) == ["run-0-0"]
    assert registry.expand(found).members[0][1].pod["metadata"]["namespace"] == "default"


def test_templates() -> None:
    assert [path for path, _ in registry.templates(job())] == ["spec.template"]
    cron = obj("batch/v1 CronJob", {"jobTemplate": {"spec": {"template": template(1)}}})
    ((path, found),) = registry.templates(cron)
    assert (path, found) == ("spec.jobTemplate.spec.template", template(1))
