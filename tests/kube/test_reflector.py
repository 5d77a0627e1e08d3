"""Following one resource through everything that watches do: pages, bookmarks, gaps, cuts, silence, absence.

Length: all of it needs the same server and the same sink.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest
from aiohttp import web

from gangpool.kube import client as client_module
from gangpool.kube import reflector as module
from gangpool.kube.reflector import Reflector, is_older
from gangpool.kube.transport import Request, Unreachable
from gangpool.objects.pod import Pod
from tests.kube.standin import (
    WATCH,
    Answer,
    StandIn,
    bookmark,
    cut,
    expired,
    in_loop,
    json_of,
    line,
    page,
    served,
    silence,
    status,
    stream,
    text_of,
    thing,
)

PODS = "/api/v1/pods"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(module, "ABSENT_S", 0.001)


class Known:
    """A sink: what it knows now, and all that it was told."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.told: list[str] = []
        self._moved = asyncio.Event()

    def replace(self, objects: list[Pod]) -> None:
        self.names = {pod.metadata.name for pod in objects}
        self._tell(f"list {' '.join(sorted(self.names))}".strip())

    def change(self, obj: Pod) -> None:
        self.names.add(obj.metadata.name)
        self._tell(f"change {obj.metadata.name}@{obj.metadata.resourceVersion}")

    def gone(self, obj: Pod) -> None:
        self.names.discard(obj.metadata.name)
        self._tell(f"gone {obj.metadata.name}")

    def _tell(self, text: str) -> None:
        self.told.append(text)
        self._moved.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self._moved.clear()
            await self._moved.wait()

    async def hears(self, text: str, times: int = 1) -> None:
        await self.until(lambda: self.told.count(text) >= times)


@asynccontextmanager
async def followed(*lists: Answer) -> AsyncIterator[tuple[StandIn, Known, Reflector[Pod], Callable[[], None]]]:
    """A server, a sink, a reflector that has not begun, and a function that lets it begin."""
    async with served() as (api, client):
        api.on("GET", PODS, *lists)
        known = Known()
        reflector = Reflector(client, PODS, msgspec.json.Decoder(Pod).decode, known)
        tasks: list[asyncio.Task[None]] = []
        try:
            yield api, known, reflector, lambda: tasks.append(asyncio.create_task(reflector.run()))
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


def changed(name: str, version: str) -> bytes:
    return line("MODIFIED", thing(name, version))


@in_loop
async def test_lists_in_pages_then_watches_from_there() -> None:
    async with followed(page("a b", "7", more="t"), page("c", "7")) as (api, known, reflector, begin):
        events = line("ADDED", thing("d", "8")), changed("a", "9"), line("DELETED", thing("b", "10"))
        api.on(WATCH, PODS, stream(api, *events))
        begin()
        await known.hears("gone b")
        assert known.told == ["list a b c", "change d@8", "change a@9", "gone b"]
        assert (reflector.n_lists, reflector.n_watches, reflector.n_gaps) == (1, 1, 0)
        watch = (await api.until(WATCH, PODS, 1))[0]
        assert watch.query["resourceVersion"] == "7"
        assert watch.query["allowWatchBookmarks"] == "true"
        assert 300 <= int(watch.query["timeoutSeconds"]) <= 450


@in_loop
async def test_watch_that_ends_is_taken_up_where_it_was() -> None:
    async with followed(page("a", "7")) as (api, known, reflector, begin):
        api.on(WATCH, PODS, stream(api, changed("a", "8"), end="closed"), stream(api, changed("a", "9")))
        begin()
        await known.hears("change a@9")
        versions = [asked.query["resourceVersion"] for asked in await api.until(WATCH, PODS, 2)]
        assert versions == ["7", "8"]
        assert reflector.n_lists == 1


