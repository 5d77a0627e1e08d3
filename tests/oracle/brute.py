"""Exhaustive search for small pools: is there any placement of a gang's minimum that the checker accepts?

For pools of up to 8 nodes and gangs of up to 6 members. Every leaf is judged by `checker`; before the leaf only
such choices are cut that break a lasting rule (room, ports, anti-affinity, level, blocks), and mirror images: equal
members in another order, equal empty nodes under another name.

Semantics: exactly the minimum is placed (roles at or above theirs), running members stay where they are, other
waiting pods are not placed. In a gang with blocks the lowest ranks are placed first. Affinity and spread count in
the final state, affinity for some order of placing (see `checker`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Literal

from tests.oracle import rules_gang, rules_pods
from tests.oracle.checker import LASTING, check_view
from tests.oracle.rules_gang import RANK_LABEL, Path, block_of, members_of, path, rank_of, roles_of
from tests.oracle.search import Search
from tests.oracle.view import State, View

Json = dict[str, Any]
Unknown = Literal["unknown"]

NODE_RULES = [rule for rule in LASTING if rule not in (rules_gang.required_level, rules_gang.blocks)]
"""Lasting rules that hold for a pod on its own, whatever its gang."""


def feasible(world: Json, gang_key: str, limit: int = 200_000) -> dict[str, str] | Unknown | None:
    """A placement of the gang's minimum; None if there is none; `unknown` after `limit` tries.

    Members that already run count; an empty dict says that nothing is missing."""
    view = View(world)
    gang = _gang(view, gang_key)
    if _n_missing(view, gang) == 0:
        return {}
    search = Search(view, limit, lambda placed: not check_view(view, placed))
    for nodes in _domains(view, gang):
        for chosen in _choices(view, gang):
            found = search.run(_alike(view, gang, chosen), _allowed(view, chosen, nodes), _blocks(view, gang, chosen))
            if found is not None:
                return found
            if search.is_spent:
                return "unknown"
    return None


def best_count(world: Json, gang_key: str, level_keys: Sequence[str], limit: int = 200_000) -> int | Unknown:
    """The most waiting members of a gang of equals that fit into one domain of the level, at most all of them.

    No keys: the whole pool is one domain. The minimum, the required level and blocks are left aside."""
    view = View(world)
    gang = _gang(view, gang_key)
    waiting = _waiting(view, gang)
    rules = [*NODE_RULES, rules_pods.attraction, rules_pods.spread]

    def accepts(placed: dict[str, str]) -> bool:
        state = State(view, view.running, placed)
        return not any(True for rule in rules for _ in rule(state))

    search = Search(view, limit, accepts)
    best = 0
    for nodes in _nodes_of_domains(view, level_keys).values():
        for count in range(len(waiting), best, -1):
            chosen = waiting[:count]
            if search.run([chosen], _allowed(view, chosen, nodes), {}) is not None:
                best = count
                break
            if search.is_spent:
                return "unknown"
    return best


def _gang(view: View, gang_key: str) -> Json:
    return next(gang for gang in view.gangs if gang["key"] == gang_key)


def _waiting(view: View, gang: Json) -> list[str]:
    """Members without a node that no gate holds, lowest rank first."""
    waiting = [pod for pod in members_of(gang) if pod in view.pods and pod not in view.running]
    free = [pod for pod in waiting if not view.pods[pod]["spec"].get("schedulingGates")]
    return sorted(free, key=lambda pod: rank_of(view, gang, pod))


def _choices(view: View, gang: Json) -> Iterator[list[str]]:
    """Which members to place: of each template so many, in every way that reaches the minima exactly."""
    waiting = _waiting(view, gang)
    roles = roles_of(gang)
    total = _n_missing(view, gang)
    lacks = _n_missing_of_roles(view, gang)
    if gang.get("blocks") and not roles:
        if len(waiting) >= total:
            yield waiting[:total]
        return
    groups = _alike(view, gang, waiting)
    for counts in product(*(range(len(group), -1, -1) for group in groups)):
        chosen = [pod for group, count in zip(groups, counts, strict=True) for pod in group[:count]]
        if len(chosen) == total and all(
            sum(pod in chosen for pod in pods) >= lacks[name] for name, (pods, _) in roles.items()
        ):
            yield chosen


def _n_missing(view: View, gang: Json) -> int:
    """Members to place until the gang and each of its roles have their minimum."""
    n_running = sum(pod in view.running for pod in members_of(gang))
    return max(gang["minimum"] - n_running, sum(max(lack, 0) for lack in _n_missing_of_roles(view, gang).values()), 0)


def _n_missing_of_roles(view: View, gang: Json) -> dict[str, int]:
    return {name: least - sum(pod in view.running for pod in pods) for name, (pods, least) in roles_of(gang).items()}


def _alike(view: View, gang: Json, pods: Sequence[str]) -> list[list[str]]:
    """The pods in groups of equals: same template, role and block. Ranks tell pods apart where a rule asks for them."""
    rules = [pod["spec"].get(f) for pod in view.pods.values() for f in ("affinity", "topologySpreadConstraints")]
    is_asked_for = RANK_LABEL in json.dumps(rules)
    role_of = {pod: name for name, (members, _) in roles_of(gang).items() for pod in members}
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for pod in pods:
        labels = {k: v for k, v in view.pod_labels[pod].items() if k != RANK_LABEL or is_asked_for}
        block = block_of(view, gang, pod) if gang.get("blocks") else None
        groups[json.dumps([view.pods[pod]["spec"], labels, role_of.get(pod), block], sort_keys=True)].append(pod)
    return list(groups.values())


def _blocks(view: View, gang: Json, pods: Sequence[str]) -> dict[str, tuple[Any, Sequence[str]]]:
    """Pod to its block and the label keys that the block's nodes must share."""
    if not gang.get("blocks"):
        return {}
    keys = gang["blocks"]["keys"]
    running = [pod for pod in members_of(gang) if pod in view.running]
    return {pod: (block_of(view, gang, pod), keys) for pod in [*pods, *running]}


def _nodes_of_domains(view: View, keys: Sequence[str]) -> dict[Path, list[str]]:
    domains: defaultdict[Path, list[str]] = defaultdict(list)
    for node, labels in view.labels.items():
        if (domain := path(labels, keys)) is not None:
            domains[domain].append(node)
    return dict(domains)


def _domains(view: View, gang: Json) -> list[list[str]]:
    """The nodes of each domain that may take the gang: those of the required level, or the one it runs in."""
    domains = _nodes_of_domains(view, gang.get("required") or [])
    running = {view.running[pod] for pod in members_of(gang) if pod in view.running}
    return [nodes for nodes in domains.values() if not gang.get("required") or running <= set(nodes)]


def _allowed(view: View, pods: Sequence[str], nodes: Sequence[str]) -> dict[str, list[str]]:
    """Pod to those of the nodes on which it breaks no lasting rule beside what runs."""

    def fits(pod: str, node: str) -> bool:
        state = State(view, view.running, {pod: node})
        return not any(True for rule in NODE_RULES for _ in rule(state))

    return {pod: [node for node in nodes if fits(pod, node)] for pod in pods}
