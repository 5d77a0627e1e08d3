"""Steps that write pod status as a kubelet would. Arguments: vocabulary-live.md."""

from __future__ import annotations

from typing import Any

from tests.cases.play.api import Answer, ApiError, Obj
from tests.cases.play.case import objects
from tests.cases.play.context import Context
from tests.cases.play.history import key
from tests.cases.play.players import now_text, running_status
from tests.cases.play.registry import step
from tests.cases.play.steps_live import options

LIVE = True


async def write_pod_status(ctx: Context, pod: Obj, status: Obj) -> None:
    """Merge ``status`` over what the pod has, as its kubelet would, and keep the player's hands off."""
    assert ctx.api and ctx.kubelet
    ctx.kubelet.hands_off.add(
        pod["metadata"]["uid"]
    )  # by uid: a pod that comes after it under the same name is played again
    path = f"/api/v1/namespaces/{key(pod)[0]}/pods/{key(pod)[1]}"
    got = Answer(0, {})
    for _ in range(20):
        now = await ctx.api.need("GET", path)
        now["status"] = {**now.get("status", {}), **status}
        got = await ctx.api.call("PUT", path + "/status", now)
        if got.ok:
            return await _seen(ctx, got.body)
        if got.status != 409:
            break
    raise ApiError(f"status of pod {key(pod)[1]}: {got.message}")


async def _seen(ctx: Context, pod: Obj) -> None:
    """Wait until the record has what was just written, so that no check judges the state before it."""
    assert ctx.history
    for _ in range(100):
        mine = ctx.history.pods.get(key(pod))
        if mine is None or int(mine["metadata"]["resourceVersion"]) >= int(pod["metadata"]["resourceVersion"]):
            return
        await ctx.history.wait_change(0.1)


@step("set_status")
@options("others")
async def set_status(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    """The file is a pod status with ``pod``: a name, or ``first of SELECTOR``; ``others: running`` for the others."""
    assert ctx.history
    status = objects(ctx.file(value))[0]
    target = str(status.pop("pod"))
    selector = target.removeprefix("first of ") if target.startswith("first of ") else f"pod/{target}"
    pods = sorted(ctx.history.select(selector), key=key)
    if not pods:
        raise ApiError(f"set_status: no pod {target}")
    await write_pod_status(ctx, pods[0], status)
    if step.get("others") == "running":
        for pod in pods[1:]:
            await write_pod_status(ctx, pod, running_status(pod))


@step("mark_ready")
@options()
async def mark_ready(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    assert ctx.history
    for pod in ctx.history.bound(value):
        await write_pod_status(ctx, pod, running_status(pod))


@step("fail_pod")
@options()
async def fail_pod(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    """``selector``, ``status``: the file's status is written on the first bound pod of the selector."""
    bound = ctx.history.bound(value["selector"]) if ctx.history else []
    if not bound:
        raise ApiError(f"fail_pod: no bound pod matches {value['selector']}")
    status = objects(ctx.file(value["status"]))[0]
    for c in status.get("containerStatuses", []):
        c["state"].get("terminated", {}).setdefault("finishedAt", now_text())
    await write_pod_status(ctx, bound[0], status)
    ctx.state.setdefault("failed_uids", set()).add(bound[0]["metadata"]["uid"])


@step("kubelet")
@options()
async def kubelet(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    """``auto``: from now on the player also runs pods that wait for it; ``manual``: it leaves their status alone."""
    assert ctx.kubelet
    ctx.kubelet.auto = value == "auto"
    ctx.kubelet.look_again()
