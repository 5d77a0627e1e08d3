"""MPIJob, v1 and v2beta1: a launcher without cards and the workers, one gang.

With `launcherCreationPolicy: WaitForWorkersReady` the launcher is created when the workers run: they start without
it, and its room is kept. Ranks are those of the host file: the workers in order; the launcher is first where it runs
a worker itself, else last, since it computes nothing.
"""

from __future__ import annotations

from msgspec import structs

from gangpool.workloads import fields, job, subject
from gangpool.workloads.base import Context, Object
from gangpool.workloads.kubeflow import (
    GROUP,
    JOB_NAME,
    JOB_ROLE,
    OPERATOR,
    REPLICA_INDEX,
    REPLICA_TYPE,
    ReplicaType,
    TrainingJob,
    gang_of,
    replica_types,
)
from gangpool.workloads.subject import Subject
from gangpool.workloads.templates import PodSet, Reading, Stamp

LAUNCHER = "launcher"
OPERATOR_NAMES = {True: "mpi-operator", False: "mpijob-controller"}
"""By version: v2beta1 is the MPI operator's, v1 the training operator's."""


class MpiJob(TrainingJob):
    """kubeflow.org MPIJob."""

    name = "mpijob"
    kinds = ((GROUP, "MPIJob"),)
    marks: tuple[str, ...] = ()
    """Pods are linked by the labels that all training jobs share."""

    def read(self, obj: Object, context: Context) -> Reading:
        """One gang with the roles launcher and worker."""
        head = subject.read(obj)
        types = replica_types(obj, "MPIJob")
        works = fields.flag(obj, "spec.runLauncherAsWorker")
        later = fields.text(obj, "spec.launcherCreationPolicy") == "WaitForWorkersReady"
        optional = (LAUNCHER,) if later and any(t.name == LAUNCHER for t in types) else ()
        gang, findings = gang_of(head, obj, types, optional)
        in_ranks = types if works else sorted(types, key=lambda t: t.name == LAUNCHER)
        sets, rank = [], 0
        for one in in_ranks:
            sets.append(_pods(head, one, rank))
            rank += one.replicas
        order = [one.name for one in in_ranks]
        roles = tuple(sorted(gang.roles, key=lambda role: order.index(role.name)))
        return Reading(head.namespace, (structs.replace(gang, roles=roles),), tuple(sets), tuple(findings))


def _pods(head: Subject, one: ReplicaType, first_rank: int) -> PodSet:
    """Workers are named JOB-worker-INDEX. The launcher is JOB-launcher: a pod in v1, a Job's pod in v2beta1, whose
    random suffix is left out."""
    operator = head.api_version.endswith("/v2beta1")
    launcher = one.name == LAUNCHER
    child = f"{head.name}-{LAUNCHER}"
    labels = {OPERATOR: OPERATOR_NAMES[operator], JOB_NAME: head.name, JOB_ROLE: one.name}
    if not operator:
        labels[REPLICA_TYPE] = one.name
    by_job = operator and launcher
    if by_job:
        labels |= {job.NAME: child, job.OLD_NAME: child}

    def stamp(i: int) -> Stamp:
        if launcher:
            return Stamp(child if one.replicas == 1 else f"{child}-{i}")
        return Stamp(f"{head.name}-{one.name}-{i}", {REPLICA_INDEX: str(i)})

    return PodSet(
        gang=head.key,
        role=one.name,
        template=one.template,
        owners=[subject.owner("batch/v1", "Job", child)] if by_job else head.controls(),
        count=one.replicas,
        stamp=stamp,
        labels=labels,
        first_rank=first_rank,
    )
