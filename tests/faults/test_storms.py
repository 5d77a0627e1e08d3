"""An API server in trouble: restarted, throttling, failing, losing answers; and others that change objects too."""

from __future__ import annotations

import asyncio
import random
import signal
from pathlib import Path

import pytest

from tests.faults.injector import Call, Injector, Reply
from tests.faults.judge import gang_of, node_of
from tests.faults.load import draw, node
from tests.faults.stage import Stage

STORM_S = 4.0
LATE_S = 6.0
"""Longer than the scheduler waits for one answer."""


async def restarts(folder: Path, seed: int, count: int) -> list[str]:
    """kill -9 of the API server in the middle of a load, and a new one on the same etcd."""
    async with Stage(folder, seed) as stage:
        stage.start("jobs-controller", "jobs")
        stage.start("scheduler", "a")
        await stage.leader()
        for i in range(count):
            creating = asyncio.create_task(stage.create(draw(stage.rng, f"r{i}", 10)))
            await stage.strike(lambda: stage.plane.apiserver.send(signal.SIGKILL))
            stage.plane.apiserver.restart()
            await stage.plane.until_ready()
            await creating
        return await stage.judged()


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


async def storms(folder: Path, seed: int, count: int) -> list[str]:
    """Scheduler and jobs controller meet each kind of trouble for some seconds, in the middle of a load."""
    async with Stage(folder, seed) as stage, Injector(stage.plane) as injector:
        troubles = Troubles(stage.rng)
        injector.before, injector.after = troubles.before, troubles.after
        stage.start("jobs-controller", "jobs", injector.url)
        stage.start("scheduler", "a", injector.url)
        await stage.leader()
        for i in range(count):
            for kind in ("throttled", "failing", "lost"):
                n_before = stage.n_binds()
                creating = asyncio.create_task(stage.create(draw(stage.rng, f"{kind}{i}", 10)))
                await stage.until_binds(n_before + stage.rng.randint(1, 10))
                troubles.kind = kind
                n_injected = injector.n_injected
                await creating
                await asyncio.sleep(STORM_S)
                assert injector.n_injected > n_injected
                troubles.kind = ""
        return await stage.judged()


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


async def thefts(folder: Path, seed: int, count: int) -> list[str]:
    """Members are bound by another while we plan and bind them."""
    async with Stage(folder, seed) as stage:
        theirs = {**node("theirs", "elsewhere", 512), "spec": {"unschedulable": True}}
        has = {"cpu": "9999", "memory": "99Ti", "pods": "9999", "nvidia.com/gpu": "9999"}
        await stage.api.create(theirs)
        await stage.api.patch(theirs, {"status": {"allocatable": has, "capacity": has}}, "/status")
        stage.start("jobs-controller", "jobs")
        stage.start("scheduler", "a")
        await stage.leader()
        stealing = asyncio.create_task(thief(stage, stage.rng))
        for i in range(count):
            await stage.create(draw(stage.rng, f"x{i}", 10))
        await stage.until_done()
        stealing.cancel()
        pods = list(stage.history.pods.values())
        assert any(gang_of(pod) and node_of(pod) == "theirs" for pod in pods)
        return await stage.judged()


@pytest.mark.cluster
@pytest.mark.timeout(200)
def test_the_api_server_is_restarted(tmp_path: Path, seed: int) -> None:
    """Once."""
    assert asyncio.run(restarts(tmp_path, seed, 1)) == []


@pytest.mark.cluster
@pytest.mark.timeout(200)
def test_the_api_server_throttles_fails_and_loses_answers(tmp_path: Path, seed: int) -> None:
    """One storm of each kind."""
    assert asyncio.run(storms(tmp_path, seed, 1)) == []


@pytest.mark.cluster
@pytest.mark.timeout(200)
def test_another_binds_our_pods(tmp_path: Path, seed: int) -> None:
    """Thirty gangs."""
    assert asyncio.run(thefts(tmp_path, seed, 3)) == []


@pytest.mark.cluster
@pytest.mark.long
@pytest.mark.timeout(2_400)
def test_troubles_many_times(tmp_path: Path, seed: int) -> None:
    """Ten restarts, thirty storms, two hundred gangs with a thief."""
    assert asyncio.run(restarts(tmp_path / "restarts", seed, 10)) == []
    assert asyncio.run(storms(tmp_path / "storms", seed, 10)) == []
    assert asyncio.run(thefts(tmp_path / "thefts", seed, 20)) == []
