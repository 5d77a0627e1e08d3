"""What wakes the planner and what does not."""

from __future__ import annotations

from typing import Any

from gangpool.intake.config import Config
from gangpool.live.follow import Follower, PodSink
from gangpool.objects.pod import Condition
from tests.kube.standin import in_loop, served
from tests.live.stage import NATIVE, group_of, pod_of


def quiet(follower: Follower) -> None:
    """As after a plan."""
    follower.world.settle()
    follower.changed.clear()


def member(**more: Any) -> Any:
    return pod_of("g-0", group="g", **more)


@in_loop
async def test_member_of_a_gang_wakes_the_planner_once() -> None:
    """1. A PodGroup is there, and all is quiet. 2. A pod of it comes: that is news, though the pool does not have it
    before the next plan. 3. A condition of it is none."""
    async with served() as (_, client):
        follower = Follower(client, Config())
        follower.world.object(group_of(NATIVE, "g", 1))
        quiet(follower)
        follower.take_pod(member())
        assert follower.changed.is_set()
        quiet(follower)
        follower.take_pod(member(conditions=[Condition("PodScheduled", "False")]))
        assert not follower.changed.is_set()


@in_loop
async def test_seat_that_came_about_is_no_news_and_a_foreign_one_is() -> None:
    async with served() as (_, client):
        follower = Follower(client, Config())
        follower.world.object(group_of(NATIVE, "g", 1))
        follower.take_pod(member())
        quiet(follower)
        follower.assumed["uid-g-0"] = "n1"
        bound = member()
        bound.spec.nodeName = "n1"
        follower.take_pod(bound)
        assert not follower.changed.is_set()
        assert not follower.assumed

        follower.assumed["uid-g-0"] = "n1"
        elsewhere = member()
        elsewhere.spec.nodeName = "n2"
        follower.take_pod(elsewhere)
        assert follower.changed.is_set()


@in_loop
async def test_list_that_breaks_off_leaves_nothing_behind() -> None:
    """1. A list breaks off after a page. 2. The next one is complete and lacks a pod of that page: it is gone, and so
    is a pod of before."""
    async with served() as (_, client):
        follower = Follower(client, Config())
        follower.take_pod(pod_of("before"))
        sink = PodSink(follower)
        sink.begin()
        sink.page([pod_of("a"), pod_of("b")])
        sink.begin()
        sink.page([pod_of("b")])
        sink.page([pod_of("c")])
        assert "uid-before" in follower.pods
        sink.replace([])
        assert list(follower.pods) == ["uid-b", "uid-c"]
