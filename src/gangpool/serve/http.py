"""The plain HTTP side of a process: is it alive, is it ready, its metrics, and JSON for support.

Every long-running command starts one on its `--listen` address. Answers come from functions that the process gives;
they run on the event loop and must be quick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from aiohttp import web

from gangpool.serve.metrics import CONTENT_TYPE

CLOSE_S = 1.0
"""Requests in flight get so long when the process ends."""


class Server:
    """GET /healthz, /readyz (503 until `ready`), /metrics, and `routes`: path to a function that returns what is
    encoded as JSON."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        ready: Callable[[], bool],
        metrics: Callable[[], str],
        routes: Mapping[str, Callable[[], Any]] | None = None,
    ) -> None:
        self._host = host
        self.port = port
        """0: any; the real one once it is started."""
        self._ready = ready
        self._metrics = metrics
        app = web.Application()
        app.router.add_get("/healthz", self._health)
        app.router.add_get("/readyz", self._readiness)
        app.router.add_get("/metrics", self._series)
        for path, answer in (routes or {}).items():
            app.router.add_get(path, _json(answer))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=CLOSE_S)

    async def start(self) -> None:
        """Listen. OSError where the address cannot be had."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """Listen no more. Safe to call twice."""
        await self._runner.cleanup()

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readiness(self, request: web.Request) -> web.Response:
        if self._ready():
            return web.Response(text="ok\n")
        return web.Response(status=503, text="not ready\n")

    async def _series(self, request: web.Request) -> web.Response:
        return web.Response(body=self._metrics().encode(), headers={"Content-Type": CONTENT_TYPE})


def _json(answer: Callable[[], Any]) -> Callable[[web.Request], Any]:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(body=msgspec.json.encode(answer()), content_type="application/json")

    return handle
