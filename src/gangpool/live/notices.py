"""What is said about whoever waits, and when: the words change rarely, the most useful ones go first.

The deciding part of the reporter, without I/O: it hears every plan, and hands out one write after another. A text is
published when its code is new, or when its numbers have not moved for 30 s; nothing is said about a gang in its first
2 s. What the objects already say is never written again, so a restart is silent. Times are arguments: `now`
monotonic, `wall` since the epoch, both in seconds. Mutable owner of what has been said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from gangpool.core.model import Member, Seat, Wait
from gangpool.core.pool import Unit
from gangpool.core.ready import minimum_of
from gangpool.intake.said import code_of, refused, said_on, text_of
from gangpool.intake.world import World
from gangpool.live import groups, writes
from gangpool.live.course import Counts, Course
from gangpool.live.writes import Happening, Subject, Write
from gangpool.objects.pod import Pod
from gangpool.workloads import named, registry
from gangpool.workloads.base import Object
from gangpool.workloads.dialect import controller_of

HOLD_S = 2.0
"""A gang's pods are still being made; also the least time between two texts about the same unit."""
STABLE_S = 30.0
EVENT_S = 30.0
"""Events about one unit are written at most so often."""
SUBJECTS = 3
"""An event is about the gang's workload, its PodGroup, and its first pod."""
SCHEDULED_MOST = 1000
"""So many Normal events may queue; more are not worth their writes."""
EVENTS_MOST = 20_000
"""Event objects whose count is remembered; one that is forgotten is found again by a conflict."""
MOOT_MOST = 200
"""Queued notices that turn out to be said already are skipped, so many at a time, then the loop gets its turn."""


class Unsaid(Struct, frozen=True, gc=False):
    """A queued notice. `uid` for a pod's condition (and a status: a member that has turned), `number` for the subject
    of an event."""

    what: Literal["condition", "status", "event", "scheduled"]
    key: str
    uid: str = ""
    number: int = 0


class Said(Struct):
    """What one waiting unit is to say (`text`) and says (`published`). Members: those that wait, the first leads."""

    key: str
    members: tuple[Member, ...]
    text: str
    since: float
    text_since: float
    published: str = ""
    published_at: float = float("-inf")
    event_text: str = ""
    event_at: float = float("-inf")
    sent: dict[str, str] = {}
    """Texts by uid that have been handed out; the watch shows them later."""


Given = tuple[Unsaid, Write]


