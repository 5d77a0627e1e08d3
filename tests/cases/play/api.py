"""Thin client of the API server for steps and checks: raw answers with warnings, apply, watch.

Objects stay dictionaries: the tool must not lose fields that it does not know. Every answer of a write is
kept as an ``Answer``, because cases judge status, text, time and warnings of it.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp

Obj = dict[str, Any]
# Answers that only mean that an informer of the API server has not caught up with what was just created.
_NOT_YET = re.compile(
    r"serviceaccount .* not found|no PriorityClass with name|RuntimeClass .* not found"
    r"|status unknown for quota|not yet ready to handle request",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Answer:
    """What the API server said."""

    status: int
    body: Any
    warnings: tuple[str, ...] = ()
    elapsed_s: float = 0.0

    @property
    def ok(self) -> bool:
        return self.status < 300

    @property
    def message(self) -> str:
        """Text of a refusal, with the field causes that the server lists beside it."""
        if not isinstance(self.body, dict):
            return str(self.body)
        causes = (self.body.get("details") or {}).get("causes") or []
        return " ".join(
            [str(self.body.get("message", ""))] + [f"{c.get('field', '')}: {c.get('message', '')}" for c in causes]
        )


class ApiError(Exception):
    """A write that the tool itself needs was refused."""


def warning_texts(headers: list[str]) -> tuple[str, ...]:
    """Texts of RFC 7234 Warning headers: ``299 - "text"``."""
    return tuple(
        t.replace('\\"', '"').replace("\\\\", "\\")
        for h in headers
        for t in re.findall(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"', h)
    )


class Api:
    """One identity at one API server."""

    def __init__(self, base: str, tls: ssl.SSLContext, token: str | None = None) -> None:
        self.base = base
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None
        self._resources: dict[str, dict[str, tuple[str, bool]]] = {}

    async def open(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._tls, limit=0),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=60),
        )

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: dict[str, str] | None = None,
        kind: str = "application/json",
    ) -> Answer:
        """One request. Never raises for an HTTP status."""
        assert self._session
        start = time.monotonic()
        data = None if body is None else json.dumps(body)
        async with self._session.request(
            method, self.base + path, data=data, params=params, headers={"Content-Type": kind} if data else None
        ) as r:
            raw = await r.read()
            try:
                got = json.loads(raw) if raw else None
            except ValueError:
                got = raw.decode(errors="replace")
            return Answer(r.status, got, warning_texts(r.headers.getall("Warning", [])), time.monotonic() - start)

    async def need(self, method: str, path: str, body: Any = None, **kw: Any) -> Any:
        """A request that has to succeed; its body."""
        got = await self.call(method, path, body, **kw)
        if not got.ok:
            raise ApiError(f"{method} {path}: {got.status} {got.message}")
        return got.body

    async def resource(self, api_version: str, kind: str) -> tuple[str, bool]:
        """(plural, namespaced) of a kind, from discovery; asks again while a CRD is new."""
        for _ in range(50):
            known = self._resources.get(api_version, {})
            if kind in known:
                return known[kind]
            root = f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}"
            got = await self.call("GET", root)
            if got.ok:
                self._resources[api_version] = {
                    r["kind"]: (r["name"], r["namespaced"]) for r in got.body["resources"] if "/" not in r["name"]
                }
                if kind in self._resources[api_version]:
                    continue
            await asyncio.sleep(0.1)
        raise ApiError(f"the API server does not know {kind} of {api_version}")

    async def path(self, obj: Obj, named: bool = True) -> str:
        """URL path of an object, or of its collection."""
        plural, namespaced = await self.resource(obj["apiVersion"], obj["kind"])
        root = f"/api/{obj['apiVersion']}" if "/" not in obj["apiVersion"] else f"/apis/{obj['apiVersion']}"
        meta = obj["metadata"]
        space = f"/namespaces/{meta.get('namespace') or 'default'}" if namespaced else ""
        return f"{root}{space}/{plural}" + (f"/{meta['name']}" if named else "")

    async def create(self, obj: Obj, dry_run: bool = False) -> Answer:
        """Create as a user would, with field validation that warns; waits out informers that lag."""
        params = {"fieldValidation": "Warn"} | ({"dryRun": "All"} if dry_run else {})
        body = {k: v for k, v in obj.items() if k != "status" or obj["kind"] not in ("Node", "Pod")}
        where = await self.path(obj, named=False)
        got = Answer(0, {})
        for _ in range(60):
            got = await self.call("POST", where, body, params=params)
            if got.ok or not _NOT_YET.search(got.message):
                break
            await asyncio.sleep(0.1)
        return got

    async def apply(self, obj: Obj) -> Obj:
        """Create or replace, then write the status through its subresource. Raises ApiError when refused."""
        got = await self.create(obj)
        if got.status == 409:
            got = await self._replace(obj)
        if not got.ok:
            raise ApiError(f"{obj['kind']} {obj['metadata'].get('name')}: {got.status} {got.message}")
        return await self.put_status(obj, obj["status"]) if "status" in obj else got.body

    async def _replace(self, obj: Obj) -> Answer:
        where = await self.path(obj)
        got = Answer(0, {})
        for _ in range(20):
            old = await self.need("GET", where)
            new = {**obj, "metadata": {**old["metadata"], **obj["metadata"]}}
            new["metadata"]["annotations"] = {
                **old["metadata"].get("annotations", {}),
                **obj["metadata"].get("annotations", {}),
            }
            if "status" in old:
                new["status"] = old["status"]
            if obj["kind"] == "Pod":
                new["spec"] = old["spec"]
            got = await self.call("PUT", where, new)
            if got.status != 409:
                return got
        return got

    async def put_status(self, obj: Obj, status: Obj) -> Obj:
        """Replace the whole status of an object."""
        where = await self.path(obj)
        got, now = Answer(0, {}), obj
        for _ in range(20):
            now = await self.need("GET", where)
            now["status"] = status
            got = await self.call("PUT", where + "/status", now)
            if got.status not in (404, 409):
                break
        if got.status == 404:  # no status subresource
            got = await self.call("PUT", where, now)
        if not got.ok:
            raise ApiError(f"status of {obj['kind']} {obj['metadata']['name']}: {got.status} {got.message}")
        return dict(got.body)

    async def patch(self, path: str, body: Any) -> Answer:
        """JSON merge patch."""
        return await self.call("PATCH", path, body, kind="application/merge-patch+json")

    async def items(self, path: str, **params: str) -> list[Obj]:
        """All objects of a collection; an unknown resource has none."""
        got = await self.call("GET", path, params=params)
        if got.status == 404:
            return []
        if not got.ok:
            raise ApiError(f"list {path}: {got.status} {got.message}")
        return list(got.body.get("items") or [])

    async def watch(self, path: str, version: str) -> AsyncIterator[tuple[str, Obj]]:
        """Events from ``version`` on, until the server ends the stream."""
        assert self._session
        params = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": "3600"}
        async with self._session.get(
            self.base + path, params=params, timeout=aiohttp.ClientTimeout(total=None), read_bufsize=1 << 24
        ) as r:
            async for line in r.content:
                event = json.loads(line)
                yield event["type"], event["object"]
