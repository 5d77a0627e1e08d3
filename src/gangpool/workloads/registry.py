"""All dialects, and the three questions that everyone asks: what does this object bring, which gang does this pod
belong to, and what does the object of that gang say.

Callers: intake, `place`, `check`, the webhook, the simulator. Several dialects may claim a pod; the order is native,
PodGroups (Volcano, scheduler-plugins), Kueue group, KAI, owner. A PodGroup that a workload's own controller made is
not a second gang: the workload's key counts.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gangpool.objects.pod import Pod
from gangpool.workloads import fields, kueue, named, volcano_group
from gangpool.workloads.base import Context, Expansion, Finding, GangOf, Object, PodLink, WorkloadError
from gangpool.workloads.controllers import Replicas
from gangpool.workloads.dialect import Reader, controller_of
from gangpool.workloads.findings import NOT_A_NUMBER, OBJECT_MISSING
from gangpool.workloads.job import Job
from gangpool.workloads.jobset import JobSet
from gangpool.workloads.kubeflow import TrainingJob
from gangpool.workloads.lws import LeaderWorkerSet
from gangpool.workloads.mpijob import MpiJob
from gangpool.workloads.plain_pod import PlainPod
from gangpool.workloads.ray import Ray
from gangpool.workloads.statefulset import StatefulSet
from gangpool.workloads.trainjob import TrainJob
from gangpool.workloads.volcano_job import VolcanoJob

OWNERS: tuple[Reader, ...] = (JobSet(), LeaderWorkerSet(), TrainingJob(), Ray(), VolcanoJob(), Job())
"""Workloads whose pods carry marks, the outermost first: a JobSet's pods are a Job's pods as well."""

REPLICAS, STATEFUL = Replicas(), StatefulSet()
BY_OWNER: dict[str, Reader] = {"ReplicaSet": REPLICAS, "StatefulSet": STATEFUL}
"""Controllers that are known by the owner reference alone."""

_SOURCES: dict[str, Reader] = {reader.name: reader for reader in (*OWNERS, REPLICAS, STATEFUL)}
_OWNER_MARKS = frozenset(mark for owner in OWNERS for mark in owner.marks)
_COUNTS = (kueue.TOTAL, volcano_group.MIN_MEMBER)


class Nothing:
    """A context without objects: for callers that look at one object alone."""

    def get(self, group: str, kind: str, namespace: str, name: str) -> Object | None:
        """Never there."""
        return None

    def any_of(self, group: str, kind: str) -> bool:
        """Never any."""
        return False

    def all_of(self, group: str, kind: str) -> Iterable[Object]:
        """None."""
        return ()


NOTHING: Context = Nothing()


def link(pod: Pod) -> tuple[PodLink | None, tuple[Finding, ...]]:
    """The gang that a pod belongs to by its own word. Never raises; O(labels)."""
    links = named.claims(pod)
    owner = _owner(pod)
    if not links:
        return owner, ()
    if owner is not None:
        links = [_as_owner(claim, owner) for claim in links]
    first, findings = named.merged(links, pod)
    return first, findings + _unread(pod)


def resolve(found: PodLink, namespace: str, context: Context) -> tuple[GangOf | None, tuple[Finding, ...]]:
    """The gang of a link as its object says. (None, ()): the object says that its pods are no gang, or nobody says
    that they are. Without the object the pods' own word counts, with a finding; minimum None then means the members
    that are there. Raises WorkloadError when the object cannot be read."""
    group, kind, name = found.defined_by
    obj = context.get(group, kind, namespace, name) if kind else None
    if obj is None:
        return _by_word(found, namespace) if found.certain else (None, ())
    dialect = dialect_of(_object(obj))
    gang = dialect.gang(obj, found.key, context) if dialect else None
    if gang is None:
        return None, ()
    if found.total is not None and gang.minimum is not None and gang.minimum > found.total and not gang.error:
        text = f"{kind} {name} has a minimum of {gang.minimum}, but its pods say that they are {found.total}"
        gang = msgspec.structs.replace(gang, error=text)
    return msgspec.structs.replace(gang, total=gang.total if gang.total is not None else found.total), ()


def _owner(pod: Pod) -> PodLink | None:
    labels = pod.metadata.labels
    if labels and not _OWNER_MARKS.isdisjoint(labels):
        for reader in OWNERS:
            found = reader.link(pod)
            if found is not None:
                return found
    owner = controller_of(pod)
    reader_of = BY_OWNER.get(owner.kind) if owner else None
    return reader_of.link(pod) if reader_of else None


def _as_owner(claim: PodLink, owner: PodLink) -> PodLink:
    """The claim, or the owner's link where both mean the same gang: the owner's object says more than a PodGroup."""
    reader = _SOURCES[owner.source]
    same = claim.key == owner.key or reader.made(claim.key.partition("/")[2], owner)
    if not same or claim.source == "native":
        return claim
    return msgspec.structs.replace(
        owner,
        total=claim.total if owner.total is None else owner.total,
        minimum=claim.minimum if owner.minimum is None else owner.minimum,
        certain=True,
    )


def _unread(pod: Pod) -> tuple[Finding, ...]:
    """Counts on the pod that are no numbers."""
    annotations = pod.metadata.annotations or {}
    about = f"Pod/{pod.metadata.namespace}/{pod.metadata.name}"
    return tuple(
        Finding(about, f"metadata.annotations[{key}]", NOT_A_NUMBER, f"{annotations[key][:40]!r} is no whole number")
        for key in _COUNTS
        if key in annotations and not fields.whole(annotations[key])
    )


def _by_word(found: PodLink, namespace: str) -> tuple[GangOf, tuple[Finding, ...]]:
    least = found.minimum if found.minimum is not None else found.total
    gang = GangOf(key=found.key, minimum=least, total=found.total)
    group, kind, name = found.defined_by
    if not kind:
        return gang, ()
    counted = f"{least} as its pods say" if least is not None else "the members that are there"
    text = f"{kind} {name} ({group}) is not there; the minimum is {counted}"
    return gang, (Finding(f"{kind}/{namespace}/{name}", "", OBJECT_MISSING, text),)


def _asked(pod: Pod, context: Context) -> tuple[PodLink | None, tuple[Finding, ...]]:
    """The link of a pod in a manifest; none where only its owner could make it a gang and doesn't."""
    found, findings = link(pod)
    if found is None or found.certain:
        return found, findings
    try:
        gang, _ = resolve(found, pod.metadata.namespace, context)
    except WorkloadError:
        gang = None
    return (found if gang else None), findings


