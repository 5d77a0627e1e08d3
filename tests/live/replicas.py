"""Processes of the product on a control plane, told apart in the audit log by their tokens.

For tests that judge from outside: who leads, what each replica wrote and when, what its metrics say.
"""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from gangpool.manifests import crds, fence, rbac
from tests.cluster.audit import AuditLog, Request
from tests.cluster.client import Api
from tests.cluster.plane import ControlPlane
from tests.cluster.ports import free_ports

SPACE = "gangpool-system"
ACCOUNT = f"system:serviceaccount:{SPACE}:gangpool-"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases/gangpool-scheduler"
PATIENCE_S = 60.0
END_S = 5.0
"""A process ends within 5 s of SIGTERM."""
_POLL_S = 0.02


class Replica:
    """One process. `name`: its identity."""

    def __init__(self, name: str, child: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self.name, self.child, self.port, self.log = name, child, port, log

    def send(self, number: signal.Signals) -> float:
        """Send a signal; the time of it, on the audit log's clock."""
        self.child.send_signal(number)
        return time.time()

    async def get(self, path: str) -> tuple[int, str]:
        """Status and text of its --listen address."""
        return await asyncio.to_thread(self._get, path)

    def _get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    async def metrics(self) -> dict[str, float]:
        """Values of the series without labels."""
        _, text = await self.get("/metrics")
        families = text_string_to_metric_families(text)
        return {s.name: s.value for family in families for s in family.samples if not s.labels}

    def token(self, audit: AuditLog) -> str:
        """Id of its token, known from its Lease."""
        written = [r for r in audit.requests() if r.is_write and r.resource.startswith("leases") and r.body]
        return next(r.token for r in written if str(r.body["spec"]["holderIdentity"]).startswith(f"{self.name}/"))


def replica(plane: ControlPlane, folder: Path, kind: str, name: str, *flags: str) -> AbstractContextManager[Replica]:
    """A process with the rights of its account, whose token is made now; it starts with the context, and ends within
    5 s of SIGTERM, or the test fails."""
    config = plane.kubeconfig(f"{ACCOUNT}{kind}")
    command = [sys.executable, "-m", "gangpool", kind, "--kubeconfig", str(config), *flags]
    return _running(command, name, folder / f"{name}.log")


@contextmanager
def _running(command: list[str], name: str, log: Path) -> Iterator[Replica]:
    (port,) = free_ports(1)
    command += ["--listen", f"127.0.0.1:{port}"]
    with log.open("wb") as file:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=dict(os.environ))
        try:
            yield Replica(name, child, port, log)
        finally:
            if child.poll() is None:
                child.send_signal(signal.SIGCONT)
                child.send_signal(signal.SIGTERM)
            try:
                child.wait(END_S)
            except subprocess.TimeoutExpired:
                child.kill()
                raise


def scheduler(plane: ControlPlane, folder: Path, name: str, lease_s: int) -> AbstractContextManager[Replica]:
    """A scheduler under this identity, with a Lease of so many seconds."""
    return replica(plane, folder, "scheduler", name, "--identity", name, "--lease-duration", str(lease_s))


async def installed(api: Api, n_nodes: int, cards: int = 8) -> None:
    """What an administrator applies before the first start, and nodes n0 …"""
    await api.namespace(SPACE)
    await api.namespace("ml")
    for thing in (*crds(), *rbac(), *fence()):
        await api.create(thing)
    for i in range(n_nodes):
        has = {"cpu": "64", "memory": "512Gi", "pods": "500", "nvidia.com/gpu": str(cards)}
        status = {"allocatable": has, "capacity": has, "conditions": [{"type": "Ready", "status": "True"}]}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}"}}
        await api.create(node)
        await api.patch(node, {"status": status}, "/status")


def pod(name: str, cards: int = 0) -> dict[str, Any]:
    """A pod of ours."""
    limits = {"nvidia.com/gpu": cards} if cards else {"cpu": "10m"}
    container = {"name": "main", "image": "x", "resources": {"limits": limits}}
    spec = {"schedulerName": "gangpool", "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ml"}, "spec": spec}


async def until(what: str, found: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    """Poll (a coroutine function) until it is true; what it said."""
    end = time.monotonic() + patience_s
    while not (said := await found()):
        assert time.monotonic() < end, f"{what}: not after {patience_s:g} s"
        await asyncio.sleep(_POLL_S)
    return said


async def until_leader(api: Api, name: str, patience_s: float = PATIENCE_S) -> str:
    """Wait until this replica holds the Lease; its identity."""

    async def holder() -> str:
        answer = await api.request("GET", LEASE)
        found = str(answer.body["spec"].get("holderIdentity") or "") if answer.is_ok else ""
        return found if found.startswith(f"{name}/") else ""

    return str(await until(f"{name} leads", holder, patience_s))


async def until_bound(api: Api, name: str) -> dict[str, Any]:
    """Wait until this pod has a node; the pod."""

    async def bound() -> dict[str, Any] | None:
        answer = await api.request("GET", f"/api/v1/namespaces/ml/pods/{name}")
        return dict(answer.body) if answer.is_ok and answer.body["spec"].get("nodeName") else None

    return dict(await until(f"{name} is bound", bound))


def writes(audit: AuditLog, token: str, since: float = 0.0) -> list[Request]:
    """What this token wrote from then on, dry runs left out."""
    return [r for r in audit.requests() if r.is_write and r.token == token and r.at_s > since]
