"""What the world does between plan and bind: nodes and pods vanish and come back under the same name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.injector import Gate, Injector
from tests.faults.judge import Gang
from tests.faults.load import Work, indexed, native, node, pod_spec, single, volcano
from tests.faults.stage import Stage

Fault = Callable[[Stage, list[str]], Awaitable[None]]


def work_of(stage: Stage, dialect: str, name: str) -> Work:
    """Four members of 8 cards."""
    gang = Gang(name, 4, 4)
    spec = {**pod_spec(stage.rng, 8), "initContainers": []}
    if dialect == "volcano":
        return Work(gang, (volcano(gang, spec),), is_remade=True)
    if dialect == "indexed":
        return Work(gang, (indexed(gang, spec),), is_remade=True)
    return Work(gang, native(gang, spec), is_remade=False)


async def node_remade(stage: Stage, bound_to: list[str]) -> None:
    """A node of the plan is deleted and made anew at once, with the same room."""
    thing = node(bound_to[0], "leaf-0")
    leaf = (await stage.api.get(thing))["metadata"]["labels"]["topology.example/leaf"]
    await stage.api.delete(thing)
    await stage.add_node(bound_to[0], leaf)


async def node_deleted(stage: Stage, bound_to: list[str]) -> None:
    """A node of the plan is deleted and stays away: Kubernetes itself lets the bind through, and its pod garbage
    collector takes the pod away later."""
    await stage.api.delete(node(bound_to[0], ""))


async def node_shrunk(stage: Stage, bound_to: list[str]) -> None:
    """A node of the plan is made anew with fewer cards: its kubelet refuses what is too much."""
    await stage.api.delete(node(bound_to[0], ""))
    await stage.add_node(bound_to[0], "leaf-0", cards=4)


async def pod_deleted(stage: Stage, bound_to: list[str]) -> None:
    """A member is deleted; its controller, where it has one, makes another."""
    await stage.api.delete({"apiVersion": "v1", "kind": "Pod", "metadata": first_waiting(stage)})


async def pod_remade(stage: Stage, bound_to: list[str]) -> None:
    """A member is deleted and made anew under its name, with another uid."""
    metadata = first_waiting(stage)
    await pod_deleted(stage, bound_to)
    objects = stage.works[-1].objects
    await stage.api.create(next(t for t in objects if t["metadata"]["name"] == metadata["name"] and t["kind"] == "Pod"))


def first_waiting(stage: Stage) -> dict[str, str]:
    """Name and namespace of the member of rank 0."""
    namespace, _, name = min(stage.waiting()).partition("/")
    return {"name": name, "namespace": namespace}


FAULTS: dict[str, tuple[Fault, tuple[str, ...]]] = {
    "node-remade": (node_remade, ("volcano", "indexed", "native")),
    "node-deleted": (node_deleted, ("volcano", "indexed")),
    "pod-deleted": (pod_deleted, ("volcano", "indexed")),
    "pod-remade": (pod_remade, ("native",)),
}


async def moment(folder: Path, seed: int, skipped: str = "") -> list[str]:
    """All binds of a gang are held, the fault happens, the binds go on; each fault with each dialect in turn."""
    async with Stage(folder, seed) as stage, Injector(stage.plane) as injector:
        stage.start("jobs-controller", "jobs")
        stage.start("scheduler", "a0", injector.url)
        await stage.leader()
        for name, (fault, dialects) in FAULTS.items():
            for dialect in [dialect for dialect in dialects if dialect != skipped]:
                gate = injector.before = Gate()
                await stage.create([work_of(stage, dialect, f"{name}-{dialect}")])
                await stage.until(gate.holds(4), f"{name} {dialect}: four binds under way")
                await fault(stage, sorted(target(call.body) for call in gate.held))
                gate.open()
                await stage.until_done()
                await stage.restore_nodes()
        return await stage.judged()


async def theft(folder: Path, seed: int) -> list[str]:
    """1. The pool is full but for one gang, whose binds are held. 2. A member of it is deleted, and a single pod takes
    its seat before the Job controller has made another. 3. The rest of the gang is undone, not left half bound."""
    async with Stage(folder, seed) as stage, Injector(stage.plane) as injector:
        stage.start("scheduler", "a0", injector.url)
        await stage.leader()
        stage.kubelet.endless |= {"full", "thief"}
        await stage.create([work_of(stage, "native", "full")])
        await stage.until_binds(4)
        gate = injector.before = Gate()
        await stage.create([work_of(stage, "indexed", "robbed")])
        await stage.until(gate.holds(4), "four binds under way")
        spec = {**pod_spec(stage.rng, 8), "initContainers": []}
        await stage.create([Work(Gang("thief", 1, 1), (single("thief", spec),), is_remade=False)])
        await stage.api.delete({"apiVersion": "v1", "kind": "Pod", "metadata": first_waiting(stage)})
        gate.open()
        await stage.until(lambda: "ml/thief-0" not in stage.waiting(), "the single pod has its seat")
        await stage.until(lambda: not stage.on_nodes("robbed"), "the gang has let go")
        # The Job controller waits longer after each lost pod, more than a minute after four.
        await stage.until(lambda: len(stage.waiting()) == 4, "the gang waits as a whole", patience_s=200.0)
        stage.kubelet.endless.clear()
        return await stage.judged()


def target(body: bytes) -> str:
    """Node of a Binding."""
    import json

    found: dict[str, Any] = json.loads(body)
    return str(found["target"]["name"])


@pytest.mark.cluster
@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_seat_is_taken_between_plan_and_bind(tmp_path: Path, seed: int) -> None:
    """A gang that cannot be whole any more lets go."""
    assert asyncio.run(theft(tmp_path, seed)) == []


@pytest.mark.cluster
@pytest.mark.timeout(300)
def test_between_plan_and_bind(tmp_path: Path, seed: int) -> None:
    """Each gang is whole in the end; nothing is bound twice or over a node's room. Not with Indexed Jobs, whose
    controller takes 10 s for each lost pod."""
    assert asyncio.run(moment(tmp_path, seed, skipped="indexed")) == []


@pytest.mark.cluster
@pytest.mark.long
@pytest.mark.timeout(300)
def test_between_plan_and_bind_with_all_dialects(tmp_path: Path, seed: int) -> None:
    """The same with Indexed Jobs too."""
    assert asyncio.run(moment(tmp_path, seed)) == []
