"""A seat's devices as the hand-over annotation: which container gets which cards and ports.

Called for each Binding. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gangpool.core.cards import indexes_of
from gangpool.core.model import CARD, Seat
from gangpool.core.pool import PORT_PREFIXES
from gangpool.kube.client import encode
from gangpool.objects.pod import Container, Pod
from gangpool.objects.quantity import QuantityError, extended, parse

DEVICES = "gangpool.io/devices"


def devices_of(seat: Seat, pod: Pod) -> str | None:
    """The annotation's text; None where the pod gets no device. Init containers use the cards of the others, which
    run after them; sidecars have their own."""
    if not seat.cards and not seat.ports:
        return None
    cards, ports = list(indexes_of(seat.cards)), list(seat.ports)
    found: dict[str, dict[str, list[int] | list[str]]] = {}
    beside = [c for c in pod.spec.initContainers or () if c.restartPolicy == "Always"]
    for container in (*beside, *pod.spec.containers):
        n_cards, n_ports = asks_of(container)
        if n_cards or n_ports:
            found[container.name] = {"cards": cards[:n_cards], "ports": ports[:n_ports]}
            cards, ports = cards[n_cards:], ports[n_ports:]
    for container in pod.spec.initContainers or ():
        n_cards, n_ports = asks_of(container)
        if container.restartPolicy != "Always" and (n_cards or n_ports):
            every = list(indexes_of(seat.cards))
            found[container.name] = {"cards": every[:n_cards], "ports": list(seat.ports)[:n_ports]}
    return encode({"v": 1, "containers": found}).decode()


def asks_of(container: Container) -> tuple[int, int]:
    """(whole cards, ports) that one container asks for."""
    resources = container.resources
    if resources is None:
        return 0, 0
    asked = {**(resources.limits or {}), **(resources.requests or {})}
    return _sum(asked, [CARD]), _sum(asked, [name for name in asked if name.startswith(PORT_PREFIXES)])


def _sum(asked: dict[str, str | int | float], names: Sequence[str]) -> int:
    total = 0
    for name in names:
        try:
            total += extended(parse(asked[name])) if name in asked else 0
        except QuantityError:
            continue
    return total
