"""Requests to a control plane, for tests: what the server answers, unchanged.

Called by tests and by `plane`. Objects stay dictionaries, because a test must see fields that gangpool does not read.
Promises: `request` never raises for a status; every other method raises `Refused` with the server's own words. One
`Api` belongs to one event loop; `run` is for callers without one.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp

Object = dict[str, Any]
T = TypeVar("T")
MERGE_PATCH = "application/merge-patch+json"
_PATIENCE_S = 60.0
# Said by admission plugins whose informer has not yet seen what was created a moment ago.
_NOT_YET = re.compile(
    r"no PriorityClass with name|RuntimeClass .* not found|status unknown for quota|not yet ready", re.IGNORECASE
)
_NOT_YET_TRIES, _NOT_YET_PAUSE_S = 50, 0.1


@dataclass(frozen=True)
class Answer:
    """What the server said: status, decoded body (text where it is no JSON), texts of its Warning headers."""

    status: int
    body: Any
    warnings: tuple[str, ...] = ()

    @property
    def is_ok(self) -> bool:
        """Whether the request was accepted."""
        return self.status < 300

    @property
    def message(self) -> str:
        """The server's words for a refusal."""
        return str(self.body.get("message", "")) if isinstance(self.body, dict) else str(self.body)


class Refused(Exception):
    """The server refused what a test needs; `answer` tells why."""

    def __init__(self, request: str, answer: Answer) -> None:
        super().__init__(f"{request}: {answer.status} {answer.message}")
        self.answer = answer


class Api:
    """One user at one API server; mutable owner of its connections, closed by `async with`."""

    def __init__(self, url: str, tls: ssl.SSLContext, token: str = "") -> None:
        self.url = url
        self._tls = tls
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._resources: dict[tuple[str, str], tuple[str, bool]] = {}
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(ssl=self._tls, limit=0)
        patience = aiohttp.ClientTimeout(total=_PATIENCE_S)
        self._session = aiohttp.ClientSession(connector=connector, headers=self._headers, timeout=patience)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._session.close()

    async def request(
        self, method: str, path: str, body: Any = None, content: str = "application/json", **query: str
    ) -> Answer:
        """One request to a path of the API, `query` as its parameters."""
        data = None if body is None else json.dumps(body)
        headers = {} if data is None else {"Content-Type": content}
        async with self._session.request(method, self.url + path, data=data, params=query, headers=headers) as response:
            text = await response.text(errors="replace")
            is_json = response.content_type == "application/json"
            decoded = json.loads(text) if is_json and text else text
            return Answer(response.status, decoded, _texts(response.headers.getall("Warning", [])))

    async def need(
        self, method: str, path: str, body: Any = None, content: str = "application/json", **query: str
    ) -> Any:
        """Body of a request that has to succeed."""
        answer = await self.request(method, path, body, content, **query)
        if not answer.is_ok:
            raise Refused(f"{method} {path}", answer)
        return answer.body

    async def create(self, thing: Object) -> Object:
        """Create an object; waits a little for what it names and what was created just before it."""
        path = await self.path(thing, is_named=False)
        answer = await self.request("POST", path, thing)
        for _ in range(_NOT_YET_TRIES):
            if answer.status not in (403, 404) or not _NOT_YET.search(answer.message):
                break
            await asyncio.sleep(_NOT_YET_PAUSE_S)
            answer = await self.request("POST", path, thing)
        if not answer.is_ok:
            raise Refused(f"create {thing['kind']} {thing['metadata'].get('name', '')}", answer)
        return dict(answer.body)

    async def get(self, thing: Object) -> Object:
        """Read the object of the same kind, namespace and name."""
        return dict(await self.need("GET", await self.path(thing)))

    async def patch(self, thing: Object, change: Object, subresource: str = "") -> Object:
        """Merge `change` into an object, or into a subresource of it (`/status`)."""
        return dict(await self.need("PATCH", await self.path(thing) + subresource, change, MERGE_PATCH))

    async def delete(self, thing: Object) -> None:
        """Delete an object at once: no kubelet is there to end its grace."""
        await self.need("DELETE", await self.path(thing), gracePeriodSeconds="0")

    async def items(self, path: str, **query: str) -> list[Object]:
        """All objects of a collection."""
        return list((await self.need("GET", path, **query))["items"])

    async def watch(self, path: str, **query: str) -> AsyncIterator[tuple[str, Object]]:
        """Yield `(type, object)` until the server ends the watch."""
        endless = aiohttp.ClientTimeout(total=None)
        params = {"watch": "1", **query}
        # Lines of 1 MiB and more: an object may be that large.
        async with self._session.get(self.url + path, params=params, timeout=endless, read_bufsize=1 << 24) as response:
            if response.status >= 300:
                raise Refused(f"watch {path}", Answer(response.status, await response.text()))
            async for line in response.content:
                event = json.loads(line)
                yield event["type"], event["object"]

    async def namespace(self, name: str) -> str:
        """Create a namespace in which pods may be created at once; its name."""
        await self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        await self.account(name, "default")
        return name

    async def account(self, namespace: str, name: str) -> None:
        """See to it that a service account is there; the controller-manager may be first."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        answer = await self.request("POST", path, {"metadata": {"name": name}})
        if not answer.is_ok and answer.status != 409:
            raise Refused(f"create ServiceAccount {namespace}/{name}", answer)

    async def token(self, namespace: str, account: str, valid_s: int = 3_600) -> str:
        """A fresh token of a service account; the audit log tells tokens apart. The server's least is 600 s."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        made = await self.need("POST", path, {"spec": {"expirationSeconds": valid_s}})
        return str(made["status"]["token"])

    async def _kinds_of(self, root: str) -> list[Object]:
        """What a group version serves; waits a little for one whose definition was created just before."""
        answer = await self.request("GET", root)
        for _ in range(_NOT_YET_TRIES):
            if answer.status != 404:
                break
            await asyncio.sleep(_NOT_YET_PAUSE_S)
            answer = await self.request("GET", root)
        if not answer.is_ok:
            raise Refused(f"GET {root}", answer)
        return list(answer.body["resources"])

    async def path(self, thing: Object, is_named: bool = True) -> str:
        """Path of an object, or of its collection, as discovery tells it."""
        version, kind, metadata = thing["apiVersion"], thing["kind"], thing["metadata"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if (version, kind) not in self._resources:
            for known in await self._kinds_of(root):
                if "/" not in known["name"]:
                    self._resources[version, known["kind"]] = known["name"], known["namespaced"]
        if (version, kind) not in self._resources:
            raise Refused(f"find {kind} of {version}", Answer(404, "the server does not serve this kind"))
        plural, is_namespaced = self._resources[version, kind]
        within = f"/namespaces/{metadata.get('namespace', 'default')}" if is_namespaced else ""
        return f"{root}{within}/{plural}" + (f"/{metadata['name']}" if is_named else "")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Do work to its end for a caller that is not async; inside a running loop, in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # Its exit would wait for the thread anyway, so the loop stands still meanwhile: a request or two, not a workload.
    with ThreadPoolExecutor(max_workers=1) as elsewhere:
        return elsewhere.submit(asyncio.run, work).result()


def _texts(headers: list[str]) -> tuple[str, ...]:
    """Texts of Warning headers, which look like `299 - "text"` (RFC 7234 5.5)."""
    found = (re.findall(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"', header) for header in headers)
    return tuple(re.sub(r"\\(.)", r"\1", text) for texts in found for text in texts)
