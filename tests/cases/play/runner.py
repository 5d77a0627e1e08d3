"""Plays one case: product, steps in order, checks within their time, everything ended at the end."""

from __future__ import annotations

import asyncio
import contextlib
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from tests.cases.play.audit import Audit
from tests.cases.play.case import Case, Check, Step
from tests.cases.play.cluster import Cluster
from tests.cases.play.context import Context
from tests.cases.play.foreign import install_foreign
from tests.cases.play.history import History
from tests.cases.play.players import Kubelet
from tests.cases.play.product import Product
from tests.cases.play.registry import CHECKS, STEPS
from tests.cluster.plane import ControlPlane

WITHIN_S = 10.0  # time to reach live checks when the case gives none
HOLD_S = 1.0  # how long live checks must stay true when the case gives nothing
POLL_S = 0.25
BURST_S = 0.05  # changes that come together are looked at once; what lies between is in the record
SETTLE_S = 0.3  # the record's watches catch up with what the step wrote before the first look


@dataclass
class Outcome:
    """Result of one check."""

    step: int
    text: str
    must: bool
    ok: bool
    seen: str = ""
    after_s: float = 0.0


@dataclass
class Result:
    """Result of one case. ``error`` is a reason why it could not be played to its end."""

    case: Case
    outcomes: list[Outcome] = field(default_factory=list)
    error: str = ""
    logs: str = ""
    elapsed_s: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.error and all(o.ok for o in self.outcomes if o.must)


def words(check: Check) -> str:
    """A check in one line."""
    value = check.value
    if value is True or value == {}:
        return check.name
    if not isinstance(value, dict):
        return f"{check.name} {value}"
    return f"{check.name} " + " ".join(
        f"{k}={'|'.join(map(str, v)) if isinstance(v, list) else v}" for k, v in value.items()
    )


async def play(case: Case, tmp: Path, product_cmd: list[str], plane: ControlPlane | None) -> Result:
    """Play ``case``; ``plane`` serves and is fresh, None where the case asks for none. Never raises but for
    cancellation; whatever it started has ended when it returns."""
    result, start = Result(case), time.monotonic()
    ctx = Context(case, tmp, product_cmd)
    try:
        if case.is_live():
            assert plane
            cluster = Cluster(plane)
            await cluster.open()
            await _prepare(ctx, cluster)
        for step in case.steps:
            if not await _step(ctx, step, result):
                break
        if ctx.history and (hole := ctx.history.failure()):
            result.error = hole
        if ctx.kubelet and ctx.kubelet.errors:
            result.error = ctx.kubelet.errors[0]
    except Exception as e:
        result.error = f"{type(e).__name__}: {e}".strip()
        (tmp / "error.txt").write_text(traceback.format_exc())
    finally:
        if ctx.product and not result.passed:
            result.logs = ctx.product.tails()
        await _close(ctx)
        result.elapsed_s = time.monotonic() - start
    return result


async def _prepare(ctx: Context, cluster: Cluster) -> None:
    """Product installed and ready, record running."""
    ctx.cluster, ctx.api = cluster, cluster.api
    ctx.product = Product(ctx.product_cmd, cluster, ctx.case, ctx.tmp)
    ctx.history = History(cluster.api)
    await ctx.history.start()
    ctx.audit = Audit(cluster.audit_log)
    ctx.kubelet = Kubelet(cluster.api, ctx.history, ctx.case.kubelet == "auto")
    await ctx.product.install()
    await install_foreign(ctx)
    await cluster.start_controllers()
    await asyncio.gather(*(ctx.product.start(kind) for kind in ctx.case.processes))


async def _close(ctx: Context) -> None:
    for cleanup in reversed(ctx.cleanups):
        with contextlib.suppress(Exception):
            await cleanup()
    if ctx.product:
        await ctx.product.close()
    if ctx.kubelet:
        await ctx.kubelet.stop()
    if ctx.history:
        await ctx.history.stop()
    if ctx.cluster:
        await ctx.cluster.stop()


async def _step(ctx: Context, step: Step, result: Result) -> bool:
    """Do one step and judge its checks. False: a check under must failed, so later steps would mean nothing."""
    ctx.step_started = time.monotonic()
    if step.name:
        ctx.last = await STEPS[step.name](ctx, step.value, step.raw)
    live = any(getattr(CHECKS[c.name], "live", False) for c in step.checks)
    if live:
        await asyncio.sleep(SETTLE_S)
    polled = live and any(not getattr(CHECKS[c.name], "once", False) for c in step.checks)
    within = step.within_s if step.within_s is not None else (WITHIN_S if polled else 0.0)
    hold = step.hold_s if step.hold_s is not None else (HOLD_S if polled else 0.0)
    must = [c for c in step.checks if c.must]
    seen = await _reach(ctx, must, ctx.step_started, within, hold)
    after = time.monotonic() - ctx.step_started
    result.outcomes += [
        Outcome(step.number, words(c), True, seen[i] is None, seen[i] or "", after) for i, c in enumerate(must)
    ]
    should = [c for c in step.checks if not c.must]
    if should:
        wish = await _reach(ctx, should, ctx.step_started, max(within, after), 0.0)
        result.outcomes += [
            Outcome(step.number, words(c), False, wish[i] is None, wish[i] or "", after) for i, c in enumerate(should)
        ]
    return all(s is None for s in seen)


async def _reach(ctx: Context, checks: list[Check], start: float, within_s: float, hold_s: float) -> list[str | None]:
    """What each check saw wrong (None: nothing) once all were true together for ``hold_s``, or at the end of the time.

    During the hold every change is looked at: a check that turns false ends it at once, unless ``within_s`` has
    time left to become true again (a state that is only passed through is not reached).
    """
    since: float | None = None
    while True:
        seen = [await CHECKS[c.name](ctx, c.value) for c in checks]
        now = time.monotonic()
        if all(s is None for s in seen):
            since = now if since is None else since
            if now - since >= hold_s:
                return seen
        else:
            if since is not None and now - start > within_s:
                return [s if s is None else f"{s} (after {now - since:.1f} s of being true)" for s in seen]
            if now - start > within_s:
                return seen
            since = None
        if ctx.history:
            await ctx.history.wait_change(POLL_S)
            await asyncio.sleep(BURST_S)
        else:
            await asyncio.sleep(POLL_S)
