"""Is the fence there, is it ours, and does it know who leads: against a scripted server, and against a real one."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from aiohttp import web

from gangpool.kube.client import Client
from gangpool.kube.kubeconfig import load
from gangpool.kube.transport import Transport
from gangpool.live import fence as module
from gangpool.live.bind import FENCE, PROBE, Binder
from gangpool.live.fence import POLICIES, Fence
from gangpool.manifests import fence as manifest
from tests.cluster.client import Api
from tests.cluster.plane import ControlPlane
from tests.kube.standin import StandIn, in_loop, json_of, served, silence, status
from tests.live.replicas import ACCOUNT, SPACE, installed

POLICY = f"{POLICIES}/{FENCE}"
BINDING = f"{POLICIES.replace('policies', 'policybindings')}/{FENCE}"
BIND = f"/api/v1/namespaces/default/pods/{PROBE}/binding"
QUICK_S = 0.01


class Server:
    """An API server with or without a fence. `holder`: whom it lets through; None: everybody."""

    def __init__(self, api: StandIn) -> None:
        self.api = api
        self.holder: str | None = None
        self.n_late = 0
        """So many next probes are judged by `before`, which is what the fence last heard."""
        self.before = ""
        api.on("POST", BIND, self.bind)

    async def bind(self, request: web.Request) -> web.StreamResponse:
        assert request.query["dryRun"] == "All"
        leader = (await request.json())["metadata"]["annotations"]["gangpool.io/leader"]
        holder = self.holder
        if self.n_late:
            self.n_late -= 1
            holder = self.before
        if holder is not None and leader != holder:
            return await status(422, "Invalid", f"{FENCE}: {leader} does not lead")(request)
        return await status(404, "NotFound", "no such pod")(request)

    def install(self, version: str = "1", **change: Any) -> None:
        """What `gangpool manifests fence` prints, with the server's defaults; `change` in the policy's spec."""
        for path, ours in zip((POLICY, BINDING), manifest(), strict=True):
            obj = copy.deepcopy(ours)
            obj["metadata"]["resourceVersion"] = version
            if path == POLICY:
                obj["spec"] |= {"matchConstraints": {**obj["spec"]["matchConstraints"], "matchPolicy": "Equivalent"}}
                obj["spec"] |= change
            self.api.on("GET", path, json_of(obj))


@asynccontextmanager
async def scripted() -> AsyncIterator[tuple[Server, Fence]]:
    async with served() as (api, client):
        yield Server(api), Fence(client, Binder(client), QUICK_S)


@asynccontextmanager
async def followed(fence: Fence) -> AsyncIterator[None]:
    task = asyncio.create_task(fence.follow())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(QUICK_S)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message.split()[0] for record in caplog.records if record.levelno >= logging.WARNING]


def test_missing_fence_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    @in_loop
    async def story() -> None:
        async with scripted() as (server, fence), followed(fence):
            await until(lambda: fence.is_present is False)
            await server.api.until("GET", POLICY, server.api.count("GET", POLICY) + 5)
            assert warnings(caplog) == ["fence-missing"]
            assert fence.is_outdated is False
            assert server.api.count("POST", BIND) == 1  # what has not changed is only read
            server.install()
            server.holder = "a/1"
            await until(lambda: fence.is_present is True)
            assert warnings(caplog) == ["fence-missing"]
            assert fence.is_outdated is False

    story()


@pytest.mark.parametrize("change", [{"failurePolicy": "Ignore"}, {"matchConditions": []}, {"validations": []}])
def test_fence_of_another_version_is_outdated(change: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    @in_loop
    async def story() -> None:
        async with scripted() as (server, fence), followed(fence):
            server.install(**change)
            server.holder = "a/1"
            await until(lambda: fence.is_present is True)
            assert fence.is_outdated is True
            assert warnings(caplog) == ["fence-outdated"]
            server.install("2")
            await until(lambda: fence.is_outdated is False)

    story()


@in_loop
async def test_fence_that_may_not_be_read_is_tried() -> None:
    """An older role: whether it is ours is not known, whether it works is."""
    async with scripted() as (server, fence), followed(fence):
        server.api.on("GET", POLICY, status(403, "Forbidden"))
        server.holder = "a/1"
        await until(lambda: fence.is_present is True)
        assert fence.is_outdated is None


@in_loop
async def test_server_in_trouble_says_nothing_about_the_fence() -> None:
    async with scripted() as (server, fence), followed(fence):
        server.api.on("GET", POLICY, status(500, "InternalError"))
        server.api.on("POST", BIND, status(500, "InternalError"))
        await server.api.until("POST", BIND, 3)
        assert (fence.is_present, fence.is_outdated) == (None, None)


@in_loop
async def test_new_leader_waits_until_the_fence_has_heard_of_it() -> None:
    async with scripted() as (server, fence):
        server.holder, server.before, server.n_late = "b/2", "a/1", 6
        await fence.settled("b/2", "a/1")
        assert server.n_late == 0
        assert fence.is_present is True


@in_loop
async def test_new_leader_waits_also_after_a_lease_that_was_given_back() -> None:
    async with scripted() as (server, fence):
        server.holder, server.before, server.n_late = "b/2", "", 6
        await fence.settled("b/2", "")
        assert server.n_late == 0


@in_loop
async def test_fence_that_the_server_sees_late_is_seen_in_the_end() -> None:
    """It is installed just before the first leader, which finds both let through and goes on without it."""
    async with scripted() as (server, fence):
        server.install()
        await fence.settled("a/1", "")
        assert fence.is_present is False
        async with followed(fence):
            await server.api.until("POST", BIND, server.api.count("POST", BIND) + 2)
            assert fence.is_present is False
            server.holder = "a/1"
            await until(lambda: fence.is_present is True)


@in_loop
async def test_new_leader_does_not_wait_for_a_fence_that_is_not_there() -> None:
    async with scripted() as (_, fence):
        await fence.settled("b/2", "a/1")
        assert fence.is_present is False


def test_server_that_is_silent_does_not_hold_up_the_leader(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It will lose its Lease, and must be there when the next one can be had."""
    monkeypatch.setattr(module, "SETTLE_S", 0.1)

    @in_loop
    async def story() -> None:
        async with scripted() as (server, fence):
            server.api.on("POST", BIND, silence(server.api))
            await fence.settled("b/2", "a/1")
            assert fence.is_present is None
            assert warnings(caplog) == ["fence-not-settled"]

    story()


