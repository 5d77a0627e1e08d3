"""Restarts, the end of a term, and what the server answers: nothing is said twice, and troubles lose nothing."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.live import notices as module
from tests.live.stage import NATIVE, PLUGINS, VOLCANO, Stage, group_of, in_group, pod_of

FULL = "cannot-fit: 1 of 2 members fit in the pool; wait for room"


# ---- restarts and leadership


def test_restart_is_silent_where_all_is_said() -> None:
    stage = Stage()
    stage.add(pod_of("a"))
    for name, dialect in (("g", VOLCANO), ("h", PLUGINS), ("i", NATIVE), ("k", NATIVE)):
        stage.gang(name, 2, dialect)
    texts: dict[str, Any] = {"a": FULL, "g": FULL, "h": FULL, "i": FULL}
    stage.plan(**texts, k=FULL)
    stage.plan(2, **texts)
    stage.bind("k-0", "k-1")
    stage.notices.clear()
    for _ in range(5):
        assert stage.plan(1, **texts) == []


def test_new_leader_says_what_the_old_one_did_not_come_to() -> None:
    """1. A gang is bound, another one waits. 2. The leader dies before it says so. 3. The next one says so at once
    where a gang runs; what waits is heard for the first time."""
    stage = Stage()
    stage.gang("g", 2, NATIVE)
    stage.gang("h", 2)
    stage.seat("g-0", "g-1")
    stage.notices.bound("ml/g", [])
    stage.notices.clear()
    assert stage.plan(h=FULL) == ["status g: PodGroupInitiallyScheduled=True(Scheduled)"]


def test_half_said_gang_is_finished_after_a_restart() -> None:
    said = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": FULL}]
    stage = Stage()
    stage.put(group_of(VOLCANO, "g", 2))
    named = in_group(VOLCANO, "g")
    stage.add(pod_of("g-0", conditions=said, **named), pod_of("g-1", **named))
    assert stage.plan(g=FULL) == ["status g: Inqueue Unschedulable=True(NotEnoughResources)", f"condition g-1: {FULL}"]


def test_words_of_others_are_replaced() -> None:
    said = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}
    ]
    stage = Stage()
    stage.add(pod_of("a", conditions=said))
    assert stage.plan(a=FULL)[0] == f"condition a: {FULL}"


def test_who_leads_no_more_is_silent() -> None:
    stage = Stage()
    stage.add(pod_of("a"))
    stage.gang("g", 2)
    stage.notices.waits(stage.now, [], {})
    stage.notices.bound("ml/g", stage.seat("g-0", "g-1"))
    stage.notices.clear()
    assert stage.notices.n_queued == 0
    assert stage.say() == []


# ---- answers


def first(stage: Stage) -> module.Given:
    given = stage.notices.next(stage.now)
    assert given is not None
    return given


@pytest.mark.parametrize("status", [0, 429, 500, 503])
def test_write_that_fails_is_said_again(status: int) -> None:
    stage = Stage()
    stage.add(pod_of("a"))
    stage.hear(a=FULL)
    given = first(stage)
    assert given[1].what == "condition"
    stage.notices.answered(given, status)
    assert [line.partition(":")[0] for line in stage.say()] == ["event Pod a x1", "condition a"]


@pytest.mark.parametrize("status", [403, 404, 409, 422])
def test_write_that_is_refused_is_forgotten(status: int) -> None:
    stage = Stage()
    stage.add(pod_of("a"))
    stage.hear(a=FULL)
    while given := stage.notices.next(stage.now):
        stage.notices.answered(given, status if given[1].what == "condition" else 200)
    assert stage.plan(100, a=FULL) == []


def test_event_that_is_there_from_before_is_counted_on() -> None:
    stage = Stage()
    stage.add(pod_of("a"))
    stage.plan(a="cannot-fit: 1")
    stage.notices._events.clear()  # as after a restart
    stage.plan(60, a="cannot-fit: 2")
    stage.now += 31
    stage.hear(a="cannot-fit: 2")
    methods = []
    while given := stage.notices.next(stage.now):
        if given[1].what == "event":
            methods.append((given[1].method, given[1].body.get("count")))
            stage.notices.answered(given, 409 if given[1].method == "POST" else 200)
    assert methods == [("POST", 1), ("PATCH", None)]


def test_event_that_the_server_has_forgotten_is_made_again() -> None:
    stage = Stage()
    stage.add(pod_of("a"))
    stage.plan(a="cannot-fit: 1")
    stage.plan(60, a="cannot-fit: 2")
    stage.now += 31
    stage.hear(a="cannot-fit: 2")
    methods = []
    while given := stage.notices.next(stage.now):
        if given[1].what == "event":
            methods.append(given[1].method)
            stage.notices.answered(given, 404 if given[1].method == "PATCH" else 200)
    assert methods == ["PATCH", "POST"]


def test_long_queue_of_what_is_said_already_gives_the_loop_its_turn() -> None:
    said = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": FULL}]
    stage = Stage()
    stage.put(group_of(PLUGINS, "g", 500, {"phase": "Scheduling"}))
    stage.add(*(pod_of(f"g-{i}", conditions=said, **in_group(PLUGINS, "g")) for i in range(500)))
    stage.hear(g=FULL)
    assert stage.notices.next(stage.now) is None
    assert stage.notices.n_queued > 0
