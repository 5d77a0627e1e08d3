"""One replica's dealings with the Lease, step by step in one loop: look, take, renew, give back.

Every write is a compare-and-set on the version that was read, and each acquisition has a new identity, `REPLICA/N`.
Whether the Lease is ours, and whether another's has run out, is judged by the own clock alone. `Leadership` calls this
from its thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from gangpool.kube.client import ApiError, Client
from gangpool.kube.term import NONE, Term, Times, now
from gangpool.kube.transport import Unreachable

log = logging.getLogger("gangpool.kube")

RELEASE_S = 1.5
"""A process ends within 5 s, whatever the server does."""
SENT_MOST = 32


class LeaseSpec(Struct):
    """What we read of a Lease."""

    holderIdentity: str | None = None
    renewTime: str | None = None
    leaseDurationSeconds: int | None = None
    leaseTransitions: int | None = None


class LeaseMeta(Struct):
    """Its version, for compare-and-set."""

    resourceVersion: str = ""


class LeaseObject(Struct):
    """A coordination.k8s.io/v1 Lease."""

    metadata: LeaseMeta = msgspec.field(default_factory=LeaseMeta)
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)


_decode = msgspec.json.Decoder(LeaseObject).decode
_TROUBLE = (ApiError, Unreachable, TimeoutError, msgspec.MsgspecError)


class Candidate:
    """Mutable owner of `term` and of what is known of the Lease."""

    def __init__(self, client: Client, path: str, replica: str, times: Times) -> None:
        self._client = client
        self._namespace, _, self._name = path.partition("/")
        self._replica = replica
        self._times = times
        self.term = NONE
        self._first_look: str | None = None
        self._seen: tuple[str | None, str | None] = (None, None)
        self._runs_out_at = 0.0
        self._version = ""
        self._transitions = 0
        self._acquired = ""
        self._sent: dict[tuple[str | None, str | None], None] = {}
        """Holder and time of what we have written since the last answer, that one included. A Lease that says so is
        ours: taken with an answer that was lost, or held until our own clock said no. The name alone proves nothing:
        another process may have been given the same."""

    @property
    def _path(self) -> str:
        return f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases"

    def is_held(self) -> bool:
        """We hold it, by our own clock."""
        return bool(self.term.identity) and now() - self.term.renewed_at < self._times.held_s

    def drop(self) -> None:
        """It is not ours any more."""
        self.term = NONE

    async def look(self) -> None:
        """The first look: what is listed after it, and before a term that `is_fresh`, misses no write of a leader."""
        with contextlib.suppress(*_TROUBLE):
            async with asyncio.timeout(self._times.call_s):
                found = await self._read()
                self._first_look = _version_of(found)

    async def take(self) -> bool:
        """Take it if it is free, given back or has run out; False where it is another's. Trouble is told and is no
        success."""
        try:
            async with asyncio.timeout(self._times.call_s):
                return await self._try()
        except _TROUBLE as error:
            self._trouble(error)
            return False

    def _trouble(self, error: BaseException) -> None:
        text = str(error) or "no answer in time"
        log.warning("lease-trouble path=%s/%s text=%s", self._path, self._name, text[:200])

    def wait_s(self) -> float:
        """Until the next look that can be of use."""
        left_s = self._runs_out_at - now()
        return min(self._times.look_s, left_s) if left_s > 0 else self._times.look_s

    async def _try(self) -> bool:
        found = await self._read()
        if found is None:
            return await self._write_first()
        spec = found.spec
        if (spec.holderIdentity, spec.renewTime) != self._seen:
            self._seen = (spec.holderIdentity, spec.renewTime)
            self._runs_out_at = now() + (spec.leaseDurationSeconds or self._times.duration_s)
        if spec.holderIdentity and now() < self._runs_out_at and self._seen not in self._sent:
            return False
        return await self._write_over(found)

    async def _read(self) -> LeaseObject | None:
        try:
            return _decode(await self._client.send("GET", f"{self._path}/{self._name}"))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    async def _write_first(self) -> bool:
        return await self._won("POST", self._path, None, Term(f"{self._replica}/0"))

    async def _write_over(self, found: LeaseObject) -> bool:
        n = (found.spec.leaseTransitions or 0) + 1
        wanted = Term(f"{self._replica}/{n}", found.spec.holderIdentity or "")
        return await self._won("PUT", f"{self._path}/{self._name}", found, wanted)

    async def _won(self, method: str, path: str, found: LeaseObject | None, wanted: Term) -> bool:
        started = now()
        self._transitions = int(wanted.identity.rpartition("/")[2])
        self._acquired = _wall()
        body = self._body(wanted.identity, found.metadata.resourceVersion if found is not None else "")
        try:
            answer = await self._client.send(method, path, body)
        except ApiError as error:
            if error.status == 409:  # somebody was quicker
                return False
            raise
        self._confirmed(answer)
        is_fresh = self._first_look is not None and self._first_look == _version_of(found)
        self.term = Term(wanted.identity, wanted.before, started, is_fresh)
        return True

    def _body(self, holder: str, version: str) -> dict[str, Any]:
        time_text = _wall()
        self._sent[holder, time_text] = None
        if len(self._sent) > SENT_MOST:
            del self._sent[next(iter(self._sent))]
        metadata: dict[str, Any] = {"name": self._name, "namespace": self._namespace}
        if version:
            metadata["resourceVersion"] = version
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": self._times.duration_s,
                "renewTime": time_text,
                "acquireTime": self._acquired,
                "leaseTransitions": self._transitions,
            },
        }

    def _confirmed(self, answer: bytes) -> None:
        found = _decode(answer)
        self._version = found.metadata.resourceVersion
        self._sent = {(found.spec.holderIdentity, found.spec.renewTime): None}

    async def renew(self) -> bool:
        """Once more; whether the server has said yes. `term` is none where the Lease is somebody else's, or has run
        out by our own clock."""
        for _ in range(2):
            if not self.is_held():
                self.drop()
                return False
            try:
                async with asyncio.timeout(self._times.call_s):
                    await self._put(self.term.identity)
                    return True
            except ApiError as error:
                if error.status not in (404, 409):
                    self._trouble(error)
                    return False
            except _TROUBLE as error:
                self._trouble(error)
                return False
            if not await self._is_still_ours():  # else a renewal of ours whose answer was lost: once more from there
                return False
        return False

    async def _put(self, holder: str) -> None:
        started = now()
        body = self._body(holder, self._version)
        answer = await self._client.send("PUT", f"{self._path}/{self._name}", body)
        self._confirmed(answer)
        self.term = Term(self.term.identity, self.term.before, started, self.term.is_fresh)

    async def _is_still_ours(self) -> bool:
        """After a conflict: what the server has; its version is ours from here on."""
        try:
            async with asyncio.timeout(self._times.call_s):
                found = await self._read()
        except _TROUBLE as error:
            self._trouble(error)
            return False
        if found is not None and (found.spec.holderIdentity, found.spec.renewTime) in self._sent:
            self._version = found.metadata.resourceVersion
            return True
        self.drop()
        return False

    async def release(self) -> None:
        """Hand over at once: the Lease is left without a holder, also one that we may have taken without hearing so."""
        if not self._sent:
            return
        try:
            async with asyncio.timeout(RELEASE_S):
                for _ in range(2):
                    if not self.term.identity and not await self._is_still_ours():
                        break
                    try:
                        await self._put("")
                        break
                    except ApiError as error:
                        if error.status != 409 or not await self._is_still_ours():
                            break
        except _TROUBLE as error:
            self._trouble(error)
        self._sent.clear()
        self.drop()


def _version_of(found: LeaseObject | None) -> str | None:
    """The version of a Lease that nobody holds, "" of one that is not there; None for any other."""
    if found is None:
        return ""
    return None if found.spec.holderIdentity else found.metadata.resourceVersion


def _wall() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # noqa: TID251 - the Lease wants wall time
