"""Leadership by a Lease, kept by a thread of its own with a connection and a loop of its own.

A busy loop so does not lose the Lease, but only while it gives signs of life: a stalled leader must fall. Used by the
scheduler, in whose loop all methods are called; `is_held` may be asked before every write, and needs no server.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

from gangpool.kube.candidate import RELEASE_S, Candidate
from gangpool.kube.client import Client
from gangpool.kube.term import NONE, Term, Times, now

log = logging.getLogger("gangpool.kube")

BEAT_S = 0.25
"""The loop says so often that it lives."""
GRACE_S = 0.5


class Leadership:
    """The Lease as one replica sees it. Mutable: `_term` is written by the thread alone, as a whole; `_alive_at`,
    `_lost` by the loop alone; everything else passes through the two loops' own queues."""

    def __init__(self, client: Client, namespace: str, name: str, replica: str, times: Times | None = None) -> None:
        self._client = client
        self._path = f"{namespace}/{name}"
        self._replica = replica
        self.times = times or Times()
        self._term = NONE
        self._lost = ""
        """An identity that the server's fence has refused."""
        self._alive_at = now()
        self._beat: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._moved = asyncio.Event()
        self._thread: _Thread | None = None
        self.on_beat: Callable[[float], None] = lambda late_s: None
        """Called with each sign of life: how late it came."""
        self.n_terms = 0
        """Times that this replica began to lead."""

    @property
    def identity(self) -> str:
        """Our name while the Lease is ours, "" while it is not."""
        term = self._term
        return term.identity if term.identity != self._lost else ""

    @property
    def before(self) -> str:
        """Who led before us, "" where the Lease was given back."""
        return self._term.before

    @property
    def is_fresh(self) -> bool:
        """Nobody has led since `start`: what was listed since then misses no write of a leader."""
        return self._term.is_fresh

    def is_held(self) -> bool:
        """We hold it, by our own clock."""
        return self.left_s() > 0

    def left_s(self) -> float:
        """So long it is ours without another renewal; 0 while it is not."""
        term = self._term
        if not term.identity or term.identity == self._lost:
            return 0.0
        return max(0.0, term.renewed_at + self.times.held_s - now())

    async def start(self) -> None:
        """Take a first look, and be a candidate from now on."""
        self._loop = asyncio.get_running_loop()
        self._live()
        self._thread = _Thread(self, self._client, self._path, self._replica)
        self._thread.start()
        await asyncio.wrap_future(self._thread.has_looked)

    def _live(self) -> None:
        assert self._loop is not None
        late_s = now() - self._alive_at - BEAT_S
        if self._beat is not None:
            self.on_beat(max(0.0, late_s))
        self._alive_at = now()
        self._beat = self._loop.call_later(BEAT_S, self._live)

    async def acquire(self) -> str:
        """Wait until the Lease is ours; returns the new identity."""
        if self._thread is None:
            await self.start()
        assert self._thread is not None
        while not self.is_held():
            if self._thread.has_ended.done():
                raise RuntimeError("the thread of the Lease has ended")
            self._moved.clear()
            self._thread.ask()
            await self._moved.wait()
        self.n_terms += 1
        return self.identity

    def lose(self, identity: str) -> None:
        """The server has said that this identity leads no more. A younger one of ours still may."""
        self._lost = identity
        if self._thread is not None:
            self._thread.ask()

    async def release(self) -> None:
        """Hand over at once, and be a candidate no more."""
        if self._thread is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RELEASE_S + GRACE_S):
                    await asyncio.wrap_future(self._thread.end())
            self._thread = None
        if self._beat is not None:
            self._beat.cancel()

    # ---- called in the thread

    def is_stalled(self) -> bool:
        """The loop has given no sign of life for too long."""
        return now() - self._alive_at > self.times.stall_s

    def was_lost(self, identity: str) -> bool:
        """The fence has refused this identity."""
        return identity == self._lost

    def publish(self, term: Term) -> None:
        """What the thread knows now. Told each time: a renewal that came late takes up a term that had run out."""
        self._term = term
        self.wake()

    def wake(self) -> None:
        """Something has moved."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._moved.set)


class _Thread(threading.Thread):
    """Takes, renews and gives back the Lease. Ends with the process, or by `end`."""

    def __init__(self, leadership: Leadership, client: Client, path: str, replica: str) -> None:
        super().__init__(name="gangpool-lease", daemon=True)
        self._leadership = leadership
        self._client = client
        self._path, self._replica = path, replica
        self._loop = asyncio.new_event_loop()
        self._asked = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.has_looked: Future[None] = Future()
        self.has_ended: Future[None] = Future()

    def ask(self) -> None:
        """The loop wants to lead, or has news."""
        with contextlib.suppress(RuntimeError):  # the thread has ended
            self._loop.call_soon_threadsafe(self._asked.set)

    def end(self) -> Future[None]:
        """Give back what is held, then end."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._cancel)
        return self.has_ended

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner, contextlib.suppress(asyncio.CancelledError):
                runner.run(self._live())
        except Exception:  # whoever waits for the Lease must hear of it
            log.exception("lease-defect")
        finally:
            for future in (self.has_looked, self.has_ended):
                _done(future)
            self._leadership.wake()

    async def _live(self) -> None:
        self._task = asyncio.current_task()
        client = self._client.another(connections=1)
        candidate = Candidate(client, self._path, self._replica, self._leadership.times)
        try:
            await candidate.look()
            _done(self.has_looked)
            while True:
                await self._take(candidate)
                await self._keep(candidate)
        finally:
            await candidate.release()
            self._leadership.publish(candidate.term)
            await client.transport.close()

    async def _take(self, candidate: Candidate) -> None:
        await self._asked.wait()
        self._asked.clear()
        while self._leadership.is_stalled() or not await candidate.take():
            await asyncio.sleep(candidate.wait_s())
        self._leadership.publish(candidate.term)

    async def _keep(self, candidate: Candidate) -> None:
        times, due = self._leadership.times, candidate.term.renewed_at + self._leadership.times.renew_s
        while candidate.term.identity:
            await self._pause(due - now())
            if self._leadership.was_lost(candidate.term.identity):
                candidate.drop()
            elif self._leadership.is_stalled():
                log.error("loop-stalled identity=%s", candidate.term.identity)
                due = now() + times.look_s
                if not candidate.is_held():
                    candidate.drop()
            elif now() >= due:
                is_renewed = await candidate.renew()
                due = now() + (times.renew_s if is_renewed else times.look_s)
            self._leadership.publish(candidate.term)

    async def _pause(self, seconds: float) -> None:
        """Until then, or until the loop has news."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                await self._asked.wait()
        self._asked.clear()


def _done(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)
