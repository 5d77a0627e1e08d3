"""Steps that write to the cluster as users, operators and controllers would. Arguments: vocabulary-live.md."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from tests.cases.play.api import ApiError, Obj
from tests.cases.play.case import objects
from tests.cases.play.context import Context
from tests.cases.play.duration import seconds
from tests.cases.play.history import key, node_of
from tests.cases.play.players import running_status
from tests.cases.play.registry import StepFn, step

LIVE = True
DEADLINE = "gangpool.io/start-deadline"
UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
GATE_WAIT_S = 10.0


def options(*names: str) -> Callable[[StepFn], StepFn]:
    """Options a step takes beside within, hold, must, should; others are an error before the case starts."""

    def put(fn: StepFn) -> StepFn:
        fn.options = names  # type: ignore[attr-defined]
        return fn

    return put


def listed(value: Any) -> list[Any]:
    """One or many."""
    return value if isinstance(value, list) else [value]


async def put(ctx: Context, obj: Obj) -> None:
    """Create or replace one object, with what must be true before the next one can rely on it."""
    assert ctx.api and ctx.cluster and ctx.kubelet
    meta = obj["metadata"]
    if obj["kind"] == "Node":
        extra = ctx.state.get("node_annotations", {}).get(meta["name"], {})
        if extra:
            meta["annotations"] = {**meta.get("annotations", {}), **extra}
    if obj["kind"] == "Pod":
        await _owners(ctx, obj)
        if "status" in obj:
            ctx.kubelet.hands_off.add((meta.get("namespace", "default"), meta["name"]))
            if obj["status"].get("phase") == "Running" and "conditions" not in obj["status"]:
                obj = {**obj, "status": {**running_status(obj), **obj["status"]}}
    await ctx.api.apply(obj)
    if obj["kind"] == "Namespace":
        await ctx.cluster.wait_for_account(meta["name"])
    if obj["kind"] in ("ResourceQuota", "PodDisruptionBudget"):
        await _status_written(ctx, obj)
    if obj["kind"] == "Node":
        for fn in ctx.state.get("on_node", []):
            await fn(meta["name"])


async def _owners(ctx: Context, obj: Obj) -> None:
    """Owner uids in files are made up; the garbage collector would remove the pod, so the live uid is put in."""
    assert ctx.api
    for ref in obj["metadata"].get("ownerReferences") or []:
        where = await ctx.api.path(
            {
                "apiVersion": ref["apiVersion"],
                "kind": ref["kind"],
                "metadata": {"name": ref["name"], "namespace": obj["metadata"].get("namespace", "default")},
            }
        )
        found = await ctx.api.call("GET", where)
        if found.ok:
            ref["uid"] = found.body["metadata"]["uid"]


async def _status_written(ctx: Context, obj: Obj) -> None:
    """Quotas and budgets bind nobody before their controller has written their status."""
    assert ctx.api
    where = await ctx.api.path(obj)
    for _ in range(100):
        got = await ctx.api.need("GET", where)
        if got.get("status"):
            return
        await asyncio.sleep(0.1)
    raise ApiError(f"no status on {obj['kind']} {obj['metadata']['name']} after 10 s")


@step("apply")
@options("start_deadline")
async def apply(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    for name in listed(value):
        for obj in objects(ctx.file(name)):
            if "start_deadline" in step and obj["kind"] == "Job":
                obj["metadata"].setdefault("annotations", {})[DEADLINE] = str(step["start_deadline"])
            await put(ctx, obj)


@step("apply_one_by_one")
@options("every")
async def apply_one_by_one(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    pause = seconds(step.get("every"), 2.0)
    for name in listed(value):
        for obj in objects(ctx.file(name)):
            await put(ctx, obj)
            await asyncio.sleep(pause)


@step("delete")
@options()
async def delete(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    assert ctx.api
    for ref in listed(value):
        await ctx.api.need(
            "DELETE",
            await _path(ctx, ref),
            {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"},
        )


async def _path(ctx: Context, ref: str) -> str:
    """URL path of ``pod/x``, ``node/x``, ``deployment/x`` or ``jobs.batch.volcano.sh/x``."""
    kind, _, name = ref.partition("/")
    known = {
        "pod": ("v1", "Pod"),
        "node": ("v1", "Node"),
        "deployment": ("apps/v1", "Deployment"),
        "jobs.batch.volcano.sh": ("batch.volcano.sh/v1alpha1", "Job"),
        "podgroups.scheduling.volcano.sh": ("scheduling.volcano.sh/v1beta1", "PodGroup"),
    }
    if kind not in known or not name:
        raise ApiError(f"{ref}: write {', '.join(known)} and a name after a slash")
    assert ctx.api
    version, k = known[kind]
    return await ctx.api.path({"apiVersion": version, "kind": k, "metadata": {"name": name}})


async def _delete_pod(ctx: Context, pod: Obj, grace: int | None) -> None:
    assert ctx.api
    body: Obj = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod["metadata"]["uid"]}}
    if grace is not None:
        body["gracePeriodSeconds"] = grace
    await ctx.api.need("DELETE", f"/api/v1/namespaces/{key(pod)[0]}/pods/{key(pod)[1]}", body)


async def _pods_on(ctx: Context, node: str) -> list[Obj]:
    assert ctx.history
    found = [p for p in ctx.history.pods.values() if node_of(p) == node]
    if not found:
        raise ApiError(f"there is no pod on {node}")
    return found


@step("delete_pod_on")
@options()
async def delete_pod_on(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    for pod in await _pods_on(ctx, value):
        await _delete_pod(ctx, pod, None)


@step("force_delete_pod_on")
@options()
async def force_delete_pod_on(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    for pod in await _pods_on(ctx, value):
        await _delete_pod(ctx, pod, 0)


@step("delete_job_of")
@options()
async def delete_job_of(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    """``first_bound_of: [selector…]``: the job that owns the pods of the first selector with bound pods."""
    assert ctx.history
    for selector in value["first_bound_of"]:
        bound = ctx.history.bound(selector)
        owners = [r for p in bound for r in p["metadata"].get("ownerReferences") or [] if r.get("controller")]
        if owners:
            ctx.state["deleted_group"] = selector
            await delete(ctx, f"jobs.batch.volcano.sh/{owners[0]['name']}", step)
            return
    raise ApiError("no group has bound pods that a job owns")


def _chosen(ctx: Context, value: Any) -> list[Obj]:
    assert ctx.history
    found = [p for ref in listed(value) for p in ctx.history.select(ref)]
    if not found:
        raise ApiError(f"no pod matches {value}")
    return found


@step("remove_finalizers")
@options()
async def remove_finalizers(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    assert ctx.api
    for pod in _chosen(ctx, value):
        await ctx.api.patch(f"/api/v1/namespaces/{key(pod)[0]}/pods/{key(pod)[1]}", {"metadata": {"finalizers": None}})


@step("remove_gates")
@options()
async def remove_gates(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    assert ctx.api
    for pod in _chosen(ctx, value):
        await ctx.api.need(
            "PATCH",
            f"/api/v1/namespaces/{key(pod)[0]}/pods/{key(pod)[1]}",
            {"spec": {"schedulingGates": None}},
            kind="application/merge-patch+json",
        )


async def _cordon(ctx: Context, names: Any, on: bool) -> None:
    assert ctx.api
    for name in listed(names):
        while True:
            node = await ctx.api.need("GET", f"/api/v1/nodes/{name}")
            taints = [t for t in node["spec"].get("taints") or [] if t["key"] != UNSCHEDULABLE["key"]]
            node["spec"] |= {"unschedulable": on, "taints": [*taints, UNSCHEDULABLE] if on else taints}
            got = await ctx.api.call("PUT", f"/api/v1/nodes/{name}", node)
            if got.ok:
                break
            if got.status != 409:
                raise ApiError(f"cordon {name}: {got.message}")


@step("cordon")
@options()
async def cordon(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    await _cordon(ctx, value, True)


@step("uncordon")
@options()
async def uncordon(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    await _cordon(ctx, value, False)


@step("wait")
@options()
async def wait(ctx: Context, value: Any, step: dict[str, Any]) -> None:
    await asyncio.sleep(seconds(value))


@step("idle")
@options()
async def idle(ctx: Context, value: Any, step: dict[str, Any]) -> tuple[float, float]:
    """Do nothing for so long; ``last`` is the (start, end) of it in unix time, for ``api_writes_max``."""
    start = time.time()
    await asyncio.sleep(seconds(value))
    return start, time.time()


@step("note")
@options()
async def note(ctx: Context, value: Any, step: dict[str, Any]) -> Any:
    return ctx.last
