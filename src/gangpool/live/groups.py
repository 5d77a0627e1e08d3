"""What a gang's own object says of it: status of the PodGroups of Volcano, scheduler-plugins, Kubernetes and KAI.

Called by `notices`. Pure; each patch changes only what a scheduler is to say there, and there is none where the object
says so already. Where the project's own controller runs too, it writes the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from gangpool.intake.said import code_of
from gangpool.kube.client import MERGE_PATCH, STRATEGIC_PATCH
from gangpool.live.course import Counts
from gangpool.live.writes import Write, stamp
from gangpool.workloads import coscheduling, fields, kai, native, volcano_group
from gangpool.workloads.base import Object

Status = dict[str, Any]

NOT_LET_IN = frozenset({"invalid-object", "level-unknown", "object-missing", "queue-closed", "suspended"})
"""Codes of gangs that no room would help: Volcano calls them Pending. Others are Inqueue, and Volcano's controller
makes their pods."""


KAI_WAITS = "UnschedulableOnNodePool"
KAI_POOL_LABEL = "kai.scheduler/node-pool"


class GangView(Struct, frozen=True):
    """How a gang stands. `is_started`: its minimum has nodes, or had them and has succeeded. `n_bound`: members that
    have nodes and have not finished. `text`: what its waiting members say."""

    is_started: bool
    n_bound: int
    text: str
    counts: Counts = Counts()


def is_group(group: str, kind: str) -> bool:
    """A kind whose status is ours to write."""
    return kind == "PodGroup" and group in _STATUS


def status(obj: Object, gang: GangView, wall: float) -> Write | None:
    """The patch that makes the object say how its gang stands; None where it does."""
    api_version = str(obj.get("apiVersion") or "")
    group = api_version.partition("/")[0]
    meta: Mapping[str, Any] = obj.get("metadata") or {}
    if group not in _STATUS or meta.get("deletionTimestamp"):
        return None
    patch = _STATUS[group](obj, gang, stamp(wall))
    if patch is None:
        return None
    path = f"/apis/{api_version}/namespaces/{meta.get('namespace')}/podgroups/{meta.get('name')}/status"
    content_type = STRATEGIC_PATCH if group == native.GROUP else MERGE_PATCH
    return Write("status", "PATCH", path, {"metadata": {"uid": meta.get("uid")}, "status": patch}, content_type)


def _conditions(obj: Object) -> dict[str, Status]:
    found = (obj.get("status") or {}).get("conditions") or ()
    return {str(c.get("type")): dict(c) for c in found if isinstance(c, Mapping)}


def _says(condition: Status | None, **wanted: str) -> bool:
    return condition is not None and all(condition.get(key) == value for key, value in wanted.items())


def _changed(old: Status | None, now: str, **new: str) -> Status:
    """A condition with new words; its time moves only with its status."""
    since = old.get("lastTransitionTime") if old and old.get("status") == new["status"] else None
    return {**(old or {}), **new, "lastTransitionTime": since or now}


def _counted(obj: Object, counts: Counts) -> Status:
    """The numbers that the object does not say yet; what is left out there is 0."""
    old = obj.get("status") or {}
    return {name: n for name, n in asdict(counts).items() if (old.get(name) or 0) != n}


# ---- Volcano


def _volcano(obj: Object, gang: GangView, now: str) -> Status | None:
    """A merge patch replaces the whole list of conditions, so those of others are sent back as they were."""
    phase = str((obj.get("status") or {}).get("phase") or "")
    conditions = _conditions(obj)
    patch = _counted(obj, gang.counts)
    if (gang.is_started or gang.text) and _volcano_conditions(conditions, gang, now):
        patch["conditions"] = list(conditions.values())
    wanted = _volcano_phase(phase, gang)
    return patch | ({"phase": wanted} if wanted != phase else {}) or None


def _volcano_phase(phase: str, gang: GangView) -> str:
    if gang.is_started:
        is_over = not gang.n_bound and bool(gang.counts.succeeded or gang.counts.failed)
        return "Completed" if is_over else "Running"
    if not gang.text:
        return phase
    if gang.counts.running:
        return "Unknown"
    return "Pending" if code_of(gang.text) in NOT_LET_IN else "Inqueue"


def _volcano_conditions(conditions: dict[str, Status], gang: GangView, now: str) -> bool:
    """Bring both conditions up to date; False when nothing changed."""
    waits, runs = conditions.get("Unschedulable"), conditions.get("Scheduled")
    if gang.is_started:
        if _says(runs, status="True") and not _says(waits, status="True"):
            return False
        text = f"{gang.n_bound} members have nodes"
        conditions["Scheduled"] = _changed(runs, now, type="Scheduled", status="True", reason="Scheduled", message=text)
        if waits:
            conditions["Unschedulable"] = _changed(waits, now, type="Unschedulable", status="False")
        return True
    reason = "NotEnoughTasks" if code_of(gang.text) == "members-missing" else "NotEnoughResources"
    new = {"type": "Unschedulable", "status": "True", "reason": reason, "message": gang.text}
    if _says(waits, **new) and not _says(runs, status="True"):
        return False
    conditions["Unschedulable"] = _changed(waits, now, **new)
    if runs:
        conditions["Scheduled"] = _changed(runs, now, type="Scheduled", status="False")
    return True


# ---- scheduler-plugins


def _coscheduling(obj: Object, gang: GangView, now: str) -> Status | None:
    """It has a phase, numbers and no words: Pending until the minimum exists, Scheduling until it runs."""
    phase = str((obj.get("status") or {}).get("phase") or "")
    if phase in ("Finished", "Failed"):
        return None
    wanted = _coscheduling_phase(fields.optional_integer(obj, "spec.minMember") or 1, phase, gang)
    return _counted(obj, gang.counts) | ({"phase": wanted} if wanted != phase else {}) or None


def _coscheduling_phase(minimum: int, phase: str, gang: GangView) -> str:
    counts = gang.counts
    ran = counts.running + counts.succeeded
    if counts.succeeded >= minimum:
        return "Finished"
    if counts.failed and ran + counts.failed >= minimum:
        return "Failed"
    if ran >= minimum:
        return "Running"
    if not gang.is_started and not gang.text:
        return phase
    return "Pending" if code_of(gang.text) == "members-missing" else "Scheduling"


# ---- Kubernetes


def _native(obj: Object, gang: GangView, now: str) -> Status | None:
    """One condition, which never goes back once it is True. Kubernetes 1.36 called it PodGroupScheduled."""
    version = str(obj.get("apiVersion") or "").rpartition("/")[2]
    kind = "PodGroupScheduled" if version == "v1alpha2" else "PodGroupInitiallyScheduled"
    old = _conditions(obj).get(kind)
    if _says(old, status="True") or not (gang.is_started or gang.text):
        return None
    reason = "SchedulerError" if code_of(gang.text) == "invalid-object" else "Unschedulable"
    new = {"type": kind, "status": "False", "reason": reason, "message": gang.text}
    if gang.is_started:
        new |= {"status": "True", "reason": "Scheduled", "message": f"{gang.n_bound} members have nodes"}
    if _says(old, **new):
        return None
    seen = (obj.get("metadata") or {}).get("generation")
    return {"conditions": [_changed(old, now, **new) | ({"observedGeneration": seen} if seen else {})]}


# ---- KAI


def _kai(obj: Object, gang: GangView, now: str) -> Status | None:
    """One entry per node pool while the gang waits there, none when it has started. Numbers and resources are its
    controller's to say."""
    status: Mapping[str, Any] = obj.get("status") or {}
    entries = [dict(entry) for entry in status.get("schedulingConditions") or () if isinstance(entry, Mapping)]
    labels: Mapping[str, Any] = (obj.get("metadata") or {}).get("labels") or {}
    pool = str(labels.get(KAI_POOL_LABEL) or "default")
    others = [entry for entry in entries if (entry.get("type"), entry.get("nodePool")) != (KAI_WAITS, pool)]
    if gang.is_started:
        return {"schedulingConditions": others} if len(others) < len(entries) else None
    old = next((entry for entry in entries if entry not in others), None)
    if not gang.text or _says(old, status="True", message=gang.text):
        return None
    last = max(
        (int(n) for entry in entries if (n := str(entry.get("transitionID"))).isascii() and n.isdigit()), default=0
    )
    new = {
        "type": KAI_WAITS,
        "nodePool": pool,
        "status": "True",
        "reason": "Unschedulable",
        "message": gang.text,
        "reasons": [{"reason": "Unschedulable", "message": gang.text}],
        "transitionID": str(last + 1),
        "lastTransitionTime": now,
    }
    return {"schedulingConditions": [*others, new]}


_STATUS: Mapping[str, Callable[[Object, GangView, str], Status | None]] = {
    volcano_group.GROUP: _volcano,
    coscheduling.GROUP: _coscheduling,
    native.GROUP: _native,
    kai.GROUP: _kai,
}
