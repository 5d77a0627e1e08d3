"""Nodes and pods of a scenario as Kubernetes objects, from a line of text each.

`n1 n2 rack=r1: 8 cpu=12` is two nodes with 8 cards; `full` behind it puts a running pod of another scheduler on all
of them. `pod old on n1: 8` is a running pod of ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.scenarios.disguise import Disguise
from tests.scenarios.vocabulary import Vocabulary

Json = dict[str, Any]

CARD = "nvidia.com/gpu"
HOSTNAME = "kubernetes.io/hostname"
NAMESPACE = "default"
ROOM = {"cpu": "96", "memory": "1000Gi", "pods": "110"}
_POD = re.compile(r"pod (?P<name>\S+) on (?P<node>\S+): (?P<cards>\d+)(?P<more>.*)")


def read_line(line: str, levels: Vocabulary, worn: Disguise) -> list[Json]:
    """The objects of one line of a world; ValueError when it is none."""
    if line.startswith("pod "):
        found = _POD.fullmatch(line)
        if found is None:
            raise ValueError(f"{line!r}: a running pod is `pod NAME on NODE: CARDS`")
        asks = {CARD: found["cards"], **pairs(found["more"].split())}
        return [running(worn(found["name"]), worn(found["node"]), asks)]
    head, colon, tail = line.partition(": ")
    if not colon:
        raise ValueError(f"{line!r}: a node is `NAME… LABEL=VALUE…: CARDS`")
    names = [word for word in head.split() if "=" not in word]
    labels = pairs([word for word in head.split() if "=" in word])
    cards, *more = tail.split()
    room = pairs([word for word in more if word != "full"])
    worn_labels = {levels.key(k): worn(v) if k in levels.keys else v for k, v in labels.items()}
    made = [node(worn(name), worn_labels, {CARD: cards, **room}) for name in names]
    if "full" in more:
        made += [running(worn(f"{n}-busy"), worn(n), {CARD: cards}, scheduler="default-scheduler") for n in names]
    return made


def pairs(words: list[str]) -> dict[str, str]:
    """`KEY=VALUE` words as a mapping; ValueError when one is not."""
    found = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"{word!r} is no KEY=VALUE")
        found[key] = value
    return found


def node(name: str, labels: Mapping[str, str], room: Mapping[str, str]) -> Json:
    """A ready node."""
    offered = {key: value for key, value in {**ROOM, **room}.items() if value != "0"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **labels}},
        "spec": {},
        "status": {
            "capacity": dict(offered),
            "allocatable": dict(offered),
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def spec(asks: Mapping[str, str], scheduler: str = "gangpool") -> Json:
    """A pod's spec with one container; `asks` are its limits, 0 left out."""
    limits = {key: value for key, value in asks.items() if value != "0"}
    return {
        "schedulerName": scheduler,
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "example.com/train:1", "resources": {"limits": limits}}],
    }


def pod(name: str, body: Json, labels: Mapping[str, str], notes: Mapping[str, str] | None = None) -> Json:
    """A pod that waits."""
    metadata: Json = {"name": name, "namespace": NAMESPACE, "labels": dict(labels)}
    if notes:
        metadata["annotations"] = dict(notes)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body, "status": {"phase": "Pending"}}


def running(name: str, on: str, asks: Mapping[str, str], scheduler: str = "gangpool") -> Json:
    """A pod that runs already."""
    made = pod(name, {**spec(asks, scheduler), "nodeName": on}, {"app": name})
    return {**made, "status": {"phase": "Running"}}


def natural(name: str) -> tuple[object, ...]:
    """A key that sorts n2 before n10."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))
