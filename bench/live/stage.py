"""A control plane for one measurement, what lies in it, and the schedulers as processes beside it.

Called by the workloads, with `async with`. Each measurement has a fresh control plane, so none inherits another's etcd;
the fence is installed, and gangpool has the rights of its account. The processes end with the stage.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.live import things
from bench.live.clock import LOOK_S, POLICY, Clock, Stuck
from bench.live.things import SPACE, Gang, Object
from gangpool.kube.client import Client, encode
from gangpool.kube.kubeconfig import load
from gangpool.kube.transport import Transport
from gangpool.manifests import crds, fence, rbac
from gangpool.manifests.fence import ACCOUNT
from gangpool.manifests.rbac import LEASE, NAMESPACE
from tests.cluster.client import Api
from tests.cluster.commands import Settings
from tests.cluster.plane import ControlPlane
from tests.cluster.ports import free_ports

WRITERS = 32
"""Objects are created over so many connections."""
SERVED_MAX_S = 300.0
FLIGHT_MAX = ("--max-requests-inflight=0", "--max-mutating-requests-inflight=0", "--enable-priority-and-fairness=false")
"""Neither we nor the peer is to be throttled by the server's own fairness."""


class Stage:
    """Mutable owner of a control plane's objects and of the scheduler processes."""

    def __init__(self, plane: ControlPlane, api: Api, admin: Client) -> None:
        self.plane = plane
        self.api = api
        self.admin = admin
        self.clock = Clock(plane.site.audit_log)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.first_cpu_s = 0.0
        """CPU seconds of gangpool when its first bind was seen."""

    def account(self) -> Transport:
        """The connections that gangpool itself would have, with its rights."""
        return Transport(load(str(self.plane.kubeconfig(ACCOUNT))))

    async def lease(self, holder: str) -> None:
        """The Lease that the fence compares with; for whoever binds without being gangpool."""
        await self.api.create(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": LEASE, "namespace": NAMESPACE},
                "spec": {"holderIdentity": holder},
            }
        )

    async def nodes(self, n: int) -> None:
        """So many nodes, with their status."""

        async def one(i: int) -> None:
            found = things.node(i)
            await self.admin.create("/api/v1/nodes", found)
            await self.admin.patch(f"/api/v1/nodes/{found['metadata']['name']}/status", {"status": found["status"]})

        await each(range(n), one)

    async def gangs(self, found: Iterable[Gang], scheduler: str) -> None:
        """The PodGroups, then their members."""
        found = list(found)

        async def one(gang: Gang) -> None:
            await self.admin.create(f"/apis/scheduling.k8s.io/v1beta1/namespaces/{SPACE}/podgroups", things.group(gang))

        await each(found, one)
        await self.pods(things.pods(found, scheduler))

    async def pods(self, found: Iterable[Object]) -> None:
        """Pods."""

        async def one(pod: bytes) -> None:
            await self.admin.create(f"/api/v1/namespaces/{SPACE}/pods", pod)

        await each(map(encode, found), one)

    async def until_served(self, name: str) -> None:
        """Wait until the server's cache shows a pod that was written behind its back."""
        end = time.monotonic() + SERVED_MAX_S
        path = f"/api/v1/namespaces/{SPACE}/pods/{name}"
        while not (await self.api.request("GET", path, resourceVersion="0")).is_ok:
            assert time.monotonic() < end, f"the server does not show {name}"
            await asyncio.sleep(0.5)

    def gangpool(self) -> subprocess.Popen[bytes]:
        """Start `gangpool scheduler`."""
        config = self.plane.kubeconfig(ACCOUNT)
        listen = f"127.0.0.1:{free_ports(1)[0]}"
        return self._start("scheduler", "--kubeconfig", str(config), "--listen", listen, "--identity", "one")

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "gangpool", *arguments]
        with (self.plane.folder / "gangpool.log").open("ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._processes.append(process)
        return process

    def kube_scheduler(self) -> None:
        """Start kube-scheduler."""
        self.plane.scheduler.start()

    async def until_bound(self, n: int, patience_s: float) -> None:
        """Wait until so many pods have been bound. Raises Stuck."""
        end = time.monotonic() + patience_s
        while len(self.clock.bound) < n:
            is_dead = any(process.poll() is not None for process in self._processes)
            if is_dead or time.monotonic() > end:
                raise Stuck(f"{len(self.clock.bound)} of {n} pods are bound\n{self.tail()}")
            await asyncio.sleep(LOOK_S)
            self.clock.read()
            if self.clock.bound and self._processes and not self.first_cpu_s:
                self.first_cpu_s = cpu_s(self._processes[0].pid)

    def end(self) -> None:
        """End the schedulers."""
        if self.plane.scheduler.is_running:
            self.plane.scheduler.kill()
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def tail(self) -> str:
        """Last lines of what `gangpool` has logged."""
        log = self.plane.folder / "gangpool.log"
        return "\n".join(log.read_text(encoding="utf-8").splitlines()[-20:]) if log.exists() else ""


@asynccontextmanager
async def stage(n_nodes: int, *flags: str) -> AsyncIterator[Stage]:
    """A control plane with what an administrator installs, a namespace and nodes. `flags`: for its API server."""
    settings = Settings(audit=True, apiserver_flags=(*FLIGHT_MAX, *flags))
    plane = ControlPlane(settings)
    (plane.folder / "audit-policy.json").write_text(json.dumps(POLICY), encoding="utf-8")
    async with plane, plane.api() as api:
        transport = Transport(load(str(plane.kubeconfig())), connections=WRITERS)
        made = Stage(plane, api, Client(transport))
        try:
            for name in (NAMESPACE, SPACE):
                await api.namespace(name)
            for thing in (*crds(), *rbac(), *fence()):
                await api.create(thing)
            await made.nodes(n_nodes)
            yield made
        finally:
            made.end()
            await transport.close()


async def each(found: Iterable[object], one: Callable[..., Awaitable[None]]) -> None:
    """All of them, so many at a time as there are connections."""
    rest: Iterator[object] = iter(found)

    async def work() -> None:
        for item in rest:
            await one(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(WRITERS):
            group.create_task(work())


def peak_bytes(pid: int) -> int:
    """Most memory that a process had resident so far (Linux)."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the kernel does not tell the peak memory")


def cpu_s(pid: int) -> float:
    """CPU seconds of a process so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
