"""The live scheduler: follow the cluster, lead when it is our turn, plan, bind, undo what came about by half.

One loop plans and starts commits; it yields to I/O between gangs. Everything that it knows is in the cluster's
objects: a restart begins with a list and finds the same state.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from msgspec.structs import replace

from gangpool.core.cycle import Cycle
from gangpool.core.model import Wait
from gangpool.intake.config import Config, differing
from gangpool.kube.client import Client
from gangpool.kube.lease import Leadership
from gangpool.live.bind import Binder
from gangpool.live.commit import Committer
from gangpool.live.config_file import ConfigFile
from gangpool.live.fence import Fence
from gangpool.live.follow import Follower
from gangpool.live.gather import gathered
from gangpool.live.report import Reporter
from gangpool.live.series import Meters
from gangpool.live.state import resource_of
from gangpool.live.undo import Undo

log = logging.getLogger("gangpool.scheduler")

IDLE_S = 1.0
"""Without any event the clocks of rests and undos are looked at so often."""
SETTLE_S = 2.0
"""Commits in flight get so long when the process ends; with the Lease it ends within 5 s."""


class Scheduler:
    """One replica."""

    def __init__(self, client: Client, config: Config, leadership: Leadership) -> None:
        self.client = client
        self.config = config
        self.config_file = ConfigFile(None)
        client.transport.may_write = leadership.is_held
        self.follower = Follower(client, config)
        self.cycle = Cycle(self.follower.world.pool)
        self.leadership = leadership
        self.binder = Binder(client)
        self.fence = Fence(client, self.binder)
        self.reporter = Reporter(client, self.follower)
        self.undo = Undo(client, self.follower)
        self.waits: tuple[Wait, ...] = ()
        """What the last plan could not seat."""
        self.meters = Meters()
        leadership.on_beat = self.meters.lag.observe
        self.committer = Committer(self.binder, self.follower, leadership, self.reporter, self.meters)
        self._is_filled = False

    @property
    def is_ready(self) -> bool:
        """Caches are filled; it leads or waits to lead."""
        return self._is_filled

    def waits_for(self) -> str:
        """What it is not ready for yet: the kinds that have not been listed; "" when ready."""
        if self._is_filled:
            return ""
        return "listing " + ", ".join(sorted({resource_of(path) for path in self.follower.unlisted()}))

    async def run(self, built: Callable[[], None] = lambda: None) -> None:
        """Until cancelled; the Lease is handed over at the end. `built` is called when all has been listed, or all
        pods again."""
        try:
            await self.leadership.start()
            async with asyncio.TaskGroup() as group:
                self.follower.start(group)
                group.create_task(self.reporter.run())
                group.create_task(self.fence.follow())
                group.create_task(self.config_file.follow(self.reconfigure))
                await self.follower.synced()
                self._is_filled = True
                built()
                while True:
                    await self.leadership.acquire()
                    await self._lead(built)
                    log.warning("leader-lost")
        finally:
            await self.committer.settle(SETTLE_S)
            await self.leadership.release()

    async def reconfigure(self, wanted: Config) -> tuple[str, ...]:
        """Go by a new configuration as far as that is safe; the keys that need a restart, since what is in the books
        was read by them."""
        if wanted.schedulerNames != self.config.schedulerNames:
            self.config = replace(self.config, schedulerNames=wanted.schedulerNames)
            await self.follower.serve(wanted.schedulerNames)
        self.config = replace(self.config, agent=wanted.agent)
        return tuple(differing(self.config, wanted))

    async def _lead(self, built: Callable[[], None]) -> None:
        """Plan and commit while the Lease is ours."""
        identity, before, is_fresh = self.leadership.identity, self.leadership.before, self.leadership.is_fresh
        log.info("leader identity=%s before=%s", identity, before)
        await self.fence.settled(identity, before)
        if not is_fresh:  # a leader before us may have bound what our watch has not shown yet
            await self.follower.pod_reflector.again()
            built()
        try:
            self.follower.touch()
            while self.leadership.is_held():
                await self._wait()
                if self.leadership.is_held():
                    self._step()
                    await asyncio.sleep(0)
        finally:
            self.waits = ()
            self.reporter.stop()
            self.undo.stop()

    async def _wait(self) -> None:
        """For an event, or for the next clock."""
        with contextlib.suppress(TimeoutError):
            most_s = self.committer.rests.next_s(time.monotonic(), IDLE_S)
            await asyncio.wait_for(self.follower.changed.wait(), most_s)
        await gathered(self.follower.n_events)
        self.follower.changed.clear()

    # ---- one plan

    def _step(self) -> None:
        now = time.monotonic()
        world = self.follower.world
        world.settle()
        settled = time.monotonic()
        self.meters.settle.observe(settled - now)
        rests = self.committer.rests
        rests.keep(world.pool.units)
        plan = self.cycle.run(rests.keys(now))
        self.meters.plan.observe(time.monotonic() - settled)
        self.meters.n_seats += len(plan.seats)
        self.waits = plan.waits
        self.committer.start(plan)
        self.reporter.waits(plan.waits, rests.texts(now))
        self.undo.look(now, time.time(), self.leadership.identity)
