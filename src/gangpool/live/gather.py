"""When to look at what the watches have brought: not before they have handed over everything that is already here.

Called by the scheduler before each plan. Objects that were made together come over several watches; a plan on a part
of them would be another plan than the dry run's. So a plan waits for a short time after the first event, and then
until several turns of the event loop brought none: by then whatever the kernel had received is in the world, also
after the process stood still. What never becomes quiet is not waited for longer than `MOST_S`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

GATHER_S = 0.005
"""Events that come together are planned together."""
MOST_S = 0.05
"""Longest wait in all, under a load that never pauses."""
QUIET_TURNS = 4
"""Turns of the loop from a readable socket to the sink: transport, TLS and parser, reader; and one to spare."""


async def gathered(n_events: Callable[[], int]) -> float:
    """Come back when nothing more is on its way. `n_events`: events taken so far, over all watches. Returns how late
    the loop came back from the short sleep, in seconds."""
    started = time.monotonic()
    await asyncio.sleep(GATHER_S)
    late_s = max(0.0, time.monotonic() - started - GATHER_S)
    before, quiet = n_events(), 0
    while quiet < QUIET_TURNS and time.monotonic() - started < MOST_S + late_s:
        await asyncio.sleep(0)
        now = n_events()
        quiet = quiet + 1 if now == before else 0
        before = now
    return late_s
