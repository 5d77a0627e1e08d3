"""The judge of placements: what would a patient reader of the Kubernetes documentation object to?

Callers: property tests, which give it every placement that gangpool makes; `brute`, which accepts only what it
accepts. Own code: nothing of gangpool is imported here. Slow but obvious; a world of 10 nodes and 30 pods takes
a few milliseconds.

Not judged: anything that is only preferred, preemption, devices inside a node, CSI limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.oracle import rules_gang, rules_node, rules_pods
from tests.oracle.view import State, View

Json = dict[str, Any]
Rule = Callable[[State], Iterator[str]]
Placements = Mapping[str, str] | Sequence[tuple[str, str]]
"""`namespace/name` to node. As pairs, a pod that is placed twice can be told."""

LASTING: tuple[Rule, ...] = (
    rules_node.selection,
    rules_node.room,
    rules_node.host_ports,
    rules_node.volumes,
    rules_pods.repulsion,
    rules_gang.required_level,
    rules_gang.blocks,
)
"""Rules that no further placement can mend once they are broken."""

FINAL: tuple[Rule, ...] = (rules_pods.attraction, rules_pods.spread, rules_gang.minimum)
"""Rules that only the finished step can be asked about."""


def check(world: Json, placements: Placements, steps: Sequence[Sequence[str]] | None = None) -> list[str]:
    """Every violation that these placements make in this world, as sentences; empty: a right placement.

    `steps`: pods that were placed together, in order. Affinity, spread and minimum are judged at the end of each
    step, because later arrivals may lawfully change what an earlier gang saw (`steps_by_gang` makes them).
    Default: one step for all."""
    return check_view(View(world), placements, steps)


def check_view(view: View, placements: Placements, steps: Sequence[Sequence[str]] | None = None) -> list[str]:
    """`check` for a world that is already indexed."""
    seats = dict(placements)
    faults = [*_impossible(view, placements)]
    seats = {pod: node for pod, node in seats.items() if pod in view.pods and node in view.nodes}
    everything = State(view, before=view.running, new={p: n for p, n in seats.items() if p not in view.running})
    for rule in LASTING:
        faults += rule(everything)
    before = dict(view.running)
    for step in _steps(everything, steps):
        state = State(view, before, step)
        for rule in FINAL:
            faults += rule(state)
        before |= step
    return faults


def steps_by_gang(world: Json, order: Iterable[str]) -> list[list[str]]:
    """Placed pods as steps: one per gang, one per single pod, in the order in which they first appear."""
    gang_of = {pod: gang["key"] for gang in world["gangs"] for pod in rules_gang.members_of(gang)}
    steps: dict[tuple[str, str], list[str]] = {}
    for pod in order:
        gang = gang_of.get(pod, "")
        steps.setdefault((gang, "" if gang else pod), []).append(pod)
    return list(steps.values())


def _steps(everything: State, steps: Sequence[Sequence[str]] | None) -> Iterator[dict[str, str]]:
    left = dict(everything.new)
    for step in steps or ():
        yield {pod: left.pop(pod) for pod in step if pod in left}
    if left:
        yield left


def _impossible(view: View, placements: Placements) -> Iterator[str]:
    pairs = list(placements.items()) if isinstance(placements, Mapping) else list(placements)
    seen: set[str] = set()
    for pod, node in pairs:
        if pod not in view.pods:
            yield f"{pod}: no such pod waits"
        elif pod in view.running:
            yield f"{pod}: already runs on {view.running[pod]}"
        if pod in seen:
            yield f"{pod}: placed twice"
        if node not in view.nodes:
            yield f"{pod}: no node {node}"
        seen.add(pod)
