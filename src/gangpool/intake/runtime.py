"""RuntimeClasses: what admission adds to the pods that name one. Called by the dry run, whose pods no API server has
seen, and by `World`, since no pod of a class that is not there is let in.
"""

# ruff: noqa: D101 (these structs are Kubernetes' own, documented there)

from __future__ import annotations

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gangpool.core.model import Reason
from gangpool.intake.store import Object, Store
from gangpool.objects.books import amount_of
from gangpool.objects.faults import ObjectError
from gangpool.objects.pod import PodSpec, Quantities, TolerationSpec
from gangpool.objects.quantity import QuantityError
from gangpool.objects.typed import without_nulls, wrong_type

CLASS = ("node.k8s.io", "RuntimeClass")


class Overhead(Struct, gc=False):
    podFixed: Quantities | None = None


class Scheduling(Struct, gc=False):
    nodeSelector: dict[str, str] | None = None
    tolerations: list[TolerationSpec] | None = None


class RuntimeClass(Struct, gc=False):
    """Only what bears on where a pod goes."""

    overhead: Overhead = field(default_factory=Overhead)
    scheduling: Scheduling = field(default_factory=Scheduling)


def read(obj: Object) -> RuntimeClass:
    """A RuntimeClass. Raises ObjectError."""
    try:
        found = msgspec.convert(without_nulls(obj), RuntimeClass)
    except msgspec.ValidationError as error:
        raise wrong_type(error) from None
    for resource, quantity in (found.overhead.podFixed or {}).items():
        try:
            amount_of(resource, quantity)
        except QuantityError as error:
            raise ObjectError(f"overhead.podFixed[{resource}]", str(error)) from None
    return found


def admitted(spec: PodSpec, store: Store) -> PodSpec:
    """The spec with overhead, node selector and tolerations of its RuntimeClass."""
    obj = store.get(*CLASS, "", spec.runtimeClassName) if spec.runtimeClassName else None
    if obj is None:
        return spec
    found = read(obj)
    return replace(
        spec,
        overhead=spec.overhead or found.overhead.podFixed,
        nodeSelector={**(spec.nodeSelector or {}), **(found.scheduling.nodeSelector or {})},
        tolerations=[*(spec.tolerations or ()), *(found.scheduling.tolerations or ())],
    )


def why_missing(name: str | None, store: Store) -> Reason | None:
    """The reason of who names a RuntimeClass that is not there, though the input has others."""
    if not name or not store.any_of(*CLASS) or store.get(*CLASS, "", name) is not None:
        return None
    return Reason("object-missing", f"runtimeclass {name} not found", next_step="create it, or correct the name")
