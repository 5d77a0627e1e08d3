"""No partial gang at rest: a gang that came about by half, and cannot be completed, is undone as a whole.

A gang counts as half bound when fewer than its minimum are seated and a member that waits was there before the
youngest seat, or came soon after it: it was meant to come along, or was lost while the others were bound. One that was
made later replaces a member of a gang that ran; such gangs are repaired, not undone. Nor is a gang that was whole for a
while, as far as we know, and has too few now because its minimum was raised. Bare pods, which nobody would make again,
are never deleted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from gangpool.core.model import Member
from gangpool.core.pool import Unit
from gangpool.core.ready import minimum_of
from gangpool.intake.times import seconds
from gangpool.kube.client import ApiError, Client, encode
from gangpool.kube.transport import EVICTION, Request, Unreachable
from gangpool.live.bind import CALL_S, LEADER
from gangpool.live.follow import Follower
from gangpool.objects.pod import Pod

log = logging.getLogger("gangpool.undo")

PATIENCE_S = 6.0
"""So long a half-bound gang may be planned and bound again; the promise is 10 s."""
SOON_S = 20.0
"""A member made again so soon after the youngest bind was lost between plan and bind, and the gang has not run yet. The
Job controller takes 10 s for it."""
WHOLE_S = 30.0
"""A gang that nobody saw half bound so long after its youngest bind was whole."""


class Undo:
    """Looks at half-bound gangs after each plan; evicts those whose time is up."""

    def __init__(self, client: Client, follower: Follower) -> None:
        self._client = client
        self._follower = follower
        self._since: dict[str, float] = {}
        self._half: set[str] = set()
        """Gangs that came about by half and are not whole yet."""
        self._from: float | None = None
        """Since when we look, in wall time; None: we do not lead."""
        self._evictions: set[asyncio.Task[None]] = set()
        self.n_undone = 0
        self.n_evicted = 0

    def stop(self) -> None:
        """We lead no more. Whoever leads next sees half-bound gangs for the first time."""
        self._since.clear()
        self._half.clear()
        self._from = None

    def look(self, now: float, wall: float, identity: str) -> list[str]:
        """Gangs that are undone now, by key. `now`: monotonic; `wall`: seconds since the epoch, as bind times are."""
        self._from = wall if self._from is None else self._from
        units = {unit.key: unit for unit in self._follower.world.pool.partly_seated()}
        partial = {key: unit for key, unit in units.items() if self._was_meant_whole(unit, wall)}
        self._half = {key for key in self._half | set(partial) if key in units or self._is_on_its_way(key)}
        for key in [key for key in self._since if key not in partial and not self._is_on_its_way(key)]:
            del self._since[key]
        undone = []
        for key, unit in partial.items():
            since = self._since.setdefault(key, now)
            if now - since >= PATIENCE_S and self._evict(unit, identity):
                del self._since[key]
                undone.append(key)
        return undone

    def _is_on_its_way(self, key: str) -> bool:
        """Members are being bound once more. They may be refused once more: its time goes on."""
        unit = self._follower.world.pool.units.get(key)
        return unit is not None and any(uid in self._follower.assumed for uid in unit.seated)

    def _was_meant_whole(self, unit: Unit, wall: float) -> bool:
        """Some member that waits is older than the youngest bind, or came soon after it, and we don't know better."""
        if not unit.waiting or any(m.uid in self._follower.assumed for m in unit.seated.values()):
            return False
        bound = [at for m in unit.seated.values() if (at := self._bound_at(m)) is not None]
        if not bound or all(m.created > max(bound) + SOON_S for m in unit.waiting.values()):
            return False
        was_seen = self._from is not None and self._from <= max(bound) < wall - WHOLE_S
        return unit.key in self._half or not was_seen

    def _bound_at(self, member: Member) -> float | None:
        pod = self._follower.pods.get(member.uid)
        for condition in (pod.status.conditions or ()) if pod is not None else ():
            if condition.type == "PodScheduled" and condition.status == "True":
                return seconds(condition.lastTransitionTime)
        return None

    def _evict(self, unit: Unit, identity: str) -> bool:
        """All seated members that a controller would make again; False when there is none."""
        pods = [self._follower.pods[uid] for uid in unit.seated if uid in self._follower.pods]
        mine = [pod for pod in pods if is_controlled(pod) and pod.metadata.deletionTimestamp is None]
        if not mine:
            return False
        assert unit.gang is not None
        log.warning("gang-undone gang=%s seated=%d minimum=%d", unit.key, len(pods), minimum_of(unit, unit.gang))
        self.n_undone += 1
        task = asyncio.create_task(self._evict_all(mine, identity))
        self._evictions.add(task)
        task.add_done_callback(self._evictions.discard)
        return True

    async def _evict_all(self, pods: Iterable[Pod], identity: str) -> None:
        await asyncio.gather(*(self.evict(pod, identity) for pod in pods))

    async def evict(self, pod: Pod, identity: str) -> bool:
        """One eviction in the leader's name, by the pod's uid. What a disruption budget refuses is asked for again when
        the gang's time is up again."""
        meta = pod.metadata
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": meta.name, "namespace": meta.namespace, "annotations": {LEADER: identity}},
            "deleteOptions": {"preconditions": {"uid": meta.uid}},
        }
        try:
            path = f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}{EVICTION}"
            await self._client.once(Request("POST", path, None, encode(body), limit_s=CALL_S))
        except (ApiError, Unreachable) as error:
            log.warning("evict-refused namespace=%s pod=%s error=%s", meta.namespace, meta.name, error)
            return False
        self.n_evicted += 1
        return True


def is_controlled(pod: Pod) -> bool:
    """A controller would make it again."""
    return any(owner.controller for owner in pod.metadata.ownerReferences or ())
