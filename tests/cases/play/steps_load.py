"""Steps that build a large pool or play a stream of small jobs. Arguments: vocabulary-live.md."""

from __future__ import annotations

import asyncio
import json
import random
import time
from typing import Any

import yaml

from tests.cases.play.api import ApiError, Obj
from tests.cases.play.case import objects
from tests.cases.play.context import Context
from tests.cases.play.history import is_finished, node_of
from tests.cases.play.players import now_text, running_status
from tests.cases.play.registry import step
from tests.cases.play.steps_live import options, put
from tests.cases.play.steps_status import write_pod_status

LIVE = True
WRITERS = 48  # requests under way at a time while a pool is built


async def in_parallel(jobs: list[Any]) -> None:
    """Run the thunks, ``WRITERS`` at a time."""
    slots = asyncio.Semaphore(WRITERS)

    async def one(job: Any) -> None:
        async with slots:
            await job()

    await asyncio.gather(*(one(j) for j in jobs))


def pool_nodes(shape: dict[str, Any]) -> list[Obj]:
    """``node-0000`` …, labelled with leaf and spine: leaves are filled in order, spines by leaves."""
    nodes = []
    for i in range(shape["nodes"]):
        leaf = i // shape["nodes_per_leaf"]
        name = f"node-{i:04d}"
        amounts = {
            "cpu": "192",
            "memory": "2000Gi",
            "pods": "110",
            "nvidia.com/gpu": str(shape["gpus_per_node"]),
            **shape.get("more_resources", {}),
        }
        nodes.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": name,
                    "labels": {
                        "kubernetes.io/hostname": name,
                        shape["labels"]["leaf"]: f"leaf-{leaf}",
                        shape["labels"]["spine"]: f"spine-{leaf // shape['leaves_per_spine']}",
                    },
                },
                "status": {
                    "capacity": amounts,
                    "allocatable": amounts,
                    "conditions": [
                        {
                            "type": "Ready",
                            "status": "True",
                            "reason": "KubeletReady",
                            "message": "reported by the kubelet",
                        }
                    ],
                },
            }
        )
    return nodes


def background_pods(shape: dict[str, Any], nodes: list[Obj]) -> list[Obj]:
    """Running pods on random nodes with room, never in the domains of ``not_in``. Same seed, same pool."""
    load, draw = shape["background"], random.Random(shape["background"]["seed"])
    labels = set(shape["labels"].values())
    free = {
        n["metadata"]["name"]: shape["gpus_per_node"]
        for n in nodes
        if not {n["metadata"]["labels"][k] for k in labels} & set(load.get("not_in", []))
    }
    pods = []
    for i in range(load["pods"]):
        node = (
            draw.choice([n for n, f in free.items() if f >= load["gpus_each"]])
            if i % 50 == 0
            else draw.choice(list(free))
        )
        while free[node] < load["gpus_each"]:
            node = draw.choice(list(free))
        free[node] -= load["gpus_each"]
        pods.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"load-{i:05d}", "namespace": "default", "labels": {"app": "load"}},
                "spec": {
                    "nodeName": node,
                    "schedulerName": "gangpool",
                    "containers": [
                        {
                            "name": "main",
                            "image": "registry.example/ml/train:1.4",
                            "resources": {"limits": {"nvidia.com/gpu": str(load["gpus_each"])}},
                        }
                    ],
                },
                "status": {"phase": "Running"},
            }
        )
    return pods


@step("generate")
@options()
async def generate(ctx: Context, value: str, step: dict[str, Any]) -> None:
    assert ctx.history
    shape = yaml.safe_load(ctx.file(value).read_text())
    nodes = pool_nodes(shape)
    await in_parallel([lambda n=n: put(ctx, n) for n in nodes])
    pods = background_pods(shape, nodes) if "background" in shape else []
    await in_parallel([lambda p=p: put(ctx, p) for p in pods])
    end = time.monotonic() + 60
    while len(ctx.history.bound("app=load")) < len(pods) or len(ctx.history.nodes) < len(nodes):
        if time.monotonic() > end:
            raise ApiError("the generated pool did not appear in the tool's own watch")
        await ctx.history.wait_change(1.0)


class Load:
    """A stream of small jobs: each runs for its seconds once bound, then succeeds. Same file, same stream."""

    def __init__(self, ctx: Context, plan: dict[str, Any]) -> None:
        self.ctx, self.plan = ctx, plan
        self._draw = random.Random(plan.get("seed", 7))
        self._runs: dict[str, float] = {}
        self._started: dict[str, float] = {}
        self._n = 0

    async def submit(self) -> None:
        small = self.plan["small_job"]
        run_s = self._draw.uniform(*small["run_seconds"])
        name = f"small-{self._n:04d}"
        spec: Obj = {
            "schedulerName": "gangpool",
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/ml/train:1.4",
                    "resources": {"limits": {"nvidia.com/gpu": str(small["gpus"])}},
                }
            ],
        }
        if self._draw.random() < self.plan["declared_fraction"]:
            spec["activeDeadlineSeconds"] = int(run_s) + 1
        self._n += 1
        self._runs[name] = run_s
        await put(
            self.ctx,
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "small"}}, "spec": spec},
        )

    async def finish(self) -> None:
        """End the small jobs whose time is over."""
        assert self.ctx.history
        now = time.monotonic()
        for pod in self.ctx.history.select("app=small"):
            name = pod["metadata"]["name"]
            if not node_of(pod) or is_finished(pod):
                continue
            started = self._started.setdefault(name, now)
            if now - started >= self._runs[name]:
                ended = {
                    "name": "main",
                    "image": "x",
                    "imageID": "",
                    "ready": False,
                    "restartCount": 0,
                    "state": {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": now_text()}},
                }
                await write_pod_status(
                    self.ctx, pod, {**running_status(pod), "phase": "Succeeded", "containerStatuses": [ended]}
                )


@step("play_load")
@options("with")
async def play_load(ctx: Context, value: str, step: dict[str, Any]) -> None:
    """Plays until the pods of ``with`` are all bound or ``run_s`` is over. ``last``: when it came and started."""
    assert ctx.history
    plan = json.loads(ctx.file(value).read_text())
    large = objects(ctx.file(step["with"]))
    name = large[-1]["metadata"]["name"]
    load, start, submitted = Load(ctx, plan), time.monotonic(), None
    ctx.state["load"] = {"job": name, "submitted": None, "started": None}
    for _ in range(plan["prefill"]):
        await load.submit()
    next_at = start
    while (now := time.monotonic()) - start < plan["run_s"]:
        if submitted is None and now - start >= plan["large_submitted_at_s"]:
            for obj in large:
                await put(ctx, obj)
            submitted = ctx.state["load"]["submitted"] = time.monotonic()
        if now >= next_at:
            next_at += 60 / plan["arrivals_per_minute"]
            await load.submit()
        await load.finish()
        pods = [
            p
            for p in ctx.history.pods.values()
            if any(r["name"] == name for r in p["metadata"].get("ownerReferences") or [])
        ]
        if submitted and pods and all(node_of(p) for p in pods):
            ctx.state["load"]["started"] = time.monotonic()
            break
        await asyncio.sleep(0.25)
