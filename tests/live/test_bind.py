"""One Binding and every answer that there may be to it."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core.model import Seat
from gangpool.intake.config import Config
from gangpool.intake.world import World
from gangpool.live import bind as module
from gangpool.live.bind import FENCE, Binder, Outcome, body_of
from tests.kube.standin import Answer, StandIn, cut, in_loop, json_of, served, silence, status
from tests.live.stage import pod_of

POD = "/api/v1/namespaces/ml/pods/a"
BINDING = f"{POD}/binding"


def shown(node: str, uid: str = "uid-a") -> Answer:
    """The pod as the server has it."""
    return json_of({"metadata": {"name": "a", "namespace": "ml", "uid": uid}, "spec": {"nodeName": node}})


def seat() -> tuple[Seat, bytes]:
    """Pod a to node n1, in the name of one/3."""
    pod = pod_of("a")
    world = World(Config())
    world.pod(pod)
    member = world.pool.member(pod.metadata.uid)
    assert member is not None
    found = Seat(member, "n1", 0, (), None)
    return found, body_of(found, pod, "one/3")


async def outcome(api: StandIn, binder: Binder, *answers: Answer, pod: Answer | None = None, **how: Any) -> Outcome:
    """Of a bind that meets these answers; `pod`: what a read of the pod shows."""
    api.on("POST", BINDING, *answers)
    api.on("GET", POD, pod or shown(""))
    return await binder.bind(*seat(), **how)


CASES: list[tuple[str, list[Answer], Answer | None, str]] = [
    ("accepted", [json_of({}, 201)], None, "bound 0"),
    ("already ours", [status(409, "Conflict", "already assigned")], shown("n1"), "bound 0"),
    ("already elsewhere", [status(409, "Conflict", "already assigned")], shown("n2"), "lost 409 already assigned"),
    ("another of this name", [status(409, "Conflict", "uid")], shown("n1", "uid-b"), "lost 409 uid"),
    ("gone", [status(404, "NotFound", "no pod")], None, "lost 404 no pod"),
    ("forbidden", [status(403, "Forbidden", "a policy")], None, "lost 403 a policy"),
    ("fenced", [status(422, "Invalid", f"{FENCE}: one/3 does not lead")], None, "stale 422"),
    ("answer lost, done", [cut()], shown("n1"), "bound 0"),
    ("answer lost, not done", [cut(), json_of({}, 201)], shown(""), "bound 0"),
    ("answer lost, another took it", [cut(), status(409, "Conflict", "taken")], shown("n2"), "lost 409 taken"),
    ("troubled", [status(500, "InternalError"), status(503, "Unavailable"), json_of({}, 201)], None, "bound 0"),
    ("throttled", [status(429, "TooManyRequests", Retry_After="0"), json_of({}, 201)], None, "bound 0"),
]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gangpool.kube.client.FIRST_WAIT_S", 0.001)
    monkeypatch.setattr("gangpool.kube.transport.RETRY_AFTER_LEAST_S", 0.001)


@pytest.mark.parametrize(("answers", "pod", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@in_loop
async def test_what_an_answer_means(answers: list[Answer], pod: Answer | None, expected: str) -> None:
    async with served() as (api, client):
        found = await outcome(api, Binder(client), *answers, pod=pod)
        assert f"{found.kind} {found.status} {found.text}".startswith(expected)


@pytest.mark.parametrize("code", [429, 503])
@in_loop
async def test_trouble_without_end_is_given_up(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GIVE_UP_S", 0.05)
    async with served() as (api, client):
        binder = Binder(client)
        assert (await outcome(api, binder, status(code, "Trouble", Retry_After="0"))).kind == "lost"
        assert (binder.n_bound, binder.n_lost) == (0, 1)


@in_loop
async def test_a_server_that_is_silent_is_given_up_after_a_last_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Binding was done although nobody said so."""
    monkeypatch.setattr(module, "GIVE_UP_S", 0.05)
    async with served() as (api, client):
        assert (await outcome(api, Binder(client), silence(api), pod=shown("n1"))).kind == "bound"


@in_loop
async def test_a_long_wish_for_quiet_has_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """1. The server asks for 30 s of quiet. 2. The bind ends by its own clock, so that its gang is not held up."""
    monkeypatch.setattr(module, "GIVE_UP_S", 0.05)
    monkeypatch.setattr(module, "CALL_S", 0.05)
    async with served() as (api, client):
        assert (await outcome(api, Binder(client), status(429, "TooManyRequests", Retry_After="30"))).kind == "lost"


@in_loop
async def test_a_dry_run_counts_nothing_and_reads_nothing() -> None:
    async with served() as (api, client):
        binder = Binder(client)
        assert (await outcome(api, binder, cut(), json_of({}, 201), dry_run=True)).kind == "bound"
        assert (binder.n_bound, binder.n_lost, api.count("GET", POD)) == (0, 0, 0)
        assert (await api.until("POST", BINDING, 2))[0].query == {"dryRun": "All"}
