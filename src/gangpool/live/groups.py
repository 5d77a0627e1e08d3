"""What a gang's own object says of it: status of the PodGroups of Volcano, scheduler-plugins and Kubernetes.

Called by `notices`. Pure; each patch changes only what this scheduler is to say there, and there is none where the
object says so already. Where the project's own controller runs too, it writes the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from gangpool.intake.said import code_of
from gangpool.kube.client import MERGE_PATCH, STRATEGIC_PATCH
from gangpool.live.writes import Write, stamp
from gangpool.workloads import coscheduling, native, volcano_group
from gangpool.workloads.base import Object

Status = dict[str, Any]

NOT_LET_IN = frozenset({"invalid-object", "level-unknown", "object-missing", "queue-closed", "suspended"})
"""Codes of gangs that no room would help: Volcano calls them Pending. Others are Inqueue, and Volcano's controller
makes their pods."""


class GangView(Struct, frozen=True):
    """How a gang stands. `is_started`: its minimum has nodes. `text`: what its waiting members say."""

    is_started: bool
    n_bound: int
    text: str


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


# ---- Volcano


def _volcano(obj: Object, gang: GangView, now: str) -> Status | None:
    """A merge patch replaces the whole list of conditions, so those of others are sent back as they were."""
    phase = str((obj.get("status") or {}).get("phase") or "")
    conditions = _conditions(obj)
    is_new = _volcano_conditions(conditions, gang, now)
    code = code_of(gang.text)
    wanted = "Running" if gang.is_started else "Pending" if code in NOT_LET_IN else "Inqueue"
    if phase == "Completed" or (not is_new and phase == wanted):
        return None
    return {"phase": wanted, **({"conditions": list(conditions.values())} if is_new else {})}


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
    """It has a phase and no words: Pending until the minimum exists, Scheduling until it has nodes."""
    phase = str((obj.get("status") or {}).get("phase") or "")
    wanted = "Running" if gang.is_started else "Pending" if code_of(gang.text) == "members-missing" else "Scheduling"
    return None if phase in (wanted, "Finished", "Failed") else {"phase": wanted}


# ---- Kubernetes


def _native(obj: Object, gang: GangView, now: str) -> Status | None:
    """One condition, which never goes back once it is True. Kubernetes 1.36 called it PodGroupScheduled."""
    version = str(obj.get("apiVersion") or "").rpartition("/")[2]
    kind = "PodGroupScheduled" if version == "v1alpha2" else "PodGroupInitiallyScheduled"
    old = _conditions(obj).get(kind)
    if _says(old, status="True"):
        return None
    new = {"type": kind, "status": "False", "reason": "Unschedulable", "message": gang.text}
    if gang.is_started:
        new |= {"status": "True", "reason": "Scheduled", "message": f"{gang.n_bound} members have nodes"}
    return None if _says(old, **new) else {"conditions": [_changed(old, now, **new)]}


_STATUS: Mapping[str, Callable[[Object, GangView, str], Status | None]] = {
    volcano_group.GROUP: _volcano,
    coscheduling.GROUP: _coscheduling,
    native.GROUP: _native,
}
