"""The head of an object: who it is, and what it says about queue and priority beside its spec.

Called by every dialect first. Names, namespace, labels and annotations are read once, strictly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from gangpool.workloads import fields
from gangpool.workloads.base import Finding, Object, WorkloadError
from gangpool.workloads.findings import INVALID_OBJECT

LABEL_LENGTH = 63
"""Longest label value, DNS label and host name; most controllers write the object's name into all three."""

NAME_LENGTH = 253
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")

QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
QUEUE_LABELS = ("volcano.sh/queue-name", "kai.scheduler/queue", "kueue.x-k8s.io/queue-name")
"""In this order: the queue of the scheduler before Kueue's, which only admits."""


class Subject(Struct, frozen=True):
    """One object. `group` is the API group without version ("" for the core)."""

    group: str
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    annotations: dict[str, str]

    @property
    def key(self) -> str:
        """The key of the gang that is named after the object."""
        return f"{self.namespace}/{self.name}"

    def finding(self, field: str, code: str, message: str) -> Finding:
        """A finding about this object."""
        return Finding(object=f"{self.kind}/{self.namespace}/{self.name}", field=field, code=code, message=message)

    def invalid(self, field: str, message: str) -> Finding:
        """The finding of a contradiction; `gang_error` gives the same as text."""
        return self.finding(field, INVALID_OBJECT, message)

    def queue(self, written: str = "") -> str:
        """The queue: what the spec says, else annotation, else labels."""
        labelled = (self.labels.get(key, "") for key in QUEUE_LABELS)
        return written or self.annotations.get(QUEUE_ANNOTATION, "") or next(filter(None, labelled), "")

    def controls(self) -> list[dict[str, Any]]:
        """The ownerReferences of what this object's controller makes."""
        return [owner(self.api_version, self.kind, self.name, self.uid)]


def read(obj: Object) -> Subject:
    """The head of a decoded object. A name from `generateName` gets the suffix 0."""
    if not isinstance(obj, Mapping):
        raise WorkloadError("", "must be an object")
    api_version, kind = fields.text(obj, "apiVersion"), fields.text(obj, "kind")
    generated = fields.text(obj, "metadata.generateName")
    name = fields.text(obj, "metadata.name") or (f"{generated}0" if generated else "")
    if not name:
        raise WorkloadError("metadata.name", "is missing")
    if len(name) > NAME_LENGTH:
        raise WorkloadError("metadata.name", f"has {len(name)} characters, {NAME_LENGTH} are allowed")
    return Subject(
        group=api_version.partition("/")[0] if "/" in api_version else "",
        api_version=api_version,
        kind=kind,
        namespace=fields.text(obj, "metadata.namespace") or "default",
        name=name,
        uid=fields.text(obj, "metadata.uid"),
        labels=fields.texts(obj, "metadata.labels"),
        annotations=fields.texts(obj, "metadata.annotations"),
    )


def twice(head: Subject, names: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """A contradiction for each (field path, name) that an earlier one has already: pods of both would share names."""
    seen = set()
    for field, name in names:
        if name in seen:
            yield head.invalid(field, f"the name {name!r} is taken already")
        seen.add(name)


def owner(api_version: str, kind: str, name: str, uid: str = "") -> dict[str, Any]:
    """One controlling owner reference."""
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}


def is_label(name: str) -> bool:
    """May this be a DNS label (and so part of a pod's name)?"""
    return len(name) <= LABEL_LENGTH and _LABEL.fullmatch(name) is not None


def gang_error(findings: list[Finding]) -> str:
    """`GangOf.error`: the first contradiction as `FIELD: message`, "" when there is none."""
    return next((f"{f.field}: {f.message}" for f in findings if f.code == INVALID_OBJECT), "")
