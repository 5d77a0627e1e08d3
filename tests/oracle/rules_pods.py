"""Rules between pods: anti-affinity, affinity, topology spread. Only required ones; wishes break nothing.

Sources: "Assigning Pods to Nodes" (inter-pod affinity), "Pod Topology Spread Constraints". What runs already is not
judged again ("IgnoredDuringExecution"), but its anti-affinity keeps newcomers away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.oracle.view import State, Term

Json = dict[str, Any]
Crowd = tuple[str, str]
"""Pods that a term names, and the node label over whose values it counts them."""


def repulsion(state: State) -> Iterator[str]:
    """No pod shares a domain with one that its anti-affinity names, whichever of the two is new."""
    for owner in state.seats:
        for term in state.view.repulsion(owner):
            here = state.value(owner, term.key)
            for other in sorted(state.view.crowd(term.crowd)):
                if other == owner or other not in state.seats or not {owner, other} & state.new.keys():
                    continue
                if here is not None and state.value(other, term.key) == here:
                    yield f"{owner}: its anti-affinity does not allow {other} in {term.key}={here}"


def attraction(state: State) -> Iterator[str]:
    """Every new pod can be explained: placed one by one in SOME order, each found its affinity satisfied.

    A pod's term is satisfied by a pod already there, or, where no pod in any domain of its key matches the term yet, by
    itself if it matches (one on a node without the key is in no domain: kube-scheduler counts it nowhere). So for each
    term that only newcomers match, one of them came first; given these first ones, placing whatever can be placed until
    nothing more can is exact, because a placement never takes from another then."""
    if not any(state.view.affinity(pod) for pod in state.new):
        return
    crowds = _crowds_with_a_first(state)
    best: set[str] | None = None
    for choice in product(*crowds.values()):
        left = _left_over(state, dict(zip(crowds, choice, strict=True)))
        if not left:
            return
        if best is None or len(left) < len(best):
            best = left
    for pod in sorted(best or ()):
        yield f"{pod}: in no order of placing is its pod affinity satisfied on node {state.seats[pod]}"


def _crowds_with_a_first(state: State) -> dict[Crowd, list[str]]:
    """For each term by which a new pod may satisfy itself: the new pods that match it, likely first ones first."""
    view = state.view
    crowds: dict[Crowd, list[str]] = {}
    for pod in state.new:
        for term in view.affinity(pod):
            members = {m for m in view.crowd(term.crowd) if m in state.seats and state.value(m, term.key) is not None}
            if pod in members and not members & state.before.keys():
                owners = [p for p in state.new if p in members and term in view.affinity(p)]
                others = [p for p in state.new if p in members and p not in owners]
                crowds[term.crowd, term.key] = owners + others
    return crowds


def _left_over(state: State, first: dict[Crowd, str]) -> set[str]:
    """The new pods that find no place in the order, if in each of these crowds the given pod comes first."""
    view = state.view
    there = set(state.before)
    todo = set(state.new)

    def is_satisfied(pod: str, term: Term) -> bool:
        here = state.value(pod, term.key)
        if here is None:
            return False
        if first.get((term.crowd, term.key)) == pod:
            return True
        return any(state.value(other, term.key) == here for other in view.crowd(term.crowd) & there)

    def may_come(pod: str) -> bool:
        in_line = all(
            leader == pod or leader in there
            for (crowd, key), leader in first.items()
            if pod in view.crowd(crowd) and state.value(pod, key) is not None
        )
        return in_line and all(is_satisfied(pod, term) for term in view.affinity(pod))

    while ready := {pod for pod in todo if may_come(pod)}:
        there |= ready
        todo -= ready
    return todo


def spread(state: State) -> Iterator[str]:
    """After the step, a new pod's domain holds at most maxSkew more matching pods than the emptiest eligible one."""
    view = state.view
    on_node: defaultdict[str, list[str]] = defaultdict(list)
    for pod, node in state.seats.items():
        if not view.pods[pod]["metadata"].get("deletionTimestamp"):
            on_node[node].append(pod)
    for pod, node in state.new.items():
        hard = hard_constraints(view.pods[pod])
        keys = {constraint["topologyKey"] for constraint in hard}
        if missing := keys - view.labels[node].keys():
            yield f"{pod}: node {node} lacks {', '.join(sorted(missing))}, over which it must spread"
            continue
        for constraint in hard:
            counts = _counts(state, pod, constraint, on_node)
            lowest = min(counts.values(), default=0)
            if len(counts) < (constraint.get("minDomains") or 1):
                lowest = 0
            here = view.labels[node][constraint["topologyKey"]]
            if (skew := counts.get(here, 0) - lowest) > constraint["maxSkew"]:
                yield f"{pod}: skew {skew} over {constraint['topologyKey']} in {here}, {constraint['maxSkew']} allowed"


def hard_constraints(pod: Json) -> list[Json]:
    """The pod's topologySpreadConstraints that must hold (DoNotSchedule, which is the default)."""
    written = pod["spec"].get("topologySpreadConstraints") or []
    return [c for c in written if c.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"]


def _counts(state: State, pod: str, constraint: Json, on_node: dict[str, list[str]]) -> dict[str, int]:
    """Matching pods per domain, over the eligible nodes: with all spread keys, and as the two policies say."""
    view = state.view
    keys = {c["topologyKey"] for c in hard_constraints(view.pods[pod])}
    peers = view.peers(pod, constraint)
    counts: defaultdict[str, int] = defaultdict(int)
    for node, labels in view.labels.items():
        if not keys <= labels.keys():
            continue
        if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not view.is_selected(pod, node):
            continue
        if constraint.get("nodeTaintsPolicy", "Ignore") == "Honor" and not view.is_tolerated(pod, node):
            continue
        counts[labels[constraint["topologyKey"]]] += sum(other in peers for other in on_node.get(node, ()))
    return dict(counts)
