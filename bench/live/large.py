"""A large cluster: how soon a scheduler that has just been started binds, and how much memory it takes.

5,000 nodes and 140,000 pods, of which 135,000 run; their objects are of the size that the API server stores for a pod
of a controller (3 to 4 KiB of JSON).
"""

from __future__ import annotations

import time
from typing import NamedTuple

from bench.live import seed, things
from bench.live.stage import peak_bytes, stage

PATIENCE_S = 300.0
WITH_CARD = 10
"""Of the pods that run on a node so many have a card; six cards are left."""


class Start(NamedTuple):
    """Seconds from the start of the process to its first bind, CPU seconds of it by then; its most resident bytes
    until all are bound."""

    first_s: float
    first_cpu_s: float
    peak_bytes: float


async def start(n_nodes: int, n_running: int, n_waiting: int) -> Start:
    """All lies there already; then the scheduler starts."""
    async with stage(n_nodes, *seed.STORE) as on:
        await seed.running(on, n_running, n_nodes, WITH_CARD)
        await on.gangs(things.gangs(n_waiting), things.OURS)
        started = time.time()
        process = on.gangpool()
        await on.until_bound(n_waiting, PATIENCE_S)
        return Start(min(on.clock.bound.values()) - started, on.first_cpu_s, peak_bytes(process.pid))
