"""`place`, `nodes` and `tree` on a real API server: the answer of a dump, the user's rights, the plugin of kubectl."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gangpool.cli.main import run
from gangpool.manifests import crds, reader
from tests.cluster.client import Api
from tests.cluster.client import run as finish
from tests.cluster.plane import ControlPlane

SPINE, LEAF = "network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf"
NODES = [("n1", "l1"), ("n2", "l1"), ("n3", "l2"), ("n4", "l2")]
PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def node(name: str, leaf: str) -> dict[str, Any]:
    has = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, SPINE: "s1", LEAF: leaf}},
        "status": {"allocatable": has, "capacity": has, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(name: str, cards: int, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": str(cards)}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"schedulerName": "gangpool", "containers": [container], **spec},
    }


def grouped(name: str, group: str, cards: int) -> dict[str, Any]:
    made = pod(name, cards)
    made["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": group}
    return made


def group(name: str, minimum: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"minMember": minimum},
    }


def job(name: str, replicas: int) -> dict[str, Any]:
    template = {"spec": pod("x", 8)["spec"]}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"minAvailable": replicas, "tasks": [{"name": "w", "replicas": replicas, "template": template}]},
    }


def claim(name: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "fast"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": spec,
    }


def with_claim(name: str, wanted: str) -> dict[str, Any]:
    return pod(name, 1, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": wanted}}])


STORAGE = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "example.com/fast",
    "volumeBindingMode": "WaitForFirstConsumer",
}
VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "some"},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "slow",
        "csi": {"driver": "example.com", "volumeHandle": "1"},
    },
}
DUMPED = (
    "nodes,pods,namespaces,pvc,pv,storageclasses,priorityclasses,runtimeclasses,jobs.batch,statefulsets,replicasets,"
    "podgroups.scheduling.volcano.sh,jobs.batch.volcano.sh,podgroups.scheduling.k8s.io,workloads.scheduling.k8s.io"
)


async def with_nodes(api: Api) -> None:
    for name, leaf in NODES:
        await api.create(node(name, leaf))
        await api.patch(node(name, leaf), {"status": node(name, leaf)["status"]}, "/status")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The JSON of a command, without what differs from run to run."""
    code = run([*arguments, "-o", "json"])
    said = capsys.readouterr()
    assert code in (0, 3), said.err
    found: dict[str, Any] = json.loads(said.out)
    found.pop("decision_ms", None)
    return found


@pytest.mark.cluster(controllers=False)
def test_live_and_a_dump_of_it_give_the_same_answers(
    control_plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. A pod refers to a claim, and the cluster has none at all: live says that it is missing, as the scheduler does.
    2. A cluster in use: running and finished pods, a gang that waits, claims. 3. Every read of it and of its dump is
    the same."""

    async def empty() -> None:
        async with control_plane.api() as api:
            await api.namespace("ml")
            for thing in crds():
                await api.create(thing)
            await with_nodes(api)
            await api.create(with_claim("lost", "gone"))

    async def in_use() -> None:
        async with control_plane.api() as api:
            for thing in (STORAGE, VOLUME, claim("there")):
                await api.create(thing)
            await api.create(pod("running", 5, nodeName="n1"))
            await api.create(pod("done", 8, nodeName="n2"))
            await api.patch(pod("done", 8), {"status": {"phase": "Succeeded"}}, "/status")
            await api.create(group("train", 2))
            for i in range(2):
                await api.create(grouped(f"train-{i}", "train", 8))
            await api.create(with_claim("found", "there"))

    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig()))
    manifest = tmp_path / "job.json"
    manifest.write_text(json.dumps(job("new", 2)))

    finish(empty())
    found = answer(capsys, "place", "-f", str(manifest))
    assert [(entry["pods"], entry["reason"]["code"]) for entry in found["pending"]] == [(["lost"], "claim-missing")]
    assert [(entry["namespace"], entry["pod"]) for entry in found["placed"]] == [
        ("default", "new-w-0"),
        ("default", "new-w-1"),
    ]

    finish(in_use())
    dump = tmp_path / "pool.json"
    dumped = control_plane.kubectl("get", DUMPED, "-A", "-o", "json")
    assert dumped.returncode == 0, dumped.stderr
    dump.write_text(dumped.stdout)
    live = answer(capsys, "place", "-f", str(manifest), "-n", "ml")
    assert live == answer(capsys, "place", "-f", str(manifest), "-n", "ml", "--pool", str(dump))
    assert {entry["gang"] for entry in live["placed"]} == {"ml/train", None}
    assert [(entry["gang"], entry["pods"]) for entry in live["pending"]] == [
        (None, ["lost"]),
        ("ml/new", ["new-w-0", "new-w-1"]),
    ]
    for command in ("nodes", "tree"):
        assert answer(capsys, command) == answer(capsys, command, "--pool", str(dump))


@pytest.fixture
def pool(shared_control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The shared control plane with four nodes, which are gone at the end."""

    async def without_nodes() -> None:
        async with shared_control_plane.api() as api:
            for name, leaf in NODES:
                await api.delete(node(name, leaf))

    async def prepared() -> None:
        async with shared_control_plane.api() as api:
            await with_nodes(api)

    finish(prepared())
    yield shared_control_plane
    finish(without_nodes())


def role(name: str, rules: list[dict[str, list[str]]]) -> list[dict[str, Any]]:
    """A cluster role and its binding to the user of the same name."""
    group, version = "rbac.authorization.k8s.io", "rbac.authorization.k8s.io/v1"
    return [
        {"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {
            "apiVersion": version,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": name}],
        },
    ]


async def until_permitted(api: Api) -> None:
    """A right counts a moment after it is given: the server looks at its own copy of roles and bindings."""
    end = time.monotonic() + 30.0
    while not (found := await api.request("GET", "/api/v1/nodes")).is_ok:
        assert time.monotonic() < end, found.message
        await asyncio.sleep(0.05)


@pytest.fixture
def users(pool: ControlPlane) -> Iterator[ControlPlane]:
    """live-reader has our role, live-guest may read nodes and pods only, live-nobody nothing."""
    few = [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]}]
    things = [*role("live-reader", reader()[0]["rules"]), *role("live-guest", few)]

    async def made() -> None:
        async with pool.api() as api:
            for thing in things:
                await api.create(thing)
        for user in ("live-reader", "live-guest"):
            async with pool.api(user) as api:
                await until_permitted(api)

    async def gone() -> None:
        async with pool.api() as api:
            for thing in things:
                await api.delete(thing)

    finish(made())
    yield pool
    finish(gone())


