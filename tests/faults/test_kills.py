"""kill -9 of the leader at random moments of a load of mixed gangs (DESIGN section 4)."""

from __future__ import annotations

import asyncio
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.faults.load import draw
from tests.faults.stage import Stage


async def kills(folder: Path, seed: int, count: int) -> list[str]:
    """After each kill the process is started anew, as its Deployment would; a second replica waits all the time."""
    async with Stage(folder, seed) as stage:
        stage.start("jobs-controller", "jobs")
        names = ["a0", "b0"]
        for name in names:
            stage.start("scheduler", name)
        await stage.create(draw(stage.rng, "first", 10))
        for i in range(count):
            leader = await stage.leader()
            name = leader.partition("/")[0]
            creating = asyncio.create_task(stage.create(draw(stage.rng, f"k{i}", 10)))
            await stage.strike(partial(stage.replicas[name].send, signal.SIGKILL))
            stage.start("scheduler", f"{name[0]}{i + 1}")
            await creating
            await stage.leader(leader)
        return await stage.judged()


@pytest.mark.cluster
@pytest.mark.timeout(300)
def test_kill_the_leader(tmp_path: Path, seed: int) -> None:
    """Five times; each time the other replica takes over when the Lease has run out."""
    assert asyncio.run(kills(tmp_path, seed, 5)) == []


@pytest.mark.cluster
@pytest.mark.long
@pytest.mark.timeout(2_400)
def test_kill_the_leader_many_times(tmp_path: Path, seed: int) -> None:
    """Fifty times."""
    assert asyncio.run(kills(tmp_path, seed, 50)) == []
