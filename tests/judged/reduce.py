"""Make a world that shows a fault smaller, so that its story fits a screen: for people and for failure messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

Json = dict[str, Any]


KEPT_LABELS = ("pod-group", "task-spec", "completion-index")
"""Labels that say whose member a pod is; without them it would be another story."""


def reduced(world: Json, faults: Callable[[Json], list[str]]) -> Json:
    """The smallest world found by leaving out one thing after the other while the first fault stays of its kind."""
    kind = _kind(faults(world)[0])
    while True:
        for smaller in _smaller(world):
            if kind in _kinds(smaller, faults):
                world = smaller
                break
        else:
            return world


def story(world: Json) -> str:
    """The world as lines."""
    return "\n".join(json.dumps(thing) for kind in ("nodes", "pods", "gangs", "volumes") for thing in world[kind])


def _kinds(world: Json, faults: Callable[[Json], list[str]]) -> set[str]:
    try:
        return {_kind(fault) for fault in faults(world)}
    except (KeyError, ValueError, StopIteration):  # it left out something that is needed
        return set()


def _kind(fault: str) -> str:
    """The beginning of a sentence without its names and numbers."""
    return re.sub(r"\S*\d\S*", "#", fault)[:30]


def _smaller(world: Json) -> Iterator[Json]:
    for gang in list(world["gangs"]):
        smaller = deepcopy(world)
        smaller["gangs"] = [other for other in smaller["gangs"] if other["key"] != gang["key"]]
        smaller["pods"] = [pod for pod in smaller["pods"] if pod["metadata"]["name"] not in gang["members"]]
        yield smaller
    for kind in ("nodes", "pods", "volumes"):
        for i in range(len(world[kind])):
            smaller = deepcopy(world)
            gone = smaller[kind].pop(i)["metadata"]["name"]
            for gang in smaller["gangs"]:
                _leave(gang, gone)
            yield smaller
    for kind in ("nodes", "pods"):
        for name, path in _optional(world[kind]):
            smaller = deepcopy(world)
            for thing in smaller[kind]:
                if _template(thing) == name:
                    _drop(thing, path)
            yield smaller


def _leave(gang: Json, name: str) -> None:
    if name not in gang["members"]:
        return
    gang["members"].remove(name)
    gang["minimum"] -= 1
    for role in (gang.get("roles") or {}).values():
        if name in role["members"]:
            role["members"].remove(name)
            role["minimum"] = max(0, role["minimum"] - 1)


def _template(thing: Json) -> str:
    """Members of a gang are changed together."""
    name: str = thing["metadata"]["name"]
    return name.rsplit("-", 1)[0] if thing["kind"] == "Pod" else name


def _optional(things: list[Json]) -> dict[tuple[str, tuple[str, ...]], None]:
    """(template, path) of everything that things can be without."""
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    for thing in things:
        name, spec = _template(thing), thing["spec"]
        kept = ("containers", "schedulerName", "nodeName")
        found |= {(name, ("spec", key)): None for key in spec if key not in kept}
        found |= {(name, ("spec", "affinity", key)): None for key in spec.get("affinity") or {}}
        labels = [key for key in thing["metadata"].get("labels") or {} if not key.endswith(KEPT_LABELS)]
        found |= {(name, ("metadata", "labels", key)): None for key in labels}
        if thing["kind"] == "Node":
            found |= {(name, ("status", "allocatable", key)): None for key in thing["status"]["allocatable"]}
    return found


def _drop(thing: Json, path: tuple[str, ...]) -> None:
    for key in path[:-1]:
        thing = thing.get(key) or {}
    thing.pop(path[-1], None)
