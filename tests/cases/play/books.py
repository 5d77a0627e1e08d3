"""Judge of overcommit: replays the record and asks at each bind of the product whether the node had room then."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tests.cases.play.history import Change, History, is_finished, node_of
from tests.cases.play.quantity import Amounts, plain, pod_requests, quantity

# What others did less than this before a bind cannot be held against the product: its watch had no chance.
BLIND_S = 1.0
# Changes younger than this wait, so that pod and node streams can be merged by revision.
SETTLE_S = 0.5


class Books:
    """Mutable, incremental: each change is booked once. O(changes) over a case."""

    def __init__(self, history: History, ours: tuple[str, ...]) -> None:
        self._history, self._ours = history, ours
        self._done = {"Pod": 0, "Node": 0}
        self._allocatable: dict[str, list[tuple[float, Amounts]]] = {}
        self._held: dict[
            str, dict[str, tuple[Amounts, float, bool]]
        ] = {}  # node -> uid -> (request, since, bound by the product)
        self._waiting: set[str] = set()
        self._where: dict[str, str] = {}
        self.violations: list[str] = []

    def update(self, now: float) -> list[str]:
        """Book what is new; all violations found so far."""
        fresh: list[Change] = []
        for kind, start in self._done.items():
            settled = [c for c in self._history.changes[kind][start:] if c.at < now - SETTLE_S]
            self._done[kind] = start + len(settled)
            fresh += settled
        for c in sorted(fresh, key=lambda c: c.revision):
            self._node(c) if c.kind == "Node" else self._pod(c)
        return self.violations

    def _node(self, c: Change) -> None:
        name = c.object["metadata"]["name"]
        found = {} if c.type == "DELETED" else (c.object.get("status") or {}).get("allocatable") or {}
        self._allocatable.setdefault(name, []).append((c.at, {k: quantity(v) for k, v in found.items()}))

    def _pod(self, c: Change) -> None:
        pod, uid = c.object, c.object["metadata"]["uid"]
        node = node_of(pod)
        if node is None:
            self._waiting.add(uid)
            return
        held = self._held.setdefault(node, {})
        if c.type == "DELETED" or is_finished(pod):
            held.pop(uid, None)
            return
        request = pod_requests(pod)
        if uid in held:
            held[uid] = (request, held[uid][1], held[uid][2])
            return
        mine = uid in self._waiting and pod["spec"].get("schedulerName") in self._ours
        held[uid] = (request, c.at, mine)
        if mine:
            self._judge(node, pod, request, c.at)

    def _judge(self, node: str, pod: Any, request: Amounts, at: float) -> None:
        name = pod["metadata"]["name"]
        room = self._room(node, at)
        if room is None:
            self.violations.append(f"{name} was bound to {node}, which does not exist")
            return
        used = [r for r, since, mine in self._held[node].values() if mine or at - since >= BLIND_S]
        for resource, amount in request.items():
            total = sum((u.get(resource, Fraction(0)) for u in used), Fraction(0))
            if amount > 0 and total > room.get(resource, Fraction(0)):
                self.violations.append(
                    f"{node} held {plain(total)} {resource} of {plain(room.get(resource, Fraction(0)))} "
                    f"after {name} was bound"
                )

    def _room(self, node: str, at: float) -> Amounts | None:
        """Largest allocatable that was valid within the blind time before ``at``; None if the node was not there."""
        line = self._allocatable.get(node, [])
        valid = [
            a
            for i, (since, a) in enumerate(line)
            if since <= at + SETTLE_S and (i + 1 == len(line) or line[i + 1][0] > at - BLIND_S)
        ]
        if not any(valid):
            return None
        return {k: max(a.get(k, Fraction(0)) for a in valid) for a_ in valid for k in a_}
