"""Everything that happened to pods, nodes and events during a case, from watches that run all the time.

Checks judge this record and not only the end state: a gang that was half bound for a minute, or a node that
was overcommitted for a second, is found although the end looks right.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.cases.play.api import Api, Obj

WATCHED = {"Pod": "/api/v1/pods", "Node": "/api/v1/nodes", "Event": "/api/v1/events"}
Key = tuple[str, str]


@dataclass(frozen=True)
class Change:
    """One watch event. ``revision`` orders changes of all kinds, since all come from one etcd."""

    at: float  # time.monotonic() when it reached us
    wall: float  # time.time()
    revision: int
    kind: str
    type: str  # ADDED, MODIFIED, DELETED
    object: Obj


def key(obj: Obj) -> Key:
    """(namespace, name)."""
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def matches(selector: str, obj: Obj) -> bool:
    """Equality selector over labels: ``a=b,c=d``; ``name=x`` of a ``pod/x`` selector is written ``pod/x``."""
    if selector.startswith("pod/"):
        return bool(obj["metadata"]["name"] == selector[4:])
    labels = obj["metadata"].get("labels") or {}
    return all(labels.get(k.strip()) == v.strip() for k, _, v in (part.partition("=") for part in selector.split(",")))


def is_finished(pod: Obj) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def is_deleted(pod: Obj) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def node_of(pod: Obj) -> str | None:
    return pod["spec"].get("nodeName") or None


class History:
    """Mutable: grows with the watches. ``pods`` and ``nodes`` are the present state."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.changes: dict[str, list[Change]] = {kind: [] for kind in WATCHED}
        self.pods: dict[Key, Obj] = {}
        self.nodes: dict[str, Obj] = {}
        self.ever: dict[str, Obj] = {}  # uid -> last form of each pod ever seen
        self.started_at = time.monotonic()
        self.listeners: list[Callable[[Change], None]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()

    async def start(self) -> None:
        """Begin to watch; what exists already is taken in as ADDED."""
        for kind, path in WATCHED.items():
            got = await self._api.need("GET", path)
            for item in got["items"]:
                self._take(kind, "ADDED", item)
            self._tasks.append(asyncio.create_task(self._follow(kind, path, got["metadata"]["resourceVersion"])))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, kind: str, path: str, version: str) -> None:
        while True:
            async for type_, obj in self._api.watch(path, version):
                if type_ == "ERROR":
                    raise RuntimeError(f"watch of {kind} broke: {obj}")
                version = obj["metadata"]["resourceVersion"]
                if type_ != "BOOKMARK":
                    self._take(kind, type_, obj)

    def failure(self) -> str | None:
        """Why the record has a hole, if it has one: no verdict may be built on it then."""
        broken = [t for t in self._tasks if t.done() and not t.cancelled()]
        return f"the watch of the tool ended: {broken[0].exception()}" if broken else None

    def _take(self, kind: str, type_: str, obj: Obj) -> None:
        change = Change(time.monotonic(), time.time(), int(obj["metadata"]["resourceVersion"]), kind, type_, obj)
        self.changes[kind].append(change)
        if kind == "Pod":
            self.ever[obj["metadata"]["uid"]] = obj
            if type_ == "DELETED":
                self.pods.pop(key(obj), None)
            else:
                self.pods[key(obj)] = obj
        elif kind == "Node":
            if type_ == "DELETED":
                self.nodes.pop(obj["metadata"]["name"], None)
            else:
                self.nodes[obj["metadata"]["name"]] = obj
        for listener in self.listeners:
            listener(change)
        self._wake.set()

    async def wait_change(self, timeout_s: float) -> None:
        """Until something changes or the time is over."""
        self._wake.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), timeout_s)

    def select(self, selector: str) -> list[Obj]:
        """Pods that exist now, by name."""
        return sorted((p for p in self.pods.values() if matches(selector, p)), key=key)

    def bound(self, selector: str) -> list[Obj]:
        """Pods with a node that are neither deleted nor finished."""
        return [p for p in self.select(selector) if node_of(p) and not is_deleted(p) and not is_finished(p)]

    def pending(self, selector: str) -> list[Obj]:
        """Pods without a node that are neither deleted nor finished."""
        return [p for p in self.select(selector) if not node_of(p) and not is_deleted(p) and not is_finished(p)]

    def members_over_time(self, selector: str) -> list[tuple[float, int]]:
        """(time, number of bound members that are not deleted) after each change of that number."""
        held: set[str] = set()
        line: list[tuple[float, int]] = []
        for c in self.changes["Pod"]:
            if not matches(selector, c.object):
                continue
            uid, before = c.object["metadata"]["uid"], len(held)
            if c.type != "DELETED" and node_of(c.object) and not is_deleted(c.object):
                held.add(uid)
            else:
                held.discard(uid)
            if len(held) != before:
                line.append((c.at, len(held)))
        return line

    def first_bound(self, selectors: Iterable[str] = ()) -> list[tuple[float, float, Obj]]:
        """(monotonic, wall, pod) of each pod that was seen without a node first and got one later, in order."""
        waiting: set[str] = set()
        out: list[tuple[float, float, Obj]] = []
        wanted = list(selectors)
        for c in self.changes["Pod"]:
            uid = c.object["metadata"]["uid"]
            if not node_of(c.object):
                waiting.add(uid)
            elif uid in waiting:
                waiting.discard(uid)
                if not wanted or any(matches(s, c.object) for s in wanted):
                    out.append((c.at, c.wall, c.object))
        return out

    def events_about(self, names: set[tuple[str, str]]) -> list[Change]:
        """Writes of events whose object is one of (kind, name)."""

        def about(e: Obj) -> tuple[Any, Any]:
            ref = e.get("involvedObject") or {}
            return ref.get("kind"), ref.get("name")

        return [c for c in self.changes["Event"] if c.type != "DELETED" and about(c.object) in names]


def longest_partial(line: list[tuple[float, int]], size: int, now: float) -> tuple[float, int]:
    """(longest time in seconds with 0 < n < size, largest n) of a member count over time.

    >>> longest_partial([(1.0, 1), (2.5, 2), (9.0, 1)], 2, 10.0)
    (1.5, 2)
    """
    longest, since, most = 0.0, None, 0
    for at, n in line:
        most = max(most, n)
        if 0 < n < size:
            since = at if since is None else since
        elif since is not None:
            longest, since = max(longest, at - since), None
    return (max(longest, now - since) if since is not None else longest), most
