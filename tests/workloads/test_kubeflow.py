"""Training operator jobs, MPIJob, TrainJob."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core.model import Level, Role
from gangpool.workloads import registry
from tests.workloads.objects import Objects, codes, names, obj, template, the_gang


def job(kind: str, field: str, policy: dict[str, Any] | None = None, **types: Any) -> dict[str, Any]:
    specs = {name: {"replicas": n, "template": template(1)} for name, n in types.items() if isinstance(n, int)}
    rest = {name: value for name, value in types.items() if not isinstance(value, int)}
    return obj(f"kubeflow.org/v1 {kind}", {field: specs, "runPolicy": {"schedulingPolicy": policy or {}}, **rest})


def pytorch(policy: dict[str, Any] | None = None, **types: Any) -> dict[str, Any]:
    return job("PyTorchJob", "pytorchReplicaSpecs", policy, **types)


def mpi(version: str = "v2beta1", **spec: Any) -> dict[str, Any]:
    types = {"Launcher": {"template": template()}, "Worker": {"replicas": 2, "template": template(8)}}
    return obj(f"kubeflow.org/{version} MPIJob", {"mpiReplicaSpecs": types, **spec})


@pytest.mark.parametrize(
    ("found", "pods"),
    [
        # Master first, whatever the order in the manifest.
        (pytorch(Worker=2, Master=1), ["a-master-0", "a-worker-0", "a-worker-1"]),
        (
            job("TFJob", "tfReplicaSpecs", PS=1, Worker=1, Chief=1, Evaluator=1),
            ["a-chief-0", "a-worker-0", "a-ps-0", "a-evaluator-0"],
        ),
        (job("XGBoostJob", "xgbReplicaSpecs", Master=1, Worker=1), ["a-master-0", "a-worker-0"]),
        (job("PaddleJob", "paddleReplicaSpecs", Worker=2), ["a-worker-0", "a-worker-1"]),
        (job("JAXJob", "jaxReplicaSpecs", Worker=2), ["a-worker-0", "a-worker-1"]),
        (
            job("MXJob", "mxReplicaSpecs", Server=1, Worker=1, Scheduler=1),
            ["a-scheduler-0", "a-worker-0", "a-server-0"],
        ),
    ],
)
def test_every_kind_names_its_pods_and_starts_whole(found: dict[str, Any], pods: list[str]) -> None:
    expansion = registry.expand(found)
    assert names(expansion) == pods
    assert [spec.rank for _, spec in expansion.members] == list(range(len(pods)))
    gang = expansion.gangs[0]
    assert (gang.minimum, gang.total) == (None, len(pods))
    assert sum(role.minimum for role in gang.roles) == len(pods)


@pytest.mark.parametrize(
    ("found", "minimum", "roles"),
    [
        (pytorch({"minAvailable": 3}, Master=1, Worker=4), 3, (Role("master", 1), Role("worker", 0))),
        (pytorch({"minAvailable": 5}, Master=1, Worker=4), 5, (Role("master", 1), Role("worker", 4))),
        (pytorch(Worker=4, elasticPolicy={"minReplicas": 2}), 2, (Role("worker", 0),)),
        # The written minimum goes before the elastic one.
        (pytorch({"minAvailable": 3}, Worker=4, elasticPolicy={"minReplicas": 2}), 3, (Role("worker", 0),)),
    ],
)
def test_minimum(found: dict[str, Any], minimum: int, roles: tuple[Role, ...]) -> None:
    assert (the_gang(found).minimum, the_gang(found).roles) == (minimum, roles)


def test_a_minimum_above_the_replicas_and_a_long_name() -> None:
    field = "spec.runPolicy.schedulingPolicy.minAvailable"
    assert codes(registry.expand(pytorch({"minAvailable": 9}, Worker=4))) == [("invalid-object", field)]
    long = pytorch(Worker=4)
    long["metadata"]["name"] = "x" * 60
    assert the_gang(long).error.startswith("metadata.name: leaves no room")


def test_labels_of_the_operator() -> None:
    labels = [spec.pod["metadata"]["labels"] for _, spec in registry.expand(pytorch(Master=1, Worker=1)).members]
    prefix = "training.kubeflow.org/"
    assert labels[0] == {
        f"{prefix}operator-name": "pytorchjob-controller",
        f"{prefix}job-name": "a",
        f"{prefix}replica-type": "master",
        f"{prefix}replica-index": "0",
        f"{prefix}job-role": "master",
    }
    assert labels[1][f"{prefix}replica-type"] == "worker"
    assert f"{prefix}job-role" not in labels[1]


def test_queue_class_and_suspension() -> None:
    found = pytorch({"queue": "q", "priorityClass": "high"}, Worker=1)
    found["spec"]["runPolicy"]["suspend"] = True
    gang = the_gang(found)
    assert (gang.queue, gang.priority_class, gang.suspended) == ("q", "high", True)


def test_the_launcher_is_counted() -> None:
    found = registry.expand(mpi())
    assert names(found) == ["a-worker-0", "a-worker-1", "a-launcher"]
    gang = found.gangs[0]
    assert (gang.minimum, gang.total, gang.optional_roles) == (None, 3, ())
    assert gang.roles == (Role("worker", 2), Role("launcher", 1))


def test_a_launcher_that_waits_for_the_workers_is_optional() -> None:
    assert the_gang(mpi(launcherCreationPolicy="WaitForWorkersReady")).optional_roles == ("launcher",)
    assert the_gang(mpi(launcherCreationPolicy="AtStartup")).optional_roles == ()


def test_a_launcher_that_works_is_rank_0() -> None:
    found = registry.expand(mpi(runLauncherAsWorker=True))
    assert [(name, spec.rank) for name, (_, spec) in zip(names(found), found.members, strict=True)] == [
        ("a-launcher", 0),
        ("a-worker-0", 1),
        ("a-worker-1", 2),
    ]


@pytest.mark.parametrize(
    ("version", "owner", "operator"), [("v2beta1", "Job", "mpi-operator"), ("v1", "MPIJob", "mpijob-controller")]
)
def test_both_operators_make_the_launcher_their_way(version: str, owner: str, operator: str) -> None:
    launcher = registry.expand(mpi(version)).members[2][1].pod["metadata"]
    assert launcher["ownerReferences"][0]["kind"] == owner
    assert launcher["labels"]["training.kubeflow.org/operator-name"] == operator
    assert launcher["labels"]["training.kubeflow.org/job-role"] == "launcher"


def test_templates() -> None:
    assert [path for path, _ in registry.templates(mpi())] == [
        "spec.mpiReplicaSpecs.Launcher.template",
        "spec.mpiReplicaSpecs.Worker.template",
    ]


def train(**spec: Any) -> dict[str, Any]:
    trainer = {"numNodes": 3, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}
    runtime = {"name": "torch", "kind": "TrainingRuntime"}
    return obj("trainer.kubeflow.org/v1alpha1 TrainJob", {"runtimeRef": runtime, "trainer": trainer, **spec})


def runtime(*jobs: dict[str, Any], **spec: Any) -> dict[str, Any]:
    body = {"template": {"metadata": {"annotations": {"x": "y"}}, "spec": {"replicatedJobs": list(jobs)}}, **spec}
    return obj("trainer.kubeflow.org/v1alpha1 TrainingRuntime", body, "torch")


def step(name: str, container: str = "node", label: str = "trainer", **more: Any) -> dict[str, Any]:
    pods = {"spec": {"containers": [{"name": container}]}}
    metadata = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": label}}
    return {"name": name, "template": {"metadata": metadata, "spec": {"template": pods}}, **more}


def test_a_train_job_is_the_job_set_of_its_runtime() -> None:
    initializer = step("dataset-initializer", "dataset-initializer", "dataset-initializer")
    node = step("node", dependsOn=[{"name": "dataset-initializer", "status": "Complete"}])
    found = registry.expand(train(), Objects([runtime(initializer, node)]))
    assert names(found) == ["a-dataset-initializer-0-0", "a-node-0-0", "a-node-0-1", "a-node-0-2"]
    gang = found.gangs[0]
    assert gang.roles == (Role("dataset-initializer", 1), Role("node", 3))
    assert gang.optional_roles == ("node",)
    specs = [spec.pod["spec"]["containers"][0] for _, spec in found.members]
    assert [s.get("resources") for s in specs] == [None, *[{"limits": {"nvidia.com/gpu": 8}}] * 3]
    assert codes(found) == []


def test_the_runtime_counts_where_the_job_says_nothing() -> None:
    quiet = train(trainer={})
    policy = {
        "mlPolicy": {"numNodes": 2},
        "podGroupPolicy": {"volcano": {"networkTopology": {"highestTierAllowed": 1}}},
    }
    gang = the_gang(quiet, Objects([runtime(step("node"), **policy)]))
    assert (gang.total, gang.required) == (2, Level(tier=1))


def test_an_mpi_launcher_that_trains_is_one_of_the_nodes() -> None:
    policy = {"mlPolicy": {"mpi": {"runLauncherAsNode": True}}}
    found = registry.expand(train(), Objects([runtime(step("launcher"), step("node", label=""), **policy)]))
    assert names(found) == ["a-launcher-0-0", "a-node-0-0", "a-node-0-1"]
    assert all(spec.pod["spec"]["containers"][0]["resources"] for _, spec in found.members)


@pytest.mark.parametrize(
    "override",
    [
        {
            "podTemplateOverrides": [
                {
                    "targetJobs": [{"name": "node"}],
                    "metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}},
                    "spec": {"nodeSelector": {"pool": "x"}},
                }
            ]
        },
        {
            "runtimePatches": [
                {
                    "manager": "kueue",
                    "trainingRuntimeSpec": {
                        "template": {
                            "spec": {
                                "replicatedJobs": [
                                    {
                                        "name": "node",
                                        "template": {
                                            "spec": {
                                                "template": {
                                                    "metadata": {
                                                        "annotations": {
                                                            "kueue.x-k8s.io/podset-required-topology": "rack"
                                                        }
                                                    },
                                                    "spec": {"nodeSelector": {"pool": "x"}},
                                                }
                                            }
                                        },
                                    }
                                ]
                            }
                        }
                    },
                }
            ]
        },
    ],
)
def test_overrides_reach_the_pods(override: dict[str, Any]) -> None:
    found = registry.expand(train(**override), Objects([runtime(step("node"))]))
    assert found.gangs[0].required == Level(key="rack")
    assert found.members[0][1].pod["spec"]["nodeSelector"] == {"pool": "x"}


def test_without_its_runtime_a_train_job_is_a_gang_of_nodes_and_says_so() -> None:
    found = registry.expand(train(suspend=True))
    assert codes(found) == [("object-missing", "spec.runtimeRef")]
    assert "TrainingRuntime torch" in found.findings[0].message
    assert names(found) == ["a-node-0-0", "a-node-0-1", "a-node-0-2"]
    gang = found.gangs[0]
    assert (gang.minimum, gang.total, gang.roles, gang.suspended) == (None, 3, (Role("node", 3),), True)
    resources = found.members[0][1].pod["spec"]["containers"][0]["resources"]
    assert resources == {"limits": {"nvidia.com/gpu": 8}}


def test_a_cluster_runtime_is_looked_up_without_a_namespace() -> None:
    shared = {**runtime(step("node")), "kind": "ClusterTrainingRuntime", "metadata": {"name": "torch"}}
    assert codes(registry.expand(train(runtimeRef={"name": "torch"}), Objects([shared]))) == []
