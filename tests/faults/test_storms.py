"""An API server in trouble: restarted, throttling, failing, losing answers; and others that change objects too."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from pathlib import Path

import pytest

from tests.faults.injector import Call, Injector, Reply
from tests.faults.judge import gang_of, node_of
from tests.faults.load import draw, node
from tests.faults.stage import Stage

STORM_S = 3.0
LATE_S = 6.0
"""Longer than the scheduler waits for one answer."""


async def restarts(stage: Stage, count: int) -> None:
    """kill -9 of the API server between two binds, and a new one on the same etcd."""
    for i in range(count):
        creating = asyncio.create_task(stage.create(draw(stage.rng, f"r{i}", 10)))
        await stage.strike(stage.kill_server)
        stage.plane.apiserver.restart()
        await stage.plane.until_ready()
        await creating
    await stage.until_done()


class Troubles:
    """Rules of an injector: what goes wrong, and how often. One kind at a time."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.kind = ""

    async def before(self, call: Call) -> Reply | None:
        """Throttling asks for quiet; failures have done nothing."""
        if call.is_watch or call.method == "GET":
            return None
        if self.kind == "throttled":
            return Reply(429, "TooManyRequests", "a storm", {"Retry-After": "1"})
        if self.kind == "failing" and self._rng.random() < 0.5:
            return Reply(self._rng.choice((500, 503)), "InternalError", "etcd has no leader")
        return None

    async def after(self, call: Call, status: int) -> Reply | None:
        """The write was done, and nobody hears so: cut, or so late that nobody listens."""
        if self.kind == "lost" and call.method != "GET" and self._rng.random() < 0.3:
            if self._rng.random() < 0.2:
                await asyncio.sleep(LATE_S)
            return Reply(0)
        return None


async def storms(stage: Stage, injector: Injector, count: int) -> None:
    """Scheduler and jobs controller meet each kind of trouble for some seconds, in the middle of a load."""
    troubles = Troubles(stage.rng)
    injector.before, injector.after = troubles.before, troubles.after
    for i in range(count):
        for kind in ("throttled", "failing", "lost"):
            creating = asyncio.create_task(stage.create(draw(stage.rng, f"{kind}{i}", 10)))
            await stage.strike(partial(setattr, troubles, "kind", kind))
            n_injected = injector.n_injected
            await creating
            await asyncio.sleep(STORM_S)
            assert injector.n_injected > n_injected
            troubles.kind = ""
    await stage.until_done()


async def thief(stage: Stage, rng: random.Random) -> None:
    """Another writer: labels pods that wait, and binds some of them to a node that is none of ours."""
    labels = 0
    while True:
        for key in stage.waiting():
            namespace, _, name = key.partition("/")
            path = f"/api/v1/namespaces/{namespace}/pods/{name}"
            if rng.random() < 0.1 and "native" not in key:
                target = {"apiVersion": "v1", "kind": "Node", "name": "theirs"}
                body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
                await stage.api.request("POST", f"{path}/binding", body)
            else:
                labels += 1
                patch = {"metadata": {"labels": {"others/say": str(labels)}}}
                await stage.api.request("PATCH", path, patch, "application/merge-patch+json")
        await asyncio.sleep(0.005)


async def thefts(stage: Stage, count: int) -> None:
    """Members are bound by another while we plan and bind them."""
    theirs = {**node("theirs", "elsewhere", 512), "spec": {"unschedulable": True}}
    has = {"cpu": "9999", "memory": "99Ti", "pods": "9999", "nvidia.com/gpu": "9999"}
    await stage.api.create(theirs)
    await stage.api.patch(theirs, {"status": {"allocatable": has, "capacity": has}}, "/status")
    stealing = asyncio.create_task(thief(stage, stage.rng))
    try:
        for i in range(count):
            await stage.create(draw(stage.rng, f"x{i}", 10))
        await stage.until_done()
    finally:
        stealing.cancel()
    assert any(gang_of(pod) and node_of(pod) == "theirs" for pod in stage.history.pods.values())


async def trouble(folder: Path, seed: int, n_restarts: int, n_storms: int, n_thefts: int) -> list[str]:
    """All of it in one cluster, one after the other."""
    async with Stage(folder, seed) as stage, Injector(stage.plane) as injector:
        stage.start("jobs-controller", "jobs", injector.url)
        stage.start("scheduler", "a", injector.url)
        await stage.leader()
        await restarts(stage, n_restarts)
        await storms(stage, injector, n_storms)
        await thefts(stage, n_thefts)
        return await stage.judged()


@pytest.mark.cluster
@pytest.mark.timeout(200)
def test_troubles(tmp_path: Path, seed: int) -> None:
    """One restart, one storm of each kind, twenty gangs with a thief."""
    assert asyncio.run(trouble(tmp_path, seed, 1, 1, 2)) == []


@pytest.mark.cluster
@pytest.mark.long
@pytest.mark.timeout(2_400)
def test_troubles_many_times(tmp_path: Path, seed: int) -> None:
    """Ten restarts, thirty storms, two hundred gangs with a thief."""
    assert asyncio.run(trouble(tmp_path, seed, 10, 10, 20)) == []
