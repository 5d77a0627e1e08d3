"""Levels in annotations, for pod templates of any kind."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core.model import Block, Level
from gangpool.workloads import levels, registry
from gangpool.workloads.base import GangOf, WorkloadError
from tests.workloads.objects import codes, obj, task, template, the_gang, vcjob

KUEUE = "kueue.x-k8s.io/podset-"
RACK, ZONE = Level(key="rack"), Level(key="zone")


@pytest.mark.parametrize(
    ("annotations", "required", "preferred", "blocks"),
    [
        ({"gangpool.io/required-topology": "rack"}, RACK, (), ()),
        # Nearest first: the order is kept.
        ({"gangpool.io/preferred-topology": "rack, zone"}, None, (RACK, ZONE), ()),
        ({"gangpool.io/block-size": "4", "gangpool.io/block-topology": "rack"}, None, (), (Block(4, RACK),)),
        ({f"{KUEUE}required-topology": "rack"}, RACK, (), ()),
        ({f"{KUEUE}preferred-topology": "rack"}, None, (RACK,), ()),
        ({f"{KUEUE}unconstrained-topology": "true"}, None, (), ()),
        (
            {f"{KUEUE}required-topology": "zone", f"{KUEUE}slice-required-topology": "rack", f"{KUEUE}slice-size": "2"},
            ZONE,
            (),
            (Block(2, RACK),),
        ),
        (
            {
                f"{KUEUE}slice-required-topology-constraints": (
                    '[{"topology": "zone", "size": "8"}, {"topology": "rack", "size": 2}]'
                )
            },
            None,
            (),
            (Block(8, ZONE), Block(2, RACK)),
        ),
        (
            {
                "kai.scheduler/topology": "fabric",
                "kai.scheduler/topology-required-placement": "zone",
                "kai.scheduler/topology-preferred-placement": "rack",
                "kai.scheduler/segment-size": "2",
                "kai.scheduler/segment-topology-required-placement": "rack",
            },
            Level(key="zone", topology="fabric"),
            (Level(key="rack", topology="fabric"),),
            (Block(2, Level(key="rack", topology="fabric")),),
        ),
        ({"volcano.sh/network-topology-mode": "hard"}, Level(tier=1), (), ()),
        ({"volcano.sh/network-topology-highest-tier": "2"}, Level(tier=2), (), ()),
        (
            {"volcano.sh/network-topology-mode": "Soft", "volcano.sh/network-topology-highest-tier": "2"},
            None,
            (Level(tier=2),),
            (),
        ),
        ({"prometheus.io/scrape": "true"}, None, (), ()),
    ],
)
def test_annotations_of_a_template(
    annotations: dict[str, str], required: Level | None, preferred: tuple[Level, ...], blocks: tuple[Block, ...]
) -> None:
    asks = levels.of_template(annotations, "spec.template")
    assert (asks.required, asks.preferred, asks.blocks, asks.notes) == (required, preferred, blocks, ())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("gangpool.io/block-size", "four"),
        ("gangpool.io/block-size", "0"),
        (f"{KUEUE}slice-size", "-1"),
        (f"{KUEUE}slice-required-topology-constraints", "[{"),
        (f"{KUEUE}slice-required-topology-constraints", '[{"topology": "rack"}]'),
        (f"{KUEUE}slice-required-topology-constraints", "[" * 100_000),
        ("kai.scheduler/segment-size", ""),
        ("volcano.sh/network-topology-highest-tier", "near"),
    ],
)
def test_a_value_that_cannot_be_read_names_the_annotation(key: str, value: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        levels.of_template({key: value}, "spec.template")
    assert caught.value.field == f"spec.template.metadata.annotations[{key}]"


def gang_job(on_template: dict[str, str], **metadata: Any) -> dict[str, Any]:
    spec = {"parallelism": 4, "completions": 4, "completionMode": "Indexed", "template": template(1, on_template)}
    return obj("batch/v1 Job", spec, **metadata)


def test_two_required_levels_are_a_conflict_and_the_first_counts() -> None:
    found = registry.expand(gang_job({"gangpool.io/required-topology": "rack", f"{KUEUE}required-topology": "zone"}))
    assert found.gangs[0].required == RACK
    assert codes(found) == [("level-conflict", "spec.template.metadata.annotations")]
    same = registry.expand(gang_job({"gangpool.io/required-topology": "rack", f"{KUEUE}required-topology": "rack"}))
    assert codes(same) == []


def test_the_object_and_its_template_may_both_speak() -> None:
    job = gang_job({f"{KUEUE}preferred-topology": "rack"}, annotations={"gangpool.io/required-topology": "zone"})
    assert (the_gang(job).required, the_gang(job).preferred) == (ZONE, (RACK,))
    clash = gang_job({f"{KUEUE}required-topology": "rack"}, annotations={"gangpool.io/required-topology": "zone"})
    assert the_gang(clash).required == ZONE
    assert codes(registry.expand(clash)) == [("level-conflict", "spec.template.metadata.annotations")]


@pytest.mark.parametrize(
    "annotations",
    [
        {"gangpool.io/block-size": "4"},
        {"gangpool.io/block-topology": "rack"},
        {f"{KUEUE}slice-required-topology": "rack"},
    ],
)
def test_half_a_block_is_no_block(annotations: dict[str, str]) -> None:
    found = registry.expand(gang_job(annotations))
    assert found.gangs[0].blocks == ()
    assert [code for code, _ in codes(found)] == ["level-incomplete"]


def test_what_blocks_cannot_say_is_a_finding() -> None:
    wished = gang_job({"kai.scheduler/segment-size": "2", "kai.scheduler/segment-topology-preferred-placement": "rack"})
    uneven = gang_job({f"{KUEUE}slice-required-topology-constraints": '[{"topology": "rack", "sizes": [1, 3]}]'})
    for job in (wished, uneven):
        assert [code for code, _ in codes(registry.expand(job))] == ["not-supported"]
        assert registry.expand(job).gangs[0].blocks == ()


def roles(first: dict[str, str], second: dict[str, str]) -> dict[str, Any]:
    return vcjob({"name": "x", "template": template(0, first)}, {"name": "y", "template": template(0, second)})


def test_with_several_roles_a_template_speaks_for_its_own() -> None:
    job = roles(
        {f"{KUEUE}required-topology": "rack"},
        {f"{KUEUE}slice-required-topology": "rack", f"{KUEUE}slice-size": "2", f"{KUEUE}preferred-topology": "zone"},
    )
    gang = the_gang(job)
    assert gang.required is None
    assert gang.role_levels == (("x", RACK),)
    assert gang.blocks == (("y", Block(2, RACK)),)
    assert gang.preferred == (ZONE,)


def test_a_podset_group_over_all_roles_is_the_whole_gang() -> None:
    together = {f"{KUEUE}required-topology": "rack", f"{KUEUE}group-name": "g"}
    gang = the_gang(roles(together, together))
    assert (gang.required, gang.role_levels) == (RACK, ())
    apart = registry.expand(roles(together, {}))
    assert apart.gangs[0].role_levels == (("x", RACK),)
    assert [code for code, _ in codes(apart)] == ["not-supported"]


def test_the_field_of_a_volcano_job_goes_before_its_annotations() -> None:
    job = vcjob(task(), networkTopology={"mode": "hard", "highestTierAllowed": 1})
    job["metadata"]["annotations"] = {"gangpool.io/required-topology": "rack"}
    assert the_gang(job).required == Level(tier=1)
    assert [code for code, _ in codes(registry.expand(job))] == ["level-conflict"]


def test_pods_speak_for_a_group_that_says_nothing() -> None:
    asked = levels.of_template({"gangpool.io/required-topology": "rack"}, "")
    silent = GangOf(key="ml/a", minimum=2)
    assert levels.of_pods(silent, {"": asked})[0].required == RACK
    assert levels.of_pods(silent, {"m": asked, "w": levels.Asks()})[0].role_levels == (("m", RACK),)
    assert levels.of_pods(GangOf(key="ml/a", minimum=2, required=ZONE), {"": asked})[0].required == ZONE
    half, notes = levels.of_pods(silent, {"": levels.of_template({"gangpool.io/block-topology": "rack"}, "")})
    assert (half, [code for _, code, _ in notes]) == (silent, ["level-incomplete"])


def test_only_pods_with_a_level_are_read() -> None:
    assert levels.is_marked({f"{KUEUE}required-topology": "rack"})
    assert not levels.is_marked({"prometheus.io/scrape": "true"})
