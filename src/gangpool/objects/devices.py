"""The annotation `gangpool.io/devices` of a node: which cards and ports it has, as its agent tells it.

Called by `objects.node`. It promises: a text that cannot be read gives no cards, one sentence why, and no exception.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from gangpool.core.model import Card, Port

ANNOTATION = "gangpool.io/devices"
VERSION = 1
INDEX_MAX = 62
"""Sets of cards are bit masks in signed 64-bit words."""


class _Mig(Struct, gc=False):
    mode: str = ""


class _Card(Struct, gc=False):
    index: int
    uuid: str | None = None
    memory_mib: int | None = None
    numa: int | None = None
    switch: str | None = None
    healthy: bool = True
    reason: str | None = None
    mig: _Mig | None = None


class _Port(Struct, gc=False):
    device: str
    numa: int | None = None
    switch: str | None = None
    rail: int | None = None
    healthy: bool = True


class _Annotation(Struct, gc=False):
    v: int
    nvlink: str | None = None
    cards: list[_Card] = []
    ports: list[_Port] = []


class Devices(Struct, frozen=True):
    """`cards` sorted by index, without those whose MIG layout is given: such a card is never whole. `n_whole` counts
    the healthy ones; None where the annotation lists no card at all: nothing is known of them then."""

    cards: tuple[Card, ...] = ()
    ports: tuple[Port, ...] = ()
    nvswitch: bool = False
    n_whole: int | None = None


_decode = msgspec.json.Decoder(_Annotation).decode


def read_devices(text: str | None) -> tuple[Devices, str]:
    """What the annotation says, and what is wrong with it ("" where nothing is).

    >>> read_devices('{"v": 1, "cards": [{"index": 0, "healthy": false}]}')[0].n_whole
    0
    """
    if text is None:
        return Devices(), ""
    try:
        noted = _decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as error:
        return Devices(), f"cannot be read and is ignored: {error}"
    doubt = _doubt(noted)
    if doubt:
        return Devices(), f"is ignored: {doubt}"
    cards = tuple(
        Card(c.index, c.uuid or "", c.memory_mib, c.numa, c.switch, c.healthy, c.reason)
        for c in sorted(noted.cards, key=lambda card: card.index)
        if c.mig is None or c.mig.mode != "static"
    )
    ports = tuple(Port(p.device, p.numa, p.switch, p.rail, p.healthy) for p in noted.ports)
    n_whole = sum(card.healthy for card in cards) if noted.cards else None
    return Devices(cards, ports, noted.nvlink == "nvswitch", n_whole), ""


def _doubt(noted: _Annotation) -> str:
    if noted.v != VERSION:
        return f"its version is {noted.v}, known is {VERSION}"
    indexes = [card.index for card in noted.cards]
    if any(not 0 <= index <= INDEX_MAX for index in indexes):
        return f"a card's index is not within 0 and {INDEX_MAX}"
    if len(set(indexes)) < len(indexes):
        return "two cards have the same index"
    devices = [port.device for port in noted.ports]
    if len(set(devices)) < len(devices):
        return "two ports have the same device"
    return ""
