"""A plan's seats to the cluster, one unit after another: tried dry where it is needed, bound together, and what did
not come about waits again.

Called by `scheduler` after each plan. Promises: a seat is assumed (`follower.assumed`) from the plan until the server
shows it or it is lost, never longer; a unit whose binds failed rests (`rests`). A refusal in the name of an identity
that leads no more ends that identity's term, and no other.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, defaultdict, deque
from collections.abc import Sequence

from msgspec.structs import replace

from gangpool.core.model import Plan, Seat
from gangpool.kube.client import encode
from gangpool.kube.lease import Leadership
from gangpool.kube.transport import CONNECTIONS
from gangpool.live.bind import Binder, Outcome, body_of
from gangpool.live.follow import Follower
from gangpool.live.report import Reporter
from gangpool.live.rests import Rests
from gangpool.live.series import Meters
from gangpool.objects.pod import Pod

log = logging.getLogger("gangpool.commit")

ACCEPTED_MOST = 50_000
"""Templates that are remembered as accepted; one that is forgotten is tried dry once more."""
AT_ONCE = 3 * CONNECTIONS
"""Members in flight: more would only wait for a connection, while the first ones are held up by the preparation of the
last. A unit is begun while fewer are."""
OUTDATED = (404, 409)
"""The pod is gone, made anew, or bound by another: not as we knew it."""

Losses = list[tuple[Seat, Outcome]]


class Committer:
    """Mutable owner of the commits that run, and of who rests."""

    def __init__(
        self, binder: Binder, follower: Follower, leadership: Leadership, reporter: Reporter, meters: Meters
    ) -> None:
        self._binder = binder
        self._follower = follower
        self._leadership = leadership
        self._reporter = reporter
        self._meters = meters
        self.rests = Rests()
        self._accepted: set[bytes] = set()
        self._trying: dict[bytes, asyncio.Lock] = {}
        self._queue: deque[tuple[str, list[Seat], str]] = deque()
        """Units that wait for their turn, each with the identity under which it was planned."""
        self._n_in_flight = 0
        self._n_units = 0
        self._running: set[asyncio.Task[None]] = set()

    def start(self, plan: Plan) -> None:
        """Begin to bind what a plan has seated."""
        by_unit: dict[str, list[Seat]] = defaultdict(list)
        for seat in plan.seats:
            uid = seat.member.uid
            self._follower.assumed[uid] = seat.node
            by_unit[seat.member.gang or f"pod:{uid}"].append(seat)
        identity = self._leadership.identity
        self._queue.extend((key, seats, identity) for key, seats in by_unit.items())
        self._begin()

    def _begin(self) -> None:
        """Units in the order of the plan, as long as there are connections for them."""
        while self._queue and self._n_in_flight < AT_ONCE:
            key, seats, identity = self._queue.popleft()
            self._n_in_flight += len(seats)
            task = asyncio.create_task(self._unit(key, seats, identity))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def settle(self, most_s: float) -> None:
        """Let those that run come to their end, for a while; nothing more is begun."""
        self._queue.clear()
        if self._running:
            await asyncio.wait(self._running, timeout=most_s)

    async def _unit(self, key: str, seats: Sequence[Seat], identity: str) -> None:
        """Bind the members of one unit together; what is lost waits again."""
        started = time.monotonic()
        self._n_units += 1
        decision = f"{identity}#{self._n_units}"
        try:
            lost = await self._bind(key, seats, identity)
        except Exception as defect:
            log.exception("commit-defect unit=%s", key)
            lost = [(seat, Outcome("lost", f"a defect of gangpool: {defect!r}")) for seat in seats]
        self._n_in_flight -= len(seats)
        self._begin()
        took_s = time.monotonic() - started
        self._meters.commit.observe(took_s)
        n_bound = len(seats) - len(lost)
        log.info("decision=%s unit=%s bound=%d lost=%d took_ms=%d", decision, key, n_bound, len(lost), took_s * 1000)
        n_stale = sum(outcome.kind == "stale" for _, outcome in lost)
        if n_stale:
            log.error("fenced identity=%s", identity)
            self._meters.n_fenced += n_stale
            self._leadership.lose(identity)
        self._return(lost)
        self._rest(key, [outcome for _, outcome in lost], decision)
        gone = {seat.member.uid for seat, _ in lost}
        self._reporter.bound(key, [seat for seat in seats if seat.member.uid not in gone])

    async def _bind(self, key: str, seats: Sequence[Seat], identity: str) -> Losses:
        """What of it did not come about. What was planned in a term that is over is not sent: another may have led."""
        if identity != self._leadership.identity:
            return [(seat, Outcome("stale", "planned in a term that is over")) for seat in seats]
        pods, nodes = self._follower.pods, self._follower.world.pool.ledger.slot
        lost: Losses = []
        bodies: list[tuple[Seat, bytes]] = []
        for seat in seats:
            pod = pods.get(seat.member.uid)
            if pod is None or seat.node not in nodes:  # the server itself does not ask whether there is such a node
                lost.append((seat, Outcome("lost", f"the {'pod' if pod is None else 'node'} is gone", 404)))
            else:
                bodies.append((seat, body_of(seat, pod, identity)))
        refused = await self._try_dry(key, bodies)
        if refused is not None:
            return lost + [(seat, refused) for seat, _ in bodies]
        outcomes = await asyncio.gather(*(self._binder.bind(seat, body) for seat, body in bodies))
        return lost + [(s, o) for (s, _), o in zip(bodies, outcomes, strict=True) if o.kind != "bound"]

    async def _try_dry(self, key: str, bodies: Sequence[tuple[Seat, bytes]]) -> Outcome | None:
        """The refusal, where a dry run meets one. A gang from a template that the cluster has never accepted is tried
        with its first member; one that was refused, with all of them, so that it does not come about by half once
        more."""
        if len(bodies) < 2:
            return None
        template = template_of(self._follower.pods[bodies[0][0].member.uid])
        if self.rests.is_refused(key):
            return await self._dry(template, bodies)
        if template in self._accepted:
            return None
        lock = self._trying.setdefault(template, asyncio.Lock())
        async with lock:  # gangs of one template come together: the first is tried for all
            refused = None if template in self._accepted else await self._dry(template, bodies[:1])
        if not lock.locked():
            self._trying.pop(template, None)
        return refused

    async def _dry(self, template: bytes, bodies: Sequence[tuple[Seat, bytes]]) -> Outcome | None:
        outcomes = await asyncio.gather(*(self._binder.bind(seat, body, dry_run=True) for seat, body in bodies))
        refused = [outcome for outcome in outcomes if outcome.kind != "bound"]
        if refused:
            return next((outcome for outcome in refused if outcome.kind == "stale"), refused[0])
        if len(self._accepted) >= ACCEPTED_MOST:
            self._accepted.clear()
        self._accepted.add(template)
        return None

    def _return(self, lost: Losses) -> None:
        """Lost seats are given back. Members that the server has meanwhile shown with a node are no loss."""
        for seat, _ in lost:
            if self._follower.assumed.get(seat.member.uid) == seat.node:
                self._follower.unseat(seat.member.uid)

    def _rest(self, key: str, outcomes: Sequence[Outcome], decision: str) -> None:
        """A unit rests after a loss: for a moment where a watch will tell, else longer each time."""
        if not outcomes:
            self.rests.done(key)
            return
        now = time.monotonic()
        refused = [outcome for outcome in outcomes if outcome.status not in OUTDATED]
        if not refused:
            wait_s = self.rests.outdated(key, now)
        elif all(outcome.kind == "stale" for outcome in refused):
            return  # whoever leads now plans it
        else:
            wait_s = self.rests.refused(key, now, next(o.text for o in refused if o.kind != "stale"))
        for (status, text), n in Counter((o.status, o.text[:200]) for o in outcomes).items():
            told = decision, key, n, wait_s, status, text
            log.warning("bind-lost decision=%s unit=%s members=%d rest_s=%.2f status=%d text=%s", *told)


def template_of(pod: Pod) -> bytes:
    """What pods of one template have in common: namespace and spec, but for what is each one's own."""
    spec = replace(pod.spec, nodeName="", schedulingGroup=None, workloadRef=None, volumes=None)
    return encode((pod.metadata.namespace, spec))
