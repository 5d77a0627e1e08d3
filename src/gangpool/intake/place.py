"""Would these workloads run on this pool now, where, and if not, why: the dry run.

The pool's own waiting pods are planned first, in live order, then the given workloads, expanded as their
controllers would make them. The same world, the same cycle as the live scheduler. Called by `gangpool place`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from gangpool.core.cards import indexes_of
from gangpool.core.cycle import Cycle
from gangpool.core.model import CARD, HOSTNAME, NAME_FIELD, Plan, Reason, Requirement, Seat, Wait
from gangpool.intake import answer
from gangpool.intake.config import Config
from gangpool.intake.load import PoolItem, load, plain, reading
from gangpool.intake.store import kind_of, name_of
from gangpool.intake.world import Place, World, subject_of
from gangpool.objects.located import Located
from gangpool.objects.pod import Pod
from gangpool.objects.typed import as_node, as_pod
from gangpool.workloads import fields, registry
from gangpool.workloads.base import Expansion, PodSpecOf

DAEMON = "daemon"
"""Role of pods that a DaemonSet makes: one a node."""


def place(
    pool: Iterable[PoolItem],
    workloads: Sequence[Located],
    now: float,
    config: Config,
    clock: Callable[[], float] | None = None,
) -> answer.PlaceAnswer:
    """Plan the workloads on the pool. `now`: seconds since the epoch, the age of what has no time stamp. `clock`:
    seconds of a steady clock, for `decision_ms`; without it that is 0. Raises IntakeError."""
    given = Given(workloads)
    world = load(pool, config, given.replaces)
    before = free_cards(world)
    started = clock() if clock else 0.0
    cycle = Cycle(world.pool)
    first = cycle.run()
    files = given.enter(world, now)
    second = cycle.run()
    took_ms = ((clock() if clock else 0.0) - started) * 1000
    return _answer(world, (first, second), before, files, round(took_ms, 1))


class Given:
    """The objects of `-f`: context, nodes and workloads, and which pods of the pool they stand for."""

    def __init__(self, workloads: Sequence[Located]) -> None:
        self._objects = [plain(item) for item in workloads]
        self._names = {(kind_of(obj), _space(obj), name_of(obj)[1]) for _, obj in self._objects}

    def replaces(self, pod: Pod) -> bool:
        """The same pod, or a pod of the same owner, is given: the given one counts."""
        meta = pod.metadata
        space = meta.namespace or "default"
        if (("", "Pod"), space, meta.name) in self._names:
            return True
        for owner in meta.ownerReferences or ():
            group = owner.apiVersion.partition("/")[0] if "/" in owner.apiVersion else ""
            if ((group, owner.kind), space, owner.name) in self._names:
                return True
            deployment = owner.name.rpartition("-")[0]
            if owner.kind == "ReplicaSet" and (("apps", "Deployment"), space, deployment) in self._names:
                return True
        return False

    def enter(self, world: World, now: float) -> dict[str, str]:
        """Bring everything into the world; returns which file each object was in, by `Kind/namespace/name`."""
        files: dict[str, str] = {}
        for file, obj in self._objects:
            files[subject_of(obj)] = file
            with reading(file, obj):
                if kind_of(obj) == ("", "Node"):
                    world.node(as_node(obj))
                elif kind_of(obj) != ("", "Pod"):
                    world.object(obj)
        expanded: list[tuple[str, Mapping[str, Any], Expansion]] = []
        for file, obj in self._objects:
            with reading(file, obj):
                found = registry.expand(obj, world.store)
            for claim in found.claims:
                world.store.put(claim)
            expanded.append((file, obj, found))
        for file, obj, found in expanded:
            with reading(file, obj):
                world.findings(found.findings)
                for gang in found.gangs:
                    world.gang(gang, subject_of(obj))
        for order, (file, obj, found) in enumerate(expanded):
            for key, member in found.members:
                with reading(file, obj):
                    _enter_pod(world, member, Place(key, member.role, member.rank, subject_of(obj)), now + order * 1e-6)
        world.settle()
        return files


def _space(obj: Mapping[str, Any]) -> str:
    return name_of(obj)[0] or "default"


def _enter_pod(world: World, member: PodSpecOf, place: Place, created: float) -> None:
    pod = as_pod(_admitted(member.pod, world))
    pod.metadata.namespace = pod.metadata.namespace or "default"
    uid = f"given:{pod.metadata.namespace}/{pod.metadata.name}"
    if member.role == DAEMON:
        _enter_daemon(world, pod, uid)
        return
    world.pod(pod, place, uid)
    found = world.pool.member(uid)
    if found is not None and not found.created:
        world.aged(found, created)


def _admitted(pod: dict[str, Any], world: World) -> dict[str, Any]:
    """The pod with what admission adds for its RuntimeClass: overhead, node selector, tolerations."""
    runtime = world.store.get("node.k8s.io", "RuntimeClass", "", fields.text(pod, "spec.runtimeClassName"))
    if runtime is None:
        return pod
    spec = fields.mapping(pod, "spec")
    added = {
        "overhead": spec.get("overhead") or fields.mapping(runtime, "overhead.podFixed"),
        "nodeSelector": {
            **fields.mapping(pod, "spec.nodeSelector"),
            **fields.mapping(runtime, "scheduling.nodeSelector"),
        },
        "tolerations": [
            t for o, at in ((pod, "spec"), (runtime, "scheduling")) for _, t in fields.items(o, f"{at}.tolerations")
        ],
    }
    return {**pod, "spec": {**spec, **added}}


def _enter_daemon(world: World, pod: Pod, uid: str) -> None:
    """One pod on each node that would take it, as the DaemonSet's controller makes them."""
    world.pod(pod, Place(), uid)
    template = world.pool.member(uid)
    if template is None:
        return
    world.pod_gone(uid)
    mask = world.pool.ledger.filter_of(template.shape).mask
    stem = template.name.rpartition("-")[0] or template.name
    number = 0
    for i, facts in world.pool.ledger.alive():
        if not mask[i]:
            continue
        only = ((Requirement(NAME_FIELD, "In", (facts.name,)),),)
        shape = replace(template.shape, node_selectors=(*template.shape.node_selectors, only))
        member = replace(template, uid=f"{uid}@{facts.name}", name=f"{stem}-{number}", shape=shape)
        world.pool.set_member(member)
        number += 1


