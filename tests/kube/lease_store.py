"""A Lease on the stand-in server, written by compare and set."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.kube.standin import StandIn, json_of, status

LEASES = "/apis/coordination.k8s.io/v1/namespaces/gangpool-system/leases"
LEASE = f"{LEASES}/gangpool-scheduler"


class Store:
    """The Lease. `n_lost`: so many next writes are done, and their answers are lost."""

    def __init__(self, api: StandIn) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.n_lost = 0
        self.holders: list[str] = []
        api.on("GET", LEASE, self.get)
        api.on("POST", LEASES, self.write)
        api.on("PUT", LEASE, self.write)

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        return dict(self.lease["spec"])

    async def get(self, request: web.Request) -> web.StreamResponse:
        answer = status(404, "NotFound") if self.lease is None else json_of(self.lease)
        return await answer(request)

    async def write(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        known = body["metadata"].get("resourceVersion")
        if request.method == "POST" and self.lease is not None:
            return await status(409, "AlreadyExists")(request)
        if request.method == "PUT" and (self.lease is None or known != str(self.version)):
            return await status(409, "Conflict")(request)
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.lease = body
        self.holders.append(body["spec"]["holderIdentity"])
        if self.n_lost:
            self.n_lost -= 1
            assert request.transport is not None
            request.transport.abort()
        return web.json_response(body)
