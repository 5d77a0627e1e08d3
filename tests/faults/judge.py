"""Decides, from outside, whether the scheduler kept its promises: nothing of the product is used or asked.

Input: the record of etcd (`history`), the API server's audit log, and what the load says about its gangs. Output:
violations, each with the revision at which it is seen. Sums are made anew here, in their simplest form, on purpose.
`tests/faults/test_judge.py` shows that each rule finds its violation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.cluster.audit import Request
from tests.faults.history import Change

GANG = "faults/gang"
"""Label that the load writes on each member."""
LEADER = "gangpool.io/leader"
LEASE = "gangpool-scheduler"
QUIET_S, FAULTS_S = 10.0, 30.0
"""So long a gang may be bound by half: while all is well, and under faults of the cluster or of our processes."""
FENCE_LATE_S = 1.0
"""The server's policies see a new holder this late at most; a bind of the old one may pass until then."""
OUTAGE_S = 1.0
_UNITS = {"": Decimal(1), "m": Decimal("0.001"), **{f"{c}i": Decimal(2 ** (10 * i)) for i, c in enumerate("KMGT", 1)}}

Pod = dict[str, Any]


@dataclass(frozen=True)
class Gang:
    """What the load says: fewer than `minimum` bound members are useless. `level`: all in one domain of this key."""

    name: str
    minimum: int
    total: int
    level: str = ""


@dataclass(frozen=True)
class Violation:
    """One promise not kept."""

    rule: str
    revision: int
    text: str


@dataclass(frozen=True)
class Case:
    """What there is to judge: a record whose end is at rest, the audit log, what the load says. `partial_most_s`: so
    long may a gang be bound by half. `outages_s`: when the API server was killed."""

    changes: Sequence[Change]
    requests: Sequence[Request]
    gangs: Sequence[Gang]
    partial_most_s: float
    outages_s: Sequence[float] = ()


def judge(case: Case) -> list[Violation]:
    """All rules."""
    changes, requests, gangs = case.changes, case.requests, case.gangs
    by_name = {gang.name: gang for gang in gangs}
    return [
        *over_commits(changes),
        *stale_binds(changes),
        *stale_evictions(changes, requests),
        *unrecorded_binds(changes, requests, case.outages_s),
        *partial_gangs(changes, by_name, case.partial_most_s),
        *left_waiting(changes, by_name),
    ]


# ---- amounts


def amount(quantity: str | int) -> Decimal:
    """A quantity as a number.

    >>> amount("1500m"), amount("2Gi"), amount(3)
    (Decimal('1.500'), Decimal('2147483648'), Decimal('3'))
    """
    text = str(quantity)
    digits = text.rstrip("KMGTim")
    return Decimal(digits) * _UNITS[text[len(digits) :]]


def asks(pod: Pod) -> dict[str, Decimal]:
    """What a pod takes of its node: containers added up, or the largest init container; and one pod."""
    total: dict[str, Decimal] = defaultdict(Decimal)
    for container in pod["spec"]["containers"]:
        for name, quantity in (container.get("resources", {}).get("requests") or {}).items():
            total[name] += amount(quantity)
    for container in pod["spec"].get("initContainers") or ():
        for name, quantity in (container.get("resources", {}).get("requests") or {}).items():
            total[name] = max(total[name], amount(quantity))
    total["pods"] += 1
    return total


def node_of(pod: Pod | None) -> str:
    """Where a pod is bound; "" while it waits."""
    return str(pod["spec"].get("nodeName") or "") if pod is not None else ""


def is_finished(pod: Pod) -> bool:
    """Whether it holds nothing any more."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def leader_of(pod: Pod) -> str:
    """Whose bind it was."""
    return str((pod["metadata"].get("annotations") or {}).get(LEADER, ""))


def gang_of(pod: Pod) -> str:
    """The load's own mark."""
    return str((pod["metadata"].get("labels") or {}).get(GANG, ""))


def binds(changes: Iterable[Change]) -> list[Change]:
    """The revisions at which a pod got its node."""
    found, nodes = [], dict[str, tuple[str, str]]()
    for change in changes:
        if change.kind != "Pod":
            continue
        if change.object is None:
            nodes.pop(change.key, None)
            continue
        now = change.object["metadata"]["uid"], node_of(change.object)
        if now[1] and nodes.get(change.key) != now:
            found.append(change)
        nodes[change.key] = now
    return found


# ---- the rules


