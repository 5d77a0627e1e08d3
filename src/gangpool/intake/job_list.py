"""All gangs with their counts, states and reasons: the answer of `gangpool jobs`, `gangpool.io/jobs/v1`.

Gangs whose pods are there, and workloads of ours that define one and have no pod yet. Reasons are those of a dry cycle,
as `explain` gives them. Pure; called by `gangpool.cli.jobs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from gangpool.core.match import matches
from gangpool.core.model import Reason, Selector
from gangpool.intake.answer import DomainEntry, ReasonEntry
from gangpool.intake.crew import FINISHED, PENDING, PLACED, MembersEntry, counted, crews, has_ended, nodes_of
from gangpool.intake.forecast import Forecast, Stand, fits_now, not_there
from gangpool.intake.gangs import gang_from
from gangpool.intake.place import entry_of
from gangpool.intake.references import Origin
from gangpool.intake.seen import Seen
from gangpool.intake.store import Object, kind_of, name_of, subject_of
from gangpool.intake.told import Told, told_by, told_of
from gangpool.intake.world import World
from gangpool.objects.pod import Pod
from gangpool.workloads import fields, named, registry
from gangpool.workloads.base import WorkloadError

JOBS_SCHEMA = "gangpool.io/jobs/v1"
NOT_MAKERS = frozenset((*(kind for group in named.GROUPS for kind in group.kinds), ("batch", "CronJob"), ("", "Pod")))
"""Kinds that make no pods now: whose their pods would be cannot be told before they are there."""
VOLCANO_JOB = ("batch.volcano.sh", "Job")


class JobEntry(Struct, frozen=True):
    """One gang. `kind` and `api_version`: the object that tells of it, "" where only its pods do. `total`: members
    when all exist, None where nobody says. `cards`: held now. `nodes`, `domain`: of the bound members."""

    namespace: str
    name: str
    kind: str
    api_version: str
    queue: str
    priority: int
    state: str
    members: MembersEntry
    total: int | None
    cards: int
    nodes: tuple[str, ...]
    domain: DomainEntry | None
    reason: ReasonEntry | None
    created: str | None


class JobsAnswer(Struct, frozen=True):
    """The whole answer, by namespace and name."""

    schema: str
    jobs: tuple[JobEntry, ...]


def job_list(world: World, seen: Seen, namespace: str | None = None, selector: Selector = ()) -> JobsAnswer:
    """Gangs of one namespace, None: of all, whose labels the selector matches. `seen`: pods of ours, there."""
    forecast = Forecast(world, seen.refusals)
    found: dict[str, JobEntry] = {}
    for key, pods in crews(forecast, seen.pods.values()).items():
        stand = forecast.stand_of(key)
        told = told_by(world, pods[0]) if stand is None else told_of(world, stand)
        if told is not None and matches(selector, _labels(told.obj, pods)):
            found[key] = _entry(forecast, told, pods, stand)
    for told, stand in _without_pods(world, namespace):
        is_new = told.key not in found and forecast.stand_of(told.key) is None
        if is_new and matches(selector, _labels(told.obj, ())):
            found[told.key] = _entry(forecast, told, (), stand)
    return JobsAnswer(JOBS_SCHEMA, tuple(sorted(found.values(), key=lambda entry: (entry.namespace, entry.name))))


def _without_pods(world: World, namespace: str | None) -> Iterator[tuple[Told, Stand]]:
    """Gangs of workloads of ours that have not finished, pods or not."""
    kinds = [kind for dialect in registry.DIALECTS for kind in dialect.kinds if kind not in NOT_MAKERS]
    for obj in (obj for kind in kinds for obj in world.store.all_of(*kind)):
        space, _ = name_of(obj)
        if (namespace is not None and space != namespace) or has_ended(obj):
            continue
        try:
            if fields.items(obj, "metadata.ownerReferences") or not _is_ours(world, obj):
                continue
            for said in registry.gangs_of(obj, world.store):
                gang = gang_from(said, (), world.store, Origin(subject_of(obj), obj))
                yield Told(said.key, said, obj), not_there(gang)
        except WorkloadError:
            continue  # nobody could plan it either


def _is_ours(world: World, obj: Object) -> bool:
    """Would its pods name our scheduler? Those of a Volcano Job without a word get it from our controller."""
    written = [fields.text(template, "spec.schedulerName") for _, template in registry.templates(obj)]
    if kind_of(obj) == VOLCANO_JOB:
        own = fields.text(obj, "spec.schedulerName")
        written = [name or own or world.config.schedulerNames[0] for name in written]
    return any(name in world.config.schedulerNames for name in written)


def _entry(forecast: Forecast, told: Told, pods: Sequence[Pod], stand: Stand | None) -> JobEntry:
    """`stand` None: all its pods have finished."""
    said, namespace = told.said, told.key.partition("/")[0]
    gang = None if stand is None else stand.gang
    nodes = nodes_of(pods)
    reason = None if stand is None or stand.is_started else _reason(forecast, stand)
    return JobEntry(
        namespace=namespace,
        name=told.key.partition("/")[2],
        kind=str((told.obj or {}).get("kind", "")),
        api_version=str((told.obj or {}).get("apiVersion", "")),
        queue=gang.queue if gang is not None else "" if said is None else said.queue,
        priority=0 if gang is None else gang.priority,
        state=FINISHED if stand is None else PLACED if stand.is_started else PENDING,
        members=counted(told.minimum if stand is None else stand.minimum, pods),
        total=None if said is None else said.total,
        cards=0 if stand is None else sum(forecast.n_cards(member.uid) for member in stand.seated),
        nodes=nodes,
        domain=forecast.domain_of(nodes),
        reason=None if reason is None else entry_of(reason),
        created=_created(told.obj, pods),
    )


def _reason(forecast: Forecast, stand: Stand) -> Reason | None:
    if stand.seats:
        return fits_now(stand, forecast.domain_of([seat.node for seat in stand.seats]))
    return stand.reason


def _labels(obj: Object | None, pods: Sequence[Pod]) -> Mapping[str, str]:
    """Of the object that tells of a gang, else of its first pod. Labels that cannot be read count as none."""
    if obj is None:
        return (pods[0].metadata.labels or {}) if pods else {}
    try:
        return fields.texts(obj, "metadata.labels")
    except WorkloadError:
        return {}


def _created(obj: Object | None, pods: Sequence[Pod]) -> str | None:
    """When its object was made, else its first pod."""
    metadata = {} if obj is None else obj.get("metadata")
    written = metadata.get("creationTimestamp") if isinstance(metadata, Mapping) else None
    if isinstance(written, str) and written:
        return written
    return min(filter(None, (pod.metadata.creationTimestamp for pod in pods)), default=None)
