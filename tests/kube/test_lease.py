"""Leadership as the scheduler's loop sees it: kept while the loop is busy, lost when it stands still, handed over at
once, and asked before every write. The server is in the test's loop, the leader in a loop of another thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gangpool.kube.candidate import Candidate
from gangpool.kube.client import Client
from gangpool.kube.kubeconfig import Access
from gangpool.kube.lease import Leadership
from gangpool.kube.term import Term, Times, now
from gangpool.kube.transport import Transport, Withheld
from tests.kube.lease_store import LEASE, Store
from tests.kube.standin import StandIn, in_loop, json_of, served, silence, status

PATH = "gangpool-system/gangpool-scheduler"
AT_ONCE_S = 3.0


class Quick(Times, frozen=True):
    """Renewed all the time; a stall is what a test says."""

    stall: float = 60.0

    @property
    def renew_s(self) -> float:
        return 0.02

    @property
    def stall_s(self) -> float:
        return self.stall


@asynccontextmanager
async def cluster() -> AsyncIterator[tuple[StandIn, Store, Client]]:
    async with served() as (api, client):
        yield api, Store(api), client


def leader_of(client: Client, name: str, times: Times | None = None) -> Leadership:
    return Leadership(client, "gangpool-system", "gangpool-scheduler", name, times)


async def elsewhere(url: str, story: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    """Run this in a loop of its own, which may stand still."""

    async def main() -> None:
        client = Client(Transport(Access(url, None)))
        try:
            await story(client)
        finally:
            await client.transport.close()

    await asyncio.to_thread(asyncio.run, main())


@in_loop
async def test_busy_loop_does_not_lose_the_lease() -> None:
    """The loop stands still until the server has seen renewals."""
    seen = threading.Event()

    async def story(client: Client) -> None:
        leadership = leader_of(client, "a", Quick())
        assert await leadership.acquire() == "a/0"
        assert seen.wait(20)
        assert leadership.is_held()
        await leadership.release()

    async with cluster() as (api, store, _):
        work = asyncio.create_task(elsewhere(api.url, story))
        await api.until("PUT", LEASE, 5)
        seen.set()
        await work
        assert set(store.holders) == {"a/0", ""}


@in_loop
async def test_loop_that_gives_no_sign_of_life_falls() -> None:
    """Its thread would go on for ever. When the loop comes back it knows at once that it leads no more."""
    taken = threading.Event()

    async def story(client: Client) -> None:
        leadership = leader_of(client, "a", Quick(3, stall=1.0))
        await leadership.acquire()
        assert taken.wait(20)
        assert not leadership.is_held()
        await leadership.release()

    async with cluster() as (api, store, client):
        work = asyncio.create_task(elsewhere(api.url, story))
        await api.until("PUT", LEASE, 1)
        b = Candidate(client, PATH, "b", Times(3))
        while not await b.take():
            await asyncio.sleep(b.wait_s())
        taken.set()
        await work
        assert b.term.before == "a/0"
        assert store.spec["holderIdentity"] == "b/1"


@in_loop
async def test_a_term_that_ran_out_and_is_renewed_after_all_is_led_on() -> None:
    """1. A renewal is on its way when the time is over. 2. The loop leads no more, and waits to lead. 3. The server has
    said yes: the same term goes on. Without word of it the Lease would be kept, and nobody would lead."""
    async with served() as (api, client):
        api.on("GET", LEASE, status(404, "NotFound"))
        api.on("POST", LEASE.rpartition("/")[0], silence(api))  # the thread has no part in this
        leadership = leader_of(client, "a", Times(60))
        await leadership.start()
        leadership.publish(Term("a/0", "", now() - 100.0))
        leading = asyncio.create_task(leadership.acquire())
        await api.until("POST", LEASE.rpartition("/")[0], 1)
        leadership.publish(Term("a/0", "", now()))
        assert await leading == "a/0"
        await leadership.release()


@in_loop
async def test_loop_that_comes_back_in_time_goes_on() -> None:
    """It stood still for longer than is allowed, and the Lease has not run out: renewed as before."""
    resumed, renewed = threading.Event(), threading.Event()

    async def story(client: Client) -> None:
        leadership = leader_of(client, "a", Quick(60, stall=1.0))
        await leadership.acquire()
        end = time.monotonic() + 20
        while not leadership.is_stalled():
            assert time.monotonic() < end
        await asyncio.sleep(0)
        resumed.set()
        await asyncio.to_thread(renewed.wait, 20)
        assert leadership.is_held()
        await leadership.release()

    async with cluster() as (api, store, _):
        work = asyncio.create_task(elsewhere(api.url, story))
        await asyncio.to_thread(resumed.wait, 20)
        n = api.count("PUT", LEASE)
        await api.until("PUT", LEASE, n + 3)
        renewed.set()
        await work
        assert set(store.holders) == {"a/0", ""}


@in_loop
async def test_release_hands_over_at_once() -> None:
    """With the durations of production: a waiting replica looks every second."""
    async with cluster() as (_, store, client):
        a, b = leader_of(client, "a"), leader_of(client, "b")
        assert await a.acquire() == "a/0"
        waiting = asyncio.create_task(b.acquire())
        await b_has_looked(b)
        started = time.monotonic()
        await a.release()
        assert await waiting == "b/1"
        assert time.monotonic() - started < AT_ONCE_S
        assert (a.is_held(), a.identity, b.before, b.is_fresh) == (False, "", "", False)
        await b.release()
        assert store.holders == ["a/0", "", "b/1", ""]


async def b_has_looked(b: Leadership) -> None:
    """Its thread is there and does not hold the Lease."""
    while b._thread is None or not b._thread.has_looked.done():
        await asyncio.sleep(0)
    assert not b.is_held()


@in_loop
async def test_refusal_of_the_fence_ends_the_term_it_is_about() -> None:
    async with cluster() as (_, store, client):
        a = leader_of(client, "a")
        first = await a.acquire()
        a.lose(first)
        assert (a.is_held(), a.identity) == (False, "")
        assert await a.acquire() == "a/1"
        a.lose(first)  # an answer that was late
        assert a.is_held()
        assert a.n_terms == 2
        await a.release()
        assert store.holders == ["a/0", "a/1", ""]


@in_loop
async def test_lease_that_another_has_taken_is_lost() -> None:
    async with cluster() as (_, store, client):
        a = leader_of(client, "a", Quick())
        await a.acquire()
        store.version += 1
        assert store.lease is not None
        store.lease["spec"]["holderIdentity"] = "b/1"
        while a.is_held():
            await asyncio.sleep(0.01)
        await a.release()
        assert store.spec["holderIdentity"] == "b/1"


@in_loop
async def test_release_of_a_replica_that_waits_leaves_the_lease() -> None:
    async with cluster() as (_, store, client):
        a, b = leader_of(client, "a"), leader_of(client, "b")
        await a.acquire()
        waiting = asyncio.create_task(b.acquire())
        await b_has_looked(b)
        waiting.cancel()
        await b.release()
        assert a.is_held()
        await a.release()
        assert store.holders == ["a/0", ""]
        for thread in threading.enumerate():
            if thread.name == "gangpool-lease":
                thread.join(5)
                assert not thread.is_alive()


@in_loop
async def test_release_does_not_wait_for_a_server_that_is_silent() -> None:
    """A process ends within 5 s, whatever the server does."""
    async with cluster() as (api, _, client):
        a = leader_of(client, "a")
        await a.acquire()
        api.on("PUT", LEASE, silence(api))
        started = time.monotonic()
        await a.release()
        assert time.monotonic() - started < 4
        assert not a.is_held()


@in_loop
async def test_release_without_start_is_nothing() -> None:
    async with cluster() as (_, store, client):
        await leader_of(client, "a").release()
        assert store.holders == []


@in_loop
async def test_defect_in_the_thread_is_heard_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The process ends then, and starts anew, instead of waiting for ever."""

    async def take(self: Candidate) -> bool:
        raise ValueError("defect")

    monkeypatch.setattr(Candidate, "take", take)
    async with cluster() as (_, _, client):
        a = leader_of(client, "a")
        with pytest.raises(RuntimeError, match="the thread of the Lease has ended"):
            await a.acquire()
        await a.release()
        assert "lease-defect" in caplog.text


