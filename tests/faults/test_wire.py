"""The network between scheduler and API server: cut again and again, and dead without a word."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.faults.load import draw
from tests.faults.stage import Stage
from tests.faults.wire import Wire


async def cuts(stage: Stage, wire: Wire, count: int) -> None:
    """Every connection of scheduler and jobs controller, watches and binds under way, is reset at random moments."""
    loop = asyncio.get_running_loop()
    for i in range(count):
        assert wire.n_lines > 0
        creating = asyncio.create_task(stage.create(draw(stage.rng, f"c{i}", 10)))
        await stage.strike(lambda: loop.call_soon_threadsafe(wire.cut))
        await creating
    await stage.until_done()


async def stalls(stage: Stage, wire: Wire, count: int) -> None:
    """Every connection goes dead in the middle of a load; only new ones get through. The leader may lose its Lease
    over it; gangs are whole within the time for faults."""
    loop = asyncio.get_running_loop()
    for i in range(count):
        creating = asyncio.create_task(stage.create(draw(stage.rng, f"s{i}", 10)))
        await stage.strike(lambda: loop.call_soon_threadsafe(wire.stall))
        await creating
        await stage.create(draw(stage.rng, f"t{i}", 5))
        await stage.until_done()


async def trouble(folder: Path, seed: int, n_cuts: int, n_stalls: int) -> list[str]:
    """Both in one cluster."""
    async with Stage(folder, seed) as stage, Wire(stage.plane) as wire:
        stage.start("jobs-controller", "jobs", wire.url)
        stage.start("scheduler", "a", wire.url)
        await stage.leader()
        await cuts(stage, wire, n_cuts)
        await stalls(stage, wire, n_stalls)
        return await stage.judged()


@pytest.mark.cluster
@pytest.mark.timeout(200)
def test_connections_are_cut_or_dead(tmp_path: Path, seed: int) -> None:
    """Five times cut, once dead."""
    assert asyncio.run(trouble(tmp_path, seed, 5, 1)) == []


@pytest.mark.cluster
@pytest.mark.long
@pytest.mark.timeout(2_400)
def test_connections_are_cut_or_dead_many_times(tmp_path: Path, seed: int) -> None:
    """Fifty times cut, ten times dead."""
    assert asyncio.run(trouble(tmp_path, seed, 50, 10)) == []
