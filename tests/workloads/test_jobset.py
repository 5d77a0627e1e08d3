"""JobSet: roles, ranks, labels, and what levels mean for child jobs."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core.model import Block, Level, Role
from gangpool.workloads import registry
from tests.workloads.objects import codes, names, obj, template, the_gang

KUEUE = "kueue.x-k8s.io/podset-"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
RACK, SPINE = Level(key="rack"), Level(key="spine")


def replicated(
    name: str = "w", jobs: int = 2, pods: int = 2, annotations: dict[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    job = {"parallelism": pods, "completions": pods, "template": template(1, annotations)}
    return {"name": name, "replicas": jobs, "template": {"spec": job}, **more}


def jobset(*jobs: dict[str, Any], annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return obj("jobset.x-k8s.io/v1alpha2 JobSet", {"replicatedJobs": list(jobs), **spec}, annotations=annotations or {})


def test_roles_are_replicated_jobs_and_ranks_count_jobs_then_indexes() -> None:
    found = registry.expand(jobset(replicated("driver", 1, 1), replicated("w", 2, 2)))
    assert names(found) == ["a-driver-0-0", "a-w-0-0", "a-w-0-1", "a-w-1-0", "a-w-1-1"]
    assert [spec.rank for _, spec in found.members] == [0, 1, 2, 3, 4]
    gang = found.gangs[0]
    assert (gang.minimum, gang.total, gang.roles) == (None, 5, (Role("driver", 1), Role("w", 4)))


def test_labels_of_the_controller() -> None:
    coordinator = {"replicatedJob": "driver", "jobIndex": 0, "podIndex": 0}
    found = registry.expand(jobset(replicated("driver", 1, 1), replicated("w", 2, 2), coordinator=coordinator))
    labels = found.members[3][1].pod["metadata"]["labels"]
    assert found.members[3][1].pod["metadata"]["annotations"].items() >= {
        ("jobset.sigs.k8s.io/job-index", "1"),
        ("batch.kubernetes.io/job-completion-index", "0"),
    }
    prefix = "jobset.sigs.k8s.io/"
    assert {k.removeprefix(prefix): v for k, v in labels.items() if k.startswith(prefix)} == {
        "jobset-name": "a",
        "replicatedjob-name": "w",
        "replicatedjob-replicas": "2",
        "global-replicas": "3",
        "job-index": "1",
        "job-global-index": "2",
        "job-group-index": "2",
        "group-name": "default",
        "group-replicas": "3",
        # SHA-1 of namespace/job, as the controller hashes it.
        "job-key": "b4416c0001d6810aabd8c65de6d04b28c83c0b4a",
        "coordinator": "a-driver-0-0.a",
    }
    assert labels["batch.kubernetes.io/job-name"] == "a-w-1"


def test_groups_of_replicated_jobs_count_for_themselves() -> None:
    found = registry.expand(
        jobset(replicated("x", 1, 1, groupName="g"), replicated("y", 1, 1), replicated("z", 2, 1, groupName="g"))
    )
    counted = [
        tuple(
            spec.pod["metadata"]["labels"][f"jobset.sigs.k8s.io/{key}"] for key in ("group-replicas", "job-group-index")
        )
        for _, spec in found.members
    ]
    assert counted == [("3", "0"), ("1", "0"), ("3", "1"), ("3", "2")]


@pytest.mark.parametrize(
    ("found", "required", "blocks", "role_levels", "exclusive"),
    [
        # Kueue's podset is the whole replicated job: all its child jobs in one rack.
        (jobset(replicated(annotations={f"{KUEUE}required-topology": "rack"})), RACK, (), (), ""),
        # Exclusive: a rack for each child job, so the same required rack means the child job.
        (
            jobset(replicated(annotations={f"{KUEUE}required-topology": "rack"}), annotations={EXCLUSIVE: "rack"}),
            None,
            (("", Block(2, RACK)),),
            (),
            "rack",
        ),
        # Another level keeps Kueue's meaning beside it.
        (
            jobset(replicated(annotations={f"{KUEUE}required-topology": "spine"}), annotations={EXCLUSIVE: "rack"}),
            SPINE,
            (("", Block(2, RACK)),),
            (),
            "rack",
        ),
        # A slice level without a size: slices of one child job.
        (
            jobset(replicated(annotations={f"{KUEUE}slice-required-topology": "rack"})),
            None,
            (("", Block(2, RACK)),),
            (),
            "",
        ),
        # With several replicated jobs each speaks for itself.
        (
            jobset(
                replicated("x", annotations={f"{KUEUE}required-topology": "rack"}),
                {
                    **replicated("y"),
                    "template": {**replicated()["template"], "metadata": {"annotations": {EXCLUSIVE: "rack"}}},
                },
            ),
            None,
            (("y", Block(2, RACK)),),
            (("x", RACK),),
            "rack",
        ),
    ],
)
def test_levels(
    found: dict[str, Any], required: Level | None, blocks: object, role_levels: object, exclusive: str
) -> None:
    gang = the_gang(found)
    assert (gang.required, gang.blocks, gang.role_levels, gang.exclusive) == (required, blocks, role_levels, exclusive)


@pytest.mark.parametrize(
    ("found", "later"),
    [
        (jobset(replicated("x"), replicated("y", dependsOn=[{"name": "x", "status": "Complete"}])), ("y",)),
        (jobset(replicated("x"), replicated("y"), startupPolicy={"startupPolicyOrder": "InOrder"}), ("y",)),
        (jobset(replicated("x"), replicated("y"), startupPolicy={"startupPolicyOrder": "AnyOrder"}), ()),
    ],
)
def test_what_comes_later_does_not_hold_up_the_start(found: dict[str, Any], later: tuple[str, ...]) -> None:
    assert the_gang(found).optional_roles == later


def test_a_minimum_by_annotation_counts_all_roles() -> None:
    gang = the_gang(jobset(replicated("x"), replicated("y"), annotations={"kai.scheduler/batch-min-member": "6"}))
    assert (gang.minimum, gang.roles) == (6, (Role("x"), Role("y")))
    short = the_gang(jobset(replicated("x"), annotations={"gangpool.io/min-member": "6"}))
    assert short.error.startswith("metadata.annotations[gangpool.io/min-member]: is 6")


def test_suspended_and_too_long() -> None:
    assert the_gang(jobset(replicated(), suspend=True)).suspended
    long = jobset(replicated("w" * 30))
    long["metadata"]["name"] = "j" * 25
    # j…-w…-1-1-xxxxx: 25 + 30 + 2 separators and 5 of the indexes, 6 of the random suffix.
    assert the_gang(long).error.startswith("metadata.name: leaves no room")
    long["metadata"]["name"] = "j" * 20
    assert the_gang(long).error == ""


def test_two_replicated_jobs_of_one_name_are_a_contradiction() -> None:
    found = registry.expand(jobset(replicated("w"), replicated("w")))
    assert codes(found) == [("invalid-object", "spec.replicatedJobs[1].name")]
    assert found.gangs[0].error


def test_the_selector_strategy_is_a_finding() -> None:
    found = jobset(replicated(), annotations={"alpha.jobset.sigs.k8s.io/node-selector": "true"})
    assert codes(registry.expand(found)) == [
        ("not-supported", "metadata.annotations[alpha.jobset.sigs.k8s.io/node-selector]")
    ]


def test_templates() -> None:
    assert [path for path, _ in registry.templates(jobset(replicated("x"), replicated("y")))] == [
        "spec.replicatedJobs[0].template.spec.template",
        "spec.replicatedJobs[1].template.spec.template",
    ]
