"""Step ``play_watch``: the scheduler runs against a stand-in API server that plays recorded lists and watches of pods.

A real API server cannot be brought to forget versions or to repeat an old event at will; that is all this one is for.
It knows plain HTTP, keeps whatever else the product writes (leases, events), and counts the lists of pods.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp import web

from tests.cases.play import files_run, procs
from tests.cases.play.registry import check, step

if TYPE_CHECKING:
    from tests.cases.play.context import Context

GROUPS = {
    "coordination.k8s.io",
    "scheduling.k8s.io",
    "events.k8s.io",
    "policy",
    "apps",
    "batch",
    "admissionregistration.k8s.io",
    "storage.k8s.io",
}
START_S, SETTLE_S = 30.0, 2.0


class StandIn:
    """Mutable: the played streams and a store of all other objects by path."""

    def __init__(self, first: list[str], relisted: str, second: list[str], nodes: dict[str, dict[str, str]]) -> None:
        self.first, self.relisted, self.second = first, json.loads(relisted), second
        self.nodes = [
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": n, "uid": f"uid-{n}", "resourceVersion": "50", "labels": {}},
                "status": {"capacity": r, "allocatable": r, "conditions": [{"type": "Ready", "status": "True"}]},
            }
            for n, r in ((n, {"cpu": "96", "memory": "1000Gi", "pods": "110", **r}) for n, r in nodes.items())
        ]
        self.store: dict[str, dict[str, Any]] = {}
        self.pod_lists = self.version = 0
        self.played = asyncio.Event()
        self.closing = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path, watch = request.path.rstrip("/"), request.query.get("watch") in ("1", "true")
        parts = path.strip("/").split("/")
        if path in ("/readyz", "/healthz", "/livez"):
            return web.Response(text="ok")
        if path == "/version":
            return web.json_response({"major": "1", "minor": "37", "gitVersion": "v1.37.0"})
        if len(parts) <= 1 or (parts[0] == "apis" and parts[1] not in GROUPS):
            return _status(404, "NotFound")
        if path == "/api/v1/pods" and request.method == "GET":
            return await self._watch_pods(request) if watch else self._list_pods()
        return await self._any(request, path, watch)

    def _list_pods(self) -> web.Response:
        self.pod_lists += 1
        if self.pod_lists == 1:
            return web.json_response(
                {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "100"}, "items": []}
            )
        return web.json_response(self.relisted)

    async def _watch_pods(self, request: web.Request) -> web.StreamResponse:
        fresh = self.pod_lists > 1 and int(request.query.get("resourceVersion") or 0) >= 900
        if self.pod_lists > 1 and not fresh:
            return _status(410, "Expired")
        stream = await _open(request)
        for line in self.second if fresh else self.first:
            await stream.write(line.encode() + b"\n")
        if fresh:
            self.played.set()
            await self.closing.wait()
        return stream

    async def _any(self, request: web.Request, path: str, watch: bool) -> web.StreamResponse:
        if watch:
            stream = await _open(request)
            await self.closing.wait()
            return stream
        if request.method == "GET":
            if path == "/api/v1/nodes":
                return self._list(self.nodes)
            rest = path.strip("/").split("/")[2 if path.startswith("/api/") else 3 :]
            rest = rest[2:] if len(rest) > 2 and rest[0] == "namespaces" else rest
            if len(rest) == 1:
                return self._list([o for p, o in self.store.items() if p.rpartition("/")[0] == path])
            if not rest:
                return web.json_response(
                    {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": []}
                )
            return web.json_response(self.store[path]) if path in self.store else _status(404, "NotFound")
        body = await request.json() if request.can_read_body else {}
        if request.method == "DELETE":
            self.store.pop(path, None)
            return web.json_response({"kind": "Status", "status": "Success"})
        self.version += 1
        meta = body.setdefault("metadata", {}) if isinstance(body, dict) else {}
        if request.method == "POST":
            meta.setdefault("name", meta.get("generateName", "x") + str(self.version))
            path = f"{path}/{meta['name']}"
        elif request.method == "PATCH" and isinstance(body, dict):
            body = {**self.store.get(path, {}), **body}
        body.setdefault("metadata", {})["resourceVersion"] = str(1000 + self.version)
        self.store[path] = body
        return web.json_response(body, status=201 if request.method == "POST" else 200)

    def _list(self, items: list[dict[str, Any]]) -> web.Response:
        return web.json_response(
            {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "60"}, "items": items}
        )


def _status(code: int, reason: str) -> web.Response:
    return web.json_response(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "reason": reason,
            "code": code,
            "message": reason,
        },
        status=code,
    )


async def _open(request: web.Request) -> web.StreamResponse:
    stream = web.StreamResponse(headers={"Content-Type": "application/json"})
    stream.enable_chunked_encoding()
    await stream.prepare(request)
    return stream


@step("play_watch")
async def play_watch(ctx: Context, value: dict[str, Any], s: dict[str, Any]) -> files_run.Answer:
    """``gangpool scheduler`` against the stand-in; its picture from ``/state`` after the last event has been sent."""
    first, relisted, second = (ctx.file(n).read_text() for n in value["streams"])
    server = StandIn(first.splitlines(), relisted, second.splitlines(), value["nodes"])
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    port, listen = procs.free_port(), procs.free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    config = ctx.tmp / "stand-in.conf"
    config.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "users": [{"name": "u", "user": {}}],
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    command = [
        *ctx.product_cmd,
        "scheduler",
        "--kubeconfig",
        str(config),
        "--listen",
        f"127.0.0.1:{listen}",
        "--identity",
        "stand-in",
    ]

    async def close() -> None:
        server.closing.set()
        await runner.cleanup()

    ctx.cleanups.append(close)
    child = await procs.start("scheduler", command, Path(ctx.tmp) / "scheduler.log")
    ctx.cleanups.append(child.stop)
    ctx.state.setdefault("alive_probes", []).append(
        lambda: None if child.running else f"the scheduler ended with {child.process.returncode}"
    )
    try:
        await asyncio.wait_for(server.played.wait(), START_S)
    except TimeoutError:
        return files_run.Answer(
            "scheduler",
            -1,
            {},
            child.tail(),
            START_S,
            f"never took up the watch again ({server.pod_lists} lists of pods)",
        )
    await asyncio.sleep(SETTLE_S)
    answer = await _state(f"http://127.0.0.1:{listen}/state")
    ctx.state["pod_lists"] = server.pod_lists
    return answer


async def _state(url: str) -> files_run.Answer:
    try:
        async with aiohttp.ClientSession() as session, session.get(url, timeout=aiohttp.ClientTimeout(total=10)) as r:
            body = await r.json(content_type=None)
    except (aiohttp.ClientError, ValueError, TimeoutError) as e:
        return files_run.Answer(url, -1, {}, "", 0.0, f"{url}: {e}")
    wrong = (
        None if isinstance(body, dict) and body.get("schema") == "gangpool.io/state/v1" else "not gangpool.io/state/v1"
    )
    return files_run.Answer(url, 0, body if wrong is None else {}, "", 0.0, wrong)


@check("pods_known")
async def pods_known(ctx: Context, value: list[str]) -> str | None:
    """Exactly these pods (by name)."""
    answer, error = files_run.body(ctx)
    got = sorted(str(p.get("name")) for p in answer.get("pods") or [])
    return error or (None if got == sorted(value) else f"pods {got}")


@check("free")
async def free(ctx: Context, value: dict[str, Any]) -> str | None:
    """On ``node``: so much of each named resource is free, out of ``of``."""
    answer, error = files_run.body(ctx)
    node: dict[str, Any] = next((n for n in answer.get("nodes") or [] if n.get("name") == value["node"]), {})
    wrong = [
        r
        for r, want in value.items()
        if r not in ("node", "of")
        and (
            str((node.get("free") or {}).get(r)) != str(want)
            or str((node.get("allocatable") or {}).get(r)) != str(value["of"])
        )
    ]
    return error or (f"{value['node']}: free {node.get('free')}" if wrong else None)


@check("lists_max")
async def lists_max(ctx: Context, value: int) -> str | None:
    """Full lists of pods that the API server was asked for, first one included; at least two are needed."""
    _, error = files_run.body(ctx)
    n = ctx.state.get("pod_lists", 0)
    return error or (None if 2 <= n <= value else f"{n} lists of pods")