def over_commits(changes: Sequence[Change]) -> list[Violation]:
    """At every bind: the pods on that node, bound and not finished, ask for no more than it has."""
    found: list[Violation] = []
    is_bind = {change.revision for change in binds(changes)}
    nodes: dict[str, dict[str, Decimal]] = {}
    on_node: dict[str, dict[str, Pod]] = defaultdict(dict)
    where: dict[str, str] = {}
    for change in changes:
        if change.kind == "Node":
            nodes[change.key] = _allocatable(change.object)
        elif change.kind == "Pod":
            on_node[where.pop(change.key, "")].pop(change.key, None)
            name = node_of(change.object)
            if not name or is_finished(change.object):
                continue
            where[change.key] = name
            on_node[name][change.key] = change.object
            if change.revision in is_bind:
                found += _over(change, name, nodes.get(name, {}), on_node[name].values())
    return found


def _allocatable(node: Any) -> dict[str, Decimal]:
    has = (node or {}).get("status", {}).get("allocatable") or {}
    return {name: amount(quantity) for name, quantity in has.items()}


def _over(change: Change, node: str, has: dict[str, Decimal], pods: Iterable[Pod]) -> list[Violation]:
    used: dict[str, Decimal] = defaultdict(Decimal)
    for pod in pods:
        for name, quantity in asks(pod).items():
            used[name] += quantity
    if not has:
        return []  # the node is gone: Kubernetes itself lets a bind to it through
    own = asks(change.object)
    return [
        Violation("over-commit", change.revision, f"{change.key} on {node}: {name} {used[name]} of {has.get(name, 0)}")
        for name in own
        if own[name] and used[name] > has.get(name, 0)
    ]


def holders(changes: Iterable[Change]) -> list[tuple[int, float, str]]:
    """(revision, time, identity) of each change of the Lease's holder; "" when nobody holds it."""
    found: list[tuple[int, float, str]] = []
    for change in changes:
        if change.kind == "Lease" and change.key == LEASE:
            spec = (change.object or {}).get("spec") or {}
            holder = str(spec.get("holderIdentity") or "")
            if not found or found[-1][2] != holder:
                found.append((change.revision, change.at_s, holder))
    return found


def stale_binds(changes: Sequence[Change]) -> list[Violation]:
    """No bind in the name of one who did not hold the Lease. The server's policy sees a change of the Lease a moment
    late; so a bind of the last holder passes until then, but never after a bind of the new one."""
    found: list[Violation] = []
    held = holders(changes)
    newest = 0
    for change in binds(changes):
        identity = leader_of(change.object)
        if not identity:
            continue  # another scheduler's
        terms = [i for i, (revision, _, holder) in enumerate(held) if holder == identity and revision < change.revision]
        if not terms:
            found.append(Violation("stale-bind", change.revision, f"{change.key} by {identity}, who never held it"))
            continue
        term = terms[-1]
        end = held[term + 1] if term + 1 < len(held) and held[term + 1][0] < change.revision else None
        if term < newest:
            found.append(Violation("stale-bind", change.revision, f"{change.key} by {identity} after its successor"))
        elif end is not None and change.at_s - end[1] > FENCE_LATE_S:
            late_s = change.at_s - end[1]
            found.append(Violation("stale-bind", change.revision, f"{change.key} by {identity}, {late_s:.2f} s late"))
        newest = max(newest, term)
    return found


def stale_evictions(changes: Sequence[Change], requests: Iterable[Request]) -> list[Violation]:
    """The same for evictions, which only the audit log has; by time."""
    found: list[Violation] = []
    held = holders(changes)
    for request in requests:
        if request.resource != "pods/eviction" or request.status >= 300 or request.is_dry_run:
            continue
        identity = ((request.body or {}).get("metadata", {}).get("annotations") or {}).get(LEADER, "")
        if not identity:
            continue
        terms = [i for i, (_, at_s, holder) in enumerate(held) if holder == identity and at_s <= request.at_s + 1.0]
        end_s = held[terms[-1] + 1][1] if terms and terms[-1] + 1 < len(held) else float("inf")
        if not terms or request.at_s > end_s + FENCE_LATE_S:
            found.append(Violation("stale-eviction", 0, f"{request.namespace}/{request.name} by {identity}"))
    return found


