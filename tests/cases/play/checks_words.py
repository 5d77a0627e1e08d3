"""Checks of what the product says, how often it writes, and whether its processes live. Arguments: vocabulary.md."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

from tests.cases.play.checks_live import keys, names
from tests.cases.play.context import Context
from tests.cases.play.duration import seconds
from tests.cases.play.history import matches, node_of
from tests.cases.play.registry import check
from tests.cases.play.texts import about, agrees, all_texts, condition_text, groups_of, strings

LIVE = True
PLACES = ("anywhere", "every_pod", "pending_pods")


@check("reason")
@keys("selector", "contains_all contains_any contains_none on")
async def reason(ctx: Context, value: dict[str, Any]) -> str | None:
    assert ctx.history
    texts = await all_texts(ctx, value["selector"])
    for word in value.get("contains_none") or ():
        bad = [t for t in texts if str(word).lower() in t.lower()]
        if bad:
            return f"{word!r} is in: {bad[-1]}"
    place = value.get("on", "anywhere")
    if place == "anywhere":
        if any(agrees(t, value) for t in texts):
            return None
        return f"texts: {' | '.join(dict.fromkeys(texts[-6:]))}" if texts else "no text at all"
    if place not in PLACES:
        return f"on: {place} is not one of {', '.join(PLACES)}"
    pods = ctx.history.select(value["selector"]) if place == "every_pod" else ctx.history.pending(value["selector"])
    silent = [p for p in pods if not agrees(condition_text(p), value)]
    if pods and not silent:
        return None
    return (
        f"{names(silent)}: {condition_text(silent[0]) or 'no PodScheduled condition that is False'}"
        if silent
        else "no such pod"
    )


@check("events")
@keys("selector", "distinct_objects_max writes_per_minute_max")
async def events(ctx: Context, value: dict[str, Any]) -> str | None:
    """Event objects and writes of events about the pods, their group and their job."""
    assert ctx.history
    _, subjects, _ = await about(ctx, value["selector"])
    writes = ctx.history.events_about(subjects)
    objects = {c.object["metadata"]["name"] for c in writes}
    if len(objects) > value.get("distinct_objects_max", len(objects)):
        return f"{len(objects)} event objects"
    times = [c.at for c in writes]
    most = max((sum(t <= u < t + 60 for u in times) for t in times), default=0)
    return f"{most} writes within 60 s" if most > value.get("writes_per_minute_max", most) else None


@check("warning")
@keys("selector", "contains_all contains_any")
async def warning(ctx: Context, value: dict[str, Any]) -> str | None:
    """An event of type Warning about the pods, their group or job, or a warning of admission at their creation."""
    assert ctx.history
    _, subjects, _ = await about(ctx, value["selector"])
    texts = [
        f"{c.object.get('reason', '')}: {c.object.get('message', '')}"
        for c in ctx.history.events_about(subjects)
        if c.object.get("type") == "Warning"
    ]
    texts += [
        w
        for name, ws in ctx.state.get("warnings_of", {}).items()
        if ("Pod", name) in subjects or ("Job", name) in subjects
        for w in ws
    ]
    return None if any(agrees(t, value) for t in texts) else f"warnings: {' | '.join(texts[-4:]) or 'none'}"


async def _job(ctx: Context, name: str) -> dict[str, Any] | None:
    assert ctx.cluster
    return await ctx.cluster.get(f"/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/{name}")


@check("job_phase")
@keys("job one_of")
async def job_phase(ctx: Context, value: dict[str, Any]) -> str | None:
    job = await _job(ctx, value["job"])
    phase = (((job or {}).get("status") or {}).get("state") or {}).get("phase")
    return None if phase in value["one_of"] else f"phase {phase}"


@check("job_message")
@keys("job", "contains_all contains_any")
async def job_message(ctx: Context, value: dict[str, Any]) -> str | None:
    """A text in the status of the job, or in an event about it or its pod group."""
    assert ctx.history
    job = await _job(ctx, value["job"])
    texts = list(strings((job or {}).get("status") or {}))
    owned = {("Job", value["job"])} | {("PodGroup", n) for n in await _groups_of(ctx, job)}
    texts += [f"{c.object.get('reason', '')}: {c.object.get('message', '')}" for c in ctx.history.events_about(owned)]
    return None if any(agrees(t, value) for t in texts) else f"texts: {' | '.join(dict.fromkeys(texts[-6:])) or 'none'}"


async def _groups_of(ctx: Context, job: dict[str, Any] | None) -> list[str]:
    return [g["metadata"]["name"] for g in await groups_of(ctx, [], [job])] if job else []


@check("shows")
@keys("object", "contains_all contains_any")
async def shows(ctx: Context, value: dict[str, Any]) -> str | None:
    """``gangpool explain OBJECT -o json`` answers with exit code 0 and the words."""
    assert ctx.product and ctx.cluster
    code, out, err = await ctx.product.run(
        "explain", value["object"], "-o", "json", "--kubeconfig", str(ctx.cluster.kubeconfig)
    )
    if code not in (0, 3):
        return f"exit {code}: {err.strip()[-200:]}"
    return None if agrees(out, value) else out.strip()[:300] or "no output"


@check("numbers")
@keys("object", "needed best")
async def numbers(ctx: Context, value: dict[str, Any]) -> str | None:
    """``reason.numbers`` of ``gangpool explain OBJECT -o json``."""
    assert ctx.product and ctx.cluster
    code, out, err = await ctx.product.run(
        "explain", value["object"], "-o", "json", "--kubeconfig", str(ctx.cluster.kubeconfig)
    )
    try:
        found = (json.loads(out).get("reason") or {}).get("numbers") or {}
    except (ValueError, AttributeError):
        return f"exit {code}, no JSON: {(out or err).strip()[-200:]}"
    return None if all(found.get(k) == v for k, v in value.items() if k != "object") else f"{found}"


async def _waiting(ctx: Context) -> list[dict[str, Any]] | str:
    """Entries of ``gangpool queues -o json`` that wait, over all queues, by position; a text when there is none."""
    assert ctx.product and ctx.cluster
    code, out, err = await ctx.product.run("queues", "-o", "json", "--kubeconfig", str(ctx.cluster.kubeconfig))
    try:
        found = [w for q in json.loads(out)["queues"] for w in q["waiting"]]
        return sorted(found, key=lambda w: int(w["position"]))
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        return f"exit {code}, not in the form of the contract ({e!r}): {(out or err).strip()[-200:]}"


def _entry(found: list[dict[str, Any]], job: str) -> dict[str, Any] | None:
    return next((w for w in found if str(w.get("gang", "")).endswith(f"/{job}")), None)


@check("queue_view")
@keys("", "first position_of shows_for_each")
async def queue_view(ctx: Context, value: dict[str, Any]) -> str | None:
    """Order of the waiting gangs, and that each entry has a value for each of the fields."""
    found = await _waiting(ctx)
    if isinstance(found, str):
        return found
    order = [(w["position"], w.get("gang")) for w in found]
    wanted = dict(value.get("position_of", {})) | ({value["first"]: 1} if "first" in value else {})
    for job, position in wanted.items():
        entry = _entry(found, job)
        if entry is None or entry["position"] != position:
            return f"order {order}"
    for w in found:
        empty = [f for f in value.get("shows_for_each", ()) if not w.get(f)]
        if empty:
            return f"{w.get('gang')} shows no {', '.join(empty)}"
    return None if found else "nothing waits"


@check("estimate")
@keys("job", "between_s not_before")
async def estimate(ctx: Context, value: dict[str, Any]) -> str | None:
    """``starts_at`` of a waiting gang: so many seconds from now; or null, or not before that of another one."""
    found = await _waiting(ctx)
    if isinstance(found, str):
        return found
    entry = _entry(found, value["job"])
    if entry is None:
        return f"{value['job']} is not in the list"
    starts = entry.get("starts_at")
    if "not_before" in value:
        other = (_entry(found, value["not_before"]) or {}).get("starts_at")
        return (
            None
            if starts is None or (other is not None and _time(starts) >= _time(other))
            else f"{starts}, and {value['not_before']} {other}"
        )
    if starts is None:
        return "unknown"
    left = (_time(starts) - datetime.now(UTC)).total_seconds()  # noqa: TID251 - wall time, as the API writes it
    low, high = value["between_s"]
    return None if low <= left <= high else f"in {left:.0f} s"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def alive(ctx: Context, value: Any) -> str | None:
    """No process of the product ended by itself; each answers /healthz unless the case froze it."""
    wrong = list(ctx.product.died()) if ctx.product else []
    for probe in ctx.state.get("alive_probes", []):
        said = probe()
        if asyncio.iscoroutine(said):
            said = await said
        wrong += [said] if said else []
    for process in ctx.product.running if ctx.product else []:
        if process.child.running and not process.child.frozen and not process.child.expected_end:
            status, text = await ctx.product.http(process, "/healthz")  # type: ignore[union-attr]
            wrong += [f"{process.identity} /healthz: {status} {text[:80]}"] if status != 200 else []
    return "; ".join(wrong) or None


alive.live = False  # type: ignore[attr-defined]  # node-side cases use it without a cluster
check("alive")(alive)


@check("api_writes_max")
async def api_writes_max(ctx: Context, value: Any) -> str | None:
    """Writes of all processes of the product during the last ``idle`` step, leader lease left out."""
    assert ctx.audit
    start, end = ctx.last
    writes = [
        r for r in ctx.audit.requests() if r.is_write and start <= r.at <= end and not r.resource.startswith("leases")
    ]
    return (
        f"{len(writes)} writes, for instance {writes[0].verb} {writes[0].resource}"
        if len(writes) > int(value)
        else None
    )


@check("failed_binds_max")
async def failed_binds_max(ctx: Context, value: Any) -> str | None:
    assert ctx.audit
    failed = [r for r in ctx.audit.binds() if not r.ok]
    return (
        f"{len(failed)} binds refused, for instance {failed[0].name}: {failed[0].status}"
        if len(failed) > int(value)
        else None
    )


@check("bind_tries")
@keys("selector", "min max")
async def bind_tries(ctx: Context, value: dict[str, Any]) -> str | None:
    """Binding writes for the pods of a selector, refused ones included."""
    assert ctx.audit and ctx.history
    pods = {(p["metadata"].get("namespace"), p["metadata"]["name"]) for p in ctx.history.select(value["selector"])}
    n = sum((r.namespace, r.name) in pods for r in ctx.audit.binds())
    return None if value.get("min", 0) <= n <= value.get("max", n) else f"{n} tries"


@check("binds_by_old_leader")
async def binds_by_old_leader(ctx: Context, value: Any) -> str | None:
    """Accepted binds and evictions by the process that was frozen, since it was thawed."""
    assert ctx.audit
    old, since = ctx.state["frozen"][0], ctx.state.get("thawed_at", 0.0)
    writes = [
        r for r in [*ctx.audit.binds(), *ctx.audit.removals()] if r.ok and r.token == old.token_id and r.at >= since
    ]
    return f"{len(writes)}, for instance {writes[0].resource} {writes[0].name}" if len(writes) != int(value) else None


@check("leaders")
async def leaders(ctx: Context, value: Any) -> str | None:
    """Processes that the Lease names now, and those that bound something in the last 15 s or since the step began."""
    assert ctx.product and ctx.audit
    leader = await ctx.product.leader()
    since = ctx.state.get("thawed_at", 0.0)
    binders = {r.token for r in ctx.audit.binds() if r.ok and r.at >= since}
    holders = binders | ({leader.token_id} if leader else set())
    return (
        None
        if len(holders) == int(value)
        else f"{len(holders)} (Lease: {leader.identity if leader else 'nobody of this case'})"
    )


@check("decision_time")
@keys("selector max")
async def decision_time(ctx: Context, value: dict[str, Any]) -> str | None:
    """From the creation of the last pod of the selector to the bind of the last one."""
    assert ctx.history
    created = [
        c.at
        for c in ctx.history.changes["Pod"]
        if c.type == "ADDED" and not node_of(c.object) and matches(value["selector"], c.object)
    ]
    binds = [at for at, _, p in ctx.history.first_bound([value["selector"]])]
    if not created or not binds:
        return "nothing was bound"
    took = max(binds) - max(created)
    return None if took <= seconds(value["max"]) else f"{took:.1f} s"
