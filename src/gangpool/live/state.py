"""`GET /state`: the ledger as the scheduler has it now, leader or not (CONTRACT, "The scheduler's own picture").

For support and tests: what it shows is what the next plan will go by, seats that are still on their way included.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from gangpool.core.amount import amount_text
from gangpool.core.model import Wait
from gangpool.intake.answer import PendingEntry
from gangpool.intake.place import pending_of
from gangpool.live.follow import Follower
from gangpool.objects.state import is_terminal

SCHEMA = "gangpool.io/state/v1"


class PodState(Struct, frozen=True):
    """A pod that is there. `node` "" while it waits."""

    namespace: str
    name: str
    uid: str
    node: str


class NodeState(Struct, frozen=True):
    """A node; amounts as quantities. `free` may be negative where allocatable fell below use."""

    name: str
    allocatable: dict[str, str]
    free: dict[str, str]


class State(Struct, frozen=True):
    """`synced`: every kind has been listed. `lists`: full lists per resource since the start. `pending`: what the last
    plan could not seat, as `place` says it; empty while another replica leads."""

    schema: str
    synced: bool
    lists: dict[str, int]
    pods: list[PodState]
    nodes: list[NodeState]
    pending: list[PendingEntry] = []


def state_of(follower: Follower, waits: Sequence[Wait] = ()) -> State:
    """The picture, sorted by name. O(pods + nodes)."""
    reflectors = follower.reflectors
    lists: dict[str, int] = {}
    for path, reflector in reflectors.items():
        name = resource_of(path)
        lists[name] = lists.get(name, 0) + reflector.n_lists
    return State(
        SCHEMA,
        all(reflector.synced.is_set() for reflector in reflectors.values()),
        lists,
        _pods(follower),
        _nodes(follower),
        list(pending_of(waits)),
    )


def resource_of(path: str) -> str:
    """A resource as kubectl names it, whatever its version.

    >>> resource_of("pods"), resource_of("/api/v1/namespaces"), resource_of("/apis/batch/v1/jobs")
    ('pods', 'namespaces', 'jobs.batch')
    """
    parts = path.strip("/").split("/")
    return f"{parts[3]}.{parts[1]}" if parts[0] == "apis" else parts[-1]


def _pods(follower: Follower) -> list[PodState]:
    """Every pod that has not finished; one that waits and is not ours holds nothing."""
    found = []
    for uid, pod in follower.pods.items():
        if not is_terminal(pod):
            node = pod.spec.nodeName or follower.assumed.get(uid, "")
            found.append(PodState(pod.metadata.namespace, pod.metadata.name, uid, node))
    return sorted(found, key=lambda pod: (pod.namespace, pod.name, pod.uid))


def _nodes(follower: Follower) -> list[NodeState]:
    ledger, found = follower.world.pool.ledger, []
    for i, facts in ledger.alive():
        has = {name: amount_text(name, amount) for name, amount in sorted(facts.allocatable.items())}
        free = {name: amount_text(name, ledger.free[name].at[i]) for name in has}
        found.append(NodeState(facts.name, has, free))
    return sorted(found, key=lambda node: node.name)