def unrecorded_binds(
    changes: Sequence[Change], requests: Iterable[Request], outages_s: Sequence[float] = ()
) -> list[Violation]:
    """The two sources agree: each pod that got a node has an accepted Binding in the audit log. A Binding whose
    answer was lost on the way is there too, so a hole means that one of the sources cannot be trusted. Only a server
    that is killed may have written to etcd and not to its log."""
    accepted = defaultdict[tuple[str, str], int](int)
    for request in requests:
        if request.resource == "pods/binding" and request.verb == "create" and not request.is_dry_run:
            accepted[f"{request.namespace}/{request.name}", _target(request)] += 1
    return [
        Violation("unrecorded-bind", change.revision, f"{change.key} on {node_of(change.object)}")
        for change in binds(changes)
        if not accepted[change.key, node_of(change.object)]
        and gang_of(change.object)
        and not any(abs(change.at_s - outage_s) < OUTAGE_S for outage_s in outages_s)
    ]


def _target(request: Request) -> str:
    return str((request.body or {}).get("target", {}).get("name", ""))


def partial_gangs(changes: Sequence[Change], gangs: dict[str, Gang], most_s: float = FAULTS_S) -> list[Violation]:
    """No gang has some bound members, but fewer than its minimum, for longer than `most_s`, nor at the end."""
    found: list[Violation] = []
    bound: dict[str, dict[str, Pod]] = defaultdict(dict)
    since: dict[str, tuple[int, float]] = {}
    for change in changes:
        if change.kind != "Pod":
            continue
        before = next((name for name, pods in bound.items() if change.key in pods), "")
        if before:
            del bound[before][change.key]
        name = gang_of(change.object) if change.object is not None else ""
        if name in gangs and node_of(change.object) and change.object["status"].get("phase") != "Failed":
            bound[name][change.key] = change.object
        for touched in {before, name} & gangs.keys():
            if 0 < len(bound[touched]) < gangs[touched].minimum:
                since.setdefault(touched, (change.revision, change.at_s))
            elif touched in since:
                revision, at_s = since.pop(touched)
                if change.at_s - at_s > most_s:
                    found.append(Violation("partial", revision, f"{touched} for {change.at_s - at_s:.1f} s"))
    for name, (revision, _) in since.items():
        text = f"{name} at rest: {len(bound[name])} of {gangs[name].minimum} bound"
        found.append(Violation("partial", revision, text))
    return found


def left_waiting(changes: Sequence[Change], gangs: dict[str, Gang]) -> list[Violation]:
    """At the end nothing waits that would fit. First fit, largest first: where it finds room there is room."""
    pods: dict[str, Pod] = {}
    nodes: dict[str, Any] = {}
    for change in changes:
        into = pods if change.kind == "Pod" else nodes if change.kind == "Node" else {}
        if change.object is None:
            into.pop(change.key, None)
        else:
            into[change.key] = change.object
    free = {name: _allocatable(node) for name, node in nodes.items()}
    for pod in pods.values():
        if node_of(pod) in free and not is_finished(pod):
            _take(free[node_of(pod)], asks(pod))
    members: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods.values():
        if gang_of(pod) in gangs and not node_of(pod) and not is_finished(pod):
            members[gang_of(pod)].append(pod)
    found = []
    for name, waiting in members.items():
        gang = gangs[name]
        n_bound = sum(gang_of(pod) == name and bool(node_of(pod)) for pod in pods.values())
        n_needed = max(1, gang.minimum - n_bound)
        if len(waiting) >= n_needed and _fits(waiting[:n_needed], gang, nodes, free):
            found.append(Violation("left-waiting", 0, f"{name}: {len(waiting)} wait, {n_needed} of them would fit"))
    return found


def _fits(pods: Sequence[Pod], gang: Gang, nodes: dict[str, Any], free: dict[str, dict[str, Decimal]]) -> bool:
    domains: dict[str, list[str]] = defaultdict(list)
    for name, node in nodes.items():
        domains[(node["metadata"].get("labels") or {}).get(gang.level, "") if gang.level else ""].append(name)
    for domain, names in domains.items():
        if gang.level and not domain:
            continue
        left = {name: dict(free[name]) for name in names}
        if all(_first_fit(asks(pod), left) for pod in sorted(pods, key=_cards, reverse=True)):
            return True
    return False


def _first_fit(asked: dict[str, Decimal], left: dict[str, dict[str, Decimal]]) -> bool:
    for has in left.values():
        if all(has.get(name, Decimal()) >= quantity for name, quantity in asked.items()):
            _take(has, asked)
            return True
    return False


def _take(has: dict[str, Decimal], asked: dict[str, Decimal]) -> None:
    for name, quantity in asked.items():
        has[name] = has.get(name, Decimal()) - quantity


def _cards(pod: Pod) -> Decimal:
    return asks(pod).get("nvidia.com/gpu", Decimal())
