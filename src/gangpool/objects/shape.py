"""From a Pod to the shape of it: what one member asks for, in the core's words, equal for all pods of a template.

Called by intake for every pod. Equal templates give the identical Shape object, and cost one encoding of what the
shape depends on and one look-up. What the API server would refuse raises ObjectError with the path of the field.

A shape says nothing of the pod's own node; what volumes hold it to comes in as `more_selectors`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from gangpool.core.model import NodeSelector, Requirement, Shape, Toleration
from gangpool.objects.books import books_key, sorted_requests
from gangpool.objects.faults import ObjectError
from gangpool.objects.pod import Affinity, Container, NodeAffinity, Pod, TolerationSpec
from gangpool.objects.selectors import node_selector_of, node_term_of, node_terms_of
from gangpool.objects.terms import required_terms, soft_terms, spreads, weight_of

_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS: dict[str, Literal["Equal", "Exists"]] = {"": "Equal", "Equal": "Equal", "Exists": "Exists"}
_PORT_MAX = 65535
_ANY_ADDRESS = "0.0.0.0"  # noqa: S104 (the address of a host port that names none; nothing listens here)
_NODE_AFFINITY = "spec.affinity.nodeAffinity"
_AFFINITY = "spec.affinity.podAffinity"
_ANTI_AFFINITY = "spec.affinity.podAntiAffinity"

_CACHE_MAX = 30_000
"""Templates remembered, some 1.5 KB each."""
_by_template: dict[tuple[bytes, bool, tuple[NodeSelector, ...]], Shape] = {}
_interned: dict[Shape, Shape] = {}
_encode = msgspec.msgpack.Encoder().encode


def shape_of(pod: Pod, more_selectors: tuple[NodeSelector, ...] = ()) -> Shape:
    """The shape of a pod that may yet be placed. About 3 µs for a pod whose like was seen before."""
    return _remembered(pod, False, more_selectors)


def footprint_of(pod: Pod) -> Shape:
    """The shape of a pod that has its node: what it takes there and how it bears on others. What only chooses a node
    (selectors, tolerations, preferences for nodes, spread) is left out, so that the pods of a DaemonSet, each with
    an affinity to its own node, are one shape."""
    return _remembered(pod, True, ())


def _remembered(pod: Pod, placed: bool, more_selectors: tuple[NodeSelector, ...]) -> Shape:
    try:
        key = (_encode(_template_of(pod, placed)), placed, more_selectors)
    except OverflowError:  # a number beyond 64 bits is a mistake, told where its field is read
        return _shape(pod, placed, more_selectors)
    shape = _by_template.get(key)
    if shape is None:
        shape = _shape(pod, placed, more_selectors)
        if len(_by_template) >= _CACHE_MAX:
            _by_template.clear()
            _interned.clear()
        shape = _by_template[key] = _interned.setdefault(shape, shape)
    return shape


def _template_of(pod: Pod, placed: bool) -> tuple[object, ...]:
    """Everything that the shape depends on. Namespace and labels count only where a rule between pods uses them."""
    spec = pod.spec
    affinity, spread = spec.affinity, spec.topologySpreadConstraints
    owner: object = None
    if (spread and not placed) or (
        affinity is not None and (affinity.podAffinity is not None or affinity.podAntiAffinity is not None)
    ):
        owner = (pod.metadata.namespace, pod.metadata.labels)
    if placed:
        between = None if affinity is None else (affinity.podAffinity, affinity.podAntiAffinity)
        return (books_key(pod), spec.hostNetwork, between, owner)
    return (books_key(pod), spec.hostNetwork, spec.nodeSelector, affinity, spec.tolerations, spread, owner)


def _shape(pod: Pod, placed: bool, more_selectors: tuple[NodeSelector, ...]) -> Shape:
    affinity = pod.spec.affinity or Affinity()
    between = (
        *soft_terms(pod, affinity.podAffinity, _AFFINITY, 1),
        *soft_terms(pod, affinity.podAntiAffinity, _ANTI_AFFINITY, -1),
    )
    shape = Shape(
        requests=sorted_requests(pod),
        affinity=required_terms(pod, affinity.podAffinity, _AFFINITY),
        anti_affinity=required_terms(pod, affinity.podAntiAffinity, _ANTI_AFFINITY),
        soft_terms=between,
        host_ports=_host_ports(pod),
    )
    if placed:
        return shape
    return msgspec.structs.replace(
        shape,
        node_selectors=_node_selectors(pod, affinity.nodeAffinity),
        held_to=more_selectors,
        tolerations=_tolerations(pod.spec.tolerations or ()),
        preferred=_preferred(affinity.nodeAffinity),
        spread=spreads(pod),
    )


def _node_selectors(pod: Pod, affinity: NodeAffinity | None) -> tuple[NodeSelector, ...]:
    selectors = [node_selector_of(pod.spec.nodeSelector)]
    required = None if affinity is None else affinity.requiredDuringSchedulingIgnoredDuringExecution
    if required is not None:
        selectors.append(node_terms_of(required, f"{_NODE_AFFINITY}.requiredDuringSchedulingIgnoredDuringExecution"))
    return tuple(selector for selector in selectors if selector)


def _preferred(affinity: NodeAffinity | None) -> tuple[tuple[int, tuple[Requirement, ...]], ...]:
    """Preferences for nodes; one that asks nothing counts for nothing."""
    if affinity is None:
        return ()
    found = []
    for i, preference in enumerate(affinity.preferredDuringSchedulingIgnoredDuringExecution or ()):
        path = f"{_NODE_AFFINITY}.preferredDuringSchedulingIgnoredDuringExecution[{i}]"
        weight = weight_of(preference.weight, f"{path}.weight")
        term = () if preference.preference is None else node_term_of(preference.preference, f"{path}.preference")
        if term:
            found.append((weight, term))
    return tuple(found)


def _tolerations(specs: Iterable[TolerationSpec]) -> tuple[Toleration, ...]:
    """Sorted and single: their order means nothing."""
    found = {_toleration(spec, f"spec.tolerations[{i}]") for i, spec in enumerate(specs)}
    return tuple(sorted(found, key=lambda t: (t.key, t.operator, t.value, t.effect)))


def _toleration(spec: TolerationSpec, path: str) -> Toleration:
    operator = _OPERATORS.get(spec.operator)
    if operator is None:
        raise ObjectError(f"{path}.operator", f"{spec.operator!r} is neither Equal nor Exists")
    if spec.effect not in _EFFECTS:
        raise ObjectError(f"{path}.effect", f"{spec.effect!r} is none of {', '.join(_EFFECTS[1:])}")
    if not spec.key and operator != "Exists":
        raise ObjectError(f"{path}.operator", "must be Exists where no key is named")
    return Toleration(spec.key, operator, "" if operator == "Exists" else spec.value, spec.effect)


def _host_ports(pod: Pod) -> tuple[tuple[str, str, int], ...]:
    """Ports of the node that containers and sidecars hold; ordinary init containers are gone when it matters."""
    found: set[tuple[str, str, int]] = set()
    for i, container in enumerate(pod.spec.containers):
        found.update(_ports_of(container, pod.spec.hostNetwork, f"spec.containers[{i}]"))
    for i, container in enumerate(pod.spec.initContainers or ()):
        if container.restartPolicy == "Always":
            found.update(_ports_of(container, pod.spec.hostNetwork, f"spec.initContainers[{i}]"))
    return tuple(sorted(found))


def _ports_of(container: Container, host_network: bool, path: str) -> Iterable[tuple[str, str, int]]:
    """On the host's network every port of a container is one of the host's, as the API server fills it in."""
    for i, port in enumerate(container.ports or ()):
        number = port.hostPort or (port.containerPort if host_network else 0)
        if not 0 <= number <= _PORT_MAX:
            raise ObjectError(f"{path}.ports[{i}]", f"{number} is no port: ports end at {_PORT_MAX}")
        if number:
            yield (port.hostIP or _ANY_ADDRESS, port.protocol or "TCP", number)
