"""Binds a second: gangpool's, beside an open loop of the same client and beside kube-scheduler.

The open loop decides nothing: it sends Bindings that were encoded before over the same connections, as the same account
and under the same fence. What gangpool adds is the difference.
"""

from __future__ import annotations

import asyncio
import gc
import time
from contextlib import AsyncExitStack
from typing import Literal, NamedTuple

import msgspec

from bench.live import things
from bench.live.stage import Stage, cpu_s, each, stage
from bench.live.things import SPACE
from gangpool.kube.client import Client, encode
from gangpool.kube.reflector import Reflector
from gangpool.live.resources import PODS
from gangpool.objects.pod import Pod

N_NODES = 1_000
LEADER = "raw/0"
PATIENCE_S = 600.0
Watch = Literal["none", "pods"]


class Rate(NamedTuple):
    """Binds a second from the first to the last; seconds from the start of the process to the first; CPU seconds of the
    client process until the first, and per bind after it (0: not measured)."""

    per_s: float
    first_s: float
    first_cpu_s: float = 0.0
    cpu_per_bind_s: float = 0.0


class _Nowhere:
    """A sink that keeps nothing."""

    def replace(self, objects: list[Pod]) -> None: ...

    def change(self, obj: Pod) -> None: ...

    def gone(self, obj: Pod) -> None: ...


async def open_loop(n_pods: int, watch: Watch) -> Rate:
    """Bindings sent as fast as the client can."""
    async with stage(N_NODES) as on, AsyncExitStack() as end:
        await on.gangs(things.gangs(n_pods), things.OURS)
        await on.lease(LEADER)
        bodies = await _bodies(on)
        transport = on.account()
        end.push_async_callback(transport.close)
        client = Client(transport)
        group = await end.enter_async_context(asyncio.TaskGroup())
        following = None
        if watch == "pods":
            reflector: Reflector[Pod] = Reflector(client, PODS, msgspec.json.Decoder(Pod).decode, _Nowhere())
            following = group.create_task(reflector.run())
            await reflector.synced.wait()

        async def one(item: tuple[str, bytes]) -> None:
            await client.send("POST", *item)

        gc.collect()
        started, cpu = time.time(), time.process_time()
        await each(bodies, one)
        cpu = time.process_time() - cpu
        on.clock.read()
        assert len(on.clock.bound) == n_pods, len(on.clock.bound)
        if following is not None:
            following.cancel()
        return Rate(on.clock.rate(), min(on.clock.bound.values()) - started, 0.0, cpu / n_pods)


async def _bodies(on: Stage) -> list[tuple[str, bytes]]:
    """(path, Binding) of all pods, sixteen to a node."""
    found = []
    names = [pod["metadata"] for pod in await on.api.items(f"/api/v1/namespaces/{SPACE}/pods")]
    for i, meta in enumerate(names):
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {
                "name": meta["name"],
                "namespace": SPACE,
                "uid": meta["uid"],
                "annotations": {
                    "gangpool.io/leader": LEADER,
                    "gangpool.io/devices": '{"v":1,"containers":{"main":{"cards":[0],"ports":[]}}}',
                },
            },
            "target": {"apiVersion": "v1", "kind": "Node", "name": f"n{i // 16}"},
        }
        found.append((f"/api/v1/namespaces/{SPACE}/pods/{meta['name']}/binding", encode(body)))
    return found


async def gangpool(n_pods: int) -> Rate:
    """All pods wait already; then the scheduler starts."""
    async with stage(N_NODES) as on:
        await on.gangs(things.gangs(n_pods), things.OURS)
        started = time.time()
        process = on.gangpool()
        await on.until_bound(n_pods, PATIENCE_S)
        binding_s = cpu_s(process.pid) - on.first_cpu_s
        return Rate(on.clock.rate(), min(on.clock.bound.values()) - started, on.first_cpu_s, binding_s / n_pods)


async def kube_scheduler(n_pods: int) -> Rate:
    """The same with kube-scheduler."""
    async with stage(N_NODES) as on:
        await on.lease(LEADER)
        await on.gangs(things.gangs(n_pods), things.THEIRS)
        started = time.time()
        on.kube_scheduler()
        await on.until_bound(n_pods, PATIENCE_S)
        return Rate(on.clock.rate(), min(on.clock.bound.values()) - started)
