"""Steps that start, stop and freeze processes of the product. Arguments: vocabulary-live.md."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from tests.cases.play.context import Context
from tests.cases.play.duration import seconds
from tests.cases.play.product import ProductError, Running
from tests.cases.play.registry import step
from tests.cases.play.steps_live import options

LIVE = True
KINDS = {"scheduler": "scheduler", "admission": "webhook", "webhook": "webhook", "jobs-controller": "jobs-controller"}
LEADER_S = 20.0


@step("restart")
@options("until")
async def restart(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    """SIGTERM, end, start again. ``until: started`` does not wait for /readyz, so later times include the warm-up."""
    assert ctx.product
    await ctx.product.restart(KINDS[value], wait=step.get("until", "ready") == "ready")


@step("stop")
@options()
async def stop(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    assert ctx.product
    for process in ctx.product.of(KINDS[value]):
        await ctx.product.stop(process)


@step("start")
@options()
async def start(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    assert ctx.product
    await ctx.product.start(KINDS[value])


@step("replicas")
@options()
async def replicas(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    """So many schedulers, all ready."""
    assert ctx.product
    for n in range(len(ctx.product.of("scheduler")), int(value)):
        await ctx.product.start("scheduler", n)


async def _leader(ctx: Context) -> Running:
    assert ctx.product
    end = time.monotonic() + LEADER_S
    while time.monotonic() < end:
        if leader := await ctx.product.leader():
            return leader
        await asyncio.sleep(0.2)
    raise ProductError(f"no scheduler of this case held the Lease gangpool-scheduler within {LEADER_S:g} s")


@step("freeze")
@options("for")
async def freeze(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    """SIGSTOP to the leader. ``for``: the later ``thaw`` waits until it was frozen so long."""
    leader = await _leader(ctx)
    leader.child.freeze()
    ctx.state["frozen"] = (leader, time.monotonic(), seconds(step.get("for"), 0.0))


@step("thaw")
@options()
async def thaw(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    """SIGCONT to the process that ``freeze`` stopped, once its time is over; ``last`` is the unix time of it."""
    leader, since, least_s = ctx.state["frozen"]
    await asyncio.sleep(max(0.0, since + least_s - time.monotonic()))
    ctx.state["thawed_at"] = time.time()
    leader.child.thaw()
