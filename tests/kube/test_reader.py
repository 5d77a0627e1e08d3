"""The connections of a command that a person waits for: time limits, and on whose behalf."""

from __future__ import annotations

import pytest
from aiohttp import web

from gangpool.kube.client import Client
from gangpool.kube.kubeconfig import Access
from gangpool.kube.reader import Reader, TimedOut
from tests.kube.standin import StandIn, in_loop, json_of, silence


@in_loop
async def test_a_request_has_its_time_and_is_not_tried_again() -> None:
    api = StandIn()
    api.on("GET", "/x", silence(api))
    async with api.serve():
        reader = Reader(Access(api.url, None), limit_s=0.05)
        with pytest.raises(TimedOut, match=r"GET /x: no answer within 0\.05 s"):
            await Client(reader).get("/x")
        await reader.close()
    assert api.count("GET", "/x") == 1


@in_loop
async def test_zero_is_no_limit() -> None:
    api = StandIn()
    api.on("GET", "/x", json_of({}))
    async with api.serve():
        reader = Reader(Access(api.url, None), limit_s=0.0)
        assert await Client(reader).get("/x") == b"{}"
        await reader.close()


@in_loop
async def test_the_server_is_told_on_whose_behalf() -> None:
    api = StandIn()

    async def groups(request: web.Request) -> web.Response:
        return web.json_response([request.headers.get("Impersonate-User"), request.headers.getall("Impersonate-Group")])

    api.on("GET", "/x", groups)
    async with api.serve():
        reader = Reader(Access(api.url, None), acting_as=("ann", "ops", "dev"))
        assert await Client(reader).get("/x") == b'["ann", ["ops", "dev"]]'
        await reader.close()
