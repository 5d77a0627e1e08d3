"""What a pod's claims say about nodes: where its volumes are, or why there is no place at all.

Called by `World` for pods that wait. Rules from the Kubernetes documentation: a bound claim ties the pod to its
volume's nodes; an unbound one waits for the first consumer (then its class's topologies count) or must be bound
first. What the input says nothing about counts as satisfied, with a doubt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from gangpool.core.model import HOSTNAME, NodeSelector, Reason, Requirement
from gangpool.intake.store import Object, Store
from gangpool.objects.faults import ObjectError
from gangpool.objects.pod import Pod
from gangpool.workloads import fields
from gangpool.workloads.base import WorkloadError

CLAIM = ("", "PersistentVolumeClaim")
VOLUME = ("", "PersistentVolume")
CLASS = ("storage.k8s.io", "StorageClass")
KINDS = frozenset((CLAIM, VOLUME, CLASS))
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone")
NO_PROVISIONER = "kubernetes.io/no-provisioner"


class Volumes(Struct, frozen=True):
    """Selectors for the pod's shape, a reason that keeps it waiting, and kinds that the input lacks."""

    selectors: tuple[NodeSelector, ...] = ()
    blocked: Reason | None = None
    unknown: tuple[str, ...] = ()


NOTHING = Volumes()


def has_claims(pod: Pod) -> bool:
    """Does anything here depend on its claims?"""
    return bool(pod.spec.volumes) and any(True for _ in _claim_names(pod))


def volumes_of(pod: Pod, store: Store) -> Volumes:
    """What all claims of a pod say together; the first obstacle wins."""
    if not pod.spec.volumes:
        return NOTHING
    selectors: list[NodeSelector] = []
    unknown: list[str] = []
    for name, is_ephemeral in _claim_names(pod):
        found = _of_claim(name, is_ephemeral, pod.metadata.namespace, store)
        if found.blocked is not None:
            return found
        selectors += found.selectors
        unknown += found.unknown
    return Volumes(tuple(dict.fromkeys(selectors)), None, tuple(dict.fromkeys(unknown)))


def _claim_names(pod: Pod) -> Iterator[tuple[str, bool]]:
    for volume in pod.spec.volumes or ():
        if volume.persistentVolumeClaim is not None:
            yield volume.persistentVolumeClaim.claimName, False
        elif volume.ephemeral is not None:
            yield f"{pod.metadata.name}-{volume.name}", True


def _of_claim(name: str, is_ephemeral: bool, namespace: str, store: Store) -> Volumes:
    claim = store.get(*CLAIM, namespace, name)
    if claim is None:
        if is_ephemeral:
            return NOTHING  # its controller makes it with the pod
        if not store.any_of(*CLAIM):
            return Volumes(unknown=("PersistentVolumeClaim",))
        return _missing(f"persistentvolumeclaim {name} not found", "create the claim, or correct its name")
    if fields.text(claim, "metadata.deletionTimestamp"):
        return _missing(f"persistentvolumeclaim {name} is being deleted", "create it anew")
    volume = fields.text(claim, "spec.volumeName")
    if volume:
        return _of_volume(volume, name, store)
    return _unbound(claim, name, store)


def _missing(text: str, next_step: str) -> Volumes:
    return Volumes(blocked=Reason("claim-missing", text, next_step=next_step))


def _unbound_yet(text: str, next_step: str) -> Volumes:
    return Volumes(blocked=Reason("claim-unbound", text, next_step=next_step))


def _of_volume(volume: str, claim: str, store: Store) -> Volumes:
    found = store.get(*VOLUME, "", volume)
    if found is None:
        if not store.any_of(*VOLUME):
            return Volumes(unknown=("PersistentVolume",))
        return _missing(f"volume {volume} of persistentvolumeclaim {claim} not found", "restore the volume")
    return Volumes(selectors=node_selectors_of(found))


