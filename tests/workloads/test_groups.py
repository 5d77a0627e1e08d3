"""Group objects of four dialects, and pods that name them."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core.model import Block, Level, Role
from gangpool.workloads import registry
from tests.workloads.objects import Objects, codes, obj, pod, the_gang

VOLCANO = "scheduling.volcano.sh/v1beta1 PodGroup"
KAI = "scheduling.run.ai/v2alpha2 PodGroup"
NATIVE = "scheduling.k8s.io/v1beta1 PodGroup"


@pytest.mark.parametrize(
    ("group", "minimum"),
    [
        (obj(VOLCANO, {"minMember": 3}), 3),
        (obj(VOLCANO, {}), 1),
        (obj(VOLCANO, {"minMember": 0}), 1),
        (obj("scheduling.x-k8s.io/v1alpha1 PodGroup", {"minMember": 3}), 3),
        (obj("scheduling.x-k8s.io/v1alpha1 PodGroup", {}), 1),
        (obj(KAI, {"minMember": 3}), 3),
        (obj(NATIVE, {"schedulingPolicy": {"gang": {"minCount": 3}}}), 3),
        # Policy basic: no gang, each pod may start alone.
        (obj(NATIVE, {"schedulingPolicy": {"basic": {}}}), 1),
    ],
)
def test_the_same_group_in_four_dialects(group: dict[str, Any], minimum: int) -> None:
    gang = the_gang(group)
    assert (gang.key, gang.minimum, gang.error) == ("ml/a", minimum, "")
    assert registry.gang_of(group) == gang
    assert registry.expand(group).members == ()


@pytest.mark.parametrize("kind", [VOLCANO, "scheduling.x-k8s.io/v1alpha1 PodGroup", KAI, NATIVE])
def test_a_group_may_carry_our_annotations(kind: str) -> None:
    notes = {
        "gangpool.io/required-topology": "zone",
        "gangpool.io/block-size": "2",
        "gangpool.io/block-topology": "rack",
    }
    gang = the_gang(obj(kind, {}, annotations=notes))
    assert (gang.required, gang.blocks) == (Level(key="zone"), (("", Block(2, Level(key="rack"))),))


def test_volcano_group_with_tasks_levels_and_subgroups() -> None:
    selector = {"matchLabels": {"volcano.sh/task-spec": "w"}}
    policy = {"subGroupSize": 2, "minSubGroups": 2, "labelSelector": selector, "networkTopology": {"mode": "hard"}}
    spec = {
        "minMember": 5,
        "minTaskMember": {"m": 1},
        "queue": "q",
        "priorityClassName": "high",
        "networkTopology": {"mode": "soft", "highestTierAllowed": 2},
        "subGroupPolicy": [policy],
    }
    gang = the_gang(obj(VOLCANO, spec))
    assert gang.roles == (Role("m", 1), Role("w", 4))
    assert gang.blocks == (("w", Block(2, Level(tier=1))),)
    assert (gang.required, gang.preferred) == (None, (Level(tier=2),))
    assert (gang.queue, gang.priority_class) == ("q", "high")


def test_volcano_subgroups_that_cannot_be_said_are_findings() -> None:
    by_other = {"labelSelector": {"matchLabels": {"x": "y"}}, "networkTopology": {"mode": "hard"}}
    soft = {"subGroupSize": 2, "networkTopology": {"mode": "soft"}}
    found = registry.expand(obj(VOLCANO, {"minMember": 2, "subGroupPolicy": [by_other, soft]}))
    assert found.gangs[0].blocks == ()
    assert codes(found) == [
        ("not-supported", "spec.subGroupPolicy[0].labelSelector"),
        ("not-supported", "spec.subGroupPolicy[1].networkTopology.mode"),
    ]


@pytest.mark.parametrize(
    ("name", "owner", "key"),
    [
        ("train-0a1b", ("batch.volcano.sh/v1alpha1", "Job", "train"), "ml/train"),
        ("ray-rl-pg", ("ray.io/v1", "RayCluster", "rl"), "ml/rl"),
        ("llm-1-dd6699c7c", ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "llm"), "ml/llm-1"),
        ("sft", ("kubeflow.org/v1", "PyTorchJob", "sft"), "ml/sft"),
        ("podgroup-77", ("apps/v1", "ReplicaSet", "web-1"), "ml/podgroup-77"),
    ],
)
def test_a_group_made_for_a_workload_has_the_workloads_key(name: str, owner: tuple[str, str, str], key: str) -> None:
    reference = dict(zip(("apiVersion", "kind", "name"), owner, strict=True))
    assert the_gang(obj(VOLCANO, {"minMember": 2}, name, ownerReferences=[reference])).key == key


def test_kai_subgroups_are_roles_with_levels() -> None:
    spec = {
        "queue": "team",
        "topologyConstraint": {
            "topology": "fabric",
            "requiredTopologyLevel": "spine",
            "preferredTopologyLevel": "leaf",
        },
        "subGroups": [
            {"name": "prefill", "minMember": 2, "topologyConstraint": {"requiredTopologyLevel": "rack"}},
            {"name": "decode", "minMember": 3},
        ],
    }
    gang = the_gang(obj(KAI, spec))
    assert gang.minimum == 5
    assert gang.roles == (Role("prefill", 2), Role("decode", 3))
    assert gang.required == Level(key="spine", topology="fabric")
    assert gang.preferred == (Level(key="leaf", topology="fabric"),)
    assert gang.role_levels == (("prefill", Level(key="rack")),)
    assert gang.queue == "team"


def test_a_kai_tree_is_flattened_with_findings() -> None:
    spec = {
        "minSubGroup": 1,
        "subGroups": [
            {"name": "top", "topologyConstraint": {"requiredTopologyLevel": "rack"}},
            {"name": "leaf", "parent": "top", "minMember": 2},
        ],
    }
    found = registry.expand(obj(KAI, spec))
    assert found.gangs[0].roles == (Role("leaf", 2),)
    assert codes(found) == [
        ("not-supported", "spec.subGroups[0].topologyConstraint"),
        ("not-supported", "spec.minSubGroup"),
    ]


def test_native_group_has_a_required_level_and_a_priority_class() -> None:
    spec = {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "priorityClassName": "high",
    }
    gang = the_gang(obj(NATIVE, spec))
    assert (gang.required, gang.priority_class) == (Level(key="rack"), "high")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}}, "spec.schedulingConstraints.topology"),
        ({"schedulingPolicy": {"basic": {}, "gang": {"minCount": 2}}}, "spec.schedulingPolicy"),
    ],
)
def test_native_contradictions(spec: dict[str, Any], field: str) -> None:
    assert the_gang(obj(NATIVE, spec)).error.startswith(f"{field}: ")


@pytest.mark.parametrize(
    "reference",
    [
        {"workloadRef": {"workloadName": "w", "templateName": "t"}},
        {"podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}},
    ],
)
def test_a_native_group_without_a_policy_takes_its_templates(reference: dict[str, Any]) -> None:
    policy = {"name": "t", "schedulingPolicy": {"gang": {"minCount": 4}}}
    workload = obj("scheduling.k8s.io/v1beta1 Workload", {"podGroupTemplates": [{"name": "x"}, policy]}, "w")
    assert the_gang(obj(NATIVE, reference), Objects([workload])).minimum == 4
    assert registry.expand(workload).gangs == (), "a template is no gang"


def test_a_workload_of_1_35_defines_a_gang_per_group_and_replica_key() -> None:
    groups = [{"name": "driver", "policy": {"basic": {}}}, {"name": "w", "policy": {"gang": {"minCount": 2}}}]
    workload = obj("scheduling.k8s.io/v1alpha1 Workload", {"podGroups": groups})
    assert [(g.key, g.minimum) for g in registry.gangs_of(workload)] == [("ml/a-driver", 1), ("ml/a-w", 2)]
    found, _ = registry.link(pod(workloadRef={"name": "a", "podGroup": "w", "podGroupReplicaKey": "r7"}))
    assert found is not None
    assert found.key == "ml/a-w-r7"
    gang, findings = registry.resolve(found, "ml", Objects([workload]))
    assert gang is not None
    assert (gang.key, gang.minimum, findings) == ("ml/a-w-r7", 2, ())


@pytest.mark.parametrize(
    ("group", "field"),
    [
        (obj("scheduling.k8s.io/v1alpha3 CompositePodGroup", {}), "spec.schedulingPolicy"),
        (obj(NATIVE, {"parentCompositePodGroupName": "top"}), "spec.parentCompositePodGroupName"),
        (obj(NATIVE, {"resourceClaims": [{"name": "c"}]}), "spec.resourceClaims"),
        (
            obj("scheduling.k8s.io/v1beta1 Workload", {"compositePodGroupTemplates": [{"name": "x"}]}),
            "spec.compositePodGroupTemplates",
        ),
    ],
)
def test_what_one_gang_cannot_say_is_a_finding(group: dict[str, Any], field: str) -> None:
    assert codes(registry.expand(group)) == [("not-supported", field)]


def test_the_unversioned_word_podgroup_is_told_apart_by_its_api_group() -> None:
    kinds = {registry.dialect_of(obj(kind, {})) for kind in (VOLCANO, KAI, NATIVE, "scheduling.x-k8s.io/v1 PodGroup")}
    assert {dialect.name for dialect in kinds if dialect} == {"volcano-group", "kai", "native", "coscheduling"}
