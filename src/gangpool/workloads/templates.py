"""Pod templates, and how a controller's pods are made from them.

A dialect reads an object into a `Reading`: gangs, findings and sets of equal pods, none of them made yet. `expand`
makes the pods. Live code that only asks for the gangs never makes any. All pods of a template share its spec, which
nobody may change: a set of 12,800 pods costs 12,800 small metadata objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from gangpool.objects.pod import Metadata, Pod, PodSpec
from gangpool.workloads import fields
from gangpool.workloads.base import Expansion, Finding, GangOf, Object, PodSpecOf, WorkloadError

Labels = Mapping[str, str]
NONE: Labels = {}


class Template(Struct, frozen=True):
    """A pod template: its field path, its metadata, its spec as written and as decoded."""

    path: str
    labels: dict[str, str]
    annotations: dict[str, str]
    spec: dict[str, Any]
    typed: PodSpec

    def pod(self, namespace: str) -> Pod:
        """A pod with nothing but what the template says."""
        metadata = Metadata(namespace=namespace, labels=self.labels, annotations=self.annotations)
        return Pod(metadata=metadata, spec=self.typed)

    def cards(self) -> int:
        """Whole cards that one pod asks for, as far as they are written as plain numbers."""
        amounts = [c.resources.limits for c in self.typed.containers if c.resources and c.resources.limits]
        return sum(fields.whole(str(a.get("nvidia.com/gpu", 0))) or 0 for a in amounts)


def read(obj: Object, path: str, base: str = "") -> Template:
    """The template at a path; WorkloadError when it is missing or its spec is not a pod spec."""
    where = fields.join(base, path)
    if not isinstance(fields.find(obj, path, base), Mapping):
        raise WorkloadError(where, "a pod template is missing")
    template = fields.mapping(obj, path, base)
    if not isinstance(template.get("spec"), Mapping):
        raise WorkloadError(f"{where}.spec", "a pod spec is missing")
    spec = {k: v for k, v in fields.mapping(template, "spec", where).items() if v is not None}
    labels = fields.texts(template, "metadata.labels", where)
    annotations = fields.texts(template, "metadata.annotations", where)
    return Template(where, labels, annotations, spec, decode(spec, f"{where}.spec"))


def decode(spec: Mapping[str, Any], where: str) -> PodSpec:
    """A pod spec as structs. The decoder's own path (`$.containers[0].name`) becomes a field path."""
    try:
        return msgspec.convert(spec, PodSpec)
    except msgspec.ValidationError as problem:
        message, _, path = str(problem).partition(" - at `$")
        raise WorkloadError(f"{where}{path.removesuffix('`')}", message.replace("`", "'")) from None


def with_scheduler(template: Template, scheduler: str) -> Template:
    """The template with the object's schedulerName, unless it has its own."""
    if not scheduler or template.spec.get("schedulerName"):
        return template
    return with_spec(template, {"schedulerName": scheduler})


def with_spec(template: Template, changes: Mapping[str, Any]) -> Template:
    """The template with some fields of its spec replaced."""
    spec = {**template.spec, **changes}
    return msgspec.structs.replace(template, spec=spec, typed=decode(spec, f"{template.path}.spec"))


class Stamp(Struct, frozen=True):
    """What one pod of a set has for itself. `spec` None: the template's."""

    name: str
    labels: Labels = NONE
    annotations: Labels = NONE
    spec: dict[str, Any] | None = None


class PodSet(Struct, frozen=True):
    """Equal pods. `gang` "": one by one. Labels and annotations are what the controller adds to the template's,
    `owners` the ownerReferences. `stamp(i)` names pod i of `count`; its rank is `first_rank + i`."""

    gang: str
    role: str
    template: Template
    owners: list[dict[str, Any]]
    count: int
    stamp: Callable[[int], Stamp]
    labels: Labels = NONE
    annotations: Labels = NONE
    first_rank: int = 0


class Reading(Struct, frozen=True):
    """What an object brings, with its pods not yet made. `sets` and `claims` may be generators, so that who asks for
    the gangs only pays nothing for thousands of pods; they are read once."""

    namespace: str = "default"
    gangs: tuple[GangOf, ...] = ()
    sets: Iterable[PodSet] = ()
    findings: tuple[Finding, ...] = ()
    claims: Iterable[dict[str, Any]] = ()


def expand(reading: Reading) -> Expansion:
    """Make the pods."""
    sets = tuple(reading.sets)
    total = sum(s.count for s in sets)
    if total > fields.MAX_PODS:
        raise WorkloadError("spec", f"asks for {total} pods, at most {fields.MAX_PODS} are expanded")
    members = tuple(member for s in sets for member in _members(s, reading.namespace))
    return Expansion(reading.gangs, members, reading.findings, tuple(reading.claims))


def _members(pods: PodSet, namespace: str) -> list[tuple[str, PodSpecOf]]:
    template = pods.template
    labels, annotations = {**template.labels, **pods.labels}, {**template.annotations, **pods.annotations}
    members = []
    for i in range(pods.count):
        stamp = pods.stamp(i)
        metadata = {
            "name": stamp.name,
            "namespace": namespace,
            "labels": {**labels, **stamp.labels},
            "annotations": {**annotations, **stamp.annotations},
            "ownerReferences": pods.owners,
        }
        spec = template.spec if stamp.spec is None else stamp.spec
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        members.append((pods.gang, PodSpecOf(pod, pods.role, pods.first_rank + i, template.path)))
    return members
