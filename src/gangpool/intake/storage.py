"""Claims, volumes and storage classes as typed structs: only the fields that decide where a pod may run.

Read by `volumes`; `context` reads each once when it comes, so that a mistake is told under the object's own name.
"""

# ruff: noqa: D101 (these structs are Kubernetes' own, documented there)

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from gangpool.intake.store import Object
from gangpool.objects.faults import ObjectError
from gangpool.objects.pod import LabelSelector, Metadata, NodeSelectorTerms, Quantities
from gangpool.objects.quantity import QuantityError, parse
from gangpool.objects.selectors import node_terms_of, selector_of
from gangpool.objects.typed import without_nulls, wrong_type

CLAIM = ("", "PersistentVolumeClaim")
VOLUME = ("", "PersistentVolume")
CLASS = ("storage.k8s.io", "StorageClass")

WAIT_FOR_CONSUMER = "WaitForFirstConsumer"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
STORAGE = "storage"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"

Kind = TypeVar("Kind", bound=Struct)


class Asked(Struct, gc=False):
    requests: Quantities | None = None


class ClaimSpec(Struct, gc=False):
    volumeName: str = ""
    storageClassName: str | None = None
    accessModes: list[str] = []
    volumeMode: str = "Filesystem"
    resources: Asked = field(default_factory=Asked)
    selector: LabelSelector | None = None


class Claim(Struct, gc=False):
    metadata: Metadata = field(default_factory=Metadata)
    spec: ClaimSpec = field(default_factory=ClaimSpec)

    def class_name(self) -> str | None:
        """The class that it names; "" asks for a volume without one; None leaves it to the default class."""
        if self.spec.storageClassName is not None:
            return self.spec.storageClassName
        return (self.metadata.annotations or {}).get(_OLD_CLASS)


class VolumeAffinity(Struct, gc=False):
    required: NodeSelectorTerms | None = None


class ClaimRef(Struct, gc=False):
    namespace: str = ""
    name: str = ""


class VolumeSpec(Struct, gc=False):
    nodeAffinity: VolumeAffinity | None = None
    storageClassName: str = ""
    claimRef: ClaimRef | None = None
    capacity: Quantities | None = None
    accessModes: list[str] = []
    volumeMode: str = "Filesystem"


class VolumeStatus(Struct, gc=False):
    phase: str = ""


class Volume(Struct, gc=False):
    metadata: Metadata = field(default_factory=Metadata)
    spec: VolumeSpec = field(default_factory=VolumeSpec)
    status: VolumeStatus = field(default_factory=VolumeStatus)


class LabelExpression(Struct, gc=False):
    key: str = ""
    values: list[str] = []


class TopologyTerm(Struct, gc=False):
    matchLabelExpressions: list[LabelExpression] = []


class StorageClass(Struct, gc=False):
    metadata: Metadata = field(default_factory=Metadata)
    provisioner: str = ""
    volumeBindingMode: str = "Immediate"
    allowedTopologies: list[TopologyTerm] = []

    def is_default(self) -> bool:
        """Is it the class of claims that name none?"""
        return (self.metadata.annotations or {}).get(_DEFAULT_CLASS) == "true"


def claim_of(obj: Object) -> Claim:
    """Raises ObjectError, as the others do."""
    claim = _read(obj, Claim)
    selector_of(claim.spec.selector, "spec.selector")
    _storage(claim.spec.resources.requests, "spec.resources.requests")
    return claim


def volume_of(obj: Object) -> Volume:
    """A PersistentVolume."""
    volume = _read(obj, Volume)
    affinity = volume.spec.nodeAffinity
    if affinity is not None and affinity.required is not None:
        node_terms_of(affinity.required, "spec.nodeAffinity.required")
    _storage(volume.spec.capacity, "spec.capacity")
    return volume


def class_of(obj: Object) -> StorageClass:
    """A StorageClass."""
    return _read(obj, StorageClass)


def has_room(volume: Volume, claim: Claim) -> bool:
    """Is the volume as large as the claim asks?"""
    return _storage(volume.spec.capacity, "") >= _storage(claim.spec.resources.requests, "")


def _storage(amounts: Quantities | None, path: str) -> Fraction:
    written = (amounts or {}).get(STORAGE, 0)
    try:
        return parse(written)
    except QuantityError as error:
        raise ObjectError(f"{path}[{STORAGE}]", str(error)) from None


def _read(obj: Mapping[str, Any], kind: type[Kind]) -> Kind:
    try:
        return msgspec.convert(without_nulls(obj), kind)
    except msgspec.ValidationError as error:
        raise wrong_type(error) from None