@in_loop
async def test_silence_of_another_request_takes_the_watch_up_again_where_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1. A watch is silent; its connection may be dead. 2. Another request has no answer in time. 3. The watch is
    taken up on a new connection, without a list."""
    monkeypatch.setattr(module, "LOOK_S", 0.001)
    monkeypatch.setattr(module, "HEARD_S", 0.0)
    async with followed(page("a", "7")) as (api, known, reflector, begin):
        api.on(WATCH, PODS, stream(api, changed("a", "8")), stream(api, changed("a", "9")))
        api.on("GET", "/slow", silence(api))
        begin()
        await known.hears("change a@8")
        client = reflector._client
        minder = asyncio.create_task(module.renew_on_silence(client, [reflector]))
        await asyncio.sleep(0)
        other = client.another(1)
        with pytest.raises(Unreachable):
            await other.once(Request("GET", "/slow", limit_s=0.01))
        await other.transport.close()
        await known.hears("change a@9")
        minder.cancel()
        assert [asked.query["resourceVersion"] for asked in await api.until(WATCH, PODS, 2)] == ["7", "8"]
        assert reflector.n_lists == 1


@in_loop
async def test_a_process_that_says_nothing_gives_a_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no answer in time is noticed as silence."""
    monkeypatch.setattr(module, "SIGN_S", 0.001)
    monkeypatch.setattr(module, "SIGN_LIMIT_S", 0.01)
    async with served() as (api, client):
        api.on("GET", "/version", json_of({}), silence(api))
        task = asyncio.create_task(module.give_sign(client))
        await api.until("GET", "/version", 3)
        assert client.transport.silence.n > 0
        task.cancel()


@in_loop
async def test_a_list_that_is_on_its_way_is_not_taken_up_again() -> None:
    """Of a slow server a long list would never come to its end."""
    async with followed(page("a", "7")) as (api, known, reflector, begin):
        arrived = asyncio.Event()

        async def slow(request: web.Request) -> web.StreamResponse:
            await arrived.wait()
            return await page("a", "7")(request)

        api.on("GET", PODS, slow)
        api.on(WATCH, PODS, stream(api))
        begin()
        await api.until("GET", PODS, 1)
        reflector.renew()
        arrived.set()
        await known.hears("list a")
        assert api.count("GET", PODS) == 1


@in_loop
async def test_bookmark_moves_the_version_and_tells_nothing() -> None:
    async with followed(page("a", "7")) as (api, known, _, begin):
        api.on(WATCH, PODS, stream(api, bookmark("50"), end="closed"), stream(api))
        begin()
        assert [asked.query["resourceVersion"] for asked in await api.until(WATCH, PODS, 2)] == ["7", "50"]
        assert known.told == ["list a"]


@in_loop
async def test_old_bookmark_does_not_move_it_back() -> None:
    async with followed(page("a", "7")) as (api, _, _, begin):
        api.on(WATCH, PODS, stream(api, changed("a", "60"), bookmark("50"), end="closed"), stream(api))
        begin()
        assert [asked.query["resourceVersion"] for asked in await api.until(WATCH, PODS, 2)] == ["7", "60"]


@in_loop
async def test_event_that_is_played_again_is_ignored() -> None:
    async with followed(page("a", "7")) as (api, known, _, begin):
        api.on(WATCH, PODS, stream(api, changed("a", "9"), changed("b", "8"), changed("c", "10")))
        begin()
        await known.hears("change c@10")
        assert known.told == ["list a", "change a@9", "change c@10"]


@pytest.mark.parametrize("form", ["answer", "event"])
def test_history_that_is_gone_is_listed_anew(form: str) -> None:
    """410 comes as the answer to a watch, or as an ERROR event in one. What vanished meanwhile is reported."""

    @in_loop
    async def story() -> None:
        async with followed(page("a b", "7"), page("b c", "90")) as (api, known, reflector, begin):
            gap = status(410, "Expired") if form == "answer" else stream(api, expired())
            api.on(WATCH, PODS, gap, stream(api, changed("c", "91")))
            begin()
            await known.hears("change c@91")
            assert known.told == ["list a b", "list b c", "change c@91"]
            assert (reflector.n_lists, reflector.n_gaps) == (2, 1)
            assert (await api.until(WATCH, PODS, 2))[-1].query["resourceVersion"] == "90"

    story()


@in_loop
async def test_version_that_the_server_does_not_understand_is_a_gap() -> None:
    async with followed(page("a", "7")) as (api, known, reflector, begin):
        api.on(WATCH, PODS, status(400, "BadRequest", "invalid resource version"), stream(api))
        begin()
        await known.hears("list a", 2)
        await api.until(WATCH, PODS, 2)
        assert reflector.n_gaps == 1


