"""What stands in for a cluster: the objects, the watch that tells gangpool of them, and the bindings.

Objects are plain dicts; gangpool sees each change as an event, with the structs of the real decoder, when the events
are delivered. A restart lists everything into a new world.
"""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any, Literal

from msgspec import Struct

from gangpool.core.cards import indexes_of
from gangpool.core.cycle import Cycle
from gangpool.core.model import Plan, Seat
from gangpool.intake.config import Config
from gangpool.intake.store import kind_of
from gangpool.intake.world import World
from gangpool.objects.typed import as_node, as_pod

Json = dict[str, Any]
Key = tuple[str, str, str, str]
POD, NODE = ("", "Pod"), ("", "Node")


class Event(Struct):
    """One change, as a watch tells it."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: Json


def key_of(obj: Json) -> Key:
    """(API group, kind, namespace, name)."""
    metadata = obj["metadata"]
    return (*kind_of(obj), metadata.get("namespace") or "", metadata["name"])


class Stage:
    """A cluster without machines. `rng`: events of new objects come in a random order."""

    def __init__(self, config: Config, rng: Random | None = None) -> None:
        self.config = config
        self.objects: dict[Key, Json] = {}
        self._rng = rng
        self._events: list[Event] = []
        self._n_made = 0
        self.restart()

    def restart(self) -> None:
        """gangpool starts anew: it lists what there is."""
        self._events = [Event("ADDED", obj) for obj in self.objects.values()]
        self.world = World(self.config)
        self.cycle = Cycle(self.world.pool)

    # ---- writers

    def put(self, obj: Json) -> None:
        """Create or replace an object; a new one gets a uid."""
        key = key_of(obj)
        is_new = key not in self.objects
        if is_new:
            self._n_made += 1
            obj["metadata"].setdefault("uid", f"uid-{self._n_made}")
        self.objects[key] = obj
        self._events.append(Event("ADDED" if is_new else "MODIFIED", obj))

    def drop(self, obj: Json) -> None:
        """Delete an object."""
        del self.objects[key_of(obj)]
        self._events.append(Event("DELETED", obj))

    def bind(self, seat: Seat) -> None:
        """A Binding: node and devices in one write. What the API server would refuse is an error of the test."""
        member = seat.member
        pod = deepcopy(self.objects["", "Pod", member.namespace, member.name])
        assert pod["metadata"]["uid"] == member.uid, f"{member.name} is another pod now"
        assert not pod["spec"].get("nodeName"), f"{member.name} is bound a second time"
        assert not pod["spec"].get("schedulingGates"), f"{member.name} is gated"
        assert ("", "Node", "", seat.node) in self.objects, f"{member.name} is bound to {seat.node}, which is gone"
        pod["spec"]["nodeName"] = seat.node
        pod["status"] = {"phase": "Running"}
        held = {"cards": list(indexes_of(seat.cards)), "ports": list(seat.ports)}
        name = pod["spec"]["containers"][0]["name"]
        text = json.dumps({"v": 1, "containers": {name: held}})
        pod["metadata"].setdefault("annotations", {})["gangpool.io/devices"] = text
        self.put(pod)

    # ---- gangpool's side

    def deliver(self) -> None:
        """Let gangpool see what has happened; its books are checked after every event."""
        events = self._shuffled() if self._rng else self._events
        self._events = []
        for event in events:
            self._deliver(event)
            faults = list(self.world.pool.faults())
            assert not faults, f"books after {event.type} of {key_of(event.object)}: {faults}"
        self.world.settle()

    def _deliver(self, event: Event) -> None:
        obj, gone = event.object, event.type == "DELETED"
        kind = kind_of(obj)
        if kind == NODE and gone:
            self.world.node_gone(obj["metadata"]["name"])
        elif kind == NODE:
            self.world.node(as_node(obj))
        elif kind == POD and gone:
            self.world.pod_gone(obj["metadata"]["uid"])
        elif kind == POD:
            self.world.pod(as_pod(obj))
        elif gone:
            self.world.object_gone(obj)
        else:
            self.world.object(obj)

    def _shuffled(self) -> list[Event]:
        """New objects in any order; changes of objects stay behind what came before them."""
        assert self._rng is not None
        runs: list[list[Event]] = [[]]
        for event in self._events:
            if event.type != "ADDED":
                runs += [[event], []]
            else:
                runs[-1].append(event)
        for run in runs:
            self._rng.shuffle(run)
        return [event for run in runs for event in run]

    def plan(self) -> Plan:
        """One cycle, after all events."""
        self.deliver()
        return self.cycle.run()

    def of_kind(self, kind: str) -> list[Json]:
        """All objects of a kind, whatever its group."""
        return [obj for key, obj in self.objects.items() if key[1] == kind]
