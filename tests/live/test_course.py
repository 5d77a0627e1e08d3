"""What members turn to reaches the status of their group: counted together, also after they have finished."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.intake.config import Config
from gangpool.kube.client import Client
from gangpool.live.course import Course
from gangpool.live.follow import Follower
from gangpool.live.notices import Notices
from gangpool.objects.pod import Pod
from tests.kube.standin import in_loop, served
from tests.live.stage import PLUGINS, VOLCANO, group_of, in_group, pod_of


class Cluster:
    """A follower, and who speaks about its gangs. Time moves by more than the least time between two texts."""

    def __init__(self, client: Client, dialect: str, minimum: int, leads: bool = True) -> None:
        self.follower = Follower(client, Config())
        self.notices = Notices(self.follower.pods, self.follower.world, self.follower.course)
        self.dialect = dialect
        self.now = 100.0
        self.follower.world.object(group_of(dialect, "g", minimum))
        self.follower.world.settle()
        if leads:
            self.plan()

    def pod(self, i: int, phase: str, node: str = "n1") -> Pod:
        found = pod_of(f"g-{i}", **in_group(self.dialect, "g"))
        found.spec.nodeName = node
        found.status.phase = phase
        return found

    def turn(self, phase: str, *numbers: int) -> None:
        for i in numbers:
            self.follower.take_pod(self.pod(i, phase))
        self.follower.world.settle()

    def gone(self, *numbers: int) -> None:
        for i in numbers:
            self.follower.drop_pod(self.pod(i, "Succeeded"))
        self.follower.world.settle()

    def plan(self, after_s: float = 3.0) -> list[dict[str, Any]]:
        """What is written about the group after a plan."""
        self.now += after_s
        self.notices.waits(self.now, [], {})
        found = []
        while given := self.notices.next(self.now):
            status = given[1].body["status"]
            found.append({name: value for name, value in status.items() if name != "conditions"})
            self.notices.answered(given, 200)
            group, api = self.dialect.split("/")[0], group_of(self.dialect, "g", 2)
            old = self.follower.world.store.get(group, "PodGroup", "ml", "g")
            assert old is not None
            self.follower.world.object({**api, "spec": old["spec"], "status": {**old["status"], **status}})
            self.follower.world.settle()
        return found


@in_loop
async def test_volcano_group_from_start_to_end() -> None:
    """Many turns between two plans are one write."""
    async with served() as (_, client):
        cluster = Cluster(client, VOLCANO, 2)
        cluster.turn("Pending", 0, 1)
        cluster.turn("Running", 0, 1)
        assert cluster.plan() == [{"running": 2, "phase": "Running"}]
        assert cluster.plan() == []
        cluster.turn("Succeeded", 0)
        assert cluster.plan() == [{"running": 1, "succeeded": 1}]
        cluster.turn("Failed", 1)
        assert cluster.plan() == [{"running": 0, "failed": 1, "phase": "Completed"}]
        assert cluster.plan() == []


@in_loop
async def test_numbers_move_at_most_every_two_seconds() -> None:
    """Members of a large gang begin one after the other."""
    async with served() as (_, client):
        cluster = Cluster(client, VOLCANO, 2)
        cluster.turn("Pending", 0, 1, 2)
        cluster.turn("Running", 0)
        assert cluster.plan() == [{"running": 1, "phase": "Running"}]
        cluster.turn("Running", 1)
        assert cluster.plan(1.0) == []
        cluster.turn("Running", 2)
        assert cluster.plan(0.5) == []
        assert cluster.plan(0.5) == [{"running": 3}]


@in_loop
async def test_plugins_group_finishes() -> None:
    async with served() as (_, client):
        cluster = Cluster(client, PLUGINS, 2)
        cluster.turn("Pending", 0, 1)
        cluster.turn("Running", 0, 1)
        assert cluster.plan() == [{"running": 2, "phase": "Running"}]
        cluster.turn("Succeeded", 0, 1)
        assert cluster.plan() == [{"running": 0, "succeeded": 2, "phase": "Finished"}]


@in_loop
async def test_members_that_finished_before_we_saw_them_count() -> None:
    """A new leader: what it lists is finished already, and one member still runs."""
    async with served() as (_, client):
        cluster = Cluster(client, VOLCANO, 2, leads=False)
        cluster.turn("Succeeded", 0)
        cluster.turn("Running", 1)
        assert cluster.plan() == [{"running": 1, "succeeded": 1, "phase": "Running"}]
        assert cluster.plan() == []


@in_loop
async def test_finished_members_that_are_deleted_count_no_more() -> None:
    async with served() as (_, client):
        cluster = Cluster(client, VOLCANO, 1)
        cluster.turn("Pending", 0, 1, 2)
        cluster.turn("Running", 0, 1)
        cluster.turn("Succeeded", 0, 1)
        assert cluster.plan() == [{"succeeded": 2, "phase": "Running"}]
        cluster.gone(0)
        cluster.turn("Running", 2)
        assert cluster.plan() == [{"running": 1, "succeeded": 1}]


@in_loop
async def test_pods_that_come_and_go_leave_nothing() -> None:
    """Also where nobody asks, on a replica that waits to lead."""
    async with served() as (_, client):
        cluster = Cluster(client, VOLCANO, 2, leads=False)
        for phase in ("Pending", "Running", "Succeeded"):
            cluster.turn(phase, 0, 1)
        cluster.gone(0, 1)
        course = cluster.follower.course
        assert (course._finished, course._gang_of, course._turned) == ({}, {}, {})


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_counts_are_of_the_gang(phase: str) -> None:
    course = Course()
    course.finished("u1", "ml/a", phase)
    course.finished("u2", "ml/b", phase)
    counts = course.counts("ml/a", [], {})
    assert (counts.succeeded, counts.failed) == ((1, 0) if phase == "Succeeded" else (0, 1))
    assert course.turned() == {"ml/a": "u1", "ml/b": "u2"}
    assert course.turned() == {}