DIALECTS: tuple[Reader, ...] = (
    *named.GROUPS,
    *OWNERS,
    MpiJob(),
    TrainJob(),
    REPLICAS,
    STATEFUL,
    PlainPod(_asked),
)
_BY_KIND: dict[tuple[str, str], Reader] = {kind: dialect for dialect in DIALECTS for kind in dialect.kinds}


def dialect_of(obj: Object) -> Reader | None:
    """The dialect that reads this object; None: it is no workload and no group."""
    api_version = fields.text(obj, "apiVersion")
    group = api_version.partition("/")[0] if "/" in api_version else ""
    return _BY_KIND.get((group, fields.text(obj, "kind")))


def expand(obj: Object, context: Context = NOTHING) -> Expansion:
    """Gangs, pods and findings of one object, as its controller would make them now; nothing for other kinds.

    Raises WorkloadError, and nothing else, when the object cannot be read."""
    dialect = dialect_of(_object(obj))
    return dialect.expand(obj, context) if dialect else Expansion()


def gangs_of(obj: Object, context: Context = NOTHING) -> tuple[GangOf, ...]:
    """The gangs that one object defines, without making its pods. Raises WorkloadError."""
    dialect = dialect_of(_object(obj))
    return dialect.gangs(obj, context) if dialect else ()


def gang_of(obj: Object, context: Context = NOTHING) -> GangOf | None:
    """The first gang that one object defines. Raises WorkloadError."""
    return next(iter(gangs_of(obj, context)), None)


def templates(obj: Object) -> list[tuple[str, Object]]:
    """(field path, pod template) of every template in the object; a Pod is its own, at "". Raises WorkloadError."""
    dialect = dialect_of(_object(obj))
    return list(dialect.templates(obj)) if dialect else []


def _object(obj: Object) -> Object:
    fields.mapping({"object": obj}, "object")
    return obj


__all__ = [
    "DIALECTS",
    "NOTHING",
    "WorkloadError",
    "dialect_of",
    "expand",
    "gang_of",
    "gangs_of",
    "link",
    "resolve",
    "templates",
]
