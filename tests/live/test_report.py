"""The writing side against a server in this process: one write at a time, a pace, troubles, and the end of a term."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from gangpool.core.model import Reason, Wait
from gangpool.intake.config import Config
from gangpool.kube import client as client_module
from gangpool.live import report as module
from gangpool.live.follow import Follower
from gangpool.live.report import Reporter
from tests.kube.standin import Answer, StandIn, cut, in_loop, json_of, served, silence, status
from tests.live.stage import pod_of

FULL = Reason("cannot-fit", "cpu asked 8, best 4", next_step="ask for less")
EVENTS = "/api/v1/namespaces/ml/events"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "FIRST_WAIT_S", 0.001)


class Office:
    """A reporter at work, and the server that it writes to."""

    def __init__(self, api: StandIn, reporter: Reporter, follower: Follower) -> None:
        self.api = api
        self.reporter = reporter
        self._follower = follower
        api.on("POST", EVENTS, json_of({}, 201))

    def pod(self, name: str, *answers: Answer) -> str:
        """A pod; the path of its status."""
        self._follower.take_pod(pod_of(name))
        path = f"/api/v1/namespaces/ml/pods/{name}/status"
        self.api.on("PATCH", path, *(answers or (json_of({}),)))
        return path

    def plan(self, reason: Reason = FULL) -> None:
        """A plan that leaves all pods waiting."""
        waits = [Wait("", tuple(unit.waiting.values()), reason) for unit in self._follower.world.pool.waiting()]
        self.reporter.waits(waits, {})


@asynccontextmanager
async def office(per_s: float = 1e6) -> AsyncIterator[Office]:
    async with served() as (api, client):
        follower = Follower(client, Config())
        reporter = Reporter(client, follower, per_s)
        task = asyncio.create_task(reporter.run())
        try:
            yield Office(api, reporter, follower)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@in_loop
async def test_condition_and_event_are_sent() -> None:
    async with office() as desk:
        path = desk.pod("a")
        desk.plan()
        event = (await desk.api.until("POST", EVENTS, 1))[0]
        patch = (await desk.api.until("PATCH", path, 1))[0]
        assert patch.headers["Content-Type"] == "application/strategic-merge-patch+json"
        said = "cannot-fit: cpu asked 8, best 4; ask for less"
        assert patch.body["status"]["conditions"][0]["message"] == event.body["message"] == said


@in_loop
async def test_writes_keep_their_pace() -> None:
    async with office(per_s=20) as desk:
        paths = [desk.pod(name) for name in "abc"]
        started = time.monotonic()
        desk.plan()
        for path in paths:
            await desk.api.until("PATCH", path, 1)
        assert time.monotonic() - started >= 2 / 20


@in_loop
async def test_trouble_is_said_again_in_the_end() -> None:
    async with office() as desk:
        path = desk.pod("a", cut(), status(500, "InternalError"), json_of({}))
        desk.plan()
        await desk.api.until("PATCH", path, 3)
        await desk.api.until("POST", EVENTS, 1)
        assert desk.reporter.n_failed == {0: 1, 500: 1}


@in_loop
async def test_silent_server_does_not_hold_the_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CALL_S", 0.02)
    async with office() as desk:
        path = desk.pod("a", silence(desk.api), json_of({}))
        desk.plan()
        await desk.api.until("PATCH", path, 2)


@pytest.mark.parametrize("code", [403, 404, 409, 422])
def test_refusal_ends_nothing(code: int) -> None:
    @in_loop
    async def story() -> None:
        async with office() as desk:
            first, second = desk.pod("a", status(code, "No")), desk.pod("b")
            desk.plan()
            await desk.api.until("PATCH", second, 1)
            await desk.api.until("POST", EVENTS, 2)
            assert desk.api.count("PATCH", first) == 1
            assert desk.reporter.n_failed == {code: 1}

    story()


@in_loop
async def test_end_of_a_term_drops_what_is_queued() -> None:
    async with office() as desk:
        path = desk.pod("a")
        desk.plan()
        desk.reporter.stop()
        last = desk.pod("b")
        desk.plan()  # the next term begins anew
        await desk.api.until("PATCH", last, 1)
        await desk.api.until("PATCH", path, 1)
        desk.reporter.stop()
        assert desk.reporter.notices.n_queued == 0
