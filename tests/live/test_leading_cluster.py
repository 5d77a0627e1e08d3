"""Two replicas on a real API server: takeover in time, hand-over at once, and a frozen leader that writes nothing more.

The Lease lasts 6 s here (15 s in the long run), so that a takeover takes seconds; the bounds follow from it.
"""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster.plane import ControlPlane
from tests.live.replicas import END_S, Replica, installed, pod, scheduler, until, until_bound, until_leader, writes

LEASE_S = 6
TAKEOVER_S = 2.0
"""After the Lease has run out."""
AT_ONCE_S = 3.0
FENCED = 422
LEADER = "gangpool.io/leader"


def take_over(plane: ControlPlane, folder: Path, lease_s: int) -> None:
    """1. The leader is killed: the other replica leads within the Lease and 2 s, and binds. 2. A third comes. The
    leader is asked to end: the third leads at once, and binds; the process is gone within 5 s."""

    async def killed(one: Replica) -> None:
        async with plane.api() as api:
            await until_leader(api, "two" if one.name == "one" else "one", lease_s + TAKEOVER_S)
            await api.create(pod("after-kill"))
            found = await until_bound(api, "after-kill")
            assert not found["metadata"]["annotations"][LEADER].startswith(f"{one.name}/")

    async def ended(leader: Replica) -> None:
        async with plane.api() as api:
            await until_leader(api, "three", AT_ONCE_S)
            await api.create(pod("after-end"))
            found = await until_bound(api, "after-end")
            assert found["metadata"]["annotations"][LEADER].startswith("three/")

    async def begin(one: Replica, two: Replica) -> Replica:
        async with plane.api() as api:
            await until_leader(api, "one")
            for each in (one, two):
                await until_ready(each)
            for each in (one, two):
                await until_fenced(each)
            assert [(await each.metrics())["gangpool_leader"] for each in (one, two)] == [1, 0]
            return one

    with ExitStack() as stack:
        asyncio.run(prepare(plane))
        one = stack.enter_context(scheduler(plane, folder, "one", lease_s))
        asyncio.run(leads(plane, "one"))
        two = stack.enter_context(scheduler(plane, folder, "two", lease_s))
        asyncio.run(begin(one, two))
        one.send(signal.SIGKILL)
        asyncio.run(killed(one))
        three = stack.enter_context(scheduler(plane, folder, "three", lease_s))
        asyncio.run(until_ready(three))
        started = time.monotonic()
        two.send(signal.SIGTERM)
        asyncio.run(ended(two))
        two.child.wait(max(0.0, END_S - (time.monotonic() - started)))
        assert two.child.returncode == 0


async def prepare(plane: ControlPlane) -> None:
    async with plane.api() as api:
        await installed(api, 2)


async def leads(plane: ControlPlane, name: str) -> None:
    async with plane.api() as api:
        await until_leader(api, name)


async def until_ready(each: Replica) -> None:
    async def ready() -> bool:
        try:
            return (await each.get("/readyz"))[0] == 200
        except OSError:
            return False

    await until(f"{each.name} is ready", ready)


async def until_fenced(each: Replica) -> None:
    """The server takes a moment to see a new policy."""

    async def fenced() -> bool:
        return (await each.metrics()).get("gangpool_fence_present") == 1

    await until(f"{each.name} sees the fence", fenced)


@pytest.mark.timeout(180)
def test_the_other_replica_takes_over_and_is_handed_over(control_plane: ControlPlane, tmp_path: Path) -> None:
    take_over(control_plane, tmp_path, LEASE_S)


@pytest.mark.long
@pytest.mark.timeout(240)
def test_takeover_with_the_lease_of_production(control_plane: ControlPlane, tmp_path: Path) -> None:
    take_over(control_plane, tmp_path, 15)


@pytest.mark.timeout(180)
def test_frozen_leader_writes_nothing_more(control_plane: ControlPlane, tmp_path: Path) -> None:
    """1. Pods come all the time, and the leader is frozen among its binds. 2. The other replica takes over and binds
    the rest. 3. The first one goes on: from then on the audit log has no write of it, neither a bind that had waited
    for a connection nor a word about a pod, and it waits to lead again. (What was half on the wire when it froze may
    still reach the server, which refuses it.)"""
    plane = control_plane
    names = [f"p{i}" for i in range(150)]

    async def freeze(one: Replica) -> None:
        async with plane.api() as api:
            making = [asyncio.create_task(api.create(pod(name))) for name in names]
            await until_bound(api, names[10])
            one.send(signal.SIGSTOP)
            await asyncio.gather(*making)
            await until_leader(api, "two")
            for name in names:
                await until_bound(api, name)

    async def thaw(one: Replica, two: Replica) -> None:
        audit = plane.audit()
        token = one.token(audit)
        frozen = len(writes(audit, token))
        assert frozen
        at_s = one.send(signal.SIGCONT)

        async def waits() -> bool:
            looks = [r for r in audit.requests() if r.token == token and r.at_s > at_s and r.resource[:6] == "leases"]
            return len(looks) >= 3

        await until("one looks at the Lease again", waits)
        assert (await one.metrics())["gangpool_leader"] == 0
        assert (await one.get("/readyz"))[0] == 200
        late = [(r.verb, r.resource, r.name, r.status) for r in writes(audit, token, at_s) if r.status != FENCED]
        assert late == []
        assert (await two.metrics())["gangpool_leader"] == 1

    with ExitStack() as stack:
        asyncio.run(prepare(plane))
        one = stack.enter_context(scheduler(plane, tmp_path, "one", LEASE_S))
        asyncio.run(leads(plane, "one"))
        two = stack.enter_context(scheduler(plane, tmp_path, "two", LEASE_S))
        asyncio.run(until_ready(two))
        asyncio.run(freeze(one))
        asyncio.run(thaw(one, two))