@in_loop
async def test_continue_token_that_has_ended_starts_the_list_anew() -> None:
    async with followed(page("a", "7", more="t"), status(410, "Expired"), page("b", "8")) as (api, known, _, begin):
        api.on(WATCH, PODS, stream(api))
        begin()
        await api.until(WATCH, PODS, 1)
        assert known.told == ["list b"]


@in_loop
async def test_other_error_in_a_watch_keeps_the_place() -> None:
    async with followed(page("a", "7")) as (api, known, reflector, begin):
        trouble = line("ERROR", {"kind": "Status", "code": 500, "message": "etcd leader changed"})
        api.on(WATCH, PODS, stream(api, changed("a", "8"), trouble), stream(api, changed("a", "9")))
        begin()
        await known.hears("change a@9")
        assert reflector.n_lists == 1


@pytest.mark.parametrize(
    "tail",
    [
        b'{"type": "MODIFIED", "obj',
        b"<html>bad gateway</html>\n",
        b'{"type": "MODIFIED"}\n',
        b'{"type": 3, "object": 4}\n',
    ],
    ids=["cut", "html", "no object", "wrong types"],
)
@pytest.mark.parametrize("end", ["closed", "cut"])
def test_line_that_is_cut_or_no_event_is_taken_up_again(tail: bytes, end: str) -> None:
    @in_loop
    async def story() -> None:
        async with followed(page("a", "7")) as (api, known, reflector, begin):
            first = stream(api, changed("a", "8"), tail, end=end)
            api.on(WATCH, PODS, first, stream(api, changed("a", "9")))
            begin()
            await known.hears("change a@9")
            assert reflector.n_lists == 1
            assert known.told[-1] == "change a@9"

    story()


@in_loop
async def test_lines_do_not_depend_on_chunks() -> None:
    text = changed("a", "8") + b"\n" + changed("ü", "9") + changed("b", "10")
    async with followed(page("a", "7")) as (api, known, _, begin):
        api.on(WATCH, PODS, stream(api, *(text[i : i + 7] for i in range(0, len(text), 7))))
        begin()
        await known.hears("change b@10")
        assert known.told[1:] == ["change a@8", "change ü@9", "change b@10"]


@in_loop
async def test_line_without_an_end_is_no_event() -> None:
    async with followed(page("a", "7")) as (api, known, _, begin):
        endless = b"x" * (module.LINE_MAX + 1)
        api.on(WATCH, PODS, stream(api, endless), stream(api, changed("a", "8")))
        begin()
        await known.hears("change a@8")


