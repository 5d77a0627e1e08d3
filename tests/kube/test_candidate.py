"""The Lease step by step: one holds, a release hands over at once, a frozen holder falls, lost answers count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gangpool.kube import candidate as module
from gangpool.kube.candidate import Candidate
from gangpool.kube.client import Client
from gangpool.kube.term import Times
from tests.kube.lease_store import LEASE, LEASES, Store
from tests.kube.standin import Answer, StandIn, in_loop, json_of, served, silence, status


class Clock:
    """The clock of the replicas, moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "now", clock)
    return clock


@asynccontextmanager
async def cluster() -> AsyncIterator[tuple[StandIn, Store, Client]]:
    async with served() as (api, client):
        yield api, Store(api), client


def replica(client: Client, name: str) -> Candidate:
    return Candidate(client, "gangpool-system/gangpool-scheduler", name, Times())


@in_loop
async def test_first_one_makes_the_lease(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        await a.look()
        assert not a.is_held()
        assert await a.take()
        assert a.is_held()
        assert (a.term.identity, a.term.before, a.term.is_fresh) == ("a/0", "", True)
        assert store.spec["holderIdentity"] == "a/0"
        assert (store.spec["leaseDurationSeconds"], store.spec["leaseTransitions"]) == (15, 0)


@in_loop
async def test_exactly_one_of_two_holds_it(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        replicas = [replica(client, "a"), replica(client, "b")]
        for _ in range(5):
            await asyncio.gather(*(one.take() for one in replicas if not one.is_held()))
            assert [one.is_held() for one in replicas].count(True) == 1
        assert store.holders == [one.term.identity for one in replicas if one.is_held()]


@in_loop
async def test_loser_of_a_race_for_a_free_lease_waits(clock: Clock) -> None:
    """Both read the Lease without a holder, both write it: the second write is a conflict."""
    async with cluster() as (_, store, client):
        first = replica(client, "z")
        await first.take()
        await first.release()
        a, b = replica(client, "a"), replica(client, "b")
        seen = await b._read()
        assert seen is not None
        assert await b._write_over(seen)
        assert not await a._write_over(seen)
        assert not a.is_held()
        assert store.holders == ["z/0", "", "b/1"]


@in_loop
async def test_release_hands_over_at_once_under_a_new_identity(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a, b = replica(client, "a"), replica(client, "b")
        await a.take()
        assert not await b.take()
        await a.release()
        assert await b.take()
        assert (b.term.identity, b.term.before) == ("b/1", "")
        assert not a.is_held()
        await b.release()
        assert await a.take()
        assert store.holders == ["a/0", "", "b/1", "", "a/2"]


@in_loop
async def test_term_is_fresh_only_where_nobody_has_led_since_the_first_look(clock: Clock) -> None:
    """Else what was listed in between may miss what that leader bound at last."""
    async with cluster() as (api, store, client):
        a, b, c, d = (replica(client, name) for name in "abcd")
        await a.take()
        await b.look()  # held
        await a.release()
        await c.look()  # given back
        assert await b.take()
        assert not b.term.is_fresh
        await b.release()
        assert await c.take()  # given back again, and b has led in between
        assert not c.term.is_fresh
        await c.release()
        await d.look()
        assert await d.take()
        assert d.term.is_fresh
        await d.release()
        api.on("GET", LEASE, status(500, "InternalError"), store.get)
        e = replica(client, "e")
        await e.look()  # not known
        assert await e.take()
        assert not e.term.is_fresh


@in_loop
async def test_lease_that_is_renewed_stays(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a, b = replica(client, "a"), replica(client, "b")
        await a.take()
        acquired = store.spec["acquireTime"]
        for _ in range(10):
            clock.now += 5
            assert await a.renew()
            assert not await b.take()
        assert a.is_held()
        assert store.spec["acquireTime"] == acquired


@in_loop
async def test_lease_that_is_not_renewed_falls_after_its_duration(clock: Clock) -> None:
    """By the own clock of who looks: the times in the Lease are another machine's."""
    async with cluster() as (_, store, client):
        a, b = replica(client, "a"), replica(client, "b")
        await a.take()
        clock.now += 100
        assert not await b.take()  # seen for the first time only now
        assert b.wait_s() == 1.0
        clock.now += 14.75
        assert not await b.take()
        assert b.wait_s() == 0.25  # to the very moment
        clock.now += 0.25
        assert await b.take()
        assert (b.term.identity, b.term.before, b.term.is_fresh) == ("b/1", "a/0", False)
        assert not a.is_held()
        assert not await a.renew()
        assert store.spec["holderIdentity"] == "b/1"


@in_loop
async def test_lease_runs_out_when_its_holder_says_so(clock: Clock) -> None:
    """Replicas of two versions may have different durations."""
    async with cluster() as (_, _, client):
        a = Candidate(client, "gangpool-system/gangpool-scheduler", "a", Times(60))
        b = replica(client, "b")
        await a.take()
        assert not await b.take()
        clock.now += 59
        assert not await b.take()
        clock.now += 1
        assert await b.take()


@in_loop
async def test_frozen_leader_learns_from_its_own_clock_that_it_leads_no_more(clock: Clock) -> None:
    """Some time before others may take it: what is on its way has time to arrive."""
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        await a.take()
        clock.now += 13
        assert a.is_held()
        clock.now += 0.2
        assert not a.is_held()
        assert not await a.renew()
        assert a.term.identity == ""
        assert store.holders == ["a/0"]


@in_loop
async def test_lease_that_ran_out_unseen_is_taken_again_under_a_new_identity(clock: Clock) -> None:
    """The loop stood still for longer than the Lease, and nobody else was there to take it."""
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        await a.take()
        clock.now += 20
        assert not await a.renew()
        assert await a.take()
        assert (a.term.identity, a.term.before) == ("a/1", "a/0")
        assert store.holders == ["a/0", "a/1"]


@in_loop
async def test_renewal_whose_answer_is_lost_is_survived(clock: Clock) -> None:
    """The client may send it again by itself, so more answers than one are lost."""
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        await a.take()
        clock.now += 5
        store.n_lost = 3
        assert not await a.renew()  # not known to be done; the Lease is ours for some time more
        assert a.is_held()
        store.n_lost = 0
        clock.now += 5
        assert await a.renew()  # the version is not what we think: read, and written from there
        clock.now += 12
        assert a.is_held()  # by the second renewal, not by the acquisition
        assert set(store.holders) == {"a/0"}


@in_loop
async def test_acquisition_whose_answer_is_lost_is_taken_up(clock: Clock) -> None:
    """The write was done: nobody else can hold it, and waiting for its end would be 15 s for nothing."""
    async with cluster() as (_, store, client):
        b, a = replica(client, "b"), replica(client, "a")
        await b.take()
        await b.release()
        store.n_lost = 3
        assert not await a.take()
        store.n_lost = 0
        assert await a.take()
        assert store.spec["holderIdentity"] == a.term.identity
        assert a.term.identity not in store.holders[:-1]


@in_loop
async def test_two_processes_of_one_name_do_not_take_each_other_s_lease(clock: Clock) -> None:
    """1. Both see it free and write the same identity; one is quicker. 2. The other finds its own name there."""
    async with cluster() as (_, store, client):
        first = replica(client, "z")
        await first.take()
        await first.release()
        a, b = replica(client, "same"), replica(client, "same")
        seen = await a._read()
        assert seen is not None
        assert await a._write_over(seen)
        assert not await b._write_over(seen)
        assert not await b.take()
        await b.release()
        assert store.spec["holderIdentity"] == "same/1"
        assert await a.renew()


@in_loop
async def test_acquisition_whose_answer_is_lost_is_given_back_at_the_end(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        store.n_lost = 3
        assert not await a.take()
        store.n_lost = 0
        await a.release()
        assert store.holders[-1] == ""


@in_loop
async def test_lease_that_was_taken_over_is_not_renewed(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        await a.take()
        store.version += 1
        assert store.lease is not None
        store.lease["metadata"]["resourceVersion"] = str(store.version)
        store.lease["spec"]["holderIdentity"] = "b/1"
        assert not await a.renew()
        assert a.term.identity == ""
        await a.release()
        assert store.spec["holderIdentity"] == "b/1"


@in_loop
async def test_deleted_lease_is_no_longer_held(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        await a.take()
        store.lease = None
        assert not await a.renew()
        assert not a.is_held()


@pytest.mark.parametrize("trouble", ["error", "silence", "no Lease"])
def test_trouble_while_renewing_keeps_it_only_as_long_as_it_lasts(trouble: str, clock: Clock) -> None:
    @in_loop
    async def story() -> None:
        async with cluster() as (api, _, client):
            a = Candidate(client, "gangpool-system/gangpool-scheduler", "a", Times(5))
            await a.take()
            answers: dict[str, Answer] = {
                "error": status(500, "InternalError"),
                "silence": silence(api),
                "no Lease": json_of("a page of some proxy"),
            }
            api.on("PUT", LEASE, answers[trouble])
            clock.now += 4.3
            assert not await a.renew()
            assert a.is_held()
            clock.now += 0.1
            assert not await a.renew()
            assert a.term.identity == ""

    story()


@in_loop
async def test_release_survives_a_version_that_moved(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a = replica(client, "a")
        await a.take()
        store.n_lost = 3
        await a.renew()
        store.n_lost = 0
        await a.release()
        assert store.spec["holderIdentity"] == ""
        assert not a.is_held()


@in_loop
async def test_release_of_what_is_not_held_writes_nothing(clock: Clock) -> None:
    async with cluster() as (_, store, client):
        a, b = replica(client, "a"), replica(client, "b")
        await a.take()
        assert not await b.take()
        await b.release()
        assert store.holders == ["a/0"]


@in_loop
async def test_refusals_while_acquiring_are_no_success(clock: Clock) -> None:
    async with cluster() as (api, store, client):
        api.on("POST", LEASES, status(403, "Forbidden", "no"), status(500, "InternalError"), store.write)
        a = replica(client, "a")
        assert [await a.take() for _ in range(3)] == [False, False, True]


@in_loop
async def test_release_does_not_wait_for_a_server_that_is_silent(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RELEASE_S", 0.01)
    async with cluster() as (api, _, client):
        a = replica(client, "a")
        await a.take()
        api.on("PUT", LEASE, silence(api))
        await a.release()
        assert not a.is_held()