class Notices:
    """Hears plans, gives writes. `pods` by uid as the server last showed them."""

    def __init__(self, pods: Mapping[str, Pod], world: World, course: Course | None = None) -> None:
        self._pods = pods
        self._world = world
        self._course = course or Course()
        self._counted_at = float("-inf")
        self._said: dict[str, Said] = {}
        self._queues: tuple[dict[Unsaid, None], ...] = ({}, {}, {}, {})
        self._scheduled: dict[str, tuple[str, str]] = {}
        self._events: dict[str, int | None] = {}
        self._is_new = True
        self.refusals: Counter[str] = Counter()
        """Times that a unit began to wait for a code."""

    # ---- what is heard

    def waits(self, now: float, waits: Sequence[Wait], resting: Mapping[str, str]) -> None:
        """All that waits after a plan; `resting`: the server's refusal by unit key. O(waiting units)."""
        heard: set[str] = set()
        for wait in waits:
            key = wait.gang or f"pod:{wait.members[0].uid}"
            heard.add(key)
            self._hear(now, key, wait.members, text_of(wait.reason))
        for key, refusal in resting.items():
            unit = self._world.pool.units.get(key)
            if unit is not None and unit.waiting:
                heard.add(key)
                members = tuple(sorted(unit.waiting.values(), key=lambda m: (m.rank, m.name)))
                self._hear(now, key, members, text_of(refused(refusal)))
        for key in self._said.keys() - heard:
            if not any(self._is_coming(member.uid) for member in self._said[key].members):
                del self._said[key]
        if now - self._counted_at >= HOLD_S:
            self._counted_at = now
            for key, uid in self._course.turned().items():
                self._add(3, Unsaid("status", key, uid))
        if self._is_new:
            self._is_new = False
            self._take_over()

    def _hear(self, now: float, key: str, members: tuple[Member, ...], text: str) -> None:
        said = self._said.get(key)
        if said is None:
            said = self._said[key] = self._first(now, key, members, text)
        if text != said.text:
            if code_of(text) != code_of(said.text):
                self.refusals[code_of(text)] += 1
            said.text, said.text_since = text, now
        if members != said.members:
            said.members = members
            said.sent = {m.uid: said.sent[m.uid] for m in members if m.uid in said.sent}
            self._queue_conditions(said)
        if said.text != said.published and self._is_due(said, now):
            said.published, said.published_at = said.text, now
            self._queue_conditions(said)
            if not key.startswith("pod:"):
                self._add(0, Unsaid("status", key))
        if said.published != said.event_text and now - said.event_at >= EVENT_S:
            said.event_text, said.event_at = said.published, now
            for number in range(SUBJECTS):
                self._add(1, Unsaid("event", key, number=number))

    def _first(self, now: float, key: str, members: tuple[Member, ...], text: str) -> Said:
        """A unit that was not heard of: what its first pod says already was said by us, before a restart."""
        self.refusals[code_of(text)] += 1
        said = Said(key, members, text, now, now)
        pod = self._pods.get(members[0].uid)
        before = said_on(pod) if pod is not None else ""
        if code_of(before):
            said.published = said.event_text = before
            self._queue_conditions(said)
            if not key.startswith("pod:"):
                self._add(0, Unsaid("status", key))
        return said

    def _is_due(self, said: Said, now: float) -> bool:
        if not said.published:
            return said.key.startswith("pod:") or now - said.since >= HOLD_S
        if code_of(said.text) != code_of(said.published):
            return now - said.published_at >= HOLD_S
        return now - said.text_since >= STABLE_S

    def _is_coming(self, uid: str) -> bool:
        """Planned, and the server has not shown its node yet."""
        pod = self._pods.get(uid)
        return pod is not None and not pod.spec.nodeName

    def _take_over(self) -> None:
        """Gangs that a leader before us has bound, and perhaps did not come to say so."""
        for key, unit in self._world.pool.units.items():
            if unit.gang is not None and unit.seated and key not in self._said:
                self._add(2, Unsaid("status", key))

    def bound(self, key: str, seats: Sequence[Seat]) -> None:
        """Members of a unit have got their nodes. What makes a gang run is an event; a replaced member is none."""
        unit = self._world.pool.units.get(key)
        if not seats or unit is None:
            return
        if unit.gang is not None:
            self._add(0, Unsaid("status", key))
            if not len(unit.seated) - len(seats) < minimum_of(unit, unit.gang) <= len(unit.seated):
                return
        if len(self._scheduled) < SCHEDULED_MOST:
            self._scheduled[key] = (seats[0].member.uid, bound_text(seats))
            self._add(3, Unsaid("scheduled", key))

    def clear(self) -> None:
        """We lead no more: nothing more is said, and what the next leader says is not ours to remember."""
        self._said.clear()
        self._scheduled.clear()
        self._events.clear()
        for queue in self._queues:
            queue.clear()
        self._is_new = True

    # ---- what is given out

    @property
    def n_queued(self) -> int:
        return sum(len(queue) for queue in self._queues)

    def waiting(self) -> list[tuple[str, tuple[Member, ...]]]:
        """(code, members) of each unit that waits."""
        return [(code_of(said.text), said.members) for said in self._said.values()]

    def next(self, wall: float) -> Given | None:
        """The next write; None when there is none for now (see `n_queued`: there may be more to look through)."""
        for _ in range(MOOT_MOST):
            queue = next((queue for queue in self._queues if queue), None)
            if queue is None:
                return None
            unsaid = next(iter(queue))
            del queue[unsaid]
            write = self._write(unsaid, wall)
            if write is not None:
                return unsaid, write
        return None

    def answered(self, given: Given, status: int) -> None:
        """What the server said: an HTTP status, 0 for no answer. Troubles are said again later."""
        unsaid, write = given
        if status in (0, 429) or status >= 500:
            self._said_not(unsaid)
            self._add(1, unsaid)
        elif write.what == "event":
            self._event_answered(unsaid, write, status)
        if unsaid.what == "scheduled" and unsaid not in self._queues[1]:
            self._scheduled.pop(unsaid.key, None)

    def _event_answered(self, unsaid: Unsaid, write: Write, status: int) -> None:
        name = write.body["metadata"]["name"] if write.method == "POST" else write.path.rpartition("/")[2]
        if status < 300:
            if len(self._events) >= EVENTS_MOST:
                self._events.clear()
            self._events[name] = write.body.get("count", 1)
        elif write.method == "POST" and status == 409:  # from before a restart
            self._events[name] = None
            self._add(1, unsaid)
        elif write.method == "PATCH" and status == 404:  # the server has forgotten it
            self._events.pop(name, None)
            self._add(1, unsaid)

    # ---- from a notice to a write

    def _write(self, unsaid: Unsaid, wall: float) -> Write | None:
        if unsaid.what == "condition":
            return self._condition(unsaid, wall)
        if unsaid.what == "status":
            return self._status(unsaid.key, unsaid.uid, wall)
        if unsaid.what == "event":
            return self._warning(unsaid, wall)
        return self._news(unsaid, wall)

    def _condition(self, unsaid: Unsaid, wall: float) -> Write | None:
        said, pod = self._said.get(unsaid.key), self._pods.get(unsaid.uid)
        if said is None or pod is None or said.sent.get(unsaid.uid) == said.published:
            return None
        write = writes.condition(pod, said.published, wall)
        if write is not None:
            said.sent[unsaid.uid] = said.published
        return write

    def _status(self, key: str, uid: str, wall: float) -> Write | None:
        """`uid`: a member that may be in no unit any more."""
        unit = self._world.pool.units.get(key)
        pod = self._lead(unit) or self._pods.get(uid)
        obj = self._group(pod) if pod is not None else None
        if obj is None or (unit is not None and unit.gang is None):
            return None
        seated = unit.seated if unit is not None else {}
        said = self._said.get(key)
        text = said.published if said is not None else ""
        counts = self._course.counts(key, seated, self._pods)
        is_started = not text if unit is None else self._is_started(unit, counts)
        return groups.status(obj, groups.GangView(is_started, len(seated), text, counts), wall)

    def _is_started(self, unit: Unit, counts: Counts) -> bool:
        assert unit.gang is not None
        return len(unit.seated) + counts.succeeded >= minimum_of(unit, unit.gang)

    def _warning(self, unsaid: Unsaid, wall: float) -> Write | None:
        said = self._said.get(unsaid.key)
        pod = self._pods.get(said.members[0].uid) if said is not None else None
        if said is None or pod is None:
            return None
        code = code_of(said.event_text)
        is_single = said.key.startswith("pod:")
        if is_single and code == "gated":
            return None  # the API server says so, and nobody has failed
        found = [writes.pod_subject(pod)] if is_single else self._subjects(pod)
        if unsaid.number >= len(found):
            return None
        return self._event(found[unsaid.number], Happening("Warning", "FailedScheduling", code, said.event_text), wall)

    def _news(self, unsaid: Unsaid, wall: float) -> Write | None:
        uid, text = self._scheduled.get(unsaid.key, ("", ""))
        pod = self._pods.get(uid)
        if pod is None:
            self._scheduled.pop(unsaid.key, None)
            return None
        subject = writes.pod_subject(pod) if unsaid.key.startswith("pod:") else self._subjects(pod)[0]
        return self._event(subject, Happening("Normal", "Scheduled", "", text), wall)

    def _event(self, subject: Subject, happening: Happening, wall: float) -> Write:
        return writes.event(subject, happening, self._events.get(writes.event_name(subject, happening), 0), wall)

    def _subjects(self, pod: Pod) -> list[Subject]:
        """What events about a gang are about: its workload, its PodGroup, its first pod."""
        found: list[Subject] = []
        link, _ = registry.link(pod)
        namespace = pod.metadata.namespace
        obj = self._object(link.defined_by, namespace) if link is not None else None
        owner = controller_of(pod)
        if obj is not None:
            found.append(writes.object_subject(obj))
        elif owner is not None:
            found.append(Subject(owner.apiVersion, owner.kind, namespace, owner.name, owner.uid))
        group = self._group(pod)
        if group is not None:
            found.append(writes.object_subject(group))
        return list(dict.fromkeys((*found, writes.pod_subject(pod))))

    def _group(self, pod: Pod) -> Object | None:
        """The first PodGroup that the pod names and whose status is ours."""
        for claim in named.claims(pod):
            group, kind, _ = claim.defined_by
            obj = self._object(claim.defined_by, pod.metadata.namespace) if groups.is_group(group, kind) else None
            if obj is not None:
                return obj
        return None

    def _object(self, who: tuple[str, str, str], namespace: str) -> Object | None:
        group, kind, name = who
        return self._world.store.get(group, kind, namespace, name) if kind else None

    def _lead(self, unit: Unit | None) -> Pod | None:
        if unit is None:
            return None
        members = unit.waiting or unit.seated
        first = min(members.values(), key=lambda m: (m.rank, m.name), default=None)
        return self._pods.get(first.uid) if first is not None else None

    # ---- queues

    def _queue_conditions(self, said: Said) -> None:
        """One pod per gang first, then the others."""
        if said.published:
            for i, member in enumerate(said.members):
                self._add(2 if i else 0, Unsaid("condition", said.key, member.uid))

    def _add(self, rank: int, unsaid: Unsaid) -> None:
        self._queues[rank][unsaid] = None

    def _said_not(self, unsaid: Unsaid) -> None:
        said = self._said.get(unsaid.key)
        if said is not None:
            said.sent.pop(unsaid.uid, None)


def bound_text(seats: Sequence[Seat]) -> str:
    """`4 members bound to n1, n2`; a single pod is `bound to n1`."""
    nodes = list(dict.fromkeys(seat.node for seat in seats))
    where = ", ".join(nodes[:4]) + (f" and {len(nodes) - 4} more nodes" if len(nodes) > 4 else "")
    if not seats[0].member.gang:
        return f"bound to {where}"
    return f"{len(seats)} member{'s' * (len(seats) > 1)} bound to {where}"
