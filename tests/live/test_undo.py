"""Which gangs count as half bound, and when they are undone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from gangpool.intake.config import Config
from gangpool.intake.times import seconds
from gangpool.live.follow import Follower
from gangpool.live.undo import PATIENCE_S, SOON_S, WHOLE_S, Undo
from gangpool.live.writes import stamp
from gangpool.objects.node import Node
from gangpool.objects.pod import Pod
from tests.kube.standin import in_loop, json_of, served
from tests.live.stage import VOLCANO, group_of

START = seconds("2026-01-01T00:00:00Z") or 0.0


def pod(name: str, created: float, bound: float | None = None) -> Pod:
    """A pod of gang g with a controller; `bound`: it is on node n1 since then."""
    owner = {"kind": "Job", "name": "g", "uid": "u", "apiVersion": "batch.volcano.sh/v1alpha1", "controller": True}
    spec: dict[str, Any] = {"schedulerName": "gangpool", "containers": []}
    conditions = []
    if bound is not None:
        spec["nodeName"] = "n1"
        conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(START + bound)}]
    meta: dict[str, Any] = {"name": name, "namespace": "ml", "uid": f"uid-{name}"}
    meta |= {"creationTimestamp": stamp(START + created)}
    meta |= {"annotations": {"scheduling.k8s.io/group-name": "g"}, "ownerReferences": [owner]}
    status = {"phase": "Running" if bound is not None else "Pending", "conditions": conditions}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status}, Pod)


class Scene:
    """A follower with one node and a gang; time counts from `START`."""

    def __init__(self, follower: Follower, undo: Undo) -> None:
        self.follower, self.undo = follower, undo
        node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}}
        follower.world.node(msgspec.convert(node, Node))

    def minimum(self, n: int) -> None:
        self.follower.world.object(group_of(VOLCANO, "g", n))
        self.follower.world.settle()

    def put(self, *pods: Pod) -> None:
        for one in pods:
            self.follower.take_pod(one)
        self.follower.world.settle()

    def look(self, at: float) -> list[str]:
        return self.undo.look(1000.0 + at, START + at, "one/1")


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    async with served() as (api, client):
        for name in ("g-0", "g-1"):
            api.on("POST", f"/api/v1/namespaces/ml/pods/{name}/eviction", json_of({}, 201))
        follower = Follower(client, Config())
        yield Scene(follower, Undo(client, follower))


@in_loop
async def test_a_gang_that_came_about_by_half_is_undone_when_its_time_is_up() -> None:
    async with scene() as stage:
        stage.minimum(2)
        stage.put(pod("g-0", 0, bound=5), pod("g-1", 0))
        assert stage.look(6) == []
        assert stage.look(6 + PATIENCE_S - 0.1) == []
        assert stage.look(6 + PATIENCE_S) == ["ml/g"]


@in_loop
async def test_it_stays_half_bound_while_its_eviction_is_refused() -> None:
    """Long after the bind it is asked for again, since it was never whole."""
    async with scene() as stage:
        stage.minimum(2)
        stage.put(pod("g-0", 0, bound=5), pod("g-1", 0))
        stage.look(6)
        assert stage.look(6 + PATIENCE_S) == ["ml/g"]
        stage.look(5 + 2 * WHOLE_S)
        assert stage.look(5 + 2 * WHOLE_S + PATIENCE_S) == ["ml/g"]


@in_loop
async def test_a_running_gang_whose_minimum_is_raised_goes_on() -> None:
    """One member runs, a surplus one has no place. An hour later the user asks for both."""
    async with scene() as stage:
        stage.minimum(1)
        stage.look(0)
        stage.put(pod("g-0", 1, bound=5), pod("g-1", 1))
        for at in (6.0, 60.0, 3600.0):
            assert stage.look(at) == []
        stage.minimum(2)
        for at in (3601.0, 3601.0 + PATIENCE_S, 3700.0):
            assert stage.look(at) == []


@in_loop
async def test_a_new_leader_undoes_what_the_last_one_left_half_bound() -> None:
    """It has not seen that the gang was whole."""
    async with scene() as stage:
        stage.minimum(2)
        stage.put(pod("g-0", 0, bound=5), pod("g-1", 0))
        stage.undo.stop()
        stage.look(600)
        assert stage.look(600 + PATIENCE_S) == ["ml/g"]


@in_loop
async def test_a_member_made_later_replaces_one_that_ran() -> None:
    async with scene() as stage:
        stage.minimum(2)
        stage.put(pod("g-0", 0, bound=5), pod("g-1", 5 + SOON_S + 1))
        stage.look(60)
        assert stage.look(60 + PATIENCE_S) == []
