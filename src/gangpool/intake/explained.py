"""Why an object waits, or where it is: the answer of `gangpool explain`, `gangpool.io/explain/v1`.

Pure: a loaded world, what was seen of its pods, and the object that is asked about. The reasons are those of a dry
cycle over that world (`forecast`), in the live scheduler's words. Called by `gangpool.cli.explain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from gangpool.core.model import Reason
from gangpool.core.ready import why_held_back
from gangpool.intake.crew import (
    FINISHED,
    NOT_OURS,
    PENDING,
    PLACED,
    MembersEntry,
    counted,
    crews,
    has_ended,
    nodes_of,
    since,
    words_of,
)
from gangpool.intake.explained_node import explain_node
from gangpool.intake.explanation import EXPLAIN_SCHEMA, AlsoEntry, ExplainAnswer, NotThere, doubt_of
from gangpool.intake.forecast import Forecast, Stand, fits_now, not_there
from gangpool.intake.gangs import gang_from
from gangpool.intake.handover import ANNOTATION
from gangpool.intake.not_there import not_there_text
from gangpool.intake.place import entry_of
from gangpool.intake.references import Origin
from gangpool.intake.seen import Seen, uid_of
from gangpool.intake.store import name_of, subject_of
from gangpool.intake.target import Target, is_of
from gangpool.intake.told import told_by
from gangpool.intake.world import World, owner_of
from gangpool.objects.pod import Pod
from gangpool.objects.state import is_leaving, is_terminal, is_terminating
from gangpool.workloads import registry
from gangpool.workloads.base import GangOf, Object, WorkloadError


def explain(world: World, seen: Seen, target: Target) -> ExplainAnswer:
    """The answer about one object. Raises NotThere."""
    if target.is_node:
        return explain_node(world, seen, target)
    pods = sorted((p for p in seen.pods.values() if is_of(p, target, world.store)), key=lambda p: p.metadata.name)
    objects = target.objects(world.store)
    if not pods and not objects:
        raise NotThere(not_there_text(world, seen, target))
    case = _Case(Forecast(world, seen.refusals), target, pods, objects)
    return case.answer(seen.pods.values())


class _Case:
    """One object with its pods and units, looked at once."""

    def __init__(self, forecast: Forecast, target: Target, pods: Sequence[Pod], objects: Sequence[Object]) -> None:
        self.forecast = forecast
        self.world = forecast.world
        self.target = target
        self.pods = pods
        self.objects = objects
        self.uids = {uid_of(pod) for pod in pods}
        keys = dict.fromkeys(crews(forecast, pods))
        self.stands = [stand for key in keys if (stand := forecast.stand_of(key)) is not None]
        if not pods:
            self.stands = list(_without_pods(self.world, objects))
        self.state = self._state()
        waiting = [stand for stand in self.stands if self.state == PENDING and self._waits(stand)]
        waiting.sort(key=lambda stand: bool(stand.seats))
        self.main = next(iter(waiting or self.stands), None)
        """What the answer is about: of several units one that waits, one without room before one that fits now."""
        is_over = self.state == FINISHED and len(keys) == 1 and not self.stands
        self.told = told_by(self.world, pods[0]) if is_over else None
        """The gang of pods that have all finished."""

    def answer(self, seen: Iterable[Pod]) -> ExplainAnswer:
        """Everything that there is to say. `seen`: all pods of the namespace."""
        reasons = self._reasons()
        reason = reasons.pop(0) if reasons and self.state in (PENDING, NOT_OURS) else None
        pod = self.pods[0] if self.target.is_pod else None
        devices, unread = (None, []) if pod is None else devices_of(pod)
        gang, minimum = self._gang()
        crew = self._crew(seen)
        members = counted(minimum, crew) if crew else None
        also = [AlsoEntry(other.code, other.message) for other in (*reasons, *self._further(members))]
        also += unread + self._words() + self._doubts()
        nodes = nodes_of(crew)
        return ExplainAnswer(
            schema=EXPLAIN_SCHEMA,
            object=self.target.text,
            gang=gang,
            state=self.state,
            reason=None if reason is None else entry_of(reason),
            also=tuple(dict.fromkeys(also)),
            node=None if pod is None else pod.spec.nodeName or None,
            devices=devices,
            since=since(self.state, self.pods),
            members=members,
            nodes=nodes,
            domain=self.forecast.domain_of(nodes),
        )

    def _gang(self) -> tuple[str | None, int | None]:
        """Key and minimum; no minimum where the object has several gangs."""
        if self.told is not None:
            return self.told.key, self.told.minimum
        if self.main is None or self.main.gang is None:
            return None, None
        return self.main.key, self.main.minimum if len(self.stands) == 1 else None

    def _state(self) -> str:
        schedulers = self.world.config.schedulerNames
        if not self.pods:
            return FINISHED if any(map(has_ended, self.objects)) else PENDING
        if all(pod.spec.schedulerName not in schedulers for pod in self.pods):
            return NOT_OURS
        if all(map(is_terminal, self.pods)):
            return FINISHED
        if any(map(self._waits, self.stands)) or not any(pod.spec.nodeName for pod in self.pods):
            return PENDING
        return PLACED

    def _waits(self, stand: Stand) -> bool:
        """Does what is asked about wait in this unit? A gang that has started is placed, though more may come."""
        if self.target.is_pod:
            return any(member.uid in self.uids for member in stand.waiting)
        return not stand.is_started

    def _reasons(self) -> list[Reason]:
        """The reason of the object first, then all others that its units say, each once."""
        if self.state == NOT_OURS:
            return [self._not_ours()]
        if self.state == FINISHED:
            return []
        stands = [self.main, *self.stands] if self.main is not None else []
        said = [reason for stand in stands for reason in self._said_of(stand)]
        if self.state == PENDING and not said:
            said = [self._in_no_unit()]
        found: dict[tuple[str, str], Reason] = {}
        for reason in said:
            found.setdefault((reason.code, reason.message), reason)
        return list(found.values())

    def _said_of(self, stand: Stand) -> Iterator[Reason]:
        """Reasons of one unit as far as they concern the object, the one that counts first."""
        waiting = [member for member in stand.waiting if member.uid in self.uids]
        if self.target.is_pod and not waiting:
            if stand.reason is not None and not stand.is_started:
                yield stand.reason  # it has a node and waits for the others
            return
        seats = [seat for seat in stand.seats if seat.member.uid in self.uids]
        if seats:
            yield fits_now(stand, self.forecast.domain_of([seat.node for seat in stand.seats]))
        if stand.reason is not None and not (self.target.is_pod and seats):
            yield stand.reason
        held = why_held_back(waiting, len(stand.waiting) + len(stand.seated))
        if held is not None and (stand.reason is None or stand.reason.code != held.code):
            yield held

    def _further(self, members: MembersEntry | None) -> Iterator[Reason]:
        """Of what is placed: pods that leave, members that are gone."""
        if self.state != PLACED:
            return
        n_leaving = sum(map(is_terminating, self.pods))
        if n_leaving:
            text = f"{n_leaving} of {len(self.pods)} pods are being deleted; they hold their room until they are gone"
            yield Reason("leaving", text)
        n_known = 0 if members is None else members.exist + members.finished
        if members is not None and n_known < (members.minimum or 0):
            yield Reason("members-missing", f"{n_known} of {members.minimum} members exist")

    def _words(self) -> list[AlsoEntry]:
        """What the objects say themselves, while no pod of them can."""
        objects = self.objects if not self.pods else ()
        return [AlsoEntry("status", words) for obj in objects if (words := words_of(obj))]

    def _not_ours(self) -> Reason:
        named = ", ".join(sorted({pod.spec.schedulerName for pod in self.pods}))
        ours = " or ".join(self.world.config.schedulerNames)
        text = f"the scheduler named is {named}; gangpool places pods that name {ours}"
        return Reason("not-ours", text, next_step=f"ask {named}, or name {ours} as schedulerName in the template")

    def _in_no_unit(self) -> Reason:
        """Of pods that the plan does not know."""
        if any(map(is_leaving, self.pods)):
            return Reason("leaving", "it is being deleted and has no node", next_step="wait until it is gone")
        if self.pods:
            return Reason("invalid-object", "it cannot be read and is left out", next_step="correct the object")
        return Reason("members-missing", "no pod of it exists", next_step="see its controller")

    def _doubts(self) -> list[AlsoEntry]:
        """What the world could not use of the object, of its pods' owners, of its gangs."""
        about = {f"Pod/{pod.metadata.namespace}/{pod.metadata.name}" for pod in self.pods}
        about |= {owner_of(pod) for pod in self.pods} | {subject_of(obj) for obj in self.objects}
        about |= {told[0].subject for stand in self.stands if (told := self.world.groups.about(stand.key))}
        return [doubt_of(note) for note in self.world.notes if note.object in about]

    def _crew(self, seen: Iterable[Pod]) -> Sequence[Pod]:
        """The pods that are counted: all of a pod's gang, else those of the object."""
        if not self.target.is_pod:
            return self.pods
        gang, _ = self._gang()
        return crews(self.forecast, seen).get(gang, ()) if gang is not None else ()


def _without_pods(world: World, objects: Iterable[Object]) -> Iterator[Stand]:
    """The gangs that these objects define, none of whose pods exists."""
    for obj in objects:
        try:
            gangs = registry.gangs_of(obj, world.store)
        except WorkloadError as mistake:
            text = f"{mistake.field}: {mistake.message}"
            gangs = (GangOf(key="/".join(name_of(obj)), minimum=1, error=text),)
        for found in gangs:
            yield not_there(gang_from(found, (), world.store, Origin(subject_of(obj), obj)))


def devices_of(pod: Pod) -> tuple[Any, list[AlsoEntry]]:
    """The hand-over annotation as it is written; None without one, and with a finding where it is no JSON."""
    text = (pod.metadata.annotations or {}).get(ANNOTATION)
    if text is None:
        return None, []
    try:
        return msgspec.json.decode(text), []
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as error:
        return None, [AlsoEntry("devices-unreadable", f"metadata.annotations[{ANNOTATION}]: {error}")]
