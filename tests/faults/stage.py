"""A cluster with the product in it, for fault tests: real control plane, real processes with their own accounts.

Called by the scenarios of this folder: `async with Stage(folder, seed) as stage`. Promises: CRDs, roles and fence
applied as an administrator would; a pool of 8 nodes in 4 leaves; the record of etcd runs from the first moment;
`judged` waits until all work has run and lets the judge decide. All processes end with the stage.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import aiohttp

from gangpool.manifests import crds, fence, rbac
from tests.cluster.child import Child, kill_all
from tests.cluster.client import Api, Refused
from tests.cluster.commands import Settings
from tests.cluster.plane import ControlPlane
from tests.cluster.ports import free_ports
from tests.faults import history as record
from tests.faults.history import Change, History
from tests.faults.judge import (
    FAULTS_S,
    Case,
    Violation,
    binds,
    gang_of,
    holders,
    is_finished,
    judge,
    leader_of,
    node_of,
    partial_gangs,
)
from tests.faults.kubelet import Kubelet
from tests.faults.load import GROUP_CRD, SPACE, Work, node

SYSTEM = "gangpool-system"
N_NODES = 8
PATIENCE_S = 60.0
LEASE_S = 4
"""Less than the default, so that takeovers are over sooner; everything else about the Lease follows from it."""
OPEN_MOST = 12
"""More would only queue for the pool's room."""
_POLL_S = 0.02


