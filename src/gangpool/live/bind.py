"""One seat to one Binding: node, devices and leader in a single write, and what the server's answer means.

201, or "already assigned" to our node: bound. A time-out: read first. A changed pod: lost. 429 or 5xx: same node,
with jitter, with an end. 422 of our fence: we lead no more. 403, 404, other 422: that member is lost.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Literal

import msgspec
from msgspec import Struct

from gangpool.core.model import Seat
from gangpool.kube.client import ApiError, Client, backoff_s, encode
from gangpool.kube.transport import Request, Unreachable, Withheld
from gangpool.live.handover import DEVICES, devices_of
from gangpool.objects.pod import Pod

LEADER = "gangpool.io/leader"
FENCE = "gangpool-fence"
"""Name of the admission policy; its refusals carry it."""
PROBE = "gangpool-fence-probe"
CALL_S = 5.0
"""One request: a connection that has gone dead without a word must not hold up a gang."""
GIVE_UP_S = 12.0
"""All tries of one Binding. With what follows (the gang is planned again, or undone) less than half a minute."""

_pod = msgspec.json.Decoder(Pod).decode


class Outcome(Struct, frozen=True):
    """`bound`; `lost`: this pod cannot be bound there, `text` says why; `stale`: we lead no more; `again`: not known
    yet, or not now (`bind` never ends with it)."""

    kind: Literal["bound", "lost", "stale", "again"]
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
        path = f"/api/v1/namespaces/{seat.member.namespace}/pods/{seat.member.name}"
        params = {"dryRun": "All"} if dry_run else None
        request = Request("POST", f"{path}/binding", params, body, limit_s=CALL_S)
        end_s, attempt = time.monotonic() + GIVE_UP_S, 0
        while True:
            outcome = await self._once(request, path, seat, end_s)
            left_s = end_s - time.monotonic()
            if outcome.kind == "again" and left_s <= 0:
                outcome = Outcome("lost", outcome.text, outcome.status)
            if outcome.kind != "again":
                self._count(outcome, dry_run)
                return outcome
            await asyncio.sleep(min(backoff_s(attempt), left_s))
            attempt += 1

    async def _once(self, request: Request, path: str, seat: Seat, end_s: float) -> Outcome:
        """One try. The server's wish to slow down is heeded until `end_s`, and then the pod is only read."""
        try:
            async with asyncio.timeout(max(end_s - time.monotonic(), 0.0)):
                await self._client.once(request)
        except ApiError as error:
            return await self._refused(error, path, seat)
        except Withheld as error:
            return Outcome("stale", str(error))
        except (Unreachable, TimeoutError) as error:  # it may have been done
            if not request.params and await self._is_ours(path, seat):
                return BOUND
            return Outcome("again", str(error) or "the API server asks to wait, or does not answer")
        return BOUND

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

    def _count(self, outcome: Outcome, dry_run: bool) -> None:
        if not dry_run:
            self.n_bound += outcome.kind == "bound"
            self.n_lost += outcome.kind != "bound"

    async def _refused(self, error: ApiError, path: str, seat: Seat) -> Outcome:
        """What a refusal means."""
        if error.status == 409:
            self.n_conflicts += 1
            if await self._is_ours(path, seat):
                return BOUND
            return Outcome("lost", error.message, 409)
        if error.status in (403, 404, 422) or 400 <= error.status < 429:
            if FENCE in error.message:
                return Outcome("stale", error.message, error.status)
            return Outcome("lost", error.message, error.status)
        return Outcome("again", error.message, error.status)

    async def _is_ours(self, path: str, seat: Seat) -> bool:
        """Does the server show the very pod on our node?"""
        try:
            async with asyncio.timeout(CALL_S):
                pod = _pod(await self._client.once(Request("GET", path, limit_s=CALL_S)))
        except (ApiError, Unreachable, TimeoutError, msgspec.MsgspecError):
            return False
        return pod.spec.nodeName == seat.node and pod.metadata.uid == seat.member.uid
