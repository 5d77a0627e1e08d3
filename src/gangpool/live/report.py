"""Tells the cluster why its pods wait: conditions, events and gang status, slowly and only when something is new.

The scheduler calls `waits` after each plan and `bound` after binds; a task of its own sends what `notices` decides, one
write at a time, at most 20 a second. Nothing here holds up a bind, and a write that fails is said again or forgotten.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from gangpool.core.model import Seat, Wait
from gangpool.kube.client import ApiError, Client, backoff_s
from gangpool.kube.transport import Unreachable
from gangpool.live.follow import Follower
from gangpool.live.notices import Given, Notices

log = logging.getLogger("gangpool.report")

PER_S = 20.0
CALL_S = 10.0
"""Longest time for one write, the client's own waiting included."""


class Reporter:
    """Writer of words. `n_writes` by kind of write, `n_failed` by HTTP status (0: no answer)."""

    def __init__(self, client: Client, follower: Follower, per_s: float = PER_S) -> None:
        self._client = client
        self._gap_s = 1.0 / per_s
        self._wake = asyncio.Event()
        self.notices = Notices(follower.pods, follower.world, follower.course)
        self.n_writes: Counter[str] = Counter()
        self.n_failed: Counter[int] = Counter()

    def waits(self, waits: Sequence[Wait], resting: Mapping[str, str]) -> None:
        """After each plan: everything that waits, and the server's refusal by key of units that rest."""
        self.notices.waits(time.monotonic(), waits, resting)
        self._wake.set()

    def bound(self, key: str, seats: Sequence[Seat]) -> None:
        """The server has bound these members of a unit."""
        self.notices.bound(key, seats)
        self._wake.set()

    def stop(self) -> None:
        """We lead no more: what is queued is dropped. `waits` begins anew."""
        self.notices.clear()

    async def run(self) -> None:
        """Write, until cancelled."""
        troubles = 0
        while True:
            await self._wake.wait()
            given = self.notices.next(time.time())
            if given is None:
                if not self.notices.n_queued:
                    self._wake.clear()
                await asyncio.sleep(0)
                continue
            next_at = time.monotonic() + self._gap_s
            status = await self._send(given)
            self.notices.answered(given, status)
            troubles = troubles + 1 if status in (0, 429) or status >= 500 else 0
            if troubles:
                await asyncio.sleep(backoff_s(min(troubles, 6)))
            await asyncio.sleep(max(0.0, next_at - time.monotonic()))

    async def _send(self, given: Given) -> int:
        """One write; the HTTP status of the answer, 0 without one."""
        _, write = given
        try:
            async with asyncio.timeout(CALL_S):
                await self._client.send(write.method, write.path, write.body, None, write.content_type)
        except ApiError as error:
            status, text = error.status, error.message
        except (Unreachable, TimeoutError) as error:
            status, text = 0, str(error)
        else:
            self.n_writes[write.what] += 1
            return 200
        self.n_failed[status] += 1
        level = logging.DEBUG if status in (404, 409) else logging.WARNING  # the object is gone or was quicker
        log.log(level, "write-failed what=%s path=%s status=%d text=%s", write.what, write.path, status, text[:200])
        return status
