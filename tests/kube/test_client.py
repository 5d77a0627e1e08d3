"""The verbs against a server in this process: pages, refusals, throttling, answers that never come."""

from __future__ import annotations

import time

import pytest

from gangpool.kube import client as client_module
from gangpool.kube import transport as transport_module
from gangpool.kube.client import ApiError, backoff_s
from gangpool.kube.transport import Request, Unreachable
from tests.kube.standin import cut, in_loop, json_of, page, served, silence, status, text_of

PODS = "/api/v1/pods"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(transport_module, "RETRY_AFTER_LEAST_S", 0.001)


@in_loop
async def test_list_is_read_page_by_page() -> None:
    async with served() as (api, client):
        api.on("GET", PODS, page("a b", "7", more="t1"), page("c", "7", more="t2"), page("", "7"))
        pages = [page_ async for page_ in client.pages(PODS, {"labelSelector": "x=y"})]
        assert [len(found.items or ()) for found in pages] == [2, 1, 0]
        assert [asked.query.get("continue") for asked in api.asked] == [None, "t1", "t2"]
        assert {asked.query["labelSelector"] for asked in api.asked} == {"x=y"}
        assert {asked.query["limit"] for asked in api.asked} == {"500"}


@in_loop
async def test_ended_continue_token_is_told() -> None:
    async with served() as (api, client):
        api.on("GET", PODS, page("a", more="t1"), status(410, "Expired"))
        with pytest.raises(ApiError) as caught:
            [page_ async for page_ in client.pages(PODS)]
        assert caught.value.status == 410
        assert len(api.asked) == 2


@in_loop
async def test_list_that_is_no_list_is_no_answer() -> None:
    """A proxy's page with status 200 must not end the process."""
    async with served() as (api, client):
        api.on("GET", PODS, text_of("<html>please log in</html>"))
        with pytest.raises(Unreachable, match=PODS):
            [page_ async for page_ in client.pages(PODS)]


@in_loop
async def test_refusal_carries_the_servers_words() -> None:
    async with served() as (api, client):
        api.on("POST", PODS, status(403, "Forbidden", "exceeded quota: gpus"))
        with pytest.raises(ApiError) as caught:
            await client.create(PODS, {"a": 1})
        assert (caught.value.status, caught.value.reason) == (403, "Forbidden")
        assert caught.value.message == "exceeded quota: gpus"
        assert api.count("POST", PODS) == 1


@pytest.mark.parametrize(("body", "words"), [("no such thing here\n", "no such thing here"), ("", "no text")])
def test_refusal_without_a_status_object_shows_its_text(body: str, words: str) -> None:
    @in_loop
    async def story() -> None:
        async with served() as (api, client):
            api.on("GET", PODS, text_of(body, 418))
            with pytest.raises(ApiError) as caught:
                await client.get(PODS)
            assert (caught.value.status, caught.value.reason, caught.value.message) == (418, "", words)

    story()


@in_loop
async def test_reads_are_tried_again_while_the_server_is_troubled() -> None:
    async with served() as (api, client):
        api.on("GET", PODS, status(503, "Unavailable"), cut(), status(500, "InternalError"), json_of({"ok": 1}))
        assert await client.get(PODS) == b'{"ok": 1}'
        assert api.count("GET", PODS) == 4


@in_loop
async def test_reads_end_after_some_tries() -> None:
    async with served() as (api, client):
        api.on("GET", PODS, status(500, "InternalError"))
        with pytest.raises(ApiError):
            await client.get(PODS)
        assert api.count("GET", PODS) == client_module.TRIES


@in_loop
async def test_write_without_an_answer_is_not_sent_twice() -> None:
    async with served() as (api, client):
        api.on("POST", PODS, cut())
        with pytest.raises(Unreachable):
            await client.create(PODS, {})
        assert api.count("POST", PODS) == 1
        assert client.transport.n_errors == 1


@in_loop
async def test_silence_ends_by_the_requests_limit() -> None:
    async with served() as (api, client):
        api.on("GET", PODS, silence(api))
        with pytest.raises(Unreachable, match="Timeout"):
            await client.transport.call(Request("GET", PODS, limit_s=0.01))


@in_loop
async def test_throttled_write_waits_as_long_as_the_server_asks() -> None:
    async with served() as (api, client):
        api.on("POST", PODS, status(429, "TooManyRequests", Retry_After="0.05"), json_of({"ok": 1}))
        started = time.monotonic()
        await client.create(PODS, {})
        assert time.monotonic() - started >= 0.05
        assert api.count("POST", PODS) == 2
        assert client.transport.n_throttled == 1


@in_loop
async def test_other_requests_wait_too_while_the_server_wants_quiet() -> None:
    async with served() as (api, client):
        api.on("GET", PODS, status(429, "TooManyRequests", Retry_After="0.05"))
        api.on("GET", "/api/v1/nodes", page(""))
        await client.transport.call(Request("GET", PODS))
        started = time.monotonic()
        await client.get("/api/v1/nodes")
        assert time.monotonic() - started >= 0.04


@in_loop
async def test_a_disruption_budget_does_not_slow_the_others_down() -> None:
    """Its refusal of an eviction is a 429 with Retry-After too."""
    async with served() as (api, client):
        eviction = "/api/v1/namespaces/ml/pods/a/eviction"
        api.on("POST", eviction, status(429, "TooManyRequests", "budget", Retry_After="30"))
        api.on("GET", PODS, json_of({}))
        with pytest.raises(ApiError):
            await client.once(Request("POST", eviction, None, b"{}"))
        assert await client.send("GET", PODS) == b"{}"


@in_loop
async def test_throttling_without_end_is_told() -> None:
    async with served() as (api, client):
        api.on("PATCH", PODS, status(429, "TooManyRequests", Retry_After="0"))
        with pytest.raises(ApiError) as caught:
            await client.patch(PODS, {})
        assert caught.value.status == 429
        assert api.count("PATCH", PODS) == client_module.TRIES


@in_loop
async def test_patch_says_which_kind_it_is() -> None:
    async with served() as (api, client):
        api.on("PATCH", PODS, json_of({}))
        await client.patch(PODS, {"a": 1}, fieldManager="gangpool")
        await client.patch(PODS, b"{}", client_module.STRATEGIC_PATCH)
        kinds = [asked.headers["Content-Type"] for asked in api.asked]
        assert kinds == ["application/merge-patch+json", "application/strategic-merge-patch+json"]
        assert [asked.body for asked in api.asked] == [{"a": 1}, {}]
        assert api.asked[0].query == {"fieldManager": "gangpool"}


@in_loop
async def test_delete_passes_its_options() -> None:
    async with served() as (api, client):
        api.on("DELETE", f"{PODS}/a", json_of({}))
        await client.delete(f"{PODS}/a", {"preconditions": {"uid": "u"}})
        assert api.asked[0].body == {"preconditions": {"uid": "u"}}


@pytest.mark.parametrize("attempt", [0, 1, 5, 20, 10_000])
def test_backoff_doubles_with_jitter_and_an_end(attempt: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "FIRST_WAIT_S", 0.2)
    most = min(0.2 * 2.0 ** min(attempt, 30), client_module.MOST_WAIT_S)
    waits = [backoff_s(attempt) for _ in range(20)]
    assert all(most / 2 <= wait <= most for wait in waits)
    assert len(set(waits)) > 1
