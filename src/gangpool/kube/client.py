"""The verbs of the API that gangpool uses, on bytes and structs: list in pages, get, create, patch, delete, bind.

Errors are `ApiError` with the server's own reason and text. Reads are tried again with back-off and jitter; writes
are tried again only where the server said that it did nothing (429), or by a caller that knows better.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from gangpool.kube.transport import Answer, Request, Transport, Unreachable

PAGE = 500
TURNS_TO_SEND = 4
"""So many turns of the loop, and a request lies in the socket."""
TRIES = 5
FIRST_WAIT_S = 0.2
MOST_WAIT_S = 10.0
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

T = TypeVar("T")


class Status(Struct):
    """The API's Status object, as far as it is read."""

    reason: str = ""
    message: str = ""
    code: int = 0
    details: dict[str, Any] | None = None


class ApiError(Exception):
    """The server's refusal. `reason` is the API's word (`NotFound`, `Conflict`, …)."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class ListMeta(Struct):
    """Version of a list, and the token of its next page."""

    resourceVersion: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class RawList(Struct):
    """Items stay where they lie in the answer until somebody decodes them."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[msgspec.Raw] | None = None


_status = msgspec.json.Decoder(Status)
_list = msgspec.json.Decoder(RawList)
encode = msgspec.json.Encoder().encode


def backoff_s(attempt: int) -> float:
    """Doubling waits with jitter, so that many clients do not come back together."""
    jitter = random.uniform(0.5, 1.0)  # noqa: S311 - no secret
    return jitter * min(FIRST_WAIT_S * 2.0 ** min(attempt, 30), MOST_WAIT_S)


def error_of(answer: Answer) -> ApiError:
    """An answer that is no success as an error."""
    try:
        status = _status.decode(answer.body)
    except msgspec.MsgspecError:
        text = answer.body[:200].decode("utf-8", "replace").strip()
        return ApiError(answer.status, "", text or "no text")
    return ApiError(answer.status, status.reason, status.message)


def _forgotten(answer: asyncio.Future[bytes]) -> None:
    """Whoever asked for it wants it no more, nor its error."""
    if not answer.cancelled():
        answer.exception()


class Client:
    """Verbs on one API server."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def another(self, connections: int) -> Client:
        """Of the same server, with connections of its own; for another event loop, in which it is to be called."""
        return Client(self.transport.another(connections))

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        """One write or read; ApiError when refused, Unreachable when there is no answer. 429 is waited out."""
        data = body if isinstance(body, bytes) or body is None else encode(body)
        request = Request(method, path, params, data, content_type)
        for attempt in range(TRIES):
            try:
                return await self.once(request)
            except ApiError as error:
                if error.status != 429 or attempt == TRIES - 1:
                    raise
            await asyncio.sleep(backoff_s(attempt))
        raise AssertionError("unreachable")

    async def once(self, request: Request) -> bytes:
        """One request, tried once: for callers with a clock of their own. What `send` raises, 429 as ApiError."""
        answer = await self.transport.call(request)
        if answer.status >= 300:
            raise error_of(answer)
        return answer.body

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        """A read, tried again while the server is away or troubled."""
        for attempt in range(TRIES):
            try:
                return await self.send("GET", path, None, params)
            except (ApiError, Unreachable) as error:
                passing = isinstance(error, Unreachable) or error.status >= 500
                if not passing or attempt == TRIES - 1:
                    raise
                await asyncio.sleep(backoff_s(attempt))
        raise AssertionError("unreachable")

    async def pages(self, path: str, params: Mapping[str, str] | None = None) -> AsyncIterator[RawList]:
        """A list, page by page; the next one is asked for before this one is handed out, so that the server prepares
        it meanwhile. A continue token that has ended is an ApiError 410: the list starts anew."""
        query = {**(params or {}), "limit": str(PAGE)}
        following = asyncio.ensure_future(self.get(path, query))
        try:
            while True:
                try:
                    page = _list.decode(await following)
                except msgspec.MsgspecError as error:  # what stands between us and the server has answered
                    raise Unreachable(f"GET {path}: no list: {error}") from None
                if not page.metadata.continue_:
                    yield page
                    return
                following = asyncio.ensure_future(self.get(path, {**query, "continue": page.metadata.continue_}))
                for _ in range(TURNS_TO_SEND):
                    await asyncio.sleep(0)
                yield page
        finally:
            following.cancel()
            following.add_done_callback(_forgotten)

    async def patch(self, path: str, body: Any, content_type: str = MERGE_PATCH, **params: str) -> bytes:
        """Change only the fields that are named, so that fields we do not know survive."""
        return await self.send("PATCH", path, body, params or None, content_type=content_type)

    async def create(self, path: str, body: Any, **params: str) -> bytes:
        """Create an object."""
        return await self.send("POST", path, body, params or None)

    async def delete(self, path: str, body: Any = None) -> bytes:
        """Delete an object."""
        return await self.send("DELETE", path, body)
