"""What a pod's claims say about nodes: where its volumes are, or why there is no place at all.

Called by `World` for pods that wait. Rules from the Kubernetes documentation: a bound claim ties the pod to its
volume's nodes; an unbound one waits for its first consumer (then its class's topologies count) or must be bound
before. A claim that does not exist yet is made and bound together with the pod. What the input says nothing about
counts as satisfied, with a doubt.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from msgspec import Struct

from gangpool.core.match import matches
from gangpool.core.model import NAME_FIELD, NodeSelector, Reason, Requirement
from gangpool.intake.storage import (
    CLAIM,
    CLASS,
    NO_PROVISIONER,
    VOLUME,
    WAIT_FOR_CONSUMER,
    Claim,
    StorageClass,
    Volume,
    claim_of,
    class_of,
    has_room,
    volume_of,
)
from gangpool.intake.store import Store
from gangpool.objects.pod import Pod
from gangpool.objects.selectors import node_terms_of, selector_of

KINDS = frozenset((CLAIM, VOLUME, CLASS))
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone")
_SEVERAL_ZONES = "__"
_FREE = ("", "Available")


class Volumes(Struct, frozen=True):
    """Selectors for the pod's shape, a reason that keeps it waiting, and what the input could not tell: (field of
    the pod, words)."""

    selectors: tuple[NodeSelector, ...] = ()
    blocked: Reason | None = None
    unchecked: tuple[tuple[str, str], ...] = ()


class Wanted(Struct, frozen=True):
    """A claim that a pod names. `template` is the spec of an ephemeral one, which comes with the pod."""

    name: str
    field: str
    template: Any = None
    is_ephemeral: bool = False


ANYWHERE = Volumes()


def has_claims(pod: Pod) -> bool:
    """Does anything here depend on its claims?"""
    return bool(pod.spec.volumes) and any(True for _ in _wanted(pod))


def volumes_of(pod: Pod, store: Store) -> Volumes:
    """What all claims of a pod say together; the first obstacle wins."""
    if not pod.spec.volumes:
        return ANYWHERE
    selectors: list[NodeSelector] = []
    unchecked: list[tuple[str, str]] = []
    for wanted in _wanted(pod):
        found = _of_claim(wanted, pod.metadata.namespace, store)
        if found.blocked is not None:
            return found
        selectors += found.selectors
        unchecked += found.unchecked
    return Volumes(tuple(dict.fromkeys(selectors)), None, tuple(dict.fromkeys(unchecked)))


def _wanted(pod: Pod) -> Iterator[Wanted]:
    for i, volume in enumerate(pod.spec.volumes or ()):
        path = f"spec.volumes[{i}]"
        if volume.persistentVolumeClaim is not None:
            yield Wanted(volume.persistentVolumeClaim.claimName, f"{path}.persistentVolumeClaim.claimName")
        elif volume.ephemeral is not None:
            template = volume.ephemeral.volumeClaimTemplate
            spec = None if template is None else template.spec
            yield Wanted(f"{pod.metadata.name}-{volume.name}", f"{path}.ephemeral", spec, is_ephemeral=True)


def _of_claim(wanted: Wanted, namespace: str, store: Store) -> Volumes:
    obj = store.get(*CLAIM, namespace, wanted.name)
    is_new = obj is not None and store.is_new(obj)
    if obj is None and wanted.is_ephemeral:
        metadata = {"namespace": namespace, "name": wanted.name}
        obj, is_new = {"metadata": metadata, "spec": wanted.template}, True
    if obj is None:
        if not store.any_of(*CLAIM):
            return _unchecked(wanted, f"the input has no PersistentVolumeClaims; {wanted.name} is taken as there")
        return _missing(f"persistentvolumeclaim {wanted.name} not found", "create the claim, or correct its name")
    claim = claim_of(obj)
    if claim.metadata.deletionTimestamp is not None:
        return _missing(f"persistentvolumeclaim {wanted.name} is being deleted", "create it anew")
    if claim.spec.volumeName:
        return _bound(claim, wanted, store)
    selected = (claim.metadata.annotations or {}).get(_SELECTED_NODE)
    if selected:
        return Volumes(selectors=(((Requirement(NAME_FIELD, "In", (selected,)),),),))
    return _unbound(claim, wanted, is_new, store)


def _unchecked(wanted: Wanted, text: str) -> Volumes:
    return Volumes(unchecked=((wanted.field, f"{text}, on any node"),))


def _missing(text: str, next_step: str) -> Volumes:
    return Volumes(blocked=Reason("claim-missing", text, next_step=next_step))


def _not_bound(text: str, next_step: str) -> Volumes:
    return Volumes(blocked=Reason("claim-unbound", text, next_step=next_step))


def _bound(claim: Claim, wanted: Wanted, store: Store) -> Volumes:
    name = claim.spec.volumeName
    found = store.get(*VOLUME, "", name)
    if found is not None:
        return Volumes(selectors=selectors_of(volume_of(found)))
    if not store.any_of(*VOLUME):
        return _unchecked(wanted, "the input has no PersistentVolumes; those of bound claims are taken as there")
    return _missing(f"volume {name} of persistentvolumeclaim {wanted.name} not found", "restore the volume")


def selectors_of(volume: Volume) -> tuple[NodeSelector, ...]:
    """Nodes from which a volume can be reached: its node affinity and its zone labels, all of which must hold."""
    found: list[NodeSelector] = []
    affinity = volume.spec.nodeAffinity
    if affinity is not None and affinity.required is not None:
        found.append(node_terms_of(affinity.required, "spec.nodeAffinity.required"))
    labels = volume.metadata.labels or {}
    zones = ((key, labels[key].split(_SEVERAL_ZONES)) for key in _ZONES if labels.get(key))
    found += [((Requirement(key, "In", tuple(sorted(values))),),) for key, values in zones]
    return tuple(found)


def _unbound(claim: Claim, wanted: Wanted, is_new: bool, store: Store) -> Volumes:
    name = claim.class_name()
    if name != "" and not store.any_of(*CLASS):
        text = f"StorageClass {name}" if name else "a default StorageClass"
        return _unchecked(wanted, f"the input has no StorageClasses; {text} is taken as there")
    if name is None:
        name = _default_class(store)
    if not name:
        if is_new:
            return _made_before("", claim, wanted, store)
        return _not_bound(f"persistentvolumeclaim {wanted.name} is not bound and has no class", "bind it to a volume")
    obj = store.get(*CLASS, "", name)
    if obj is None:
        return _missing(f"storageclass {name} of persistentvolumeclaim {wanted.name} not found", "create the class")
    found = class_of(obj)
    if found.volumeBindingMode != WAIT_FOR_CONSUMER and not is_new:
        return _not_bound(f"persistentvolumeclaim {wanted.name} is not bound yet", "see the events of the claim")
    if found.provisioner == NO_PROVISIONER:
        return _made_before(name, claim, wanted, store)
    return Volumes(selectors=_allowed(found))


def _allowed(found: StorageClass) -> tuple[NodeSelector, ...]:
    """Where the class may make a volume: any of its topologies."""
    terms = (
        tuple(Requirement(e.key, "In", tuple(e.values)) for e in term.matchLabelExpressions)
        for term in found.allowedTopologies
    )
    allowed = tuple(term for term in terms if term)
    return (allowed,) if allowed else ()


def _default_class(store: Store) -> str:
    """The class of claims that name none, "" where there is no such class; of several the youngest, then the
    first by name."""
    classes = [found for obj in store.all_of(*CLASS) if (found := class_of(obj)).is_default()]
    classes.sort(key=lambda c: c.metadata.name)
    newest = max(classes, key=lambda c: c.metadata.creationTimestamp or "", default=None)
    return "" if newest is None else newest.metadata.name


def _made_before(name: str, claim: Claim, wanted: Wanted, store: Store) -> Volumes:
    """Volumes that nobody makes on demand, local ones above all: a node from which a free one can be reached. That
    several pods may want the same one is not looked at."""
    free = [volume for obj in store.all_of(*VOLUME) if _serves(volume := volume_of(obj), name, claim)]
    if not free:
        of_class = f"of storageclass {name}" if name else "without a class"
        text = f"no free volume {of_class} for persistentvolumeclaim {wanted.name}"
        return _not_bound(text, "add a volume that the claim can have")
    terms: dict[tuple[Requirement, ...], None] = {}
    for volume in free:
        selectors = selectors_of(volume)
        if not selectors:
            return ANYWHERE
        terms.update(dict.fromkeys(tuple(r for term in one for r in term) for one in product(*selectors)))
    return Volumes(selectors=(tuple(terms),))


def _serves(volume: Volume, name: str, claim: Claim) -> bool:
    """May this claim be bound to this volume?"""
    spec, reserved = volume.spec, volume.spec.claimRef
    if reserved is not None and (reserved.namespace, reserved.name) != (
        claim.metadata.namespace or "default",
        claim.metadata.name,
    ):
        return False
    chosen = () if claim.spec.selector is None else selector_of(claim.spec.selector)
    return (
        spec.storageClassName == name
        and volume.status.phase in _FREE
        and spec.volumeMode == claim.spec.volumeMode
        and set(claim.spec.accessModes) <= set(spec.accessModes)
        and has_room(volume, claim)
        and matches(chosen, volume.metadata.labels or {})
    )
