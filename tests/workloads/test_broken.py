"""Whatever stands in a manifest: an answer or a WorkloadError with a field, never another exception."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangpool.objects.pod import Pod
from gangpool.workloads import registry
from gangpool.workloads.base import WorkloadError
from tests.workloads.objects import EXAMPLES, Objects, manifests, obj, task, template, vcjob

PATHS = sorted(str(p.relative_to(EXAMPLES)) for folder in ("seed", "workloads") for p in (EXAMPLES / folder).iterdir())
RARE: list[dict[str, Any]] = [
    obj(
        "scheduling.run.ai/v2alpha2 PodGroup",
        {
            "minMember": 2,
            "topologyConstraint": {"topology": "t", "requiredTopologyLevel": "rack"},
            "subGroups": [{"name": "x", "minMember": 1, "parent": "y", "topologyConstraint": {"topology": "t"}}],
        },
    ),
    obj(
        "scheduling.k8s.io/v1beta1 PodGroup",
        {
            "workloadRef": {"workloadName": "w", "templateName": "t"},
            "schedulingPolicy": {"gang": {"minCount": 3}},
            "schedulingConstraints": {"topology": [{"key": "rack"}]},
        },
    ),
    obj(
        "scheduling.k8s.io/v1alpha1 Workload",
        {"podGroups": [{"name": "g", "policy": {"gang": {"minCount": 2}}}], "compositePodGroupTemplates": [{}]},
    ),
    obj(
        "scheduling.volcano.sh/v1beta1 PodGroup",
        {
            "minMember": 4,
            "minTaskMember": {"w": 2},
            "networkTopology": {"mode": "hard", "highestTierAllowed": 2},
            "subGroupPolicy": [{"subGroupSize": 2, "labelSelector": {"matchLabels": {}}, "networkTopology": {}}],
        },
        ownerReferences=[{"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "r", "controller": True}],
    ),
    obj("scheduling.x-k8s.io/v1alpha1 PodGroup", {"minMember": 3}),
    vcjob(
        task(partitionPolicy={"totalPartitions": 2, "partitionSize": 1, "networkTopology": {"mode": "hard"}}),
        task("b", dependsOn={"name": ["worker"]}, minAvailable=1),
        volumes=[{"volumeClaimName": "data"}],
        minMember=2,
    ),
    obj(
        "trainer.kubeflow.org/v1alpha1 TrainJob",
        {
            "runtimeRef": {"name": "torch", "kind": "TrainingRuntime"},
            "trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {"cpu": 1}}},
            "podTemplateOverrides": [{"targetJobs": [{"name": "node"}], "spec": {"nodeSelector": {"a": "b"}}}],
            "runtimePatches": [
                {"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {}}]}}}}
            ],
        },
    ),
    obj(
        "ray.io/v1 RayJob",
        {
            "submitterPodTemplate": template(),
            "rayClusterSpec": {
                "enableInTreeAutoscaling": True,
                "autoscalerOptions": {"resources": {}},
                "headGroupSpec": {"template": template()},
                "workerGroupSpecs": [{"groupName": "g", "replicas": 1, "numOfHosts": 2, "template": template(8)}],
            },
        },
    ),
    obj("apps/v1 DaemonSet", {"template": template(tolerations=[])}),
    obj(
        "batch/v1 Job",
        {
            "parallelism": 4,
            "completions": 4,
            "template": template(
                annotations={
                    "kueue.x-k8s.io/podset-slice-required-topology-constraints": '[{"topology": "rack", "size": "2"}]',
                    "kueue.x-k8s.io/podset-slice-size": "2",
                    "kai.scheduler/segment-size": "2",
                    "volcano.sh/network-topology-highest-tier": "1",
                    "gangpool.io/min-member": "2",
                }
            ),
        },
    ),
]
RUNTIME = obj(
    "trainer.kubeflow.org/v1alpha1 TrainingRuntime",
    {
        "mlPolicy": {"numNodes": 1},
        "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": template()}}}]}},
    },
    "torch",
)
SEEDS = [document for path in PATHS for document in manifests(path)] + RARE
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JUNK = st.recursive(
    SCALARS | st.sampled_from([-1, 10**9, 10**1000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside an object, itself included."""
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, inner in pairs for found in places(inner, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    """The object with other content at a path."""
    if not path:
        return junk
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], junk)
    return changed


@given(data=st.data())
def test_junk_anywhere_gives_an_answer_or_a_workload_error(data: st.DataObject) -> None:
    seed = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(places(seed)))
        seed = replaced(seed, path, data.draw(JUNK))
    try:
        found = registry.expand(seed, Objects([RUNTIME]))
        registry.gangs_of(seed)
    except WorkloadError as error:
        assert error.message
        return
    for _, spec in found.members:
        msgspec.convert(spec.pod, Pod)


@given(data=st.data())
def test_a_broken_runtime_is_a_workload_error_too(data: st.DataObject) -> None:
    (job,) = [o for o in RARE if o["kind"] == "TrainJob"]
    inner = [p for p in places(RUNTIME) if p[:1] == ("spec",)]
    runtime = replaced(RUNTIME, data.draw(st.sampled_from(inner)), data.draw(JUNK))
    try:
        registry.expand(job, Objects([runtime]))
    except WorkloadError as error:
        assert error.message


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"tasks": "two"}, "spec.tasks"),
        ({"tasks": []}, "spec.tasks"),
        ({"tasks": [3]}, "spec.tasks[0]"),
        ({"tasks": [{"replicas": "8", "template": template()}]}, "spec.tasks[0].replicas"),
        ({"tasks": [{"replicas": -1, "template": template()}]}, "spec.tasks[0].replicas"),
        ({"tasks": [{"replicas": 10**9, "template": template()}]}, "spec.tasks[0].replicas"),
        ({"tasks": [{"replicas": True, "template": template()}]}, "spec.tasks[0].replicas"),
        ({"tasks": [{"replicas": 1}]}, "spec.tasks[0].template"),
        ({"tasks": [{"replicas": 1, "template": {}}]}, "spec.tasks[0].template.spec"),
        (
            {"tasks": [{"template": {"spec": {"containers": [{"resources": {"limits": [1]}}]}}}]},
            "spec.tasks[0].template.spec.containers[0].resources.limits",
        ),
        ({"tasks": [task()], "networkTopology": {"mode": "warm"}}, "spec.networkTopology.mode"),
    ],
)
def test_the_field_at_fault_is_named(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        registry.expand(obj("batch.volcano.sh/v1alpha1 Job", spec))
    assert caught.value.field == field


def test_more_pods_than_any_pool_has_are_refused_before_they_are_made() -> None:
    jobs = [{"name": "w", "replicas": 90_000, "template": {"spec": {"parallelism": 90_000, "template": template()}}}]
    with pytest.raises(WorkloadError, match="at most 100000"):
        registry.expand(obj("jobset.x-k8s.io/v1alpha2 JobSet", {"replicatedJobs": jobs}))


def test_null_counts_as_absent() -> None:
    job = obj("batch/v1 Job", {"parallelism": None, "completions": None, "template": template(initContainers=None)})
    assert len(registry.expand(job).members) == 1


def test_what_is_no_workload_brings_nothing() -> None:
    assert registry.expand({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}).members == ()
    assert registry.templates({"apiVersion": "v1", "kind": "ConfigMap"}) == []
    with pytest.raises(WorkloadError):
        registry.expand([])  # type: ignore[arg-type]
