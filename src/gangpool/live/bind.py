"""One seat to one Binding: node, devices and leader in a single write, and what the server's answer means.

201, or "already assigned" to our node: bound. A time-out: read first. A changed pod: lost. 429 or 5xx: same node,
with jitter, with an end. 422 of our fence: we lead no more. 403, 404, other 422: that member is lost.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import msgspec
from msgspec import Struct

from gangpool.core.model import Seat
from gangpool.kube.client import ApiError, Client, backoff_s, encode
from gangpool.kube.transport import Unreachable, Withheld
from gangpool.live.handover import DEVICES, devices_of
from gangpool.objects.pod import Pod

LEADER = "gangpool.io/leader"
FENCE = "gangpool-fence"
"""Name of the admission policy; its refusals carry it."""
PROBE = "gangpool-fence-probe"
TRIES = 7
"""With back-off from 0.2 s: some 12 s in all."""

_pod = msgspec.json.Decoder(Pod).decode


class Outcome(Struct, frozen=True):
    """`bound`; `lost`: this pod cannot be bound there, `text` says why; `stale`: we lead no more."""

    kind: Literal["bound", "lost", "stale"]
    text: str = ""
    status: int = 0


BOUND = Outcome("bound")


def body_of(seat: Seat, pod: Pod, leader: str) -> bytes:
    """The Binding of a seat."""
    annotations = {LEADER: leader}
    devices = devices_of(seat, pod)
    if devices is not None:
        annotations[DEVICES] = devices
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": seat.member.name,
            "namespace": seat.member.namespace,
            "uid": pod.metadata.uid,
            "annotations": annotations,
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": seat.node},
    }
    return encode(body)


class Binder:
    """Sends Bindings; counts what came of them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.n_bound = 0
        self.n_lost = 0
        self.n_conflicts = 0

    async def bind(self, seat: Seat, body: bytes, *, dry_run: bool = False) -> Outcome:
        """Bind one pod; comes back when the outcome is known, or given up."""
        member = seat.member
        path = f"/api/v1/namespaces/{member.namespace}/pods/{member.name}"
        params = {"dryRun": "All"} if dry_run else None
        for attempt in range(TRIES):
            try:
                await self._client.send("POST", f"{path}/binding", body, params)
                return self._bound(dry_run)
            except ApiError as error:
                outcome = await self._refused(error, path, seat)
                if outcome is not None:
                    self._count(outcome, dry_run)
                    return outcome
            except Withheld as error:
                outcome = Outcome("stale", str(error))
                self._count(outcome, dry_run)
                return outcome
            except Unreachable:
                if not dry_run and await self._is_ours(path, seat):
                    return self._bound(dry_run)
            await asyncio.sleep(backoff_s(attempt))
        self.n_lost += not dry_run
        return Outcome("lost", "the API server does not answer")

    async def probe(self, leader: str) -> int:
        """Status of a dry-run bind, in this leader's name, of a pod that does not exist: 422 while the fence
        refuses, 404 when it lets through."""
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": PROBE, "namespace": "default", "annotations": {LEADER: leader}},
            "target": {"apiVersion": "v1", "kind": "Node", "name": PROBE},
        }
        try:
            await self._client.send("POST", f"/api/v1/namespaces/default/pods/{PROBE}/binding", body, {"dryRun": "All"})
        except ApiError as error:
            return error.status
        except Unreachable:
            return 0
        return 201

    def _bound(self, dry_run: bool) -> Outcome:
        self.n_bound += not dry_run
        return BOUND

    def _count(self, outcome: Outcome, dry_run: bool) -> None:
        if not dry_run:
            self.n_bound += outcome.kind == "bound"
            self.n_lost += outcome.kind != "bound"

    async def _refused(self, error: ApiError, path: str, seat: Seat) -> Outcome | None:
        """What a refusal means; None: try again."""
        if error.status == 409:
            self.n_conflicts += 1
            if await self._is_ours(path, seat):
                return BOUND
            return Outcome("lost", error.message, 409)
        if error.status in (403, 404, 422) or 400 <= error.status < 429:
            if FENCE in error.message:
                return Outcome("stale", error.message, error.status)
            return Outcome("lost", error.message, error.status)
        return None

    async def _is_ours(self, path: str, seat: Seat) -> bool:
        """Does the server show the very pod on our node?"""
        try:
            pod = _pod(await self._client.get(path))
        except (ApiError, Unreachable, msgspec.MsgspecError):
            return False
        return pod.spec.nodeName == seat.node and pod.metadata.uid == seat.member.uid
