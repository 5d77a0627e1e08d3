"""The plain HTTP side of a process: is it alive, is it ready, its metrics, and JSON for support.

Every long-running command starts one on its `--listen` address. Answers come from functions that the process gives;
they run on the event loop and must be quick.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from aiohttp import web

from gangpool.serve.metrics import CONTENT_TYPE

CLOSE_S = 1.0
"""Requests in flight get so long when the process ends."""


class Server:
    """GET /healthz (200 as long as the loop turns), /readyz (503 with what it waits for, until that is ""), /metrics,
    and `routes`: path to a function that returns what is encoded as JSON."""

    def __init__(
        self,
        address: tuple[str, int],
        *,
        waits_for: Callable[[], str],
        metrics: Callable[[], str],
        routes: Mapping[str, Callable[[], Any]] | None = None,
    ) -> None:
        self._host, self.port = address
        """0: any; the real one once it is started."""
        self._waits_for = waits_for
        self._metrics = metrics
        app = web.Application()
        app.router.add_get("/healthz", self._health)
        app.router.add_get("/readyz", self._readiness)
        app.router.add_get("/metrics", self._series)
        for path, answer in (routes or {}).items():
            app.router.add_get(path, _json(answer))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=CLOSE_S)

    async def start(self) -> None:
        """Listen. OSError that names the address where it cannot be had."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self.port)
        try:
            await site.start()
        except OSError as error:
            await self.close()
            raise OSError(f"cannot listen on {self._host}:{self.port}: {_why(error)}; --listen sets where") from None
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """Listen no more. Safe to call twice."""
        await self._runner.cleanup()

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readiness(self, request: web.Request) -> web.Response:
        waits_for = self._waits_for()
        if not waits_for:
            return web.Response(text="ok\n")
        return web.Response(status=503, text=f"not ready: {waits_for}\n")

    async def _series(self, request: web.Request) -> web.Response:
        return web.Response(body=self._metrics().encode(), headers={"Content-Type": CONTENT_TYPE})


def _why(error: OSError) -> str:
    """The system's words; the event loop repeats the address in its own. A name that is unknown has no such number."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)


def _json(answer: Callable[[], Any]) -> Callable[[web.Request], Any]:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(body=msgspec.json.encode(answer()), content_type="application/json")

    return handle
