"""One reading of a cluster, against a server that has only a part, refuses a part, or forgets."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.intake.load import Live
from gangpool.kube.client import ApiError
from gangpool.live import snapshot
from gangpool.live.resources import NODES, PODS
from tests.kube.standin import StandIn, in_loop, json_of, page, served, status, thing

VOLCANO = "/apis/scheduling.volcano.sh/v1beta1"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def groups(*versions: str) -> Any:
    """The answer of /apis with these group versions."""
    found = [version.split("/") for version in versions]
    return json_of({"groups": [{"name": group, "versions": [{"version": one}]} for group, one in found]})


def has_pool(api: StandIn, *versions: str) -> None:
    """A server with a node, a pod, and these groups."""
    api.on("GET", "/apis", groups(*versions))
    api.on("GET", NODES, page("n1"))
    api.on("GET", PODS, page("a"))


@in_loop
async def test_only_groups_that_are_served_are_asked_for() -> None:
    async with served() as (api, client):
        has_pool(api, "scheduling.k8s.io/v1")
        api.on("GET", CLASSES, page("high"))
        found = await snapshot.read(client, with_pods=True)
    assert {asked.path for asked in api.asked if asked.path.startswith("/apis/")} == {CLASSES}
    live, node, high, pod = found.items()
    assert isinstance(live, Live)
    assert live.notes == ()
    assert live.complete == {("scheduling.k8s.io", "PriorityClass")}
    assert (pod.metadata.name, found.nodes) == ("a", [node])  # type: ignore[union-attr]
    assert (high["apiVersion"], high["kind"]) == ("scheduling.k8s.io/v1", "PriorityClass")  # type: ignore[index]


@in_loop
async def test_the_newest_version_that_is_served_is_read() -> None:
    async with served() as (api, client):
        has_pool(api, "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1alpha1")
        api.on("GET", "/apis/kueue.x-k8s.io/v1beta1/topologies", page("halls"))
        api.on("GET", "/apis/kueue.x-k8s.io/v1alpha1/topologies", page("halls"))
        found = await snapshot.read(client, with_pods=True)
    assert [(obj["apiVersion"], obj["kind"]) for obj in found.objects] == [("kueue.x-k8s.io/v1beta1", "Topology")]


@in_loop
async def test_a_server_without_discovery_is_asked_for_everything() -> None:
    async with served() as (api, client):
        api.on("GET", NODES, page("n1"))
        api.on("GET", PODS, page("a"))
        api.on("GET", f"{VOLCANO}/queues", page("default"))
        found = await snapshot.read(client, with_pods=True)
    assert [obj["kind"] for obj in found.objects] == ["Queue"]


@in_loop
async def test_what_may_not_be_read_is_left_out_and_told() -> None:
    """1. Queues may not be read: a note, and they are not complete. 2. HyperNodes may not be read either, but the
    server has none: no note."""
    async with served() as (api, client):
        has_pool(api, "scheduling.volcano.sh/v1beta1", "topology.volcano.sh/v1alpha1", "scheduling.k8s.io/v1")
        api.on("GET", VOLCANO, json_of({"resources": [{"name": "queues"}]}))
        api.on("GET", f"{VOLCANO}/queues", status(403, "Forbidden", "you cannot list queues"))
        api.on("GET", "/apis/topology.volcano.sh/v1alpha1", json_of({"resources": []}))
        api.on("GET", "/apis/topology.volcano.sh/v1alpha1/hypernodes", status(403, "Forbidden"))
        api.on("GET", CLASSES, status(403, "Forbidden", "no classes"))
        found = await snapshot.read(client, with_pods=True)
    assert [(note.object, note.code, note.message) for note in found.notes] == [
        ("priorityclasses.scheduling.k8s.io", "not-permitted", "is left out: no classes"),
        ("queues.scheduling.volcano.sh", "not-permitted", "is left out: you cannot list queues"),
    ]
    assert found.complete == set()


@in_loop
async def test_a_kind_that_the_server_cannot_list_is_left_out_and_told() -> None:
    """A webhook that converts a kind may be broken."""
    async with served() as (api, client):
        has_pool(api, "scheduling.volcano.sh/v1beta1")
        api.on("GET", f"{VOLCANO}/queues", status(400, "BadRequest", "conversion failed"))
        found = await snapshot.read(client, with_pods=True)
    assert [(note.code, note.message) for note in found.notes] == [("not-listed", "is left out: conversion failed")]


@pytest.mark.parametrize("path", [NODES, PODS])
def test_there_is_no_answer_without_nodes_or_pods(path: str) -> None:
    @in_loop
    async def refused() -> None:
        async with served() as (api, client):
            has_pool(api)
            api.on("GET", path, status(403, "Forbidden", "no"))
            with pytest.raises(ApiError, match="403"):
                await snapshot.read(client, with_pods=True)

    refused()


@in_loop
async def test_pods_are_not_asked_for_where_they_do_not_count() -> None:
    async with served() as (api, client):
        has_pool(api)
        api.on("GET", PODS, status(403, "Forbidden"))
        assert (await snapshot.read(client, with_pods=False)).pods == []
    assert api.count("GET", PODS) == 0


@in_loop
async def test_a_list_whose_next_page_is_forgotten_begins_anew() -> None:
    """1. The first page of three pods. 2. The place of the second is gone (410). 3. The whole list is read again:
    a pod that went away in between is not in it."""
    told: list[tuple[str, int]] = []
    async with served() as (api, client):
        has_pool(api)
        api.on("GET", PODS, page("a b", more="x"), status(410, "Expired"), page("b", more="y"), page("c"))
        found = await snapshot.read(client, with_pods=True, tell=lambda name, n: told.append((name, n)))
    assert [pod.metadata.name for pod in found.pods] == ["b", "c"]
    assert told == [("nodes", 1), ("pods", 2), ("pods", 1), ("pods", 2)]


@in_loop
async def test_a_list_that_is_forgotten_again_and_again_ends() -> None:
    async with served() as (api, client):
        has_pool(api)
        api.on("GET", PODS, status(410, "Expired"))
        with pytest.raises(ApiError, match="410"):
            await snapshot.read(client, with_pods=True)
    assert api.count("GET", PODS) == snapshot.LISTS_MAX


@in_loop
async def test_an_object_that_is_not_as_its_kind_says_is_left_out_and_told() -> None:
    async with served() as (api, client):
        has_pool(api)
        api.on("GET", PODS, json_of({"metadata": {}, "items": [thing("a", spec={"containers": 3}), thing("b")]}))
        found = await snapshot.read(client, with_pods=True)
    assert [pod.metadata.name for pod in found.pods] == ["b"]
    assert [(note.object, note.code) for note in found.notes] == [("pods/ml/a", "unreadable")]


@in_loop
async def test_a_server_that_does_not_know_us_is_told_at_once() -> None:
    async with served() as (api, client):
        api.on("GET", "/apis", status(401, "Unauthorized"))
        with pytest.raises(ApiError, match="401"):
            await snapshot.read(client, with_pods=True)
    assert len(api.asked) == 1
