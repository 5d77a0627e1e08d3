"""The bodies of what the scheduler says on pods and in events: conditions and events, as the API wants them.

Called by `notices`. Pure: wall time comes as an argument, in seconds since the epoch.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import Struct

from gangpool.intake.said import cut, scheduled
from gangpool.kube.client import MERGE_PATCH, STRATEGIC_PATCH
from gangpool.objects.pod import Pod
from gangpool.workloads.base import Object

COMPONENT = "gangpool"
EVENT_MOST = 1024
"""Longest message of an event, in characters (the events API's own limit)."""
NAME_MOST = 230
"""Characters of a subject's name that go into an event's name, which may have 253."""


class Write(Struct, frozen=True):
    """One request. `what`: the kind of write, for metrics and for what an answer means."""

    what: Literal["condition", "status", "event"]
    method: Literal["PATCH", "POST"]
    path: str
    body: dict[str, Any]
    content_type: str = "application/json"


class Subject(Struct, frozen=True):
    """What an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


def stamp(wall: float) -> str:
    """An API time stamp.

    >>> stamp(0.5)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(int(wall), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---- the pod's condition


def condition(pod: Pod, text: str, wall: float) -> Write | None:
    """PodScheduled False with this text; None where the pod says so already, or waits no more. A pod behind gates
    keeps the reason that the API server gave it: autoscalers leave such pods alone."""
    if pod.spec.nodeName or pod.metadata.deletionTimestamp is not None:
        return None
    old = scheduled(pod)
    reason = "SchedulingGated" if pod.spec.schedulingGates else "Unschedulable"
    was_false = old is not None and old.status == "False"
    if old is not None and was_false and (old.reason, old.message) == (reason, text):
        return None
    new: dict[str, Any] = {"type": "PodScheduled", "status": "False", "reason": reason, "message": text}
    if not was_false:
        new["lastTransitionTime"] = stamp(wall)
    meta = pod.metadata
    path = f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}/status"
    body = {"metadata": {"uid": meta.uid}, "status": {"conditions": [new]}}  # another pod of this name: refused
    return Write("condition", "PATCH", path, body, STRATEGIC_PATCH)


# ---- events


class Happening(Struct, frozen=True):
    """An event before it is about anything. `fold`: happenings of the same fold are one object with a count."""

    type: Literal["Warning", "Normal"]
    reason: Literal["FailedScheduling", "Scheduled"]
    fold: str
    text: str


def pod_subject(pod: Pod) -> Subject:
    """A pod as an event's subject."""
    return Subject("v1", "Pod", pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def object_subject(obj: Object) -> Subject:
    """Any other namespaced object as an event's subject."""
    meta: Any = obj.get("metadata") or {}
    return Subject(
        str(obj.get("apiVersion") or ""),
        str(obj.get("kind") or ""),
        str(meta.get("namespace") or ""),
        str(meta.get("name") or ""),
        str(meta.get("uid") or ""),
    )


def event_name(subject: Subject, happening: Happening) -> str:
    """The same for the same subject and fold, also after a restart."""
    mark = f"{subject.kind}/{subject.uid or subject.name}/{happening.reason}/{happening.fold}"
    digest = hashlib.sha256(mark.encode()).hexdigest()[:10]
    return f"{subject.name[:NAME_MOST].rstrip('-.')}.{digest}"


def event(subject: Subject, happening: Happening, count: int | None, wall: float) -> Write:
    """A new event object (`count` 0), or one more time of one that is there (None: it is not known how often)."""
    name, now = event_name(subject, happening), stamp(wall)
    path = f"/api/v1/namespaces/{subject.namespace}/events"
    text = cut(happening.text, EVENT_MOST)
    if count != 0:
        again: dict[str, Any] = {"message": text, "lastTimestamp": now}
        if count is not None:
            again["count"] = count + 1
        return Write("event", "PATCH", f"{path}/{name}", again, MERGE_PATCH)
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": subject.namespace},
        "involvedObject": {
            "apiVersion": subject.api_version,
            "kind": subject.kind,
            "namespace": subject.namespace,
            "name": subject.name,
            "uid": subject.uid,
        },
        "type": happening.type,
        "reason": happening.reason,
        "message": text,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    return Write("event", "POST", path, body)
