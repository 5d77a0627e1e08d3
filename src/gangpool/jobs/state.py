"""One Job and its pods in, what to do out: the whole behaviour of the jobs controller, without I/O.

The pods are those that `place -f` would expand, so that a dry run and the cluster never differ in a name. Called by
`controller` whenever a Job or one of its pods has changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from gangpool.objects.pod import Pod
from gangpool.workloads import fields, registry
from gangpool.workloads.base import Expansion

Object = Mapping[str, Any]

JOB_NAME = "volcano.sh/job-name"
FINISHED = ("Completed", "Failed", "Aborted", "Terminated")
ENDED = ("Succeeded", "Failed")


class Actions(Struct, frozen=True):
    """Objects to create, pods to delete (by uid), and the status as it must be."""

    create: tuple[dict[str, Any], ...] = ()
    delete: tuple[Pod, ...] = ()
    status: dict[str, Any] = {}


def decide(job: Object, pods: Sequence[Pod], now: str, scheduler: str, shortage: str = "") -> Actions:
    """`now`: RFC 3339, for a phase that changes. `scheduler`: of pods whose Job names none. `shortage`: why a quota
    cannot take the minimum; then no pod is made."""
    phase = fields.text(job, "status.state.phase")
    if phase in FINISHED:
        return Actions(
            delete=tuple(p for p in pods if p.status.phase not in ENDED and not _is_going(p))
            if phase != "Completed"
            else ()
        )
    if fields.text(job, "metadata.deletionTimestamp"):
        return Actions()
    expansion = registry.expand(job)
    wanted = {member.pod["metadata"]["name"]: member.pod for _, member in expansion.members}
    there = {pod.metadata.name: pod for pod in pods}
    ended = _ending(job, expansion, pods)
    if ended:
        text, message = ended
        rest = tuple(pod for pod in pods if pod.status.phase not in ENDED and not _is_going(pod))
        return Actions(delete=rest, status=_status(job, expansion, pods, text, message, now))
    if shortage:
        return Actions(status=_status(job, expansion, pods, "Pending", shortage, now))
    surplus = tuple(pod for name, pod in there.items() if name not in wanted and not _is_going(pod))
    create = [_owned(wanted[name], job, scheduler) for name in wanted if name not in there]
    running = sum(pod.status.phase == "Running" for pod in pods)
    least = _minimum(expansion)
    state = "Running" if running >= least else "Pending"
    return Actions(tuple(create), surplus, _status(job, expansion, pods, state, "", now))


def group_of(job: Object) -> dict[str, Any]:
    """The PodGroup that belongs to a Job, named as Volcano names it."""
    name, uid = fields.text(job, "metadata.name"), fields.text(job, "metadata.uid")
    gang = registry.gang_of(job)
    total = gang.total if gang is not None and gang.total is not None else 1
    spec: dict[str, Any] = {"minMember": gang.minimum if gang is not None and gang.minimum is not None else total}
    for field in ("queue", "priorityClassName", "networkTopology"):
        value = fields.find(job, f"spec.{field}")
        if value is not None:
            spec[field] = value
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": f"{name}-{uid}",
            "namespace": fields.text(job, "metadata.namespace"),
            "ownerReferences": [owner_of(job)],
        },
        "spec": spec,
    }


def owner_of(job: Object) -> dict[str, Any]:
    """The reference by which garbage collection finds what a Job owns."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": fields.text(job, "metadata.name"),
        "uid": fields.text(job, "metadata.uid"),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _owned(pod: dict[str, Any], job: Object, scheduler: str) -> dict[str, Any]:
    spec = pod["spec"]
    if not spec.get("schedulerName"):
        spec = {**spec, "schedulerName": scheduler}
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner_of(job)]}, "spec": spec}


def _is_going(pod: Pod) -> bool:
    return pod.metadata.deletionTimestamp is not None


def _minimum(expansion: Expansion) -> int:
    gang = expansion.gangs[0] if expansion.gangs else None
    if gang is None:
        return len(expansion.members)
    return gang.minimum if gang.minimum is not None else len(expansion.members)


def _ending(job: Object, expansion: Expansion, pods: Sequence[Pod]) -> tuple[str, str] | None:
    """(phase, message) when the Job is over: all pods succeeded, or so many failed that the minimum cannot be
    reached."""
    total = len(expansion.members)
    succeeded = sum(pod.status.phase == "Succeeded" for pod in pods)
    failed = [pod for pod in pods if pod.status.phase == "Failed"]
    if total and succeeded == total:
        return "Completed", ""
    if failed and total - len(failed) < _minimum(expansion):
        pod = failed[0]
        return "Failed", f"pod {pod.metadata.name} failed{_exit_of(pod)}"
    return None


def _exit_of(pod: Pod) -> str:
    for status in pod.status.containerStatuses or ():
        ended = status.state.terminated if status.state is not None else None
        if ended is not None and ended.exitCode:
            return f" with exit code {ended.exitCode}"
    return ""


def _status(  # noqa: PLR0913 - what a status is made of
    job: Object, expansion: Expansion, pods: Sequence[Pod], phase: str, message: str, now: str
) -> dict[str, Any]:
    """The status that the Job should have; the time stamp moves only with the phase."""
    old = fields.find(job, "status.state")
    state: dict[str, Any] = {"phase": phase, "lastTransitionTime": now}
    if isinstance(old, Mapping) and old.get("phase") == phase:
        state["lastTransitionTime"] = old.get("lastTransitionTime") or now
    if message:
        state["message"] = message
    counts = Counter(pod.status.phase for pod in pods)
    return {
        "state": state,
        "minAvailable": _minimum(expansion),
        "pending": counts["Pending"],
        "running": counts["Running"],
        "succeeded": counts["Succeeded"],
        "failed": counts["Failed"],
    }