class Stage:
    """Mutable owner of plane, record and processes."""

    def __init__(self, folder: Path, seed: int, flags: Sequence[str] = ()) -> None:
        self.folder = folder
        self.seed = seed
        self.rng = random.Random(seed)
        self.plane = ControlPlane(Settings(controllers=True, apiserver_flags=(*record.FLAGS, *flags)), folder)
        self.replicas: dict[str, Child] = {}
        self.works: list[Work] = []
        self.outages_s: list[float] = []
        self.history: History
        self.api: Api
        self.kubelet: Kubelet
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        print(f"seed {self.seed}")
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.plane)
            self.history = stack.enter_context(History(self.plane.site.ports.etcd))
            self.api = await stack.enter_async_context(self.plane.api())
            await self._install()
            self.kubelet = Kubelet(self.api, self.history, self.rng)
            kubelet = asyncio.create_task(self.kubelet.run())
            stack.callback(kubelet.cancel)
            stack.callback(lambda: kill_all(self.replicas.values()))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def _install(self) -> None:
        await self.api.namespace(SYSTEM)
        await self.api.namespace(SPACE)
        for thing in (GROUP_CRD, *crds(), *rbac(), *fence()):
            await self.api.create(thing)
        await self.restore_nodes()

    async def restore_nodes(self) -> None:
        """Make the nodes of the pool that are not there."""
        for i in range(N_NODES):
            if f"n{i}" not in self.history.nodes:
                await self.add_node(f"n{i}", f"leaf-{i // 2}")

    async def add_node(self, name: str, leaf: str, cards: int = 8) -> None:
        """A node with its status."""
        thing = node(name, leaf, cards)
        await self.api.create(thing)
        await self.api.patch(thing, {"status": thing["status"]}, "/status")

    # ---- processes

    def start(self, kind: str, name: str, server: str = "", authority: Path | None = None) -> Child:
        """`gangpool KIND`; `server` where it is to reach the API server by another address than its own."""
        config = self.plane.kubeconfig(f"system:serviceaccount:{SYSTEM}:gangpool-{kind}")
        if server:
            text = config.read_text(encoding="utf-8").replace(self.plane.site.url, server)
            if authority is not None:
                text = text.replace(str(self.plane.site.authority.certificate), str(authority))
            config.write_text(text, encoding="utf-8")
        listen = f"127.0.0.1:{free_ports(1)[0]}"
        flags = ["--identity", name, "--lease-duration", str(LEASE_S)] if kind == "scheduler" else []
        command = [sys.executable, "-m", "gangpool", kind, "--kubeconfig", str(config), "--listen", listen, *flags]
        child = Child(name, command, self.folder / f"{name}.log")
        child.start()
        self.replicas[name] = child
        return child

    def holder(self) -> str:
        """Who holds the Lease now, "" for nobody."""
        held = holders(self.history.changes())
        return held[-1][2] if held else ""

    async def leader(self, other_than: str = "") -> str:
        """Wait until somebody (else) leads; the identity."""
        await self.until(lambda: self.holder() not in ("", other_than), "somebody leads")
        return self.holder()

    # ---- work

    async def create(self, works: Sequence[Work]) -> None:
        """Create work, when not too much is left of what was created before; a server that is away is asked again."""
        await self.until(lambda: len(self.open_works()) <= OPEN_MOST, f"{OPEN_MOST} works or fewer are left")
        for work in works:
            self.works.append(work)
            self.kubelet.gangs[work.name] = work.gang
            for thing in work.objects:
                await insist(lambda thing=thing: self.api.create(thing))  # type: ignore[misc]

    def n_binds(self, by: str = "") -> int:
        """Binds until now, those in the name of one leader."""
        return sum(by in ("", leader_of(change.object)) for change in binds(self.history.changes()))

    def n_leaders(self) -> int:
        """Terms so far."""
        return sum(bool(holder) for _, _, holder in holders(self.history.changes()))

    async def until_binds(self, n: int, by: str = "") -> None:
        """Wait until there are n binds in all, those in the name of one leader."""
        await self.until(lambda: self.n_binds(by) >= n, f"{n} binds by {by or 'anybody'}")

    async def strike(self, blow: Callable[[], object]) -> None:
        """Do it at a random bind from now on. The record's own thread does it, one or two milliseconds after the bind:
        often between two binds of one gang."""
        done, loop = asyncio.Event(), asyncio.get_running_loop()
        left, known = self.rng.randint(1, 20), {key for key, pod in list(self.history.pods.items()) if node_of(pod)}

        def look(change: Change) -> None:
            nonlocal left
            if change.kind == "Pod" and node_of(change.object) and change.key not in known:
                known.add(change.key)
                left -= 1
                if left == 0:
                    blow()
                    loop.call_soon_threadsafe(done.set)

        self.history.on_change = look
        try:
            async with asyncio.timeout(PATIENCE_S):
                await done.wait()
        except TimeoutError:
            raise AssertionError(f"{left} binds less than wanted\n{self.story()}") from None

    async def until_done(self) -> None:
        """Wait until all work has run."""
        await self.until(lambda: not self.open_works(), "all work has run")

    def n_refused(self) -> int:
        """Binds and dry runs that the server has refused."""
        return sum(r.resource == "pods/binding" and r.status == 422 for r in self.plane.audit().requests())

    def waiting(self) -> list[str]:
        """Pods of the load without a node, by key."""
        return [key for key, pod in list(self.history.pods.items()) if gang_of(pod) and not node_of(pod)]

    def on_nodes(self, name: str) -> list[str]:
        """Members of some work that have a node, by key."""
        return [key for key, pod in list(self.history.pods.items()) if gang_of(pod) == name and node_of(pod)]

    def open_works(self) -> list[str]:
        """Work that has not run to its end."""
        return [work.name for work in self.works if work.name not in self.kubelet.ended]

    async def until(self, is_so: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
        """Wait for something in the record."""
        end_s = time.monotonic() + patience_s
        while not is_so():
            if time.monotonic() > end_s:
                raise AssertionError(f"not within {patience_s:.0f} s: {what}\n{self.story()}")
            await asyncio.sleep(_POLL_S)

    async def judged(self, partial_most_s: float = FAULTS_S) -> list[str]:
        """Wait until all work has run, then judge the whole record: the violations."""
        await self.until_done()
        gangs = [work.gang for work in self.works]
        halves = partial_gangs(self.history.changes(), {gang.name: gang for gang in gangs}, 0.0)
        print(f"{self.n_binds()} binds by {self.n_leaders()} leaders; {len(halves)} bound by half: {longest(halves)}")
        requests = self.plane.audit().requests()
        case = Case(self.history.changes(), requests, gangs, partial_most_s, self.outages_s)
        return [str(violation) for violation in judge(case)]

    def kill_server(self) -> None:
        """kill -9 of the API server."""
        self.plane.apiserver.send(signal.SIGKILL)
        self.outages_s.append(time.time())

    def story(self) -> str:
        """For the message of a failure: what waits, who led, the ends of the logs."""
        lines = [f"seed {self.seed}", f"open: {self.open_works()}", f"holders: {holders(self.history.changes())}"]
        for key in self.waiting():
            pod = self.history.pods[key]
            said = [c.get("message", "") for c in pod["status"].get("conditions") or ()]
            lines.append(f"{key} waits: {said}")
        for key, pod in list(self.history.pods.items()):
            if gang_of(pod) in self.open_works() and node_of(pod) and not is_finished(pod):
                lines.append(f"{key} on {node_of(pod)}")
        lines += [f"--- {name}\n{child.tail(20)}" for name, child in self.replicas.items()]
        return "\n".join(lines)


def longest(halves: Sequence[Violation]) -> str:
    """The three that took longest."""
    return ", ".join(sorted((v.text for v in halves), key=lambda text: float(text.split()[-2]), reverse=True)[:3])


async def insist(do: Callable[[], Awaitable[object]]) -> None:
    """Do it, again while the server is away; what is there already was done by a try whose answer was lost."""
    for _ in range(600):
        try:
            await do()
            return
        except Refused as refused:
            if refused.answer.status == 409:
                return
            if refused.answer.status < 500 and refused.answer.status != 429:
                raise
        except (OSError, TimeoutError, aiohttp.ClientError):
            pass
        await asyncio.sleep(0.1)
    raise AssertionError("the API server stays away")
