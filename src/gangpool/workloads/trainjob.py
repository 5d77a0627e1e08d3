"""Kubeflow Trainer's TrainJob: a JobSet of the same name, made from a runtime and what the TrainJob overrides.

The runtime (TrainingRuntime or ClusterTrainingRuntime) is another object. Where the input has it, the JobSet is made
from its template and read as any JobSet. Without it there is a finding, and a gang of `numNodes` pods with the
resources that the TrainJob itself names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from gangpool.core.model import Role
from gangpool.workloads import fields, job, jobset, levels, subject, templates
from gangpool.workloads.base import Context, Finding, GangOf, Object
from gangpool.workloads.dialect import Reader
from gangpool.workloads.findings import OBJECT_MISSING
from gangpool.workloads.subject import Subject
from gangpool.workloads.templates import PodSet, Reading

GROUP = "trainer.kubeflow.org"
STEP = f"{GROUP}/trainjob-ancestor-step"
NODE = "node"
"""Name of the replicated job, and of its container, that trains."""


class TrainJob(Reader):
    """trainer.kubeflow.org TrainJob. Its pods carry the labels of the JobSet, which link them."""

    name = "trainjob"
    kinds = ((GROUP, "TrainJob"),)

    def read(self, obj: Object, context: Context) -> Reading:
        """The gang of the JobSet that the controller makes."""
        head = subject.read(obj)
        kind = fields.text(obj, "spec.runtimeRef.kind", default="ClusterTrainingRuntime")
        name = fields.text(obj, "spec.runtimeRef.name")
        runtime = context.get(GROUP, kind, "" if kind.startswith("Cluster") else head.namespace, name)
        if runtime is None:
            return _without(head, obj, f"{kind} {name or '(no name)'}")
        made = _jobset(head, obj, runtime)
        reading = jobset.read(_as_made(head, made), made)
        gangs = tuple(_grouped(gang, runtime) for gang in reading.gangs)
        sets = (_renamed(s, "spec.trainer") for s in reading.sets)
        return msgspec.structs.replace(reading, gangs=gangs, sets=sets)

    def templates(self, obj: Object) -> Iterable[tuple[str, Object]]:
        """None: they are the runtime's."""
        return ()


def _without(head: Subject, obj: Object, missing: str) -> Reading:
    nodes = fields.integer(obj, "spec.trainer.numNodes", default=1)
    resources = fields.mapping(obj, "spec.trainer.resourcesPerNode")
    spec = {"containers": [{"name": NODE, "resources": resources}]}
    template = templates.Template("spec.trainer", {}, {}, spec, templates.decode(spec, "spec.trainer"))
    child = f"{head.name}-{NODE}-0"
    text = f"{missing} is not there; {nodes} pods with the resources of spec.trainer stand for the job"
    finding: Finding = head.finding("spec.runtimeRef", OBJECT_MISSING, text)
    gang = GangOf(
        key=head.key,
        minimum=None,
        total=nodes,
        roles=(Role(NODE, nodes),),
        queue=head.queue(),
        suspended=fields.flag(obj, "spec.suspend"),
    )
    pods = PodSet(
        gang=head.key,
        role=NODE,
        template=template,
        owners=[subject.owner("batch/v1", "Job", child)],
        count=nodes,
        stamp=lambda i: job.index_stamp(child, i, indexed=True),
        labels={jobset.NAME: head.name, jobset.ROLE: NODE, job.NAME: child, job.OLD_NAME: child},
    )
    return Reading(head.namespace, (gang,), (pods,), (finding,))


def _jobset(head: Subject, obj: Object, runtime: Object) -> dict[str, Any]:
    """The JobSet as an object: the runtime's template with the TrainJob's numbers and overrides."""
    spec = fields.mapping(runtime, "spec.template.spec")
    replicated = []
    for path, one in fields.items(spec, "replicatedJobs", "spec.template.spec"):
        replicated.append(_overridden(_sized(path, one, obj, runtime), obj))
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": head.name,
            "namespace": head.namespace,
            "labels": {**fields.texts(runtime, "spec.template.metadata.labels"), **head.labels},
            "annotations": {**fields.texts(runtime, "spec.template.metadata.annotations"), **head.annotations},
        },
        "spec": {**spec, "replicatedJobs": replicated, "suspend": fields.flag(obj, "spec.suspend")},
    }


