"""Moments: how soon one large gang is bound, and a single pod on an idle cluster.

The scheduler runs already and has nothing to do. Both ends of each span are the server's own, from its audit log.
"""

from __future__ import annotations

import asyncio

from bench.live import things
from bench.live.stage import Stage, stage
from bench.live.things import Gang

N_NODES = 1_000
PATIENCE_S = 300.0
WARM = Gang("warm", 4)
"""Bound before anything is measured, so that the scheduler leads and its caches are filled."""


async def gang(scheduler: str, size: int) -> float:
    """Seconds from the creation of the last of so many members to the last bind."""
    async with stage(N_NODES) as on:
        await _warm(on, scheduler)
        await on.gangs([Gang("big", size)], scheduler)
        await on.until_bound(WARM.size + size, PATIENCE_S)
        names = [f"big-{i}" for i in range(size)]
        return max(on.clock.bound[name] for name in names) - max(on.clock.created[name] for name in names)


async def pods(n: int) -> list[float]:
    """Seconds from the creation to the bind of so many pods, one after another."""
    async with stage(N_NODES) as on:
        await _warm(on, things.OURS)
        for i in range(n):
            await on.pods([things.pod(f"p{i}", things.OURS)])
            await on.until_bound(WARM.size + i + 1, PATIENCE_S)
        return [on.clock.bound[f"p{i}"] - on.clock.created[f"p{i}"] for i in range(n)]


async def _warm(on: Stage, scheduler: str) -> None:
    if scheduler == things.OURS:
        on.gangpool()
    else:
        await on.lease("raw/0")
        on.kube_scheduler()
    await on.gangs([WARM], scheduler)
    await on.until_bound(WARM.size, PATIENCE_S)
    await asyncio.sleep(2.0)  # the words about the first gang are written by then
