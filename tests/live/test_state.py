"""`/state`: what the scheduler believes, in the form that others rely on."""

from __future__ import annotations

import json

import msgspec

from gangpool.intake.config import Config
from gangpool.live.follow import Follower
from gangpool.live.state import resource_of, state_of
from gangpool.objects.node import Node
from gangpool.objects.pod import Container, Resources
from tests.kube.standin import in_loop, served
from tests.live.stage import pod_of


@in_loop
async def test_form_of_the_contract() -> None:
    async with served() as (_, client):
        follower = Follower(client, Config())
        room = {"nvidia.com/gpu": "8", "cpu": "1500m", "memory": "2Gi", "pods": "10"}
        node = {"metadata": {"name": "n1"}, "status": {"allocatable": room}}
        follower.world.node(msgspec.convert(node, Node))
        running = pod_of("a")
        running.spec.nodeName = "n1"
        running.spec.containers = [Container("main", Resources(limits={"nvidia.com/gpu": 3}))]
        follower.take_pod(running)
        follower.take_pod(pod_of("b"))
        follower.take_pod(pod_of("c"))
        follower.assumed["uid-c"] = "n1"
        follower.pod_reflector.n_lists = 2
        state = json.loads(msgspec.json.encode(state_of(follower)))
        assert state["schema"] == "gangpool.io/state/v1"
        assert list(state) == ["schema", "synced", "lists", "pods", "nodes", "pending"]
        assert state["synced"] is False
        assert state["lists"]["pods"] == 2
        assert state["lists"]["podgroups.scheduling.volcano.sh"] == 0
        assert [(pod["name"], pod["node"]) for pod in state["pods"]] == [("a", "n1"), ("b", ""), ("c", "n1")]
        assert set(state["pods"][0]) == {"namespace", "name", "uid", "node"}
        (shown,) = state["nodes"]
        assert shown["allocatable"] == room
        assert shown["free"] == {"nvidia.com/gpu": "5", "cpu": "1500m", "memory": "2Gi", "pods": "9"}


def test_resources_are_named_without_their_version() -> None:
    assert resource_of("/apis/scheduling.k8s.io/v1beta1/podgroups") == "podgroups.scheduling.k8s.io"
    assert resource_of("/api/v1/persistentvolumes") == "persistentvolumes"
    assert resource_of("nodes") == "nodes"
