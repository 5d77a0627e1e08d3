"""Checks of where pods are and what became of them. Arguments: vocabulary-live.md."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.cases.play.api import Obj
from tests.cases.play.books import Books
from tests.cases.play.context import Context
from tests.cases.play.history import key, longest_partial, matches, node_of
from tests.cases.play.quantity import pod_requests
from tests.cases.play.registry import CheckFn, check

LIVE = True


def keys(required: str, optional: str = "") -> Callable[[CheckFn], CheckFn]:
    """Names of the arguments; anything else is an error before the case starts."""

    def put(fn: CheckFn) -> CheckFn:
        fn.required = tuple(required.split())  # type: ignore[attr-defined]
        fn.keys = fn.required + tuple(optional.split())  # type: ignore[attr-defined]
        return fn

    return put


def names(pods: list[Obj]) -> str:
    """Short list for messages."""
    text = ", ".join(f"{p['metadata']['name']}@{node_of(p)}" if node_of(p) else p["metadata"]["name"] for p in pods[:8])
    return text + (f" and {len(pods) - 8} more" if len(pods) > 8 else "")


def given_a_node(ctx: Context, selector: str) -> list[Obj]:
    """Pods of the selector that got a node since the running step began."""
    assert ctx.history
    return [p for at, _, p in ctx.history.first_bound([selector]) if at >= ctx.step_started]


@check("bound")
@keys("selector count", "on_nodes settled")
async def bound(ctx: Context, value: dict[str, Any]) -> str | None:
    assert ctx.history
    pods = ctx.history.bound(value["selector"])
    if len(pods) != value["count"]:
        return f"{len(pods)} bound{': ' + names(pods) if pods else ''}"
    is_never = value["count"] == 0 and not value.get("settled")
    if is_never and (was := given_a_node(ctx, value["selector"])):
        return f"none is bound now, but {names(was)} was"
    wrong = [p for p in pods if node_of(p) not in value.get("on_nodes", [node_of(p)])]
    return f"on other nodes: {names(wrong)}" if wrong else None


@check("bound_in")
@keys("selector allowed")
async def bound_in(ctx: Context, value: dict[str, Any]) -> str | None:
    assert ctx.history
    n = len(ctx.history.bound(value["selector"]))
    return None if n in value["allowed"] else f"{n} bound"


@check("bound_any")
@keys("selectors count")
async def bound_any(ctx: Context, value: dict[str, Any]) -> str | None:
    assert ctx.history
    n = sum(len(ctx.history.bound(s)) for s in value["selectors"])
    return None if n == value["count"] else f"{n} bound"


@check("bound_of_job")
@keys("job count")
async def bound_of_job(ctx: Context, value: dict[str, Any]) -> str | None:
    """Counts bound pods of a Volcano Job, whatever labels its template has; the job must have pods."""
    assert ctx.history

    def of_job(p: Obj) -> bool:
        return any(r["kind"] == "Job" and r["name"] == value["job"] for r in p["metadata"].get("ownerReferences") or [])

    pods = [p for p in ctx.history.pods.values() if of_job(p)]
    ever = [p for _, _, p in ctx.history.first_bound() if of_job(p)]
    have = [p for p in pods if node_of(p)]
    if not pods:
        return "the job has no pods"
    if len(have) != value["count"]:
        return f"{len(have)} bound: {names(have)}"
    return f"none is bound now, but {names(ever)} was" if value["count"] == 0 and ever else None


@check("pending")
@keys("selector count")
async def pending(ctx: Context, value: dict[str, Any]) -> str | None:
    assert ctx.history
    pods = ctx.history.pending(value["selector"])
    return None if len(pods) == value["count"] else f"{len(pods)} pending{': ' + names(pods) if pods else ''}"


@check("whole")
@keys("groups size", "partial_max")
async def whole(ctx: Context, value: dict[str, Any]) -> str | None:
    """All or none now, never more than ``size``, and never partial for longer than ``partial_max`` at a stretch."""
    assert ctx.history
    limit = float(value.get("partial_max", ctx.case.partial_max_s))
    for group in value["groups"]:
        n, size = len(ctx.history.bound(group)), value["size"]
        if n not in (0, size):
            return f"{group}: {n} of {size} bound"
        partial_s, most = longest_partial(ctx.history.members_over_time(group), size, time.monotonic())
        if most > size:
            return f"{group}: {most} members were bound at one time, the gang asks for {size}"
        if partial_s > limit:
            return f"{group}: was partly bound for {partial_s:.1f} s (at most {limit:g} s)"
    return None


@check("count_whole")
@keys("groups size whole", "except_deleted")
async def count_whole(ctx: Context, value: dict[str, Any]) -> str | None:
    """``except_deleted``: the group whose job ``delete_job_of`` removed does not count, however slowly its pods go."""
    assert ctx.history
    gone = ctx.state.get("deleted_group") if value.get("except_deleted") else None
    found = [g for g in value["groups"] if g != gone and len(ctx.history.bound(g)) == value["size"]]
    return None if len(found) == value["whole"] else f"{len(found)} whole: {', '.join(found) or 'none'}"


def label_values(ctx: Context, selector: str, label: str) -> tuple[list[str | None], list[Obj]]:
    """Value of a node label for each bound pod (None: the node lacks it)."""
    assert ctx.history
    pods = ctx.history.bound(selector)
    return [
        (ctx.history.nodes.get(node_of(p) or "", {}).get("metadata", {}).get("labels") or {}).get(label) for p in pods
    ], pods


@check("same")
@keys("selector label")
async def same(ctx: Context, value: dict[str, Any]) -> str | None:
    values, pods = label_values(ctx, value["selector"], value["label"])
    if not pods:
        return "no pod is bound"
    return (
        None
        if len(set(values)) == 1 and None not in values
        else f"values {sorted(map(str, set(values)))}: {names(pods)}"
    )


@check("distinct")
@keys("selector label", "min max")
async def distinct(ctx: Context, value: dict[str, Any]) -> str | None:
    values, pods = label_values(ctx, value["selector"], value["label"])
    n = len(set(values))
    if not pods or n < value.get("min", 0) or n > value.get("max", n):
        return f"{n} values: {names(pods)}"
    return None


@check("disjoint")
@keys("selectors label")
async def disjoint(ctx: Context, value: dict[str, Any]) -> str | None:
    sets = [set(label_values(ctx, s, value["label"])[0]) for s in value["selectors"]]
    if not all(sets):
        return "a group has no bound pod"
    common = [sorted(map(str, a & b)) for i, a in enumerate(sets) for b in sets[i + 1 :] if a & b]
    return f"in common: {common}" if common else None


@check("per_value")
@keys("selector label counts")
async def per_value(ctx: Context, value: dict[str, Any]) -> str | None:
    values, _ = label_values(ctx, value["selector"], value["label"])
    return None if Counter(values) == Counter(value["counts"]) else f"{dict(Counter(values))}"


@check("not_on")
@keys("selector nodes")
async def not_on(ctx: Context, value: dict[str, Any]) -> str | None:
    assert ctx.history
    wrong = [p for p in ctx.history.bound(value["selector"]) if node_of(p) in value["nodes"]]
    return names(wrong) if wrong else None


@check("gates")
@keys("selector count")
async def gates(ctx: Context, value: dict[str, Any]) -> str | None:
    assert ctx.history
    n = sum(bool(p["spec"].get("schedulingGates")) for p in ctx.history.select(value["selector"]))
    return None if n == value["count"] else f"{n} pods carry a gate"


def evicted_pods(ctx: Context, selector: str) -> list[Obj]:
    """Pods that ended because of an accepted delete or eviction by a process of the product."""
    assert ctx.history and ctx.audit
    removals: dict[tuple[str, str], list[float]] = {}
    for r in ctx.audit.removals():
        removals.setdefault((r.namespace, r.name), []).append(r.at)
    ended: dict[str, tuple[float, Obj]] = {}
    for c in ctx.history.changes["Pod"]:
        if (c.type == "DELETED" or "deletionTimestamp" in c.object["metadata"]) and matches(selector, c.object):
            ended.setdefault(c.object["metadata"]["uid"], (c.wall, c.object))
    return [pod for at, pod in ended.values() if any(abs(at - t) < 5.0 for t in removals.get(key(pod), []))]


@check("evicted")
@keys("selector", "min max")
async def evicted(ctx: Context, value: dict[str, Any]) -> str | None:
    pods = evicted_pods(ctx, value["selector"])
    if value.get("min", 0) <= len(pods) <= value.get("max", len(pods)):
        return None
    return f"{len(pods)} evicted{': ' + names(pods) if pods else ''}"


@check("no_overcommit")
@keys("")
async def no_overcommit(ctx: Context, value: dict[str, Any]) -> str | None:
    assert ctx.history
    books = ctx.state.setdefault("books", Books(ctx.history, ("gangpool",)))
    found = books.update(time.monotonic())
    return f"{found[0]} ({len(found)} times)" if found else None


@check("gpus_held")
@keys("selector equals", "resource")
async def gpus_held(ctx: Context, value: dict[str, Any]) -> str | None:
    """Whole cards requested by bound, living pods (terminating ones hold theirs)."""
    assert ctx.history
    resource = value.get("resource", "nvidia.com/gpu")
    holders = [
        p
        for p in ctx.history.select(value["selector"])
        if node_of(p) and p.get("status", {}).get("phase") not in ("Succeeded", "Failed")
    ]
    n = sum(pod_requests(p).get(resource, 0) for p in holders)
    return None if n == value["equals"] else f"{n} held by {names(holders)}"
