"""The pods that KubeRay makes: head, workers, the autoscaler's and the submitter's containers.

Called by `ray`. Resources of what KubeRay adds itself are its defaults, since they take room like all others.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from gangpool.workloads import fields, job, subject, templates
from gangpool.workloads.base import Object
from gangpool.workloads.subject import Subject
from gangpool.workloads.templates import PodSet, Stamp, Template

GROUP_LABEL = "ray.io/group"
HEAD = "headgroup"
SUBMITTER = "submitter"
VOLCANO = "volcano"
COPIED = ("volcano.sh/queue-name", "ray.io/priority-class-name", "kai.scheduler/queue", "kai.scheduler/node-pool")
"""Labels of the object that its pods get for batch scheduling."""

AUTOSCALER = {"limits": {"cpu": "500m", "memory": "512Mi"}, "requests": {"cpu": "500m", "memory": "512Mi"}}
SUBMITS = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "200Mi"}}


class Group(Struct, frozen=True):
    """Head or worker group: `pods` now, `least` of them by minReplicas."""

    path: str
    name: str
    pods: int
    least: int
    template: Template


def head_template(obj: Object, base: str, scheduler: str) -> Template:
    """The head's template, with the containers that KubeRay adds: autoscaler, submitter in sidecar mode."""
    path = f"{base}.headGroupSpec.template"
    template = templates.with_scheduler(templates.read(obj, path), scheduler)
    added: list[dict[str, Any]] = []
    if fields.flag(obj, f"{base}.enableInTreeAutoscaling"):
        written = fields.mapping(obj, f"{base}.autoscalerOptions.resources")
        added.append({"name": "autoscaler", "resources": written or AUTOSCALER})
    if fields.text(obj, "spec.submissionMode") == "SidecarMode":
        added.append({"name": "ray-job-submitter", "resources": SUBMITS})
    if not added:
        return template
    return templates.with_spec(template, {"containers": [*(template.spec.get("containers") or ()), *added]})


def group_set(head: Subject, key: str, group: Group, first_rank: int) -> PodSet:
    """NAME-head, and NAME-GROUP-worker-N, whose random suffix is counted instead; so is that of a RayJob's cluster,
    which the pods' names leave out."""
    is_head = group.name == HEAD
    kind = "head" if is_head else "worker"
    cluster = head.name if head.kind == "RayCluster" else f"{head.name}-0"
    labels = {
        "ray.io/cluster": cluster,
        "ray.io/node-type": kind,
        GROUP_LABEL: group.name,
        "ray.io/is-ray-node": "yes",
        "ray.io/identifier": f"{cluster}-{kind}",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
        **{key: head.labels[key] for key in COPIED if key in head.labels},
    }
    prefix = head.name if is_head else f"{head.name}-{group.name}"
    return PodSet(
        gang=key,
        role=group.name,
        template=group.template,
        owners=[subject.owner("ray.io/v1", "RayCluster", cluster, head.uid if cluster == head.name else "")],
        count=group.pods,
        stamp=lambda i: Stamp(f"{prefix}-{kind}".lower() if is_head else f"{prefix}-{kind}-{i}".lower()),
        labels=labels,
        annotations=_grouped(head, group.name),
        first_rank=first_rank,
    )


def _grouped(head: Subject, role: str) -> dict[str, str]:
    """What KubeRay's Volcano integration writes on pods; it calls the PodGroup ray-NAME-pg."""
    if head.labels.get("ray.io/scheduler-name") != VOLCANO:
        return {}
    return {"scheduling.k8s.io/group-name": f"ray-{head.name}-pg", "volcano.sh/task-spec": role}


def submitter_set(head: Subject, obj: Object, key: str, head_pod: tuple[Template | None, int]) -> list[PodSet]:
    """The pod of the Kubernetes Job that submits (mode K8sJobMode, the default), as written or with the head's image
    and KubeRay's resources."""
    if fields.text(obj, "spec.submissionMode", default="K8sJobMode") != "K8sJobMode":
        return []
    template, rank = head_pod
    path = "spec.submitterPodTemplate"
    if fields.find(obj, path) is not None:
        chosen = templates.read(obj, path)
    else:
        image = template.spec["containers"][0].get("image", "") if template and template.typed.containers else ""
        spec = {"containers": [{"name": "ray-job-submitter", "image": image, "resources": SUBMITS}]}
        chosen = Template(path, {}, {}, spec, templates.decode(spec, path))
    chosen = templates.with_scheduler(chosen, head.labels.get("ray.io/scheduler-name", ""))
    pods = PodSet(
        gang=key,
        role=SUBMITTER,
        template=chosen,
        owners=[subject.owner("batch/v1", "Job", head.name)],
        count=1,
        stamp=lambda i: Stamp(f"{head.name}-{i}"),
        labels={job.NAME: head.name, job.OLD_NAME: head.name},
        annotations=_grouped(head, SUBMITTER),
        first_rank=rank,
    )
    return [pods]
