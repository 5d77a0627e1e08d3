"""An API server in this process: a script of answers per path, and a record of what was asked.

Answers of one path are given in turn, the last one again and again. A watch is a path of its own. What a test waits for
is an event, never a time; `in_loop` ends a test that waits in vain.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from aiohttp import web

from gangpool.kube.client import Client
from gangpool.kube.kubeconfig import Access
from gangpool.kube.transport import Transport

LIMIT_S = 20.0
WATCH = "WATCH"


class Asked(NamedTuple):
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test's coroutine; one that waits in vain fails."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def limited() -> None:
            async with asyncio.timeout(LIMIT_S):
                await test(*args, **kwargs)

        asyncio.run(limited())

    return run


class StandIn:
    """The server. `on` says what is answered, `asked` what was asked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._answers: dict[tuple[str, str], list[Answer]] = {}
        self._moved = asyncio.Event()
        self.closing = asyncio.Event()
        self.url = ""

    def on(self, method: str, path: str, *answers: Answer) -> None:
        """From now on this is answered, one after the other."""
        self._answers[method, path] = list(answers)

    def count(self, method: str, path: str) -> int:
        """How often this was asked."""
        return sum((asked.method, asked.path) == (method, path) for asked in self.asked)

    async def until(self, method: str, path: str, n: int) -> list[Asked]:
        """Wait for the n-th request of a path; all of them."""
        while self.count(method, path) < n:
            self._moved.clear()
            await self._moved.wait()
        return [asked for asked in self.asked if (asked.method, asked.path) == (method, path)]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        method = WATCH if request.query.get("watch") else request.method
        text = await request.text()
        body = json.loads(text) if text else None
        self.asked.append(Asked(method, request.path, dict(request.query), dict(request.headers), body))
        self._moved.set()
        script = self._answers.get((method, request.path))
        if not script:
            return await status(404, "NotFound")(request)
        return await (script.pop(0) if len(script) > 1 else script[0])(request)

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[StandIn]:
        """Listen."""
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        try:
            yield self
        finally:
            self.closing.set()
            await runner.cleanup()


@asynccontextmanager
async def served(access: Callable[[str], Access] | None = None) -> AsyncIterator[tuple[StandIn, Client]]:
    """A stand-in and a client of it; `access`: from the server's address."""
    api = StandIn()
    async with api.serve():
        transport = Transport(access(api.url) if access else Access(api.url, None))
        try:
            yield api, Client(transport)
        finally:
            await transport.close()


# ---- answers


def json_of(body: Any, code: int = 200, **headers: str) -> Answer:
    """A JSON body."""

    async def answer(request: web.Request) -> web.Response:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return web.json_response(body, status=code, headers=named)

    return answer


def status(code: int, reason: str, message: str = "", **headers: str) -> Answer:
    """A Status object, as the API server refuses."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    return json_of({**body, "message": message or reason}, code, **headers)


def text_of(text: str, code: int = 200) -> Answer:
    """A body that is no JSON of the API."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=text, status=code)

    return answer


def page(names: str, version: str = "1", more: str = "") -> Answer:
    """A page of a list with objects of these names."""
    items = [thing(name) for name in names.split()]
    return json_of({"metadata": {"resourceVersion": version, "continue": more}, "items": items})


def thing(name: str, version: str = "1", **more: Any) -> dict[str, Any]:
    """An object with a uid that tells its name."""
    meta = {"name": name, "namespace": "ml", "uid": f"uid-{name}", "resourceVersion": version}
    return {"metadata": meta, **more}


def line(kind: str, obj: dict[str, Any]) -> bytes:
    """One line of a watch."""
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


def bookmark(version: str) -> bytes:
    """A bookmark."""
    return line("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": version}})


def expired() -> bytes:
    """410 inside a watch."""
    return line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})


def stream(api: StandIn, *chunks: bytes, end: str = "open") -> Answer:
    """A watch that sends these chunks, then stays `open`, is `closed` in order, or is `cut`."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if end == "open":
            await api.closing.wait()
        elif end == "cut":
            assert request.transport is not None
            request.transport.abort()
        return response

    return answer


def silence(api: StandIn) -> Answer:
    """No answer at all until the end."""

    async def answer(request: web.Request) -> web.StreamResponse:
        await api.closing.wait()
        return web.Response()

    return answer


def cut() -> Answer:
    """The connection breaks before an answer."""

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return answer