def free_cards(world: World) -> int:
    """Whole cards that nobody holds, over all nodes; a node with more use than cards counts as 0."""
    free = world.pool.ledger.free[CARD]
    return sum(max(free.at[i], 0) for i, _ in world.pool.ledger.alive())


def _answer(
    world: World, plans: tuple[Plan, Plan], before: int, files: Mapping[str, str], took_ms: float
) -> answer.PlaceAnswer:
    ledger = world.pool.ledger
    total = sum(facts.allocatable.get(CARD, 0) for _, facts in ledger.alive())
    n_nodes = sum(1 for _ in ledger.alive())
    seats = sorted((seat for plan in plans for seat in plan.seats), key=_gang_order(plans))
    waits = plans[1].waits
    return answer.PlaceAnswer(
        schema=answer.PLACE_SCHEMA,
        pool=answer.PoolEntry(n_nodes, total, before, free_cards(world)),
        placed=tuple(_placed(world, seat) for seat in seats),
        pending=_pending(waits),
        warnings=tuple(
            answer.WarningEntry(_file_of(note.object, files), note.object, note.field, note.code, note.message)
            for note in world.notes
        ),
        decision_ms=took_ms,
    )


def _gang_order(plans: tuple[Plan, Plan]) -> Any:
    """Pods of one gang together, in rank order, gangs in the order in which they were first seated."""
    first: dict[str, int] = {}
    roles: dict[tuple[str, str], int] = {}
    for plan in plans:
        for seat in plan.seats:
            key = seat.member.gang or f"pod:{seat.member.uid}"
            first.setdefault(key, len(first))
            roles.setdefault((key, seat.member.role), len(roles))

    def order(seat: Seat) -> tuple[int, int, int]:
        key = seat.member.gang or f"pod:{seat.member.uid}"
        return first[key], seat.member.rank, roles[(key, seat.member.role)]

    return order


def _placed(world: World, seat: Seat) -> answer.PlacedEntry:
    ledger = world.pool.ledger
    i = ledger.slot[seat.node]
    facts = ledger.facts[i]
    tree = world.pool.forest.tree(world.pool.forest.default_keys())
    is_exact = facts is not None and bool(facts.cards)
    return answer.PlacedEntry(
        namespace=seat.member.namespace,
        pod=seat.member.name,
        gang=seat.member.gang or None,
        rank=seat.rank,
        node=seat.node,
        cards=indexes_of(seat.cards),
        cards_exact=is_exact,
        ports=seat.ports,
        domains=tuple(answer.DomainEntry(level, domain) for level, domain in tree.path_of(i) if level != HOSTNAME),
    )


def _pending(waits: Iterable[Wait]) -> tuple[answer.PendingEntry, ...]:
    """One entry per gang; single pods of a namespace that wait for the same reason share one."""
    found: dict[tuple[str, str, str], tuple[list[str], Reason]] = {}
    for wait in waits:
        for member in wait.members:
            key = (member.namespace, wait.gang, "" if wait.gang else f"{wait.reason.code} {wait.reason.message}")
            found.setdefault(key, ([], wait.reason))[0].append(member.name)
    return tuple(
        answer.PendingEntry(namespace, gang or None, tuple(names), _reason(reason))
        for (namespace, gang, _), (names, reason) in found.items()
    )


def _reason(reason: Reason) -> answer.ReasonEntry:
    return answer.ReasonEntry(
        code=reason.code,
        message=reason.message,
        numbers=reason.numbers,
        best_domain=reason.best_domain,
        next_step=reason.next_step,
        starts_at=reason.starts_at,
    )


def _file_of(about: str, files: Mapping[str, str]) -> str:
    """The file that an object was in; pods of an owner are told under the owner's name."""
    return files.get(about, "")
