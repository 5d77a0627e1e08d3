"""One world, planned by gangpool and judged by the oracle: what was placed, what waits, and what is wrong with it.

`plan` runs the dry run on the world as a dump. `objections` are violations in what was placed and told; `missed` are
members that could have been placed and were not. Sentences both, empty when all is right. Shared by the tests here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gangpool.core.reasons import CODES
from gangpool.intake import place
from gangpool.intake.answer import PendingEntry, PlaceAnswer
from gangpool.intake.config import Config
from tests.oracle.brute import best_count, feasible
from tests.oracle.checker import check, steps_by_gang
from tests.oracle.rules_gang import members_of, roles_of
from tests.oracle.view import pod_key
from tests.oracle.worlds import world_as_dump

Json = dict[str, Any]

LIMIT = 60_000
"""Tries of the exhaustive search per question; beyond it the question is not judged."""

WAITS_FOR_OTHERS = {"gated", "members-missing", "level-unknown"}
"""Codes that say that the gang can't start whatever the room; what they claim is judged all the same."""


@dataclass
class Outcome:
    """A world and what gangpool says of it. `tally` counts what was judged, for shares and against empty tests."""

    world: Json
    answer: PlaceAnswer
    tally: Counter[str] = field(default_factory=Counter)

    @cached_property
    def seats(self) -> dict[str, str]:
        """Pod to node, in the order of the answer."""
        return {f"{p.namespace}/{p.pod}": p.node for p in self.answer.placed}

    @cached_property
    def waits(self) -> dict[str, PendingEntry]:
        """Pod to the entry that says why it waits."""
        return {f"{entry.namespace}/{pod}": entry for entry in self.answer.pending for pod in entry.pods}

    @cached_property
    def after(self) -> Json:
        """The world in which everything that was placed runs."""
        after = deepcopy(self.world)
        for pod in after["pods"]:
            if node := self.seats.get(pod_key(pod)):
                pod["spec"]["nodeName"] = node
                pod["status"]["phase"] = "Running"
        return after


def plan(world: Json) -> Outcome:
    """The dry run on the world as a dump, without further workloads."""
    return Outcome(world, place(world_as_dump(world)["items"], [], 0.0, Config()))


def objections(outcome: Outcome) -> list[str]:
    """What is wrong with what was placed, and with how the rest is told."""
    world, answer = outcome.world, outcome.answer
    pairs = [(f"{p.namespace}/{p.pod}", p.node) for p in answer.placed]
    faults = check(world, pairs, steps_by_gang(world, outcome.seats))
    faults += [f"{evicted.pod} is evicted" for evicted in answer.evicted]
    told = Counter(f"{e.namespace}/{pod}" for e in answer.pending for pod in e.pods)
    for pod in world["pods"]:
        key, ours = pod_key(pod), pod["spec"]["schedulerName"] == "gangpool"
        times = told[key] + (key in outcome.seats)
        if times != (1 if ours and not pod["spec"].get("nodeName") else 0):
            faults.append(f"{key} is told {times} times")
    for gang in world["gangs"]:
        reasons = [e.reason.code for e in answer.pending if e.gang == gang["key"]]
        waits = any(pod in outcome.waits for pod in members_of(gang))
        if len(reasons) != (1 if waits else 0):
            faults.append(f"gang {gang['key']} has the reasons {reasons}")
    faults += [f"no such code: {e.reason.code}" for e in answer.pending if e.reason.code not in CODES]
    outcome.tally["placed"] += len(pairs)
    outcome.tally["waiting"] += len(told)
    return faults


def missed(outcome: Outcome) -> list[str]:
    """Gangs, members above a minimum and single pods that wait, although the exhaustive search finds a place for
    them beside all that was placed; reasons that say something else than the search."""
    faults: list[str] = []
    for gang in outcome.after["gangs"]:
        waiting = [pod for pod in members_of(gang) if pod in outcome.waits]
        if waiting:
            faults += _of_gang(outcome, gang, outcome.waits[waiting[0]])
    alone = {pod for gang in outcome.after["gangs"] for pod in members_of(gang)}
    for pod, entry in outcome.waits.items():
        if pod not in alone:
            space, name = pod.split("/")
            single = {"key": f"{space}/single", "members": [name], "minimum": 1}
            faults += _verdict(outcome, single, entry)
    return faults


def _of_gang(outcome: Outcome, gang: Json, entry: PendingEntry) -> Iterator[str]:
    running = {pod_key(pod) for pod in outcome.after["pods"] if pod["spec"].get("nodeName")}
    seated = sum(pod in running for pod in members_of(gang))
    lacks = any(sum(pod in running for pod in pods) < least for pods, least in roles_of(gang).values())
    if seated >= gang["minimum"] and not lacks:  # one more member is the question
        more = {**deepcopy(gang), "minimum": seated + 1}
        for role in (more.get("roles") or {}).values():
            role["minimum"] = 0
        outcome.tally["extra"] += 1
        yield from _verdict(outcome, more, entry)
        return
    yield from _verdict(outcome, gang, entry)
    if entry.reason.code == "cannot-fit" and int(entry.reason.numbers["best"]) >= int(entry.reason.numbers["needed"]):
        yield f"{gang['key']}: cannot fit, but {entry.reason.message}"
    if entry.reason.code == "cannot-fit" and not (gang.get("roles") or gang.get("blocks")):
        yield from _best(outcome, gang, entry, seated)


def _verdict(outcome: Outcome, gang: Json, entry: PendingEntry) -> Iterator[str]:
    """The search's word on whether the gang could be placed now, against the reason."""
    reason = entry.reason
    outcome.tally[reason.code] += 1
    others = [other for other in outcome.after["gangs"] if other["key"] != gang["key"]]
    found = feasible({**outcome.after, "gangs": [*others, gang]}, gang["key"], LIMIT)
    if found == "unknown":
        outcome.tally["unknown"] += 1
    elif found is not None:
        yield f"{gang['key']} waits ({reason.code}: {reason.message}), but fits: {found}"
    if reason.code == "not-found":
        if "budget" not in reason.numbers or str(reason.numbers["budget"]) not in reason.message:
            yield f"{gang['key']}: not-found without its budget: {reason}"
    elif reason.code not in {"cannot-fit", *WAITS_FOR_OTHERS}:
        yield f"{gang['key']}: {reason.code} says nothing about room"


def _best(outcome: Outcome, gang: Json, entry: PendingEntry, seated: int) -> Iterator[str]:
    """`best` of a gang of equals: what the best domain of its level holds, beside those that run."""
    keys = gang.get("required") or []
    members = [pod for pod in outcome.after["pods"] if pod_key(pod) in members_of(gang)]
    asks = [pod["spec"]["containers"][0]["resources"] for pod in members]
    if any(ask != asks[0] for ask in asks):
        return  # no gang of equals
    if seated and keys:
        return  # held to one domain, which need not be the best
    most = best_count(outcome.after, gang["key"], keys, LIMIT)
    if most == "unknown":
        return
    outcome.tally["best"] += 1
    expected = min(most + seated, gang["minimum"])
    if entry.reason.numbers.get("best") != expected:
        yield f"{gang['key']}: best {entry.reason.numbers.get('best')}, but {expected} fit ({entry.reason.message})"