def node_selectors_of(volume: Object) -> tuple[NodeSelector, ...]:
    """Nodes from which a PersistentVolume can be reached: its node affinity and its zone labels."""
    found: list[NodeSelector] = []
    terms = fields.items(volume, "spec.nodeAffinity.required.nodeSelectorTerms")
    if terms:
        found.append(tuple(_term(term, path) for path, term in terms))
    labels = fields.texts(volume, "metadata.labels")
    found += [((Requirement(key, "In", tuple(labels[key].split("__"))),),) for key in ZONES if labels.get(key)]
    return tuple(found)


def _term(term: Mapping[str, Any], path: str) -> tuple[Requirement, ...]:
    """One nodeSelectorTerm of a volume."""
    requirements = []
    for where, entry in fields.items(term, "matchExpressions", path):
        operator = fields.text(entry, "operator", where)
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"):
            raise ObjectError(f"{where}.operator", f"{operator!r} is no operator")
        values = entry.get("values") or ()
        if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
            raise ObjectError(f"{where}.values", "must be a list of texts")
        requirements.append(Requirement(fields.text(entry, "key", where), operator, tuple(values)))  # type: ignore[arg-type]
    return tuple(requirements)


def _unbound(claim: Object, name: str, store: Store) -> Volumes:
    selected = fields.texts(claim, "metadata.annotations").get(SELECTED_NODE)
    if selected:
        return Volumes(selectors=(((Requirement(HOSTNAME, "In", (selected,)),),),))
    wanted = _class_name(claim, store)
    if not store.any_of(*CLASS):
        return Volumes(unknown=("StorageClass",))
    if not wanted:
        return _unbound_yet(f"persistentvolumeclaim {name} is not bound and has no class", "bind it to a volume")
    storage = store.get(*CLASS, "", wanted)
    if storage is None:
        return _missing(f"storageclass {wanted} of persistentvolumeclaim {name} not found", "create the class")
    if fields.text(storage, "volumeBindingMode") != "WaitForFirstConsumer":
        return _unbound_yet(f"persistentvolumeclaim {name} is not bound yet", "see the events of the claim")
    if fields.text(storage, "provisioner") == NO_PROVISIONER:
        return _local(wanted, name, store)
    allowed = []
    for path, entry in fields.items(storage, "allowedTopologies"):
        expressions = fields.items(entry, "matchLabelExpressions", path)
        allowed.append(tuple(Requirement(fields.text(e, "key", p), "In", _values(e, p)) for p, e in expressions))
    return Volumes(selectors=(tuple(allowed),) if allowed else ())


def _values(entry: Object, path: str) -> tuple[str, ...]:
    values = entry.get("values") or ()
    if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
        raise WorkloadError(f"{path}.values", "must be a list of texts")
    return tuple(values)


def _class_name(claim: Object, store: Store) -> str:
    """The class that a claim names, else the default one; "" asks for none."""
    spec = claim.get("spec")
    if isinstance(spec, Mapping) and isinstance(spec.get("storageClassName"), str):
        return str(spec["storageClassName"])
    named = fields.texts(claim, "metadata.annotations").get(OLD_CLASS)
    if named:
        return named
    for storage in store.all_of(*CLASS):
        if fields.texts(storage, "metadata.annotations").get(DEFAULT_CLASS) == "true":
            return fields.text(storage, "metadata.name")
    return ""


def _local(wanted: str, name: str, store: Store) -> Volumes:
    """Local volumes made beforehand: a node that one of the free ones is on."""
    terms: list[tuple[Requirement, ...]] = []
    for volume in store.all_of(*VOLUME):
        if fields.text(volume, "spec.storageClassName") != wanted or fields.find(volume, "spec.claimRef") is not None:
            continue
        selectors = node_selectors_of(volume)
        if not selectors:
            return NOTHING
        terms += selectors[0]
    if not terms:
        text = f"no free volume of storageclass {wanted} for persistentvolumeclaim {name}"
        return _unbound_yet(text, "add local volumes of this class")
    return Volumes(selectors=(tuple(dict.fromkeys(terms)),))
