"""What every step of every scenario must keep, whatever its trace says.

Numbers as in the reference: I1 no gang rests partly bound, I2 nothing is over-committed (the independent judge of
tests/oracle looks at every placement), I4 whatever waits carries one readable reason. Besides: the same decisions
come out of a world that is built anew from the objects, and nothing more happens without an event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

from gangpool.core.cards import indexes_of
from gangpool.core.model import Plan
from gangpool.core.reasons import CODES
from gangpool.intake.config import Config
from gangpool.intake.place import place
from gangpool.objects.located import Located
from tests.oracle.checker import check, steps_by_gang
from tests.scenarios.stage import Stage

Json = dict[str, Any]


def snapshot(stage: Stage, gangs: Iterable[Json]) -> Json:
    """The cluster as the judge of tests/oracle reads it."""
    present = {obj["metadata"]["name"] for obj in stage.of_kind("Pod")}
    return {
        "nodes": stage.of_kind("Node"),
        "pods": stage.of_kind("Pod"),
        "namespaces": stage.of_kind("Namespace"),
        "volumes": [*stage.of_kind("PersistentVolumeClaim"), *stage.of_kind("PersistentVolume")],
        "gangs": [{**gang, "members": [m for m in gang["members"] if m in present]} for gang in gangs],
    }


def faults_of_plan(before: Json, plan: Plan) -> Iterator[str]:
    """I2, and every other rule of Kubernetes and of the gangs, for what a cycle decided."""
    seats = [(f"{seat.member.namespace}/{seat.member.name}", seat.node) for seat in plan.seats]
    yield from check(before, seats, steps_by_gang(before, (pod for pod, _ in seats)))


def faults_of_rest(after: Json, plan: Plan, wounded: set[str]) -> Iterator[str]:
    """I1 and I4. `wounded`: gangs of which pods have died from outside and were not replaced yet."""
    waiting = {_key(pod) for pod in after["pods"] if _is_waiting(pod)}
    for gang in after["gangs"]:
        namespace = gang["key"].partition("/")[0]
        members = [f"{namespace}/{name}" for name in gang["members"]]
        n_bound = sum(member not in waiting for member in members)
        if 0 < n_bound < gang["minimum"] and gang["key"] not in wounded:
            yield f"I1: {gang['key']} rests with {n_bound} of {gang['minimum']} bound"
    told = [f"{member.namespace}/{member.name}" for wait in plan.waits for member in wait.members]
    for pod in sorted(waiting - set(told)):
        yield f"I4: {pod} waits without a reason"
    if len(told) != len(set(told)):
        yield "I4: a pod has more than one reason"
    for wait in plan.waits:
        reason = wait.reason
        if reason.code not in CODES or not reason.message or not reason.next_step:
            yield f"I4: {wait.gang or wait.members[0].name} has no readable reason: {reason}"


def faults_of_dry_run(before: Json, others: list[Json], plan: Plan, config: Config) -> Iterator[str]:
    """A world built from a dump of the same state decides the same, down to ranks and cards."""
    dump = [*before["nodes"], *others, *before["pods"]]
    answer = place(dump, [], 0.0, config)
    live = {
        f"{seat.member.namespace}/{seat.member.name}": f"{seat.node}, rank {seat.rank}, cards {indexes_of(seat.cards)}"
        for seat in plan.seats
    }
    anew = {f"{p.namespace}/{p.pod}": f"{p.node}, rank {p.rank}, cards {p.cards}" for p in answer.placed}
    yield from _compared("built anew", live, anew)
    live = {wait.gang or wait.members[0].name: wait.reason.code for wait in plan.waits}
    dry = {entry.gang or entry.pods[0]: entry.reason.code for entry in answer.pending}
    yield from _compared("reasons of a world built anew", live, dry)


def faults_of_files(before: Json, others: list[Json], files: list[Json], plan: Plan, config: Config) -> Iterator[str]:
    """`place -f` with the workloads as their users wrote them decides the same."""
    dump = [*before["nodes"], *others, *before["pods"]]
    given = [Located("scenario", _as_written(obj)) for obj in files]
    answer = place(dump, given, 0.0, config)
    yield from _compared("place -f", _seats(plan), {f"{p.namespace}/{p.pod}": p.node for p in answer.placed})


def _as_written(obj: Json) -> Json:
    written = deepcopy(obj)
    for key in ("uid", "creationTimestamp"):
        written["metadata"].pop(key, None)
    return written


def _seats(plan: Plan) -> dict[str, str]:
    return {f"{seat.member.namespace}/{seat.member.name}": seat.node for seat in plan.seats}


def _compared(what: str, live: dict[str, str], other: dict[str, str]) -> Iterator[str]:
    for key in sorted(live.keys() | other.keys()):
        if live.get(key) != other.get(key):
            yield f"{what}: {key} is {other.get(key)}, live {live.get(key)}"


def _key(pod: Json) -> str:
    return f"{pod['metadata'].get('namespace') or 'default'}/{pod['metadata']['name']}"


def _is_waiting(pod: Json) -> bool:
    is_ours = pod["spec"].get("schedulerName") == "gangpool"
    return (
        is_ours
        and not pod["spec"].get("nodeName")
        and pod.get("status", {}).get("phase")
        not in (
            "Succeeded",
            "Failed",
        )
    )
