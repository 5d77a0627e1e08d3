"""The processes as a cluster runs them: manifests applied, rights of their own accounts, a real API server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gangpool.kube.client import Client
from gangpool.kube.kubeconfig import load
from gangpool.kube.transport import Transport
from gangpool.live.bind import Binder
from gangpool.manifests import crds, fence, rbac
from tests.cluster.client import Api
from tests.cluster.plane import ControlPlane
from tests.cluster.ports import free_ports

SPACE = "gangpool-system"
PATIENCE_S = 60.0
"""A Lease that nobody released runs out after 15 s."""


def node(name: str, cards: int = 8) -> dict[str, Any]:
    has = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(cards)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": has, "capacity": has, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def job(name: str, replicas: int, cards: int = 8) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": cards}}}
    task = {"name": "w", "replicas": replicas, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"minAvailable": replicas, "tasks": [task]},
    }


async def installed(api: Api) -> None:
    """What an administrator applies before the first start, and two nodes."""
    await api.namespace(SPACE)
    await api.namespace("ml")
    for thing in (*crds(), *rbac(), *fence()):
        await api.create(thing)
    for name in ("n1", "n2"):
        await api.create(node(name))
        await api.patch(node(name), {"status": node(name)["status"]}, "/status")


async def bound(api: Api, name: str) -> dict[str, str]:
    """Node by pod of a job."""
    pods = await api.items("/api/v1/namespaces/ml/pods", labelSelector=f"volcano.sh/job-name={name}")
    return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}


async def until_bound(api: Api, name: str, n: int) -> dict[str, str]:
    """Wait for n bound pods of a job, by the server's own word."""
    end = time.monotonic() + PATIENCE_S
    while len(found := await bound(api, name)) != n:
        assert time.monotonic() < end, f"{name}: {found}"
        await asyncio.sleep(0.1)
    return found


@contextmanager
def process(plane: ControlPlane, folder: Path, kind: str, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the product with the rights of its account; ends within 5 s of SIGTERM."""
    config = plane.kubeconfig(f"system:serviceaccount:{SPACE}:gangpool-{kind}")
    listen = f"127.0.0.1:{free_ports(1)[0]}"
    command = [sys.executable, "-m", "gangpool", kind, "--kubeconfig", str(config), "--listen", listen, *flags]
    with (folder / f"{kind}-{len(flags)}.log").open("wb") as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=dict(os.environ))
        try:
            yield child
        finally:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                raise


@pytest.mark.cluster(controllers=True)
@pytest.mark.timeout(180)
def test_jobs_are_bound_whole_and_a_restart_goes_on(control_plane: ControlPlane, tmp_path: Path) -> None:
    """1. A job of two fills both nodes. 2. Another waits with a reason on its pods. 3. The scheduler is killed and
    started anew. 4. The first job goes: the other is bound whole."""

    async def first() -> None:
        async with control_plane.api() as api:
            await api.create(job("a", 2))
            assert sorted((await until_bound(api, "a", 2)).values()) == ["n1", "n2"]
            await api.create(job("b", 2))
            await reason(api, "b")
            assert await bound(api, "b") == {}

    async def second() -> None:
        async with control_plane.api() as api:
            await api.delete(job("a", 2))
            for pod in await api.items("/api/v1/namespaces/ml/pods", labelSelector="volcano.sh/job-name=a"):
                await api.delete({"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"]})
            assert sorted((await until_bound(api, "b", 2)).values()) == ["n1", "n2"]

    async def install() -> None:
        async with control_plane.api() as api:
            await installed(api)

    asyncio.run(install())
    with process(control_plane, tmp_path, "jobs-controller"):
        with process(control_plane, tmp_path, "scheduler", "--identity", "one") as child:
            asyncio.run(first())
            child.kill()
        with process(control_plane, tmp_path, "scheduler", "--identity", "two", "--namespace", SPACE):
            asyncio.run(second())


async def reason(api: Api, name: str) -> None:
    """Wait until a pod of the job says why it waits."""
    end, texts = time.monotonic() + PATIENCE_S, [""]
    while time.monotonic() < end:
        pods = await api.items("/api/v1/namespaces/ml/pods", labelSelector=f"volcano.sh/job-name={name}")
        texts = [c.get("message", "") for pod in pods for c in pod["status"].get("conditions") or ()]
        if any("cannot-fit" in text and "nvidia.com/gpu asked 8, best 0" in text for text in texts):
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"no reason on the pods of {name}: {texts}")


@pytest.mark.cluster(controllers=False)
def test_the_fence_lets_only_the_holder_of_the_lease_bind(control_plane: ControlPlane) -> None:
    """A dry-run bind of a pod that does not exist: 404 for the leader, 422 for anybody else."""

    async def probe() -> list[int]:
        async with control_plane.api() as api:
            await installed(api)
            lease = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": "gangpool-scheduler", "namespace": SPACE},
                "spec": {"holderIdentity": "one/3"},
            }
            await api.create(lease)
        config = control_plane.kubeconfig(f"system:serviceaccount:{SPACE}:gangpool-scheduler")
        transport = Transport(load(str(config)))
        try:
            binder = Binder(Client(transport))
            end = time.monotonic() + PATIENCE_S
            while await binder.probe("nobody") != 422:  # the server takes a moment to see a new policy
                assert time.monotonic() < end
                await asyncio.sleep(0.1)
            return [await binder.probe("one/3"), await binder.probe("one/2"), await binder.probe("two/3")]
        finally:
            await transport.close()

    assert asyncio.run(probe()) == [404, 422, 422]


@pytest.mark.cluster(controllers=False)
def test_the_fence_stands_open_while_there_is_no_lease(control_plane: ControlPlane) -> None:
    """1. The fence is installed and there is a Lease: gangpool's own account is refused without it, another scheduler
    binds. 2. The Lease is deleted: the other scheduler still binds."""
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "gangpool-scheduler", "namespace": SPACE},
        "spec": {"holderIdentity": "one/0"},
    }

    async def until_probed(binder: Binder, status: int) -> None:
        end = time.monotonic() + PATIENCE_S
        while await binder.probe("nobody") != status:  # the server takes a moment to see policy and Lease
            assert time.monotonic() < end, f"the probe does not come to {status}"
            await asyncio.sleep(0.1)

    async def bind(api: Api, name: str) -> int:
        meta, container = {"name": name, "namespace": "ml"}, {"name": "main", "image": "x"}
        await api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}})
        target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
        return (await api.request("POST", f"/api/v1/namespaces/ml/pods/{name}/binding", body)).status

    async def prepare() -> None:
        async with control_plane.api() as api:
            await installed(api)
            await api.create(lease)

    async def answers() -> list[int]:
        async with control_plane.api() as api:
            transport = Transport(load(str(config)))
            try:
                binder = Binder(Client(transport))
                await until_probed(binder, 422)
                first = await bind(api, "a")
                await api.delete(lease)
                await until_probed(binder, 404)
                return [first, await bind(api, "b")]
            finally:
                await transport.close()

    asyncio.run(prepare())
    config = control_plane.kubeconfig(f"system:serviceaccount:{SPACE}:gangpool-scheduler")
    assert asyncio.run(answers()) == [201, 201]
