"""What kubelets do that matters to a scheduler: bound gangs run and end, pods that are to go do go.

Called by `stage`; runs as a task beside the scenario. A gang ends only when all its pods of now are bound, and the
load's word for it is complete, so that a half-bound one never hides.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict

import aiohttp

from tests.cluster.client import MERGE_PATCH, Api
from tests.faults.history import History
from tests.faults.judge import Gang, Pod, gang_of, is_finished, node_of

LOOK_S = 0.1


class Kubelet:
    """Mutable owner of who runs since when. `gangs`: by name, added to by the scenario as it creates them."""

    def __init__(self, api: Api, history: History, rng: random.Random) -> None:
        self._api = api
        self._history = history
        self._rng = rng
        self.gangs: dict[str, Gang] = {}
        self.run_s = (0.2, 1.5)
        """How long gangs run, from and to."""
        self._ends_at: dict[str, float] = {}
        self.ended: set[str] = set()
        self.endless: set[str] = set()
        """Names of gangs that run on until they are taken out of here."""

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            pods = list(self._history.pods.values())
            await asyncio.gather(*(self._remove(pod) for pod in pods if self._is_to_go(pod)))
            by_gang: dict[str, list[Pod]] = defaultdict(list)
            for pod in pods:
                if gang_of(pod) in self.gangs and "deletionTimestamp" not in pod["metadata"]:
                    by_gang[gang_of(pod)].append(pod)
            for name, members in by_gang.items():
                await self._look(self.gangs[name], members)

    async def _look(self, gang: Gang, members: list[Pod]) -> None:
        if gang.name in self.ended | self.endless:
            return
        if len(members) < gang.total or not all(node_of(pod) for pod in members):
            self._ends_at.pop(gang.name, None)
            return
        end_s = self._ends_at.setdefault(gang.name, time.monotonic() + self._rng.uniform(*self.run_s))
        if time.monotonic() < end_s:
            return
        done = [await self._write(pod, "Succeeded") for pod in members if not is_finished(pod)]
        if all(done):
            self.ended.add(gang.name)

    async def _write(self, pod: Pod, phase: str) -> bool:
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
        body = {"metadata": {"uid": meta["uid"]}, "status": {"phase": phase}}
        try:
            return (await self._api.request("PATCH", path, body, MERGE_PATCH)).is_ok
        except (OSError, TimeoutError, aiohttp.ClientError):
            return False  # the server is away; the next look tries again

    def _is_to_go(self, pod: Pod) -> bool:
        """It is being deleted; or its node is gone, and the pod garbage collector would see that it is lost."""
        is_lost = node_of(pod) not in {"", *self._history.nodes} and not is_finished(pod)
        return "deletionTimestamp" in pod["metadata"] or is_lost

    async def _remove(self, pod: Pod) -> None:
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
        try:
            await self._api.request("DELETE", path, body)
        except (OSError, TimeoutError, aiohttp.ClientError):
            return
