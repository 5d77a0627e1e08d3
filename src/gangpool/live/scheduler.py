"""The live scheduler: follow the cluster, lead when it is our turn, plan, bind, undo what came about by half.

One loop plans and starts commits; it yields to I/O between gangs. Everything that it knows is in the cluster's
objects: a restart begins with a list and finds the same state.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gangpool.core.cycle import Cycle
from gangpool.core.model import Plan, Seat, Wait
from gangpool.intake.config import Config, differing
from gangpool.kube.client import Client
from gangpool.kube.lease import Leadership
from gangpool.live.bind import Binder, Outcome, body_of
from gangpool.live.config_file import ConfigFile
from gangpool.live.fence import Fence
from gangpool.live.follow import Follower
from gangpool.live.gather import gathered
from gangpool.live.report import Reporter
from gangpool.live.series import Meters
from gangpool.live.state import resource_of
from gangpool.live.undo import Undo

log = logging.getLogger("gangpool.scheduler")

FIRST_REST_S = 1.0
MOST_REST_S = 60.0
IDLE_S = 1.0
"""Without any event the clocks of rests and undos are looked at so often."""
SETTLE_S = 2.0
"""Commits in flight get so long when the process ends; with the Lease it ends within 5 s."""


class Rest(Struct):
    """A unit that is left alone until `until`; `tries` grows with each refusal of the server."""

    until: float
    tries: int
    text: str


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
        self.rests: dict[str, Rest] = {}
        self.waits: tuple[Wait, ...] = ()
        """What the last plan could not seat."""
        self.meters = Meters()
        self._is_filled = False
        self._accepted: set[tuple[str, str]] = set()
        self._commits: set[asyncio.Task[None]] = set()

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
        """Until cancelled; the Lease is handed over at the end. `built` is called when all has been listed."""
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
                    await self._lead()
                    log.warning("leader-lost")
        finally:
            await self._settle_commits()
            await self.leadership.release()

    async def reconfigure(self, wanted: Config) -> tuple[str, ...]:
        """Go by a new configuration as far as that is safe; the keys that need a restart, since what is in the books
        was read by them."""
        if wanted.schedulerNames != self.config.schedulerNames:
            self.config = replace(self.config, schedulerNames=wanted.schedulerNames)
            await self.follower.serve(wanted.schedulerNames)
        self.config = replace(self.config, agent=wanted.agent)
        return tuple(differing(self.config, wanted))

    async def _settle_commits(self) -> None:
        if self._commits:
            await asyncio.wait(self._commits, timeout=SETTLE_S)

    async def _lead(self) -> None:
        """Plan and commit while the Lease is ours."""
        identity, before, is_fresh = self.leadership.identity, self.leadership.before, self.leadership.is_fresh
        log.info("leader identity=%s before=%s", identity, before)
        await self.fence.settled(identity, before)
        if not is_fresh:  # a leader before us may have bound what our watch has not shown yet
            await self.follower.pod_reflector.again()
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

    async def _wait(self) -> None:
        """For an event, or for the next clock."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.follower.changed.wait(), IDLE_S)
        self.meters.lag.observe(await gathered(self.follower.n_events))
        self.follower.changed.clear()

    # ---- one plan

    def _step(self) -> None:
        now = time.monotonic()
        world = self.follower.world
        world.settle()
        resting = frozenset(key for key, rest in self.rests.items() if rest.until > now)
        plan = self.cycle.run(resting)
        self.meters.plan.observe(time.monotonic() - now)
        self.meters.n_seats += len(plan.seats)
        self.waits = plan.waits
        self._commit(plan)
        self.reporter.waits(plan.waits, {key: self.rests[key].text for key in resting})
        self.undo.look(now, self.leadership.identity)

    def _commit(self, plan: Plan) -> None:
        by_unit: dict[str, list[Seat]] = defaultdict(list)
        for seat in plan.seats:
            uid = seat.member.uid
            self.follower.assumed[uid] = seat.node
            by_unit[seat.member.gang or f"pod:{uid}"].append(seat)
        for key, seats in by_unit.items():
            task = asyncio.create_task(self._commit_unit(key, seats))
            self._commits.add(task)
            task.add_done_callback(self._commits.discard)

    async def _commit_unit(self, key: str, seats: Sequence[Seat]) -> None:
        """Bind the members of one unit together; what is lost waits again."""
        started, identity = time.monotonic(), self.leadership.identity
        here = [seat for seat in seats if seat.member.uid in self.follower.pods]
        missing = [seat for seat in seats if seat.member.uid not in self.follower.pods]
        bodies = [(seat, body_of(seat, self.follower.pods[seat.member.uid], identity)) for seat in here]
        refused = await self._try_first(key, bodies)
        if refused is not None:
            self._lost(key, [(seat, refused) for seat, _ in bodies])
            return
        outcomes = await asyncio.gather(*(self.binder.bind(seat, body) for seat, body in bodies))
        self.meters.commit.observe(time.monotonic() - started)
        lost = [(seat, o) for (seat, _), o in zip(bodies, outcomes, strict=True) if o.kind != "bound"]
        lost += [(seat, Outcome("lost", "the pod is gone", 404)) for seat in missing]
        if any(o.kind == "stale" for _, o in lost):
            log.error("fenced identity=%s", identity)
            self.meters.n_fenced += sum(o.kind == "stale" for _, o in lost)
            self.leadership.lose(identity)
            self.follower.touch()
        if lost:
            self._lost(key, lost)
        else:
            self.rests.pop(key, None)
        gone = {seat.member.uid for seat, _ in lost}
        self.reporter.bound(key, [seat for seat in here if seat.member.uid not in gone])

    async def _try_first(self, key: str, bodies: Sequence[tuple[Seat, bytes]]) -> Outcome | None:
        """A gang whose like the cluster has never accepted is tried by dry run before anything is sent."""
        if len(bodies) < 2:
            return None
        seat, body = bodies[0]
        mark = (seat.member.namespace, seat.member.gang)
        if mark in self._accepted:
            return None
        outcome = await self.binder.bind(seat, body, dry_run=True)
        if outcome.kind == "bound":
            self._accepted.add(mark)
            return None
        return outcome

    def _lost(self, key: str, lost: Sequence[tuple[Seat, Outcome]]) -> None:
        """Members that did not come about wait again; the unit rests a while when the server refuses it."""
        for seat, outcome in lost:
            log.warning(
                "bind-lost namespace=%s pod=%s node=%s status=%s text=%s",
                seat.member.namespace,
                seat.member.name,
                seat.node,
                outcome.status,
                outcome.text[:200],
            )
            if self.follower.assumed.get(seat.member.uid) == seat.node:
                self.follower.unseat(seat.member.uid)
        refusals = [o for _, o in lost if o.status not in (404, 409)]
        if refusals:
            rest = self.rests.get(key) or Rest(0.0, 0, "")
            wait_s = min(FIRST_REST_S * 2**rest.tries, MOST_REST_S)
            self.rests[key] = Rest(time.monotonic() + wait_s, rest.tries + 1, refusals[0].text)
        self.follower.touch()