# ---- a real server


@pytest.mark.timeout(120)
def test_fence_comes_and_goes_on_a_real_server(control_plane: ControlPlane) -> None:
    """With the rights of the scheduler's account: absent, installed, changed, installed again, deleted."""

    async def story() -> None:
        transport = Transport(load(str(control_plane.kubeconfig(f"{ACCOUNT}scheduler"))))
        client = Client(transport)
        fence = Fence(client, Binder(client), look_s=0.1)
        async with control_plane.api() as api, followed(fence):
            await until(lambda: fence.is_present is False)
            await api.create(lease())
            for thing in manifest():
                await api.create(thing)
            await seen(fence, api)
            assert fence.is_outdated is False
            await api.patch(manifest()[0], {"spec": {"failurePolicy": "Ignore"}})
            await until(lambda: fence.is_outdated is True)
            await api.patch(manifest()[0], {"spec": {"failurePolicy": "Fail"}})
            await until(lambda: fence.is_outdated is False)
        await transport.close()

    async def install() -> None:
        async with control_plane.api() as api:
            await installed(api, 0)
            for thing in manifest():
                await api.delete(thing)

    asyncio.run(install())
    asyncio.run(asyncio.wait_for(story(), 60))


def lease() -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "gangpool-scheduler", "namespace": SPACE},
        "spec": {"holderIdentity": "one/3"},
    }


async def seen(fence: Fence, api: Api) -> None:
    """The server takes a moment to go by a new policy; what it does then is noticed with its next change."""
    n = 0
    while fence.is_present is not True:
        n += 1
        await api.patch(manifest()[0], {"metadata": {"labels": {"n": str(n)}}})
        await asyncio.sleep(0.2)