def _sized(path: str, one: Object, obj: Object, runtime: Object) -> dict[str, Any]:
    """numNodes and resourcesPerNode for the replicated job that trains; an MPI launcher that trains is one of the
    nodes itself."""
    name = fields.text(one, "name", path)
    step = fields.texts(one, "template.metadata.labels", path).get(STEP, "")
    job_spec = dict(fields.mapping(one, "template.spec", path))
    launches = fields.flag(runtime, "spec.mlPolicy.mpi.runLauncherAsNode")
    if name == NODE or (step == "trainer" and name != "launcher"):
        nodes = fields.integer(runtime, "spec.mlPolicy.numNodes", default=1, within=(1, fields.MAX_PODS))
        nodes = fields.integer(obj, "spec.trainer.numNodes", default=nodes) - (1 if launches else 0)
        job_spec |= {"parallelism": nodes, "completions": nodes}
    resources = fields.mapping(obj, "spec.trainer.resourcesPerNode")
    if resources and (name == NODE or step == "trainer") and (name != "launcher" or launches):
        pod = fields.mapping(job_spec, "template.spec", f"{path}.template.spec")
        containers = [c for _, c in fields.items(pod, "containers", f"{path}.template.spec.template.spec")]
        changed = [{**c, "resources": resources} if c.get("name") == NODE else c for c in containers]
        template = fields.mapping(job_spec, "template", f"{path}.template.spec")
        job_spec["template"] = {**template, "spec": {**pod, "containers": changed}}
    return {**one, "template": {**fields.mapping(one, "template", path), "spec": job_spec}}


def _overridden(one: dict[str, Any], obj: Object) -> dict[str, Any]:
    """podTemplateOverrides (targetJobs) and runtimePatches (by replicated job): metadata and spec of the pods."""
    for path, override in fields.items(obj, "spec.podTemplateOverrides"):
        targets = [fields.text(t, "name", p) for p, t in fields.items(override, "targetJobs", path)]
        if one.get("name") in targets:
            one = _patched(one, override, path)
    for path, patch in fields.items(obj, "spec.runtimePatches"):
        inner = f"{path}.trainingRuntimeSpec.template.spec"
        spec = fields.mapping(patch, "trainingRuntimeSpec.template.spec", path)
        for where, target in fields.items(spec, "replicatedJobs", inner):
            if one.get("name") == target.get("name"):
                pods = fields.mapping(target, "template.spec.template", where)
                one = _patched(one, pods, f"{where}.template.spec.template")
    return one


def _patched(one: dict[str, Any], patch: Object, path: str) -> dict[str, Any]:
    job_template = fields.mapping(one, "template")
    job_spec = fields.mapping(one, "template.spec")
    pods = fields.mapping(one, "template.spec.template")
    metadata = fields.mapping(pods, "metadata")
    for part in ("labels", "annotations"):
        metadata = {**metadata, part: {**fields.texts(metadata, part), **fields.texts(patch, f"metadata.{part}", path)}}
    spec = {**fields.mapping(pods, "spec"), **fields.mapping(patch, "spec", path)}
    made = {**pods, "metadata": metadata, "spec": spec}
    return {**one, "template": {**job_template, "spec": {**job_spec, "template": made}}}


def _as_made(head: Subject, made: dict[str, Any]) -> Subject:
    """The TrainJob's head with labels and annotations of the JobSet; findings name the TrainJob."""
    metadata = made["metadata"]
    return msgspec.structs.replace(head, labels=metadata["labels"], annotations=metadata["annotations"])


def _grouped(gang: GangOf, runtime: Object) -> GangOf:
    """podGroupPolicy.volcano of the runtime may give the whole gang a level."""
    asks = levels.network(runtime, "spec.podGroupPolicy.volcano.networkTopology")
    return msgspec.structs.replace(
        gang, required=gang.required or asks.required, preferred=gang.preferred or asks.preferred
    )


def _renamed(pods: PodSet, path: str) -> PodSet:
    return msgspec.structs.replace(pods, template=msgspec.structs.replace(pods.template, path=path))
