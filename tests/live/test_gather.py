"""A plan waits for what the watches are still handing over, and not for ever."""

from __future__ import annotations

import asyncio
import itertools
import time

from gangpool.live.gather import MOST_S, gathered


class Events:
    """`n` events that begin to come in when somebody counts them, one every `gap` turns of the loop."""

    def __init__(self, n: int, gap: int) -> None:
        self.n_taken = 0
        self._left, self._gap = n, gap
        self._has_begun = False

    def count(self) -> int:
        if not self._has_begun:
            self._has_begun = True
            self._turn(0)
        return self.n_taken

    def _turn(self, number: int) -> None:
        if number % self._gap == 0 and self._left:
            self.n_taken += 1
            self._left -= 1
        if self._left:
            asyncio.get_running_loop().call_soon(self._turn, number + 1)


def test_waits_for_events_that_come_turn_after_turn() -> None:
    events = Events(20, gap=2)

    async def scenario() -> int:
        await gathered(events.count)
        return events.n_taken

    assert asyncio.run(scenario()) == 20


def test_does_not_wait_for_a_load_that_never_pauses() -> None:
    async def scenario() -> float:
        number = itertools.count()
        started = time.monotonic()
        late_s = await gathered(lambda: next(number))
        return time.monotonic() - started - late_s

    assert asyncio.run(scenario()) >= MOST_S
