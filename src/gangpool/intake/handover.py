"""What a placed pod already holds, as its hand-over annotation says. Called by `World` for pods with a node."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from gangpool.objects.pod import Pod

ANNOTATION = "gangpool.io/devices"
INDEX_MAX = 1023


class _Held(Struct):
    cards: list[int] = []
    ports: list[str] = []


class _HandOver(Struct):
    containers: dict[str, _Held] = {}


_decode = msgspec.json.Decoder(_HandOver).decode


def held_by(pod: Pod) -> tuple[tuple[int, ...] | None, tuple[str, ...] | None]:
    """(card indexes, port names) over all containers; None where nothing is written or it cannot be read."""
    text = (pod.metadata.annotations or {}).get(ANNOTATION)
    if text is None:
        return None, None
    try:
        held = _decode(text).containers.values()
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return None, None
    cards = sorted({card for part in held for card in part.cards if 0 <= card <= INDEX_MAX})
    ports = sorted({port for part in held for port in part.ports})
    return tuple(cards) or None, tuple(ports) or None
