"""Ranks of live pods as the manifest's own order has them.

A pod knows its place in its own role or child job, not how many the others are, so the ranks that pods carry start
anew in each role and have gaps. The object that makes the pods knows all sets; its table turns the one into the
other, and `place -f` of the same object gives the same ranks. Called by `World`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from gangpool.intake.store import Object, Store
from gangpool.objects.pod import Metadata, OwnerReference, Pod
from gangpool.workloads import registry
from gangpool.workloads.dialect import ROLE_STRIDE
from gangpool.workloads.named import GROUPS
from gangpool.workloads.templates import PodSet


class Run(Struct, frozen=True, order=True):
    """Pods of one set: the first carries rank `linked` and has rank `first` in the gang."""

    linked: int
    first: int


class Ranks(Struct, frozen=True):
    """Per role its runs, by what the pods carry."""

    runs: dict[str, tuple[Run, ...]]

    def of(self, role: str, linked: int) -> int:
        """The rank in the gang of a pod that carries `linked`."""
        runs = self.runs.get(role, ())
        at = bisect_right(runs, linked, key=lambda run: run.linked) - 1
        return linked if at < 0 else runs[at].first + linked - runs[at].linked

    def starts(self) -> tuple[tuple[str, int], ...]:
        """The first rank of each role."""
        return tuple((role, min(run.first for run in runs)) for role, runs in self.runs.items())


AS_LINKED = Ranks({})


def tables_of(obj: Object, store: Store) -> dict[str, Ranks]:
    """Key of each gang of an object to its ranks. O(sets of pods), none of which is made. Raises WorkloadError."""
    reader = registry.dialect_of(obj)
    if reader is None or reader in GROUPS:  # a group has no pods of its own
        return {}
    reading = reader.read(obj, store)
    runs: dict[str, dict[str, list[Run]]] = {}
    for pods in reading.sets:
        if not pods.gang or not pods.count:
            continue
        link, _ = registry.link(_first(pods, reading.namespace))
        if link is not None and link.key == pods.gang:
            run = Run(link.rank, pods.first_rank)
            runs.setdefault(pods.gang, {}).setdefault(link.role, []).append(run)
    return {key: Ranks({role: tuple(sorted(found)) for role, found in roles.items()}) for key, roles in runs.items()}


def by_word(linked: Iterable[tuple[str, int]]) -> Ranks:
    """Ranks where no object tells how large the child jobs are: (role, carried rank) of the pods that are there say
    how large at least."""
    width: dict[str, int] = {}
    jobs: dict[str, set[int]] = {}
    for role, rank in linked:
        job, index = divmod(rank, ROLE_STRIDE)
        width[role] = max(width.get(role, 0), index + 1)
        jobs.setdefault(role, set()).add(job)
    if not any(any(of_role) for of_role in jobs.values()):
        return AS_LINKED
    runs = {}
    start = 0
    for role in sorted(width):
        runs[role] = tuple(Run(job * ROLE_STRIDE, start + job * width[role]) for job in sorted(jobs[role]))
        start += (max(jobs[role]) + 1) * width[role]
    return Ranks(runs)


def _first(pods: PodSet, namespace: str) -> Pod:
    """The first pod of a set, as far as its link looks."""
    template, stamp = pods.template, pods.stamp(0)
    metadata = Metadata(
        name=stamp.name,
        namespace=namespace,
        labels={**template.labels, **pods.labels, **stamp.labels},
        annotations={**template.annotations, **pods.annotations, **stamp.annotations},
        ownerReferences=msgspec.convert(pods.owners, list[OwnerReference]),
    )
    return Pod(metadata=metadata, spec=template.typed)
