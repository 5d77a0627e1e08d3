"""Checks after ``play_load`` and of controllers that the real controller-manager runs."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

from tests.cases.play.checks_live import keys
from tests.cases.play.context import Context
from tests.cases.play.duration import seconds
from tests.cases.play.history import is_finished, node_of
from tests.cases.play.quantity import pod_requests, quantity
from tests.cases.play.registry import check

LIVE = True
GPU = "nvidia.com/gpu"


@check("started_within")
@keys("job max")
async def started_within(ctx: Context, value: dict[str, Any]) -> str | None:
    """All pods of the job were bound at most so long after it was submitted."""
    load = ctx.state.get("load", {})
    if load.get("job") != value["job"] or not load.get("started"):
        return "not started while the load was played"
    took = load["started"] - load["submitted"]
    return None if took <= seconds(value["max"]) else f"{took:.0f} s"


@check("gpu_use_before_start_min")
async def gpu_use_before_start_min(ctx: Context, value: Any) -> str | None:
    """Mean share of the pool's GPUs in use between the submission and the start of the large job."""
    assert ctx.history
    load = ctx.state.get("load", {})
    start, end = load.get("submitted"), load.get("started") or time.monotonic()
    if not start or end <= start:
        return "the large job was never waiting"
    total = sum(quantity(n["status"]["allocatable"].get(GPU, 0)) for n in ctx.history.nodes.values())
    holds: dict[str, Fraction] = {}
    area, last = Fraction(0), start
    for c in ctx.history.changes["Pod"]:
        if c.at > end:
            break
        if c.at > last:
            area += sum(holds.values()) * Fraction(c.at - last)
            last = c.at
        uid = c.object["metadata"]["uid"]
        if c.type != "DELETED" and node_of(c.object) and not is_finished(c.object):
            holds[uid] = pod_requests(c.object).get(GPU, Fraction(0))
        else:
            holds.pop(uid, None)
    area += sum(holds.values()) * Fraction(end - last)
    share = float(area / (total * Fraction(end - start)))
    return None if share >= float(value) else f"{share:.2f}"


@check("rolled_out")
@keys("deployment")
async def rolled_out(ctx: Context, value: dict[str, Any]) -> str | None:
    """The Deployment has all replicas updated and available, and none of an older revision."""
    assert ctx.cluster
    got = await ctx.cluster.get(f"/apis/apps/v1/namespaces/default/deployments/{value['deployment']}") or {}
    s, want = got.get("status") or {}, (got.get("spec") or {}).get("replicas", 1)
    have = {k: s.get(k, 0) for k in ("updatedReplicas", "availableReplicas", "replicas")}
    fresh = s.get("observedGeneration") == got.get("metadata", {}).get("generation")
    return None if got and fresh and set(have.values()) == {want} else f"{have} of {want}"
