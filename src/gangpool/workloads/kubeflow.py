"""Jobs of the Kubeflow training operator: PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob, MXJob.

Replica types are roles, all of them one gang of all pods. `schedulingPolicy.minAvailable` sets another minimum, else
an elastic policy's minReplicas; the type that coordinates (master, chief, scheduler) is needed in any case. Ranks:
the coordinating type first, then the workers, then what only serves them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from gangpool.core.model import Role
from gangpool.objects.pod import Pod
from gangpool.workloads import fields, levels, subject, templates
from gangpool.workloads.base import Context, Finding, GangOf, Object, PodLink
from gangpool.workloads.dialect import Reader, label, place
from gangpool.workloads.levels import Asks
from gangpool.workloads.subject import LABEL_LENGTH, Subject
from gangpool.workloads.templates import PodSet, Reading, Stamp, Template

GROUP = "kubeflow.org"
PREFIX = "training.kubeflow.org/"
JOB_NAME = f"{PREFIX}job-name"
OPERATOR = f"{PREFIX}operator-name"
REPLICA_TYPE = f"{PREFIX}replica-type"
REPLICA_INDEX = f"{PREFIX}replica-index"
JOB_ROLE = f"{PREFIX}job-role"

SPECS = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "MXJob": "mxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
}
ORDER = ("launcher", "chief", "master", "scheduler", "worker", "server", "ps", "evaluator")
COORDINATORS = ("launcher", "chief", "master", "scheduler")


class ReplicaType(Struct, frozen=True):
    """One replica type; `name` as in the pods' label, in lower case."""

    name: str
    replicas: int
    template: Template
    asks: Asks


class TrainingJob(Reader):
    """kubeflow.org jobs, except MPIJob."""

    name = "kubeflow"
    kinds = tuple((GROUP, kind) for kind in SPECS if kind != "MPIJob")
    marks: tuple[str, ...] = (JOB_NAME,)

    def read(self, obj: Object, context: Context) -> Reading:
        """One gang with a role per replica type."""
        head = subject.read(obj)
        types = replica_types(obj, head.kind)
        gang, findings = gang_of(head, obj, types)
        sets, rank = [], 0
        for one in types:
            sets.append(pod_set(head, one, rank))
            rank += one.replicas
        return Reading(head.namespace, (gang,), tuple(sets), tuple(findings))

    def templates(self, obj: Object) -> Iterable[tuple[str, Object]]:
        """The template of each replica type."""
        base = f"spec.{SPECS.get(fields.text(obj, 'kind'), '')}"
        found = ((f"{base}.{name}", spec) for name, spec in fields.mapping(obj, base).items())
        return [(f"{p}.template", fields.mapping(fields.value_mapping(v, p), "template", p)) for p, v in found]

    def link(self, pod: Pod) -> PodLink | None:
        """By the job's name; the kind is known from the operator's label, or from the owner."""
        name = label(pod, JOB_NAME)
        if not name:
            return None
        written = label(pod, JOB_ROLE)
        owned = next((o.kind for o in pod.metadata.ownerReferences or () if o.controller and o.kind in SPECS), "")
        return PodLink(
            key=f"{pod.metadata.namespace}/{name}",
            source=self.name,
            role=label(pod, REPLICA_TYPE).lower() or written,
            rank=place(label(pod, REPLICA_INDEX)),
            defined_by=(GROUP, owned or _kind(label(pod, OPERATOR)), name),
        )


def _kind(operator: str) -> str:
    """The kind behind an operator's name: `pytorchjob-controller`, `mpi-operator`."""
    stem = operator.removesuffix("-controller").removesuffix("-operator")
    return next((kind for kind in SPECS if kind.lower() in (stem, f"{stem}job")), "")


def replica_types(obj: Object, kind: str) -> list[ReplicaType]:
    """The replica types in the order of their ranks."""
    base = f"spec.{SPECS[kind]}"
    found = []
    for written, value in fields.mapping(obj, base).items():
        path = f"{base}.{written}"
        spec = fields.value_mapping(value, path)
        template = templates.read(spec, "template", path)
        replicas = fields.integer(spec, "replicas", path, default=1)
        asks = levels.of_template(template.annotations, template.path)
        found.append(ReplicaType(str(written).lower(), replicas, template, asks))
    return sorted(found, key=lambda one: ORDER.index(one.name) if one.name in ORDER else len(ORDER))


def gang_of(
    head: Subject, obj: Object, types: Sequence[ReplicaType], optional: tuple[str, ...] = ()
) -> tuple[GangOf, list[Finding]]:
    """The gang of a job, and what is wrong with it."""
    total = sum(one.replicas for one in types)
    policy = "spec.runPolicy.schedulingPolicy"
    findings = list(_names(head, types))
    least = fields.integer(obj, f"{policy}.minAvailable")
    if least > total:
        findings.append(head.invalid(f"{policy}.minAvailable", f"is {least}, but there are {total} replicas"))
    elastic = fields.integer(obj, "spec.elasticPolicy.minReplicas")
    wanted = least or (min(elastic, total) if elastic else 0)
    scope = levels.scope(levels.of_object(head), [(one.name, one.asks) for one in types])
    findings += scope.findings(head)
    partly = bool(wanted) and wanted < total
    gang = GangOf(
        key=head.key,
        minimum=wanted or None,
        total=total,
        roles=tuple(Role(t.name, t.replicas if not partly or t.name in COORDINATORS else 0) for t in types),
        optional_roles=optional,
        queue=head.queue(fields.text(obj, f"{policy}.queue")),
        priority_class=fields.text(obj, f"{policy}.priorityClass"),
        suspended=fields.flag(obj, "spec.runPolicy.suspend"),
        error=subject.gang_error(findings),
        **scope.fields(),
    )
    return gang, findings


def pod_set(head: Subject, one: ReplicaType, first_rank: int) -> PodSet:
    """The pods JOB-TYPE-INDEX of one replica type."""
    labels = {OPERATOR: f"{head.kind.lower()}-controller", JOB_NAME: head.name, REPLICA_TYPE: one.name}
    if one.name in ("master", "chief"):
        labels[JOB_ROLE] = "master"
    return PodSet(
        gang=head.key,
        role=one.name,
        template=one.template,
        owners=head.controls(),
        count=one.replicas,
        stamp=lambda i: Stamp(f"{head.name}-{one.name}-{i}", {REPLICA_INDEX: str(i)}),
        labels=labels,
        first_rank=first_rank,
    )


def _names(head: Subject, types: Sequence[ReplicaType]) -> Iterable[Finding]:
    """Each pod has a service of its own name, so that name is a DNS label."""
    for one in types:
        pod = f"{head.name}-{one.name}-{max(one.replicas - 1, 0)}"
        if len(pod) > LABEL_LENGTH:
            text = f"leaves no room: {pod} has {len(pod)} characters, {LABEL_LENGTH} are allowed"
            yield head.invalid("metadata.name", text)
            return