def read(plane: ControlPlane, user: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, list[str]]:
    """Exit code, what `nodes` prints for this user, and what it says on stderr."""
    code = run(["nodes", "--no-headers", "--kubeconfig", str(plane.kubeconfig(user))])
    said = capsys.readouterr()
    return code, said.out, said.err.splitlines()


def test_the_role_of_readers_is_enough_and_a_part_of_it_is_told(
    users: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    """1. With the whole role: no warning. 2. With nodes and pods only: an answer, and a warning for each kind that the
    cluster has, none for those that it has not. 3. With nothing: not permitted, in one line."""
    code, out, err = read(users, "live-reader", capsys)
    assert (code, len(out.splitlines()), err) == (0, 4, [])
    code, out, err = read(users, "live-guest", capsys)
    assert (code, len(out.splitlines())) == (0, 4)
    left_out = {line.split(": ")[2] for line in err}
    assert {"namespaces", "persistentvolumeclaims", "priorityclasses.scheduling.k8s.io", "jobs.batch"} <= left_out
    assert not any("kubeflow" in name or "volcano" in name or "ray.io" in name for name in left_out)
    assert all(line.endswith("[not-permitted]") for line in err)
    code, out, err = read(users, "live-nobody", capsys)
    assert (code, out) == (5, "")
    assert err == [
        'gangpool: not permitted: nodes is forbidden: User "live-nobody" cannot list resource "nodes" in API group ""'
        " at the cluster scope; the role gangpool-reader of `gangpool manifests rbac` has all rights for it"
    ]


def test_a_read_on_behalf_of_another_has_the_rights_of_the_other(
    users: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    admin = str(users.kubeconfig())
    assert run(["tree", "--kubeconfig", admin, "--as", "live-reader"]) == 0
    assert capsys.readouterr().err == ""
    assert run(["tree", "--kubeconfig", admin, "--as", "live-nobody"]) == 5
    assert 'User "live-nobody" cannot list' in capsys.readouterr().err
    assert run(["tree", "--kubeconfig", admin, "--as", "live-nobody", "--as-group", "system:masters"]) == 0


def test_a_server_that_is_another_than_the_kubeconfig_says(
    pool: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = json.loads(pool.kubeconfig().read_text())
    (cluster,) = config["clusters"]
    del cluster["cluster"]["certificate-authority"]
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    assert run(["nodes", "--kubeconfig", str(path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "certificate verify failed" in line


@pytest.fixture
def desk(pool: ControlPlane, tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has installed kubectl and gangpool."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name, target in tomllib.loads(PYPROJECT.read_text())["project"]["scripts"].items():
        module, _, function = target.partition(":")
        script = binaries / name
        script.write_text(f"#!{sys.executable}\nfrom {module} import {function}\n{function}()\n")
        script.chmod(0o755)
    return {
        "PATH": os.pathsep.join((str(binaries), str(pool.site.binaries))),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "KUBECONFIG": str(pool.kubeconfig()),
        "HOME": str(tmp_path),
    }


def kubectl(desk: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["kubectl", *arguments], env=desk, capture_output=True, text=True, timeout=60, check=False)


def test_kubectl_finds_the_plugin_and_its_completion(desk: dict[str, str]) -> None:
    listed = kubectl(desk, "plugin", "list")
    assert listed.returncode == 0, listed.stderr
    assert "/kubectl-gangpool\n" in listed.stdout
    nodes = kubectl(desk, "gangpool", "nodes", "--sort-by", "name", "-o", "json")
    assert nodes.returncode == 0, nodes.stderr
    assert [entry["name"] for entry in json.loads(nodes.stdout)["nodes"]] == ["n1", "n2", "n3", "n4"]
    wrong = kubectl(desk, "gangpool", "nodes", "--context", "nowhere")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "has no context nowhere" in wrong.stderr
    assert kubectl(desk, "__complete", "gangpool", "pl").stdout == (
        "place\tWould this run now, where, and if not, why.\n:4\n"
    )
