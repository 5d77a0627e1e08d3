"""One resource kept up to date: list in pages, watch from there, list again only when the server has forgotten.

Used by the scheduler and the controllers for every kind that they follow. Promises to its sink: `replace` once per
list, then `change` and `gone` in the order of the server; an object that vanished while we did not look is reported
by the next list. Bookmarks move the version on, a 410 lists again, silence is ended by a time-out; waits between
tries grow with jitter. A resource that is not served (404) counts as empty and is asked for again now and then.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Collection
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import aiohttp
import msgspec
from msgspec import Struct

from gangpool.kube.client import ApiError, Client, backoff_s, error_of
from gangpool.kube.transport import Answer, Request, Unreachable, words

log = logging.getLogger("gangpool.kube")

WATCH_S = 300
"""The server ends a watch after about so long; then it is taken up again from the last version."""
QUIET_S = 90.0
"""A watch with bookmarks is never silent for longer (the API server sends one a minute)."""
ABSENT_S = 30.0
"""A kind that is not installed may come: asked again after so long."""
SHORT_S = 1.0
"""A watch that ends sooner, and has brought nothing, is trouble and no end."""
LINE_MAX = 8 << 20
HEARD_S = 2.0
LOOK_S, RENEW_S = 0.5, 10.0
SIGN_S, SIGN_LIMIT_S = 10.0, 5.0
"""Sooner than an idle connection is closed by us (15 s): it shares the fate of the watches."""

T = TypeVar("T")


class Sink(Protocol[T]):
    """Who gets the objects."""

    def replace(self, objects: list[T]) -> None:
        """A full list: everything else of this kind is gone."""
        ...

    def change(self, obj: T) -> None: ...

    def gone(self, obj: T) -> None: ...


@runtime_checkable
class Paged(Protocol[T]):
    """A sink that takes a long list page by page, so that it never lies in memory as a whole. `replace([])` then says
    that the list is complete; one that breaks off begins anew."""

    def begin(self) -> None:
        """A list begins."""
        ...

    def page(self, objects: list[T]) -> None:
        """Some of its objects."""
        ...


class Event(Struct):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class _Version(Struct):
    resourceVersion: str = ""


class _Versioned(Struct):
    metadata: _Version = msgspec.field(default_factory=_Version)
    code: int = 0


_event = msgspec.json.Decoder(Event)
_versioned = msgspec.json.Decoder(_Versioned)


class Reflector(Generic[T]):
    """Follows one resource. `path`: its list; `decode`: from the JSON of one object. `n_lists` counts full lists,
    `n_events` lines of watches."""

    labels = ""
    """Label selector; set before `run` to follow only what it selects."""

    def __init__(self, client: Client, path: str, decode: Callable[[msgspec.Raw], T], sink: Sink[T]) -> None:
        self._client = client
        self.path = path
        self._decode = decode
        self._sink = sink
        self._version = ""
        self._limit: asyncio.Timeout | None = None
        self._hurry = asyncio.Event()
        self._n_wanted = 0
        self._n_troubles = 0
        self._heard_at = float("-inf")
        self.synced = asyncio.Event()
        self.is_absent = False
        self.n_lists = 0
        self.n_watches = 0
        self.n_events = 0
        self.n_gaps = 0

    async def again(self) -> None:
        """A list that begins from now on has come in: a new leader must not plan on what an old watch, or a list
        that is on its way, does not show."""
        self._n_wanted += 1
        self.synced.clear()
        self._version = ""
        self._hurry.set()
        if self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time())
        await self.synced.wait()

    def renew(self) -> None:
        """The watch may hang on a dead connection: take it up again on another, from where it was. One that has just
        brought something is well, and a list has limits of its own."""
        if self._version and time.monotonic() - self._heard_at >= HEARD_S:
            self._hurry.set()
            if self._limit is not None:
                self._limit.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """Forever; ends by cancellation. Errors of the sink are not caught: they are defects."""
        while True:
            self._hurry.clear()
            wait_s = 0.0
            try:
                async with asyncio.timeout(None) as self._limit:
                    if not self._version:
                        await self._list()
                    if self._version and not await self._watch():
                        wait_s = self._trouble("the watch ended at once")
            except ApiError as error:
                wait_s = self._refused(error)
            except (Unreachable, aiohttp.ClientError, TimeoutError, OSError) as error:
                wait_s = self._trouble(words(error))
            finally:
                self._limit = None
            if wait_s:
                await self._pause(wait_s)

    def _refused(self, error: ApiError) -> float:
        """Seconds until the next try. A place in the history that the server does not know is a gap."""
        if error.status == 404:
            return self._absent()
        if error.status == 410 or (error.status == 400 and self._version):
            self._version = ""
            self.n_gaps += 1
            if not self._n_troubles:
                self._n_troubles += 1
                return 0.0
        return self._trouble(str(error))

    def _trouble(self, text: str) -> float:
        """Seconds until the next try. What `again` or `renew` has interrupted is no trouble."""
        if self._hurry.is_set():
            return 0.0
        level = logging.WARNING if self._n_troubles else logging.DEBUG  # servers restart: once is nothing
        log.log(level, "follow-trouble path=%s text=%s", self.path, text[:200])
        self._n_troubles += 1
        return backoff_s(self._n_troubles - 1)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), seconds)

    def _absent(self) -> float:
        if not self.is_absent or not self.synced.is_set():
            self._sink.replace([])
        self.is_absent = True
        self._version = ""
        self._n_troubles = 0
        self.synced.set()
        return random.uniform(0.5, 1.0) * ABSENT_S  # noqa: S311 - jitter

    async def _list(self) -> None:
        wanted = self._n_wanted
        objects: list[T] = []
        version, paged = "", self._sink if isinstance(self._sink, Paged) else None
        if paged is not None:
            paged.begin()
        async for page in self._client.pages(self.path, self._selected()):
            objects.extend(obj for item in page.items or () if (obj := self._read(item)) is not None)
            if paged is not None:
                paged.page(objects)
                objects = []
            version = page.metadata.resourceVersion
            await asyncio.sleep(0)
        self.n_lists += 1
        if wanted != self._n_wanted:  # it may lack what was written before `again` was called
            return
        self.is_absent = False
        self._sink.replace(objects)
        self._version = version
        self.synced.set()

    def _selected(self) -> dict[str, str]:
        return {"labelSelector": self.labels} if self.labels else {}

    async def _watch(self) -> bool:
        """Until it ends; False when it brought nothing and ended at once."""
        params = {
            **self._selected(),
            "watch": "1",
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(int(WATCH_S * random.uniform(1.0, 1.5))),  # noqa: S311 - jitter
        }
        response = await self._client.transport.open(self.path, params, QUIET_S)
        self.n_watches += 1
        started, n_lines = time.monotonic(), 0
        try:
            if response.status != 200:
                raise error_of(Answer(response.status, await response.read()))
            async for line in lines(response):
                self._heard_at = time.monotonic()
                if not self._version:  # `again` was called
                    return True
                self._take(line)
                n_lines += 1
                self._n_troubles = 0
        finally:
            response.close()
            if time.monotonic() - started >= SHORT_S:
                self._n_troubles = 0
        return n_lines > 0 or time.monotonic() - started >= SHORT_S

    def _take(self, line: bytes) -> None:
        self.n_events += 1
        try:
            event = _event.decode(line)
            head = _versioned.decode(event.object)
        except msgspec.MsgspecError:
            raise Unreachable(f"watch {self.path}: a line that is no event") from None
        if event.type == "ERROR":
            raise ApiError(head.code or 500, "Expired" if head.code == 410 else "WatchError", self.path)
        if is_older(head.metadata.resourceVersion, self._version):
            return  # an old event played again: what it shows has been overtaken
        if event.type in ("ADDED", "MODIFIED", "DELETED"):
            obj = self._read(event.object)
            if obj is not None and event.type == "DELETED":
                self._sink.gone(obj)
            elif obj is not None:
                self._sink.change(obj)
        if head.metadata.resourceVersion:
            self._version = head.metadata.resourceVersion

    def _read(self, raw: msgspec.Raw) -> T | None:
        """One object; None, and a line in the log, for one that is not as its kind says."""
        try:
            return self._decode(raw)
        except msgspec.MsgspecError as error:
            log.warning("object-unreadable path=%s error=%s object=%s", self.path, error, bytes(raw)[:200])
            return None


async def renew_on_silence(client: Client, reflectors: Collection[Reflector[Any]]) -> None:
    """Forever: when any request to the server had no answer in time, take up all quiet watches again. A watch alone
    would notice a dead connection after `QUIET_S` only. Not more often than every `RENEW_S`: it may be the server that
    is slow."""
    silence = client.transport.silence
    seen = silence.n
    while True:
        while silence.n == seen:
            await asyncio.sleep(LOOK_S)
        seen = silence.n
        log.warning("watches-renewed n=%d text=a request had no answer in time", len(reflectors))
        for reflector in reflectors:
            reflector.renew()
        await asyncio.sleep(RENEW_S)


async def give_sign(client: Client) -> None:
    """Forever: a small read now and then, in processes that otherwise say nothing for hours, so that silence is
    noticed at all. Who holds or waits for a Lease needs none."""
    while True:
        await asyncio.sleep(SIGN_S)
        with contextlib.suppress(ApiError, Unreachable):
            await client.once(Request("GET", "/version", limit_s=SIGN_LIMIT_S))


async def lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Lines of a stream, whatever its chunks; a cut last line is dropped, the watch is taken up again before it."""
    rest = b""
    async for chunk in response.content.iter_any():
        parts = (rest + chunk).split(b"\n")
        rest = parts.pop()
        if len(rest) > LINE_MAX:
            raise Unreachable("watch: a line without an end")
        for part in parts:
            if part:
                yield part


def is_older(version: str, than: str) -> bool:
    """Resource versions of one kind can be compared as numbers; what is no number is never older."""
    return version.isdigit() and than.isdigit() and int(version) < int(than)
