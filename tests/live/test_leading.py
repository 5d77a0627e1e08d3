"""A scheduler from its start to its end against a scripted server: what is asked when, and what the end waits for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiohttp import web

from gangpool.core.model import Plan
from gangpool.intake.config import Config
from gangpool.kube.client import Client
from gangpool.kube.lease import Leadership
from gangpool.live.commit import AT_ONCE
from gangpool.live.resources import NODES, PODS
from gangpool.live.scheduler import Scheduler
from tests.kube.lease_store import LEASE, Store
from tests.kube.standin import WATCH, StandIn, in_loop, json_of, served, silence, status, stream, thing

BIND = "/api/v1/namespaces/ml/pods/a/binding"


class Server:
    """A node, and a pod that waits; a Lease; a Binding is answered when `gate` is open."""

    def __init__(self, api: StandIn) -> None:
        self.api = api
        self.lease = Store(api)
        self.gate = asyncio.Event()
        self.told: list[str] = []
        pod = thing("a", spec={"schedulerName": "gangpool", "containers": []}, status={"phase": "Pending"})
        node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}}
        for path, obj in ((PODS, pod), (NODES, node)):
            api.on("GET", path, json_of({"metadata": {"resourceVersion": "5"}, "items": [obj]}))
            api.on(WATCH, path, stream(api))
        api.on("POST", BIND, self.bind)
        api.on("PUT", LEASE, self.put)

    async def bind(self, request: web.Request) -> web.StreamResponse:
        await self.gate.wait()
        self.told.append("bound")
        return await json_of({}, 201)(request)

    async def put(self, request: web.Request) -> web.StreamResponse:
        if not (await request.json())["spec"]["holderIdentity"]:
            self.told.append("given back")
        return await self.lease.write(request)


@asynccontextmanager
async def running(client: Client, name: str, *told: Any) -> AsyncIterator[Scheduler]:
    leadership = Leadership(client, "gangpool-system", "gangpool-scheduler", name)
    scheduler = Scheduler(client, Config(), leadership)
    task = asyncio.create_task(scheduler.run(*told))
    try:
        yield scheduler
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@in_loop
async def test_lease_is_looked_at_first_and_taken_when_all_is_listed() -> None:
    """What was free then, and is when it is taken, was led by nobody in between: the pods are listed once."""
    async with served() as (api, client):
        server = Server(api)
        server.gate.set()
        built: list[int] = []
        async with running(client, "one", lambda: built.append(api.count("GET", LEASE))) as scheduler:
            assert scheduler.waits_for().startswith("listing ")
            await api.until("POST", BIND, 1)
            assert scheduler.waits_for() == ""
            assert scheduler.is_ready
        assert api.asked[0].path == LEASE
        assert built == [1]  # once, before the Lease was looked at again to be taken
        assert api.count("GET", PODS) == 1


@in_loop
async def test_new_leader_lists_the_pods_again() -> None:
    """Another has led since they were listed."""
    async with served() as (api, client):
        server = Server(api)
        server.gate.set()
        before = Leadership(client, "gangpool-system", "gangpool-scheduler", "zero")
        await before.acquire()
        built: list[None] = []
        async with running(client, "one", lambda: built.append(None)) as scheduler:
            while not scheduler.is_ready:
                await asyncio.sleep(0.01)
            assert api.count("GET", PODS) == 1
            await before.release()
            await api.until("POST", BIND, 1)
        assert api.count("GET", PODS) == 2
        assert len(built) == 2


@in_loop
async def test_end_waits_for_binds_in_flight_then_gives_the_lease_back() -> None:
    async with served() as (api, client):
        server = Server(api)
        async with running(client, "one"):
            await api.until("POST", BIND, 1)
            asyncio.get_running_loop().call_later(0.2, server.gate.set)
        assert server.told == ["bound", "given back"]


@in_loop
async def test_end_does_not_wait_for_ever() -> None:
    async with served() as (api, client):
        server = Server(api)
        api.on("POST", BIND, silence(api))
        async with running(client, "one"):
            await api.until("POST", BIND, 1)
        assert server.told == ["given back"]


@in_loop
async def test_what_was_planned_in_a_term_that_is_over_is_not_sent() -> None:
    """1. A plan waits for its turn. 2. The Lease is lost, and won again under another name. 3. Its turn comes."""
    async with served() as (api, client):
        server = Server(api)
        server.gate.set()
        api.on("POST", "/api/v1/namespaces/default/pods/gangpool-fence-probe/binding", status(404, "NotFound"))
        leadership = Leadership(client, "gangpool-system", "gangpool-scheduler", "one")
        scheduler = Scheduler(client, Config(), leadership)
        follow = asyncio.gather(*(r.run() for r in scheduler.follower.reflectors.values()))
        await scheduler.follower.synced()
        first = await leadership.acquire()
        scheduler.follower.world.settle()
        plan: Plan = scheduler.cycle.run(frozenset())
        assert len(plan.seats) == 1
        scheduler.committer._n_in_flight += AT_ONCE  # all connections are taken
        scheduler.committer.start(plan)
        leadership.lose(first)
        assert await leadership.acquire() != first
        scheduler.committer._n_in_flight -= AT_ONCE
        scheduler.committer._begin()
        await scheduler.committer.settle(5)
        assert api.count("POST", BIND) == 0
        assert scheduler.follower.assumed == {}
        assert leadership.is_held()
        follow.cancel()
        with suppress(asyncio.CancelledError):
            await follow
        await leadership.release()
