"""SIGSTOP of the leader, takeover by the other replica, SIGCONT: the frozen one binds nothing in its old name."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.faults.load import draw
from tests.faults.stage import Stage


async def freezes(folder: Path, seed: int, count: int) -> list[str]:
    """Two replicas freeze in turn, at a random moment of a load; each wakes when the other has begun to bind."""
    async with Stage(folder, seed) as stage:
        stage.start("jobs-controller", "jobs")
        for name in ("a", "b"):
            stage.start("scheduler", name)
        for i in range(count):
            leader = await stage.leader()
            frozen = stage.replicas[leader.partition("/")[0]]
            creating = asyncio.create_task(stage.create(draw(stage.rng, f"f{i}", 10)))
            await stage.strike(frozen.freeze)
            await creating
            successor = await stage.leader(leader)
            await stage.create(draw(stage.rng, f"g{i}", 5))
            await stage.until_binds(1, by=successor)
            frozen.thaw()
            await stage.until_done()
        return await stage.judged()


@pytest.mark.cluster
@pytest.mark.timeout(400)
def test_a_frozen_leader(tmp_path: Path, seed: int) -> None:
    """Twice."""
    assert asyncio.run(freezes(tmp_path, seed, 2)) == []


@pytest.mark.cluster
@pytest.mark.long
@pytest.mark.timeout(2_400)
def test_a_frozen_leader_many_times(tmp_path: Path, seed: int) -> None:
    """Twenty times."""
    assert asyncio.run(freezes(tmp_path, seed, 20)) == []
