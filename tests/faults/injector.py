"""An API server that misbehaves on demand: it passes requests on to the real one, but for those that a rule catches.

Called by scenarios that need a certain moment or a certain answer. It ends TLS with the control plane's own
certificate; bearer tokens pass through. A rule sees a request before it is passed on, and may hold it (await) or
answer in the server's place; or it sees the answer, and may swallow it: the write was done and nobody knows.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

import aiohttp
from aiohttp import web
from yarl import URL

from tests.cluster.plane import ControlPlane
from tests.cluster.ports import free_ports

_HOP = frozenset({"host", "transfer-encoding", "connection", "content-length", "keep-alive"})


@dataclass(frozen=True)
class Call:
    """One request on its way."""

    method: str
    path: str
    query: str
    agent: str
    body: bytes

    @property
    def is_bind(self) -> bool:
        """A Binding that counts."""
        return self.method == "POST" and self.path.endswith("/binding") and "dryRun" not in self.query

    @property
    def is_watch(self) -> bool:
        """A stream."""
        return "watch=1" in self.query


@dataclass(frozen=True)
class Reply:
    """An answer in the server's place; status 0 cuts the connection without any."""

    status: int
    reason: str = ""
    text: str = ""
    headers: dict[str, str] = field(default_factory=dict)


Before = Callable[[Call], Awaitable[Reply | None]]
After = Callable[[Call, int], Awaitable[Reply | None]]


async def nothing(call: Call) -> Reply | None:
    """Pass it on."""


async def as_it_is(call: Call, status: int) -> Reply | None:
    """Give the server's answer."""


class Injector:
    """Mutable owner of the rules `before` and `after`, which scenarios set as they go; `async with` runs it."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.before: Before = nothing
        self.after: After = as_it_is
        self.n_injected = 0
        self._port = free_ports(1)[0]
        self._runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=0.1)

    @property
    def url(self) -> str:
        """For kubeconfigs."""
        return f"https://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        authority = self._plane.site.authority
        upstream = ssl.create_default_context(cafile=str(authority.certificate))
        connector = aiohttp.TCPConnector(ssl=upstream, limit=0)
        self._session = aiohttp.ClientSession(
            connector=connector, auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None), read_bufsize=1 << 22
        )
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(self._plane.site.server.certificate, self._plane.site.server.key)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, ssl_context=tls).start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._runner.cleanup()
        await self._session.close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        call = Call(request.method, request.path, request.query_string, request.headers.get("User-Agent", ""), body)
        reply = await self.before(call)
        if reply is not None:
            return self._answer(request, reply)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
        url = URL(self._plane.site.url + request.raw_path, encoded=True)
        try:
            async with self._session.request(
                request.method, url, data=body or None, headers=headers, allow_redirects=False
            ) as response:
                if call.is_watch and response.status == 200:
                    return await self._stream(request, response)
                content = await response.read()
                reply = await self.after(call, response.status)
                if reply is not None:
                    return self._answer(request, reply)
                kept = {name: value for name, value in response.headers.items() if name.lower() not in _HOP}
                return web.Response(status=response.status, body=content, headers=kept)
        except (aiohttp.ClientError, OSError):
            return self._answer(request, Reply(0))

    def _answer(self, request: web.BaseRequest, reply: Reply) -> web.StreamResponse:
        self.n_injected += 1
        if not reply.status:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=502)
        status = {"kind": "Status", "status": "Failure", "reason": reply.reason, "message": reply.text}
        return web.json_response({**status, "code": reply.status}, status=reply.status, headers=reply.headers)

    async def _stream(self, request: web.BaseRequest, response: aiohttp.ClientResponse) -> web.StreamResponse:
        out = web.StreamResponse(status=200, headers={"Content-Type": "application/json"})
        await out.prepare(request)
        async for chunk in response.content.iter_any():
            await out.write(chunk)
        return out


class Gate:
    """Holds binds until it is opened: the moment between plan and bind, as long as a scenario needs it."""

    def __init__(self) -> None:
        self.held: list[Call] = []
        self._open = asyncio.Event()

    async def __call__(self, call: Call) -> Reply | None:
        """A rule for `before`."""
        if call.is_bind and not self._open.is_set():
            self.held.append(call)
            await self._open.wait()
        return None

    def holds(self, n: int) -> Callable[[], bool]:
        """Whether so many are held, as a question to ask again and again."""
        return lambda: len(self.held) == n

    def open(self) -> None:
        """Let them go."""
        self._open.set()
