"""Leader election by a Lease, with a new identity for each acquisition.

Replicas try to hold one Lease; the holder renews it from a thread of its own, so that a busy loop does not lose it,
but only while the loop gives signs of life: a stalled leader must fall. Whoever sees the Lease unrenewed for its
whole duration, by the own clock, may take it. Used by the scheduler.
"""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from gangpool.kube.client import ApiError, Client
from gangpool.kube.transport import Unreachable

log = logging.getLogger("gangpool.kube")

DURATION_S = 15.0
RENEW_S = 5.0
RELEASE_S = 2.0
"""A process ends within 5 s, whatever the server does."""
LOOK_S = 2.0
"""How often a waiting replica looks: takeover comes at most this long after the Lease has run out."""


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


class Leadership:
    """The Lease as one replica sees it. `identity` is set while we hold it."""

    def __init__(self, client: Client, namespace: str, name: str, replica: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self.replica = replica
        self.identity = ""
        self.before = ""
        """Identity of the leader before us, "" if there was none."""
        self._seen: tuple[str | None, str | None] = (None, None)
        self._seen_at = 0.0
        self._version = ""
        self._renewed_at = 0.0
        self._acquired = ""
        self._last = ""
        """What we called ourselves last; a Lease of this name is ours, taken with an answer that was lost, or held
        until our own clock said no."""

    @property
    def _path(self) -> str:
        return f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases"

    def is_held(self) -> bool:
        """We hold it, by our own clock."""
        return bool(self.identity) and time.monotonic() - self._renewed_at < DURATION_S

    async def acquire(self) -> str:
        """Wait until the Lease is ours; returns the new identity."""
        if not self.is_held():
            self.identity = ""
        while not self.identity:
            try:
                if await self._try():
                    break
            except (ApiError, Unreachable) as error:
                log.warning("lease-trouble path=%s/%s text=%s", self._path, self._name, error)
            await asyncio.sleep(LOOK_S)
        return self.identity

    async def _try(self) -> bool:
        found = await self._read()
        now = time.monotonic()
        if found is None:
            return await self._take(None, 0)
        spec = found.spec
        if (spec.holderIdentity, spec.renewTime) != self._seen:
            self._seen, self._seen_at = (spec.holderIdentity, spec.renewTime), now
        ran_out = now - self._seen_at >= (spec.leaseDurationSeconds or DURATION_S)
        if spec.holderIdentity and not ran_out and spec.holderIdentity != self._last:
            return False
        self.before = spec.holderIdentity or ""
        return await self._take(found, (spec.leaseTransitions or 0) + 1)

    async def _read(self) -> LeaseObject | None:
        try:
            return _decode(await self._client.send("GET", f"{self._path}/{self._name}"))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    async def _take(self, found: LeaseObject | None, transitions: int) -> bool:
        identity = self._last = f"{self.replica}/{transitions}"
        started = time.monotonic()
        try:
            if found is None:
                answer = await self._client.create(self._path, self._body(identity, transitions, None))
            else:
                body = self._body(identity, transitions, found.metadata.resourceVersion)
                answer = await self._client.send("PUT", f"{self._path}/{self._name}", body)
        except ApiError as error:
            if error.status == 409:  # somebody was quicker
                return False
            raise
        self._version = _decode(answer).metadata.resourceVersion
        self.identity, self._renewed_at = identity, started
        return True

    def _body(self, identity: str, transitions: int, version: str | None) -> dict[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # noqa: TID251 - the Lease wants wall time
        if not self.identity:
            self._acquired = now
        metadata: dict[str, Any] = {"name": self._name, "namespace": self._namespace}
        if version:
            metadata["resourceVersion"] = version
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": {
                "holderIdentity": identity,
                "leaseDurationSeconds": int(DURATION_S),
                "renewTime": now,
                "acquireTime": self._acquired,
                "leaseTransitions": transitions,
            },
        }

    async def renew(self) -> bool:
        """Once more; False when the Lease is somebody else's, or has run out by our own clock."""
        for _ in range(2):
            if not self.is_held():
                self.identity = ""
                return False
            try:
                async with asyncio.timeout(RENEW_S):
                    await self._put(self.identity)
                return True
            except ApiError as error:
                if error.status not in (404, 409):
                    return self.is_held()
            except (Unreachable, TimeoutError):
                return self.is_held()
            if not await self._is_still_ours():  # else a renewal of ours whose answer was lost: once more from there
                return False
        return self.is_held()

    async def _put(self, holder: str) -> None:
        started = time.monotonic()
        body = self._body(holder, int(self.identity.rpartition("/")[2]), self._version)
        answer = await self._client.send("PUT", f"{self._path}/{self._name}", body)
        self._version = _decode(answer).metadata.resourceVersion
        self._renewed_at = started

    async def _is_still_ours(self) -> bool:
        """After a conflict: what the server has; its version is ours from here on."""
        try:
            found = await self._read()
        except (ApiError, Unreachable):
            return self.is_held()
        if found is not None and found.spec.holderIdentity == self.identity:
            self._version = found.metadata.resourceVersion
            return True
        self.identity = ""
        return False

    async def release(self) -> None:
        """Hand over at once: the Lease is left without a holder."""
        for _ in range(2):
            if not self.identity:
                return
            try:
                async with asyncio.timeout(RELEASE_S):
                    await self._put("")
                break
            except ApiError as error:
                if error.status != 409 or not await self._is_still_ours():
                    break
            except (Unreachable, TimeoutError):
                break
        self.identity = ""
