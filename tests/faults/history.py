"""Everything that ever happened to pods, nodes and our Lease, revision by revision, as etcd has it.

Called by `stage`; `judge` decides on what it kept. It reads etcd and not the API server, so that a restart of the
server leaves no hole and nothing stands between the record and the truth. Needs objects stored as JSON and no
compaction (`FLAGS`). The record runs in a thread of its own: the stamps are those of arrival, some milliseconds late.
"""

from __future__ import annotations

import asyncio
import base64
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

FLAGS = ("--storage-media-type=application/json", "--etcd-compaction-interval=0")
PREFIXES = {"Pod": "/registry/pods/", "Node": "/registry/minions/", "Lease": "/registry/leases/gangpool-system/"}
_PATIENCE_S = 10.0


@dataclass(frozen=True)
class Change:
    """One revision of one object; `object` is None where it is gone. `key`: NAMESPACE/NAME, or NAME of a node."""

    revision: int
    at_s: float
    kind: str
    key: str
    object: Any


class _KeyValue(msgspec.Struct):
    key: str
    mod_revision: str
    value: str = ""


class _Event(msgspec.Struct):
    kv: _KeyValue
    type: str = "PUT"


class _Result(msgspec.Struct):
    events: list[_Event] = []


class _Line(msgspec.Struct):
    result: _Result | None = None


class History:
    """Mutable owner of the record; `with` runs it. `pods` and `nodes`, by key, are those of now."""

    def __init__(self, etcd_port: int) -> None:
        self._url = f"http://127.0.0.1:{etcd_port}/v3/watch"
        self._kept: list[Change] = []
        self.pods: dict[str, Any] = {}
        self.nodes: dict[str, Any] = {}
        self.failure = ""
        self.on_change: Callable[[Change], None] = lambda change: None
        """Called in the record's thread."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)

    def __enter__(self) -> History:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(_PATIENCE_S)

    def changes(self) -> list[Change]:
        """All until now, in the order of revisions. A hole in the record is an error of the test."""
        if self.failure:
            raise AssertionError(f"the record has a hole: {self.failure}")
        return sorted(self._kept, key=lambda change: change.revision)

    def _run(self) -> None:
        asyncio.run(self._follow_all())

    async def _follow_all(self) -> None:
        follows = [asyncio.create_task(self._follow(kind)) for kind in PREFIXES]
        while not self._stop.is_set():
            await asyncio.sleep(0.05)
            for follow in follows:
                if follow.done():
                    self.failure = str(follow.exception() or "etcd ended the watch")
        for follow in follows:
            follow.cancel()
        await asyncio.gather(*follows, return_exceptions=True)

    async def _follow(self, kind: str) -> None:
        prefix = PREFIXES[kind]
        create = {"key": _b64(prefix), "range_end": _b64(prefix[:-1] + "0"), "start_revision": "1"}
        no_limit = aiohttp.ClientTimeout(total=None)
        async with (
            aiohttp.ClientSession(timeout=no_limit, read_bufsize=1 << 24) as session,
            session.post(self._url, json={"create_request": create}) as response,
        ):
            async for line in response.content:
                found = _decoder.decode(line).result
                for event in found.events if found is not None else ():
                    self._take(kind, prefix, event)

    def _take(self, kind: str, prefix: str, event: _Event) -> None:
        key = base64.b64decode(event.kv.key).decode().removeprefix(prefix)
        obj = None if event.type == "DELETE" else msgspec.json.decode(base64.b64decode(event.kv.value))
        if obj is not None:
            obj["metadata"].pop("managedFields", None)
        change = Change(int(event.kv.mod_revision), time.time(), kind, key, obj)
        self._kept.append(change)
        now = self.pods if kind == "Pod" else self.nodes if kind == "Node" else {}
        if obj is None:
            now.pop(key, None)
        else:
            now[key] = obj
        self.on_change(change)


_decoder = msgspec.json.Decoder(_Line)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
