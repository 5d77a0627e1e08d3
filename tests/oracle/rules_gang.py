"""Rules of gangs: the minimum or nothing, one domain of the required level, blocks of ranks that share a domain.

A gang is a dict: `key` (`namespace/name`), `members` (pod names), `minimum`, and where they are used `roles`
(role: `{"members": [...], "minimum": n}`), `required` (node label keys of a level, widest first: the path of a
domain), `blocks` (`{"size": k, "keys": [...]}`). A gang none of whose members is new is not judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from tests.oracle.view import State, View, namespace_of

Json = dict[str, Any]
Path = tuple[str, ...]

RANK_LABEL = "batch.kubernetes.io/job-completion-index"


def members_of(gang: Json) -> list[str]:
    """The gang's pods as `namespace/name`."""
    return [f"{namespace_of(gang['key'])}/{name}" for name in gang["members"]]


def roles_of(gang: Json) -> dict[str, tuple[list[str], int]]:
    """Role to its pods and its minimum; empty for a gang without roles."""
    namespace = namespace_of(gang["key"])
    return {
        name: ([f"{namespace}/{member}" for member in role["members"]], role["minimum"])
        for name, role in (gang.get("roles") or {}).items()
    }


def rank_of(view: View, gang: Json, pod: str) -> int:
    """The rank that the pod's label says, else its place among the members. Labels of a gang with roles count within
    a role; there the place among the members is the rank in the gang."""
    label = None if gang.get("roles") else view.pod_labels[pod].get(RANK_LABEL)
    return int(label) if label is not None else members_of(gang).index(pod)


def block_of(view: View, gang: Json, pod: str) -> int:
    """Number of the pod's block: blocks go on from role to role."""
    return rank_of(view, gang, pod) // int(gang["blocks"]["size"])


def path(labels: dict[str, str], keys: Sequence[str]) -> Path | None:
    """The domain of a node: its values for all keys; None where it lacks one and so is outside the level."""
    return tuple(labels[key] for key in keys) if all(key in labels for key in keys) else None


def _judged(state: State) -> Iterator[tuple[Json, list[str]]]:
    """The gangs with a new member, and all their members that have a node."""
    for gang in state.view.gangs:
        seated = [pod for pod in members_of(gang) if pod in state.seats]
        if any(pod in state.new for pod in seated):
            yield gang, seated


def minimum(state: State) -> Iterator[str]:
    """All or nothing: with its new members the gang has its minimum, and each role its own."""
    for gang, seated in _judged(state):
        if len(seated) < gang["minimum"]:
            yield f"gang {gang['key']}: {len(seated)} members placed, {gang['minimum']} are the minimum"
        for role, (pods, least) in roles_of(gang).items():
            placed = sum(pod in state.seats for pod in pods)
            if placed < least:
                yield f"gang {gang['key']}: {placed} members of role {role} placed, {least} are the minimum"


def required_level(state: State) -> Iterator[str]:
    """All members sit in one domain of the required level."""
    for gang, seated in _judged(state):
        if keys := gang.get("required"):
            yield from _one_domain(state, f"gang {gang['key']}", seated, keys)


def blocks(state: State) -> Iterator[str]:
    """The members of each block sit in one domain."""
    for gang, seated in _judged(state):
        if not gang.get("blocks"):
            continue
        of_block: defaultdict[int, list[str]] = defaultdict(list)
        for pod in seated:
            of_block[block_of(state.view, gang, pod)].append(pod)
        for number, pods in sorted(of_block.items()):
            yield from _one_domain(state, f"gang {gang['key']}, block {number}", pods, gang["blocks"]["keys"])


def _one_domain(state: State, name: str, pods: list[str], keys: Sequence[str]) -> Iterator[str]:
    paths = {pod: path(state.view.labels.get(state.seats[pod], {}), keys) for pod in pods}
    for pod, domain in paths.items():
        if domain is None:
            yield f"{name}: {pod} sits outside level {keys[-1]}, on node {state.seats[pod]}"
    domains = {domain for domain in paths.values() if domain is not None}
    if len(domains) > 1:
        yield f"{name}: members sit in {len(domains)} domains of {keys[-1]}: {sorted(domains)}"
