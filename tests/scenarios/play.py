"""Plays a scenario: commands in, lines out. Knows groups of pods by the scenario's names and what was submitted.

The words themselves are in `verbs` (what happens to the cluster), `questions` (what is asked about it) and `stream`
(many gangs over virtual time); each registers its commands in `VERBS`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from gangpool.core.model import Plan
from tests.scenarios import judge, parts
from tests.scenarios.disguise import Disguise
from tests.scenarios.setting import Setting
from tests.scenarios.stage import Stage
from tests.scenarios.trace import Line, waits
from tests.scenarios.vocabulary import Vocabulary

Json = dict[str, Any]
START = datetime(2026, 1, 1, tzinfo=UTC)


class Group(Struct):
    """Pods that the scenario calls by one name. `pods`: their names in the order of ranks. `gang`: for the judge,
    None for pods placed one by one. `objects`: what was written besides pods."""

    name: str
    namespace: str
    pods: list[str]
    gang: Json | None = None
    objects: list[Json] = []


class Variant(Struct, frozen=True):
    """One way to play a scenario. `shuffle` 0: names and orders as written."""

    levels: Vocabulary
    dialect: str
    shuffle: int = 0
    seed: int = 1


class Play:
    """One playing of one scenario."""

    def __init__(self, setting: Setting, variant: Variant) -> None:
        self.setting = setting
        self.levels = variant.levels
        self.dialect = variant.dialect
        self.rng = random.Random(f"{variant.seed}-{variant.shuffle}")
        self._order = self.rng if variant.shuffle else None
        self.worn = Disguise(self._order)
        self.fresh()

    def do(self, command: str) -> list[Line]:
        """Carry out one command; AssertionError when an invariant breaks, ValueError when it is no command."""
        word, _, rest = command.partition(" ")
        verb = VERBS.get(word)
        if verb is None:
            raise ValueError(f"{command!r}: {word!r} is none of {', '.join(sorted(VERBS))}")
        self.now_s += 1
        return [Line(self.worn.off(line.text), line.message) for line in verb(self, rest)]

    def fresh(self) -> None:
        """The world as the page describes it, nothing submitted."""
        self.stage = Stage(self.levels.config(), self._order)
        self.groups: dict[str, Group] = {}
        self.group_of: dict[str, str] = {}
        self.late: dict[str, list[Json]] = {}
        self.now_s = 0.0
        self.plan = Plan((), ())
        self.wounded: set[str] = set()
        self.files: list[Json] | None = []
        self._given: set[str] = set()
        for line in self.setting.lines:
            for obj in parts.read_line(line, self.levels, self.worn):
                self.put(obj)

    # ---- writing

    def put(self, obj: Json) -> None:
        """Create or change an object now."""
        now = START + timedelta(seconds=self.now_s)
        obj["metadata"].setdefault("creationTimestamp", now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        self.stage.put(obj)

    def enter(self, group: Group, pods: Sequence[Json], are_bare: bool) -> None:
        """A group's objects and pods appear. `are_bare`: its user writes the pods, too."""
        self.groups[group.name] = group
        for obj in group.objects:
            self.put(obj)
        self.appear(group, pods)
        self.given([*group.objects, *(pods if are_bare else ())], pods)

    def appear(self, group: Group, pods: Sequence[Json]) -> None:
        """Pods of a group are made."""
        for pod in pods:
            self.group_of[name_of(pod)] = group.name
            self.put(pod)

    def given(self, files: Sequence[Json], pods: Sequence[Json]) -> None:
        """What a user has written since the last cycle, and the pods that came of it."""
        self._given.update(name_of(pod) for pod in pods)
        if self.files is not None:
            self.files += files

    def changed(self) -> None:
        """Something happened that is no submission: `place -f` cannot be asked about this step."""
        self.files = None

    # ---- looking

    def group(self, name: str) -> Group:
        """The group of this name; ValueError when there is none."""
        found = self.groups.get(self.worn(name)) or self.groups.get(name)
        if found is None:
            raise ValueError(f"no gang or pod is called {name!r}")
        return found

    def pods_of(self, group: Group) -> list[Json]:
        """The pods of a group that exist, in the order of ranks."""
        keys = (("", "Pod", group.namespace, name) for name in group.pods)
        return [self.stage.objects[key] for key in keys if key in self.stage.objects]

    def gangs(self) -> list[Json]:
        """All gangs, for the judge."""
        return [group.gang for group in self.groups.values() if group.gang is not None]

    def check(self, faults: Iterable[str]) -> None:
        """No faults, or the step fails with all of them."""
        found = [self.worn.off(fault) for fault in faults]
        assert not found, "\n".join(found)

    # ---- one cycle

    def cycle(self, bindings: Callable[[int], list[int]] | None = None) -> Plan:
        """One cycle, its bindings and the judgement. `bindings`: which of n are written before gangpool dies; it
        then starts anew."""
        stage = self.stage
        stage.deliver()
        before = judge.snapshot(stage, self.gangs())
        others = [obj for key, obj in stage.objects.items() if key[1] not in ("Node", "Pod")]
        plan = stage.cycle.run()
        self.check(judge.faults_of_plan(before, plan))
        self.check(judge.faults_of_dry_run(before, others, plan, stage.config))
        if self.files:
            self.check(judge.faults_of_files(*self._without_files(before, others), self.files, plan, stage.config))
        self.files, self._given = [], set()
        if bindings is not None:
            for i in bindings(len(plan.seats)):
                stage.bind(plan.seats[i])
            stage.restart()
            return plan
        for seat in plan.seats:
            stage.bind(seat)
        self._rest(plan)
        return plan

    def _rest(self, plan: Plan) -> None:
        """What holds once the bindings are seen: nothing more happens, and I1 and I4."""
        self.stage.deliver()
        again = self.stage.cycle.run()
        self.check(f"without an event {seat.member.name} goes to {seat.node}" for seat in again.seats)
        after = judge.snapshot(self.stage, self.gangs())
        self.check(judge.faults_of_rest(after, again, self.wounded))
        running = {name_of(pod) for pod in after["pods"] if "nodeName" in pod["spec"]}
        for gang in self.gangs():
            space = gang["key"].partition("/")[0]
            if sum(f"{space}/{name}" in running for name in gang["members"]) >= gang["minimum"]:
                self.wounded.discard(gang["key"])
        self.plan = Plan(plan.seats, again.waits)

    def _without_files(self, before: Json, others: list[Json]) -> tuple[Json, list[Json]]:
        """The pool without what was submitted since the last cycle."""
        given = {id(obj) for obj in self.files or ()}
        left = [pod for pod in before["pods"] if name_of(pod) not in self._given]
        return {**before, "pods": left}, [obj for obj in others if id(obj) not in given]

    # ---- lines

    def shown(self, plan: Plan) -> list[Line]:
        """What a cycle did, and what waits after it."""
        nodes: dict[str, Counter[str]] = {}
        for seat in plan.seats:
            name = self.group_of.get(f"{seat.member.namespace}/{seat.member.name}", seat.member.name)
            nodes.setdefault(name, Counter())[self.worn.off(seat.node)] += 1
        lines = [Line(f"bound {name}: {counted(where)}") for name, where in nodes.items()]
        for wait in plan.waits:
            member = wait.members[0]
            name = self.group_of.get(f"{member.namespace}/{member.name}", member.name)
            message = self.levels.in_words(self.worn.off(wait.reason.message))
            line = waits(name, wait.reason.code, message)
            if line not in lines:
                lines.append(line)
        return lines or [Line("nothing waits")]


def name_of(pod: Json) -> str:
    """`namespace/name`."""
    return f"{pod['metadata'].get('namespace') or parts.NAMESPACE}/{pod['metadata']['name']}"


def counted(nodes: Counter[str]) -> str:
    """`n1 n2*3`, in natural order."""
    order = sorted(nodes, key=parts.natural)
    return " ".join(name if nodes[name] == 1 else f"{name}*{nodes[name]}" for name in order)


Verb = Callable[[Play, str], list[Line]]
VERBS: dict[str, Verb] = {}


def verb(word: str) -> Callable[[Verb], Verb]:
    """Registers a command."""

    def register(function: Verb) -> Verb:
        VERBS[word] = function
        return function

    return register
