"""The plain HTTP side of a process."""

from __future__ import annotations

import aiohttp
import pytest

from gangpool.serve.http import Server
from tests.kube.standin import in_loop


async def get(server: Server, path: str) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{server.port}{path}") as answer:
        return answer.status, answer.headers["Content-Type"], await answer.text()


@in_loop
async def test_answers() -> None:
    ready = False
    state = {"a": 1}
    server = Server(
        ("127.0.0.1", 0),
        waits_for=lambda: "" if ready else "lists",
        metrics=lambda: "depth 1\n",
        routes={"/state": lambda: state},
    )
    await server.start()
    try:
        assert server.port
        assert (await get(server, "/healthz"))[0] == 200
        assert (await get(server, "/readyz"))[0] == 503
        ready = True
        assert (await get(server, "/readyz"))[0] == 200
        assert await get(server, "/metrics") == (200, "text/plain; version=0.0.4; charset=utf-8", "depth 1\n")
        assert await get(server, "/state") == (200, "application/json", '{"a":1}')
        state["a"] = 2
        assert (await get(server, "/state"))[2] == '{"a":2}'
        assert (await get(server, "/other"))[0] == 404
    finally:
        await server.close()
        await server.close()


@in_loop
async def test_address_that_is_taken_is_an_error() -> None:
    first = Server(("127.0.0.1", 0), waits_for=str, metrics=str)
    await first.start()
    second = Server(("127.0.0.1", first.port), waits_for=str, metrics=str)
    with pytest.raises(OSError, match="in use"):
        await second.start()
    await second.close()
    await first.close()
