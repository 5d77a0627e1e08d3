"""The network between scheduler and API server: cut again and again, and dead without a word."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.faults.load import draw
from tests.faults.stage import Stage
from tests.faults.wire import Wire


async def cuts(folder: Path, seed: int, count: int) -> list[str]:
    """Every connection of scheduler and jobs controller, watches and binds under way, is reset at random moments."""
    async with Stage(folder, seed) as stage, Wire(stage.plane) as wire:
        stage.start("jobs-controller", "jobs", wire.url)
        stage.start("scheduler", "a", wire.url)
        await stage.leader()
        loop = asyncio.get_running_loop()
        for i in range(count):
            assert wire.n_lines > 0
            creating = asyncio.create_task(stage.create(draw(stage.rng, f"c{i}", 10)))
            await stage.strike(lambda: loop.call_soon_threadsafe(wire.cut))
            await creating
        return await stage.judged()


async def stalls(folder: Path, seed: int, count: int) -> list[str]:
    """Every connection goes dead in the middle of a load; only new ones get through. The leader may lose its Lease
    over it; gangs are whole within the time for faults."""
    async with Stage(folder, seed) as stage, Wire(stage.plane) as wire:
        stage.start("jobs-controller", "jobs")
        stage.start("scheduler", "a", wire.url)
        await stage.leader()
        loop = asyncio.get_running_loop()
        for i in range(count):
            creating = asyncio.create_task(stage.create(draw(stage.rng, f"s{i}", 10)))
            await stage.strike(lambda: loop.call_soon_threadsafe(wire.stall))
            await creating
            await stage.create(draw(stage.rng, f"t{i}", 5))
            await stage.until_done()
        return await stage.judged()


@pytest.mark.cluster
@pytest.mark.timeout(200)
def test_connections_are_cut(tmp_path: Path, seed: int) -> None:
    """Five times."""
    assert asyncio.run(cuts(tmp_path, seed, 5)) == []


@pytest.mark.cluster
@pytest.mark.timeout(200)
def test_connections_go_dead(tmp_path: Path, seed: int) -> None:
    """Once."""
    assert asyncio.run(stalls(tmp_path, seed, 1)) == []


@pytest.mark.cluster
@pytest.mark.long
@pytest.mark.timeout(2_400)
def test_connections_are_cut_many_times(tmp_path: Path, seed: int) -> None:
    """Fifty times; and ten times dead."""
    assert asyncio.run(cuts(tmp_path / "cuts", seed, 50)) == []
    assert asyncio.run(stalls(tmp_path / "stalls", seed, 10)) == []
