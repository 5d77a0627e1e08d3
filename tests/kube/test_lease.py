"""The Lease between replicas: one holds, a release hands over at once, a frozen holder falls, lost answers count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from gangpool.kube import lease as module
from gangpool.kube.client import Client
from gangpool.kube.lease import Leadership
from tests.kube.standin import Answer, StandIn, in_loop, json_of, served, silence, status

LEASES = "/apis/coordination.k8s.io/v1/namespaces/gangpool-system/leases"
LEASE = f"{LEASES}/gangpool-scheduler"


class Clock:
    """The monotonic clock of the replicas, moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "LOOK_S", 0.0)
    return clock


class Store:
    """The Lease on the server, written by compare and set. `n_lost`: so many next writes are done, and their answers
    are lost."""

    def __init__(self, api: StandIn) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.n_lost = 0
        self.holders: list[str] = []
        api.on("GET", LEASE, self.get)
        api.on("POST", LEASES, self.write)
        api.on("PUT", LEASE, self.write)

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        return dict(self.lease["spec"])

    async def get(self, request: web.Request) -> web.StreamResponse:
        answer = status(404, "NotFound") if self.lease is None else json_of(self.lease)
        return await answer(request)

    async def write(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        known = body["metadata"].get("resourceVersion")
        if request.method == "POST" and self.lease is not None:
            return await status(409, "AlreadyExists")(request)
        if request.method == "PUT" and (self.lease is None or known != str(self.version)):
            return await status(409, "Conflict")(request)
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.lease = body
        self.holders.append(body["spec"]["holderIdentity"])
        if self.n_lost:
            self.n_lost -= 1
            assert request.transport is not None
            request.transport.abort()
        return web.json_response(body)


@asynccontextmanager
async def cluster() -> AsyncIterator[tuple[StandIn, Store, Client]]:
    async with served() as (api, client):
        yield api, Store(api), client


def replica(client: Client, name: str) -> Leadership:
    return Leadership(client, "gangpool-system", "gangpool-scheduler", name)


@in_loop
async def test_first_one_makes_the_lease(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        assert not a.is_held()
        assert await a.acquire() == "a/0"
        assert a.is_held()
        assert a.before == ""
        assert store.spec["holderIdentity"] == "a/0"
        assert (store.spec["leaseDurationSeconds"], store.spec["leaseTransitions"]) == (15, 0)


@in_loop
async def test_exactly_one_of_two_holds_it(clock: Clock) -> None:
    async with cluster() as (api, store, client):
        replicas = [replica(client, "a"), replica(client, "b")]
        tasks = [asyncio.create_task(one.acquire()) for one in replicas]
        done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for _ in range(20):
            await api.until("GET", LEASE, api.count("GET", LEASE) + 1)  # the other one has looked again
        assert len(done) == 1
        assert [one.is_held() for one in replicas].count(True) == 1
        assert store.holders == [done.pop().result()]
        waiting.pop().cancel()


@in_loop
async def test_loser_of_a_race_for_a_free_lease_waits(clock: Clock) -> None:
    """Both read the Lease without a holder, both write it: the second write is a conflict."""
    async with cluster() as (_, store, client):
        first = replica(client, "z")
        await first.acquire()
        await first.release()
        a, b = replica(client, "a"), replica(client, "b")
        assert sorted([await a._try(), await b._try()]) == [False, True]
        seen = await b._read()
        assert await b._take(seen, 7)
        assert not await a._take(seen, 7)
        assert store.spec["holderIdentity"] == "b/7"


@in_loop
async def test_release_hands_over_at_once_under_a_new_identity(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a, b = replica(client, "a"), replica(client, "b")
        await a.acquire()
        waiting = asyncio.create_task(b.acquire())
        await a.release()
        assert await waiting == "b/1"
        assert b.before == ""
        assert not a.is_held()
        await b.release()
        assert await a.acquire() == "a/2"
        assert store.holders == ["a/0", "", "b/1", "", "a/2"]


@in_loop
async def test_lease_that_is_renewed_stays(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a, b = replica(client, "a"), replica(client, "b")
        await a.acquire()
        acquired = store.spec["acquireTime"]
        for _ in range(10):
            clock.now += 5
            assert await a.renew()
            assert not await b._try()
        assert a.is_held()
        assert store.spec["acquireTime"] == acquired


@in_loop
async def test_lease_that_is_not_renewed_falls_after_its_duration(clock: Clock) -> None:
    """By the own clock of who looks: the times in the Lease are another machine's."""
    async with cluster() as (_, store, client):
        a, b = replica(client, "a"), replica(client, "b")
        await a.acquire()
        clock.now += 100
        assert not await b._try()  # seen for the first time only now
        clock.now += 14.9
        assert not await b._try()
        clock.now += 0.1
        assert await b._try()
        assert (b.identity, b.before) == ("b/1", "a/0")
        assert not a.is_held()
        assert not await a.renew()
        assert store.spec["holderIdentity"] == "b/1"


@in_loop
async def test_frozen_leader_learns_from_its_own_clock_that_it_leads_no_more(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        await a.acquire()
        clock.now += 15
        assert not a.is_held()
        assert not await a.renew()
        assert a.identity == ""
        assert store.holders == ["a/0"]


@in_loop
async def test_lease_that_ran_out_unseen_is_taken_again_under_a_new_identity(clock: Clock) -> None:
    """The loop stood still for longer than the Lease, and nobody else was there to take it."""
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        await a.acquire()
        clock.now += 20
        assert await a.acquire() == "a/1"
        assert a.before == "a/0"
        assert store.holders == ["a/0", "a/1"]


@in_loop
async def test_renewal_whose_answer_is_lost_is_survived(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        await a.acquire()
        clock.now += 5
        store.n_lost = 1
        assert await a.renew()  # not known to be done; the Lease is ours for 10 s more
        clock.now += 5
        assert await a.renew()  # the version is not what we think: read, and written from there
        clock.now += 12
        assert a.is_held()  # by the second renewal, not by the first acquisition
        assert set(store.holders) == {"a/0"}


@in_loop
async def test_acquisition_whose_answer_is_lost_is_taken_up(clock: Clock) -> None:
    """The write was done: nobody else can hold it, and waiting for its end would be 15 s for nothing."""
    async with cluster() as (_, store, client):
        b, a = replica(client, "b"), replica(client, "a")
        await b.acquire()
        await b.release()
        store.n_lost = 1
        assert await a.acquire() == "a/2"
        assert store.holders == ["b/0", "", "a/1", "a/2"]


@in_loop
async def test_lease_that_was_taken_over_is_not_renewed(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        await a.acquire()
        store.version += 1
        assert store.lease is not None
        store.lease["metadata"]["resourceVersion"] = str(store.version)
        store.lease["spec"]["holderIdentity"] = "b/1"
        assert not await a.renew()
        assert a.identity == ""
        assert store.spec["holderIdentity"] == "b/1"


@in_loop
async def test_deleted_lease_is_no_longer_held(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        await a.acquire()
        store.lease = None
        assert not await a.renew()
        assert not a.is_held()


@pytest.mark.parametrize("trouble", ["error", "silence"])
def test_trouble_while_renewing_keeps_it_only_as_long_as_it_lasts(
    trouble: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.01)

    @in_loop
    async def story() -> None:
        async with cluster() as (api, _, client):
            a = replica(client, "a")
            await a.acquire()
            answer: Answer = status(500, "InternalError") if trouble == "error" else silence(api)
            api.on("PUT", LEASE, answer)
            clock.now += 14
            assert await a.renew()
            clock.now += 1
            assert not await a.renew()
            assert a.identity == ""

    story()


@in_loop
async def test_release_survives_a_version_that_moved(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        await a.acquire()
        store.n_lost = 1
        await a.renew()
        await a.release()
        assert store.spec["holderIdentity"] == ""
        assert not a.is_held()


@in_loop
async def test_release_of_what_is_not_held_writes_nothing(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a, b = replica(client, "a"), replica(client, "b")
        await a.acquire()
        await b.release()
        assert store.holders == ["a/0"]


@in_loop
async def test_refusals_while_acquiring_are_tried_again(clock: Clock) -> None:
    async with cluster() as (api, store, client):
        api.on("POST", LEASES, status(403, "Forbidden", "no"), status(500, "InternalError"), store.write)
        assert await replica(client, "a").acquire() == "a/0"


@in_loop
async def test_release_does_not_wait_for_a_server_that_is_silent(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RELEASE_S", 0.01)
    async with cluster() as (api, _, client):
        a = replica(client, "a")
        await a.acquire()
        api.on("PUT", LEASE, silence(api))
        await a.release()
        assert not a.is_held()