@in_loop
async def test_each_sign_of_life_says_how_late_it_was() -> None:
    async with cluster() as (_, _, client):
        a, late = leader_of(client, "a"), list[float]()
        a.on_beat = late.append
        await a.acquire()
        time.sleep(0.6)  # a plan
        while max(late, default=0.0) < 0.3:
            await asyncio.sleep(0.01)
        await a.release()


# ---- what goes out


@in_loop
async def test_writes_that_wait_for_a_connection_are_withheld_when_leadership_ends() -> None:
    """1. One connection, held up by an answer that does not come. 2. A write and a dry run queue behind it. 3. We lead
    no more. 4. The answer comes: the write is not sent, the dry run is."""
    gate, leads = asyncio.Event(), True

    async def slow(request: Any) -> Any:
        await gate.wait()
        return await json_of({})(request)

    async with served() as (api, plain):
        transport = plain.transport.another(1)
        transport.may_write = lambda: leads
        api.on("POST", "/slow", slow)
        api.on("POST", "/bind", json_of({}))
        client = Client(transport)
        first = asyncio.create_task(client.create("/slow", {}))
        await api.until("POST", "/slow", 1)
        writes = asyncio.create_task(client.create("/bind", {}))
        trial = asyncio.create_task(client.create("/bind", {}, dryRun="All"))
        await asyncio.sleep(0)
        leads = False
        gate.set()
        await asyncio.gather(first, trial)
        with pytest.raises(Withheld):
            await writes
        assert [asked.query for asked in api.asked if asked.path == "/bind"] == [{"dryRun": "All"}]
        await transport.close()
