"""Kubernetes Nodes as typed structs, and the facts that the ledger keeps of one.

Field names are those of the API. Called by intake for every node of a pool. `facts` promises: whatever a node says,
the rest of it counts; what could not be used is told, never raised (only a node without a name is an error).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct, field

from gangpool.core.model import CARD, PODS, Effect, NodeFacts, Taint
from gangpool.objects.books import is_measured
from gangpool.objects.devices import ANNOTATION, Devices, read_devices
from gangpool.objects.faults import Doubt, ObjectError
from gangpool.objects.pod import Condition, Metadata, Quantities
from gangpool.objects.quantity import AMOUNT_MAX, QuantityError, parse, to_milli, to_units

MIG_STATE_LABEL = "nvidia.com/mig.config.state"
MIG_STATE_DONE = "success"
CARDS_MAX = 1024
"""Cards are bits of a mask; no machine has a tenth of this."""
_CARD_RESOURCES = ("nvidia.com/", "aliyun.com/gpu-", "volcano.sh/vgpu-")
"""Beginnings of the names of resources that are cards or slices of them."""

_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_EFFECTS: dict[str, Effect] = {
    "NoSchedule": "NoSchedule",
    "PreferNoSchedule": "PreferNoSchedule",
    "NoExecute": "NoExecute",
}


class TaintSpec(Struct, gc=False):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Struct, gc=False):
    unschedulable: bool = False
    taints: list[TaintSpec] | None = None


class NodeStatus(Struct, gc=False):
    allocatable: Quantities | None = None
    capacity: Quantities | None = None
    conditions: list[Condition] | None = None


class Node(Struct, gc=False):
    metadata: Metadata = field(default_factory=Metadata)
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)


def facts(node: Node) -> tuple[NodeFacts, tuple[Doubt, ...]]:
    """The node in the core's words, and what of it could not be used.

    - Allocatable in the ledger's units; where it is absent, capacity, as the API server fills it in. A resource that
      is absent is 0, `pods` too: kube-scheduler puts no pod on such a node.
    - Taints, with those for cordon and Ready False or Unknown added where nobody has written them. A node without a
      Ready condition counts as ready: a dump written by hand has none.
    - Cards and ports as the annotation says. `nvidia.com/gpu` is at most the number of cards that can be handed out
      whole. While MIG is being reconfigured all card resources are 0 and `notes` says why.
    """
    name = node.metadata.name
    if not name:
        raise ObjectError("metadata.name", "is missing")
    doubts: list[Doubt] = []
    labels = node.metadata.labels or {}
    allocatable = _allocatable(node.status, doubts)
    devices, doubt = read_devices((node.metadata.annotations or {}).get(ANNOTATION))
    if doubt:
        doubts.append(Doubt(f"metadata.annotations[{ANNOTATION}]", doubt))
    notes = (*_limit_cards(allocatable, devices), *_limit_while_cut(allocatable, labels))
    return (
        NodeFacts(
            name=name,
            allocatable=allocatable,
            labels=labels,
            taints=tuple(dict.fromkeys((*_written_taints(node.spec, doubts), *_implied_taints(node)))),
            cards=devices.cards,
            ports=devices.ports,
            nvswitch=devices.nvswitch,
            notes=notes,
        ),
        tuple(doubts),
    )


def _allocatable(status: NodeStatus, doubts: list[Doubt]) -> dict[str, int]:
    amounts: dict[str, int] = {}
    name = "capacity" if status.allocatable is None else "allocatable"
    quantities = status.capacity if status.allocatable is None else status.allocatable
    for resource, quantity in (quantities or {}).items():
        amount, why = _amount_of(resource, quantity)
        if why:
            doubts.append(Doubt(f"status.{name}[{resource}]", why))
        if amount is not None:
            amounts[resource] = amount
    if not amounts.get(PODS):
        doubts.append(Doubt(f"status.{name}[{PODS}]", "is absent or 0: no pod can be placed on this node"))
    return amounts


def amounts_of(quantities: Quantities) -> dict[str, int]:
    """Quantities in the ledger's units, without those that are none."""
    found = ((resource, _amount_of(resource, quantity)[0]) for resource, quantity in quantities.items())
    return {resource: amount for resource, amount in found if amount is not None}


@lru_cache(maxsize=65536, typed=True)
def _amount_of(resource: str, quantity: str | int | float) -> tuple[int | None, str]:
    """A quantity as written in the ledger's units, None where it is none, and what is wrong with it. Remembered: nodes
    of one kind have the same ones."""
    try:
        value = parse(quantity)
    except QuantityError as error:
        return None, f"{error}; counted as 0"
    amount, why = _amount(resource, value)
    return amount, f"{str(quantity)!r} {why}" if why else ""


def _amount(resource: str, value: Fraction) -> tuple[int, str]:
    """A node's amount in the ledger's units, and what is wrong with it. Parts of a thing are no thing."""
    if value < 0:
        return 0, "is negative; counted as 0"
    most = CARDS_MAX if resource == CARD else AMOUNT_MAX
    if value.denominator != 1 and not is_measured(resource):
        whole = min(value.numerator // value.denominator, most)
        return whole, f"is not whole; counted as {whole}"
    amount = to_milli(value) if resource == "cpu" else to_units(value)
    if amount > most:
        return most, f"is more than the ledger counts; counted as {most}"
    return amount, ""


def _limit_cards(allocatable: dict[str, int], devices: Devices) -> Iterator[str]:
    """Cards that are unwell or cut into slices can't be handed out whole."""
    if devices.n_whole is not None and allocatable.get(CARD, 0) > devices.n_whole:
        yield f"{devices.n_whole} of {allocatable[CARD]} cards can be handed out whole"
        allocatable[CARD] = devices.n_whole


def _limit_while_cut(allocatable: dict[str, int], labels: dict[str, str]) -> Iterator[str]:
    """While the MIG layout changes, the numbers of cards and slices are not to be relied on: nothing new."""
    state = labels.get(MIG_STATE_LABEL, MIG_STATE_DONE)
    if state != MIG_STATE_DONE:
        yield f"label {MIG_STATE_LABEL}={state}"
        for resource in allocatable:
            if resource.startswith(_CARD_RESOURCES):
                allocatable[resource] = 0


def _written_taints(spec: NodeSpec, doubts: list[Doubt]) -> Iterator[Taint]:
    for i, taint in enumerate(spec.taints or ()):
        effect = _EFFECTS.get(taint.effect)
        if effect is None:
            doubts.append(Doubt(f"spec.taints[{i}].effect", f"{taint.effect!r} is no effect of a taint; left out"))
        else:
            yield Taint(taint.key, taint.value, effect)


def _implied_taints(node: Node) -> Iterator[Taint]:
    """Taints that Kubernetes writes for what the node says of itself, in case nobody has written them yet."""
    written = {(taint.key, taint.effect) for taint in node.spec.taints or ()}
    ready = next((c.status for c in node.status.conditions or () if c.type == "Ready"), "True")
    implied = [_UNSCHEDULABLE] if node.spec.unschedulable else []
    if ready != "True":
        implied.append(_NOT_READY if ready == "False" else _UNREACHABLE)
    for key in implied:
        if (key, "NoSchedule") not in written:
            yield Taint(key, "", "NoSchedule")
