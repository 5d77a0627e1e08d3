"""The pods of gangs as the API server shows them: which belong together, how many run, since when.

The world knows members; phases and finished pods are on the pods alone. Called by `explain` and `jobs`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from gangpool.intake.forecast import Forecast
from gangpool.intake.said import scheduled
from gangpool.intake.seen import uid_of
from gangpool.intake.store import Object
from gangpool.objects.pod import Condition, Pod
from gangpool.objects.state import holds, is_terminal
from gangpool.workloads import registry

PENDING, PLACED, FINISHED, NOT_OURS = "pending", "placed", "finished", "not-ours"
ENDED = ("Complete", "Completed", "Succeeded", "Failed", "Finished", "Aborted", "Terminated")
"""Conditions, and phases of Volcano, that workloads have when nothing of them will run any more."""


class MembersEntry(Struct, frozen=True):
    """Counts of pods. `minimum`: those that start together, None where pods come one by one. `exist`: not finished;
    `bound`, and of these `running`, are among them."""

    minimum: int | None
    exist: int
    bound: int
    running: int
    finished: int


def counted(minimum: int | None, pods: Sequence[Pod]) -> MembersEntry:
    """The counts of these pods."""
    finished = sum(map(is_terminal, pods))
    bound = [pod for pod in pods if holds(pod)]
    running = sum(pod.status.phase == "Running" for pod in bound)
    return MembersEntry(minimum, len(pods) - finished, len(bound), running, finished)


def crews(forecast: Forecast, pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """Pods by the key of their unit, also finished ones, which are in no unit any more. Others are left out."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        key = forecast.key_of(uid_of(pod))
        if not key and is_terminal(pod):
            link, _ = registry.link(pod)
            key = "" if link is None else link.key
        if key:
            found.setdefault(key, []).append(pod)
    return found


def nodes_of(pods: Iterable[Pod]) -> tuple[str, ...]:
    """The nodes that these pods hold room on, each once, in the order of the pods."""
    return tuple(dict.fromkeys(pod.spec.nodeName for pod in pods if holds(pod)))


def since(state: str, pods: Iterable[Pod]) -> str | None:
    """When what these pods are together began: the first of those that wait was made, the last was bound, or the last
    finished. As the API writes times; None where that is not written."""
    if state == PENDING:
        return min(filter(None, (p.metadata.creationTimestamp for p in pods if not p.spec.nodeName)), default=None)
    when = _finished_at if state == FINISHED else _bound_at
    return max(filter(None, map(when, pods)), default=None)


def _bound_at(pod: Pod) -> str | None:
    return _changed(scheduled(pod), "True")


def _finished_at(pod: Pod) -> str | None:
    ready = next((c for c in pod.status.conditions or () if c.type == "Ready"), None)
    return _changed(ready, "False")


def _changed(condition: Condition | None, status: str) -> str | None:
    return condition.lastTransitionTime if condition is not None and condition.status == status else None


def has_ended(obj: Object) -> bool:
    """Does the workload say that it has finished, well or not?"""
    status = _mapping(obj.get("status"))
    if _mapping(status.get("state")).get("phase") in ENDED:
        return True
    conditions = status.get("conditions")
    found = conditions if isinstance(conditions, list) else []
    return any(_mapping(c).get("type") in ENDED and _mapping(c).get("status") == "True" for c in found)


def words_of(obj: Object) -> str:
    """What a Job of Volcano says of its own state: why its controller makes no pods, for example; "" for others."""
    text = _mapping(_mapping(obj.get("status")).get("state")).get("message")
    return text if isinstance(text, str) else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
