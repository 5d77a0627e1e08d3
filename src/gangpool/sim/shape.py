"""Pools made from one line of text: `h100:1280` is 1,280 nodes of eight H100 with a two-level fabric.

Called by `--pool` of the read commands, by `gangpool demo`, benchmarks and the simulator. It promises Node objects
as the API server would list them, equal for equal text; nothing random, nothing read.

The board is an HGX H100: two sockets with four cards each; each card shares a PCIe switch with one 400 Gb/s port.
PCI addresses are placeholders in the right form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from gangpool.objects import quantity
from gangpool.objects.books import is_measured

NODES_MAX = 200_000
"""More is a slip of the keyboard: the largest pool that is measured has 128,000, and these need about 1 GiB."""

CARDS_MAX = 16
"""The largest boards have so many, and the placeholder addresses end there."""

LEAF_LABEL = "network.topology.nvidia.com/leaf"
SPINE_LABEL = "network.topology.nvidia.com/spine"
PORT_RESOURCE = "rdma/hca"
CARD_RESOURCE = "nvidia.com/gpu"
DEVICES_ANNOTATION = "gangpool.io/devices"

_SHAPE = re.compile(r"[A-Za-z][A-Za-z0-9-]*:[^/\\]*")
_COUNT = re.compile(r"[1-9]\d{0,8}")
_LABEL_NAME = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_LABEL_KEY = re.compile(rf"([a-z0-9]([a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_LABEL_NAME}")
_LABEL_VALUE = re.compile(rf"({_LABEL_NAME})?")


class ShapeError(ValueError):
    """A shape that cannot be read; the text names the part and says what it should be."""


class Board(Struct, frozen=True):
    """One kind of node. `memory_mib` is that of a card, `ports` are of `rate_gbps` each."""

    board: str
    product: str
    cards: int
    memory_mib: int
    ports: int
    rate_gbps: int
    cpus: int
    memory: str
    pods: int


BOARDS = {
    "h100": Board(
        board="H100-SXM5-80GB",
        product="NVIDIA-H100-80GB-HBM3",
        cards=8,
        memory_mib=81559,
        ports=8,
        rate_gbps=400,
        cpus=192,
        memory="2Ti",
        pods=110,
    )
}


class PoolShape(Struct, frozen=True):
    """A shape as read: `leaf` nodes hang on a leaf, `spine` leaves on a spine; `labels` and `resources` are added
    to every node or replace its own."""

    board: Board
    nodes: int
    leaf: int = 16
    spine: int = 8
    labels: dict[str, str] = {}
    resources: dict[str, str] = {}


def is_shape(text: str) -> bool:
    """Does the text look like a shape rather than a path: a word, a colon, and what follows holds no folder."""
    return _SHAPE.match(text) is not None


def parse_shape(text: str) -> list[dict[str, Any]]:
    """The Node objects of a shape such as `h100:1280,leaf=32,spine=16,label=KEY:VALUE,res=NAME:QUANTITY`.

    `label` and `res` may be given several times. Nodes of one pool share their parts: treat them as read-only.
    Raises ShapeError.

    >>> [node["metadata"]["name"] for node in parse_shape("h100:2")]
    ['node-0000', 'node-0001']
    """
    return list(nodes(read_shape(text)))


def read_shape(text: str) -> PoolShape:
    """The shape that the text names. Raises ShapeError with the part that is wrong."""
    head, *parts = text.split(",")
    name, _, count = head.partition(":")
    board = BOARDS.get(name)
    if board is None:
        raise ShapeError(f"there is no board {name!r} in {head!r}; known: {', '.join(sorted(BOARDS))}")
    sizes = {"leaf": 16, "spine": 8}
    labels: dict[str, str] = {}
    resources: dict[str, str] = {}
    n_nodes = _count(count, head)
    for part in parts:
        key, _, value = part.partition("=")
        if key in sizes:
            sizes[key] = _count(value, part)
        elif key == "label":
            label, value = _pair(part, value, "label=KEY:VALUE")
            if not _LABEL_KEY.fullmatch(label) or not _LABEL_VALUE.fullmatch(value):
                raise ShapeError(f"{part!r} is no label that Kubernetes would take")
            labels[label] = value
        elif key == "res":
            resource, value = _pair(part, value, "res=NAME:QUANTITY")
            if not _LABEL_KEY.fullmatch(resource):
                raise ShapeError(f"{part!r}: {resource!r} is no name of a resource")
            resources[resource] = _amount(resource, value, part)
        else:
            raise ShapeError(f"{part!r} is none of leaf=N, spine=N, label=KEY:VALUE, res=NAME:QUANTITY")
    return PoolShape(board, n_nodes, sizes["leaf"], sizes["spine"], labels, resources)


def nodes(shape: PoolShape) -> Iterator[dict[str, Any]]:
    """Node objects `node-0000…` one by one, in the order of the fabric: `leaf-0…` under `spine-0…`."""
    board = shape.board
    resources = {
        "cpu": str(board.cpus),
        "memory": board.memory,
        "pods": str(board.pods),
        CARD_RESOURCE: str(board.cards),
        PORT_RESOURCE: str(board.ports),
        **shape.resources,
    }
    status = {
        "capacity": resources,
        "allocatable": resources,
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    }
    devices = _devices(board, _units(resources[CARD_RESOURCE]), _units(resources[PORT_RESOURCE]))
    width = max(4, len(str(shape.nodes - 1)))
    for number in range(shape.nodes):
        name = f"node-{number:0{width}}"
        leaf = number // shape.leaf
        labels = {
            "kubernetes.io/hostname": name,
            "nvidia.com/gpu.product": board.product,
            SPINE_LABEL: f"spine-{leaf // shape.spine}",
            LEAF_LABEL: f"leaf-{leaf}",
            **shape.labels,
        }
        annotations = {DEVICES_ANNOTATION: devices.replace("@", f"{number:08x}")}
        metadata = {"name": name, "labels": labels, "annotations": annotations}
        yield {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": status}


def _devices(board: Board, n_cards: int, n_units: int) -> str:
    """The node annotation as JSON with `@` where the node's number goes. A resource of more units than ports is
    shared, so the number of ports stays that of the board."""
    cards = ",".join(
        f'{{"index":{i},"uuid":"GPU-@-0000-4000-8000-{i:012x}","memory_mib":{board.memory_mib},'
        f'"numa":{_numa(i, board)},"pcie":"{_pci(i, 1)}","switch":"{_pci(i, 0)}","healthy":true,"reason":null}}'
        for i in range(n_cards)
    )
    ports = ",".join(
        f'{{"device":"mlx5_{i}","port":1,"interface":"ib{i}","link_layer":"InfiniBand","rate_gbps":{board.rate_gbps},'
        f'"numa":{_numa(i, board)},"switch":"{_pci(i, 0)}","rail":{i},"healthy":true,"reason":null}}'
        for i in range(min(board.ports, n_units))
    )
    return (
        f'{{"v":1,"board":"{board.board}","driver":"570.86","nvlink":"nvswitch","cards":[{cards}],"ports":[{ports}]}}'
    )


def _numa(index: int, board: Board) -> int:
    """Socket of a card or port: the first half of the board's on 0, the others on 1."""
    return int(index >= board.cards // 2)


def _pci(index: int, slot: int) -> str:
    """A placeholder address; each card and its port have a range of buses, and so a switch, of their own."""
    return f"0000:{0x10 + 8 * index + slot:02x}:00.0"


def _count(text: str, part: str) -> int:
    if not _COUNT.fullmatch(text):
        raise ShapeError(f"{part!r} needs a whole number from 1 to {NODES_MAX:,}, not {text!r}")
    if int(text) > NODES_MAX:
        raise ShapeError(f"{part!r} is above {NODES_MAX:,} nodes")
    return int(text)


def _pair(part: str, value: str, form: str) -> tuple[str, str]:
    key, colon, rest = value.partition(":")
    if not key or not colon:
        raise ShapeError(f"{part!r} is not of the form {form}")
    return key, rest


def _amount(resource: str, text: str, part: str) -> str:
    """The quantity as written, if the resource may have it."""
    try:
        value = quantity.parse(text)
        if value < 0:
            raise quantity.QuantityError(text, "is negative")
        if not is_measured(resource):
            quantity.extended(value)
    except quantity.QuantityError as error:
        raise ShapeError(f"{part!r}: {error}") from None
    if resource == CARD_RESOURCE and value > CARDS_MAX:
        raise ShapeError(f"{part!r}: a node has at most {CARDS_MAX} cards")
    return text


def _units(text: str) -> int:
    return quantity.to_units(quantity.parse(text))