@in_loop
async def test_silent_watch_is_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that a firewall has forgotten looks like a watch without news; bookmarks tell them apart."""
    monkeypatch.setattr(module, "QUIET_S", 0.05)
    async with followed(page("a", "7")) as (api, known, reflector, begin):
        api.on(WATCH, PODS, stream(api, changed("a", "8")), silence(api), stream(api, changed("a", "9")))
        begin()
        await known.hears("change a@9")
        assert reflector.n_lists == 1
        versions = [asked.query["resourceVersion"] for asked in await api.until(WATCH, PODS, 3)]
        assert versions[:3] == ["7", "8", "8"]


@in_loop
async def test_watch_that_ends_at_once_is_not_asked_for_without_pause() -> None:
    async with followed(page("a", "7")) as (api, known, reflector, begin):
        waits: list[float] = []

        async def pause(seconds: float) -> None:
            waits.append(seconds)

        reflector._pause = pause  # type: ignore[method-assign] # its waits are what is looked at
        api.on(WATCH, PODS, *[stream(api, end="closed")] * 4, stream(api, changed("a", "8")))
        begin()
        await known.hears("change a@8")
        assert len(waits) == 4
        assert all(0.0005 * 2**i <= wait <= 0.001 * 2**i for i, wait in enumerate(waits))


@in_loop
async def test_server_that_is_away_is_tried_until_it_comes() -> None:
    async with followed(cut(), status(503, "Unavailable"), text_of("starting"), page("a", "7")) as (
        api,
        known,
        _,
        begin,
    ):
        api.on(WATCH, PODS, cut(), status(500, "InternalError"), stream(api, changed("a", "8")))
        begin()
        await known.hears("change a@8")
        assert known.told == ["list a", "change a@8"]


# ---- kinds that are not served


@in_loop
async def test_kind_that_is_not_served_counts_as_empty_until_it_comes() -> None:
    async with followed(status(404, "NotFound"), status(404, "NotFound"), page("a", "7")) as (
        api,
        known,
        reflector,
        begin,
    ):
        api.on(WATCH, PODS, stream(api))
        begin()
        await reflector.synced.wait()
        assert (known.told, reflector.is_absent) == (["list"], True)
        await known.hears("list a")
        assert known.told == ["list", "list a"]
        assert not reflector.is_absent


@in_loop
async def test_kind_that_is_removed_is_empty_again() -> None:
    async with followed(page("a", "7"), status(404, "NotFound")) as (api, known, reflector, begin):
        api.on(WATCH, PODS, stream(api, bookmark("8"), end="closed"), status(404, "NotFound"))
        begin()
        await known.hears("list")
        assert known.told == ["list a", "list"]
        assert reflector.is_absent


# ---- what cannot be read


@in_loop
async def test_object_that_is_not_as_its_kind_says_is_left_out() -> None:
    odd = {"metadata": {"name": "odd", "resourceVersion": "8"}, "spec": {"nodeName": 7}}
    listed = json_of({"metadata": {"resourceVersion": "7"}, "items": [thing("a"), odd]})
    async with followed(listed) as (api, known, _, begin):
        api.on(WATCH, PODS, stream(api, line("MODIFIED", odd), changed("a", "9")))
        begin()
        await known.hears("change a@9")
        assert known.told == ["list a", "change a@9"]


def test_troubles_are_logged_from_the_second_on(caplog: pytest.LogCaptureFixture) -> None:
    """A missing permission would else be silence."""

    @in_loop
    async def story() -> None:
        refusal = status(403, "Forbidden", 'cannot list resource "pods"')
        async with followed(refusal, refusal, refusal, page("a", "7")) as (api, known, _, begin):
            api.on(WATCH, PODS, stream(api))
            begin()
            await known.hears("list a")

    with caplog.at_level(logging.WARNING, "gangpool.kube"):
        story()
    assert [record.getMessage() for record in caplog.records] == [
        'follow-trouble path=/api/v1/pods text=403 Forbidden: cannot list resource "pods"'
    ] * 2


# ---- again


@in_loop
async def test_again_lists_anew_and_waits_for_it() -> None:
    async with followed(page("a", "7"), page("b", "9")) as (api, known, reflector, begin):
        api.on(WATCH, PODS, stream(api))
        begin()
        await api.until(WATCH, PODS, 1)
        await reflector.again()
        assert known.told == ["list a", "list b"]
        assert (await api.until(WATCH, PODS, 2))[-1].query["resourceVersion"] == "9"


@in_loop
async def test_again_does_not_take_a_list_that_began_before() -> None:
    """1. A list is on its way. 2. The fence closes, and `again` is called. 3. The list comes in: it may lack what the
    old leader wrote before 2, so one more is needed."""
    async with followed() as (api, known, reflector, begin):
        go = asyncio.Event()

        async def slow(request: Any) -> Any:
            await go.wait()
            return await page("old", "7")(request)

        api.on("GET", PODS, slow, page("new", "8"))
        api.on(WATCH, PODS, stream(api))
        begin()
        await api.until("GET", PODS, 1)
        waiting = asyncio.create_task(reflector.again())
        await asyncio.sleep(0)
        go.set()
        await waiting
        assert known.told == ["list new"]


@in_loop
async def test_again_ends_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ABSENT_S", 3600.0)
    async with followed(status(404, "NotFound"), page("a", "7")) as (api, known, reflector, begin):
        api.on(WATCH, PODS, stream(api))
        begin()
        await reflector.synced.wait()
        await reflector.again()
        assert known.told == ["list", "list a"]


def test_versions_are_compared_as_numbers() -> None:
    assert is_older("9", "10")
    assert not is_older("10", "10")
    assert not is_older("", "10")
    assert not is_older("abc", "10")
    assert not is_older("9", "")
