"""Kubernetes Pods as typed structs: only the fields that we read, decoded at parse speed, unknown ones skipped.

Field names are those of the API (camelCase), because msgspec reads them straight from the JSON and because the
edge speaks Kubernetes. Callers: `objects.shape` (Pod to core Shape), `intake`, the dialects in `workloads`.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

Quantities = dict[str, str | int | float]
"""Resource name to quantity as written: text in JSON, number in hand-written YAML."""


class OwnerReference(Struct, gc=False):
    apiVersion: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Metadata(Struct, gc=False):
    name: str = ""
    generateName: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""
    creationTimestamp: str | None = None
    deletionTimestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    ownerReferences: list[OwnerReference] | None = None


class Resources(Struct, gc=False):
    requests: Quantities | None = None
    limits: Quantities | None = None


class ContainerPort(Struct, gc=False):
    containerPort: int = 0
    hostPort: int = 0
    hostIP: str = ""
    protocol: str = "TCP"


class Container(Struct, gc=False):
    name: str = ""
    resources: Resources | None = None
    ports: list[ContainerPort] | None = None
    restartPolicy: str | None = None


class SelectorRequirement(Struct, gc=False):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(Struct, gc=False):
    matchLabels: dict[str, str] | None = None
    matchExpressions: list[SelectorRequirement] | None = None


class NodeSelectorTerm(Struct, gc=False):
    matchExpressions: list[SelectorRequirement] | None = None
    matchFields: list[SelectorRequirement] | None = None


class NodeSelectorTerms(Struct, gc=False):
    nodeSelectorTerms: list[NodeSelectorTerm] | None = None


class PreferredNodeTerm(Struct, gc=False):
    weight: int = 0
    preference: NodeSelectorTerm | None = None


class NodeAffinity(Struct, gc=False):
    requiredDuringSchedulingIgnoredDuringExecution: NodeSelectorTerms | None = None
    preferredDuringSchedulingIgnoredDuringExecution: list[PreferredNodeTerm] | None = None


class PodAffinityTerm(Struct, gc=False):
    topologyKey: str = ""
    labelSelector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespaceSelector: LabelSelector | None = None
    matchLabelKeys: list[str] | None = None
    mismatchLabelKeys: list[str] | None = None


class WeightedPodAffinityTerm(Struct, gc=False):
    weight: int = 0
    podAffinityTerm: PodAffinityTerm | None = None


class PodAffinity(Struct, gc=False):
    requiredDuringSchedulingIgnoredDuringExecution: list[PodAffinityTerm] | None = None
    preferredDuringSchedulingIgnoredDuringExecution: list[WeightedPodAffinityTerm] | None = None


class Affinity(Struct, gc=False):
    nodeAffinity: NodeAffinity | None = None
    podAffinity: PodAffinity | None = None
    podAntiAffinity: PodAffinity | None = None


class TolerationSpec(Struct, gc=False):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class TopologySpreadConstraint(Struct, gc=False):
    maxSkew: int = 1
    topologyKey: str = ""
    whenUnsatisfiable: str = "DoNotSchedule"
    labelSelector: LabelSelector | None = None
    minDomains: int | None = None
    nodeAffinityPolicy: str | None = None
    nodeTaintsPolicy: str | None = None
    matchLabelKeys: list[str] | None = None


class SchedulingGate(Struct, gc=False):
    name: str = ""


class ClaimSource(Struct, gc=False):
    claimName: str = ""


class ClaimTemplate(Struct, gc=False):
    spec: Any = None


class EphemeralSource(Struct, gc=False):
    volumeClaimTemplate: ClaimTemplate | None = None


class Volume(Struct, gc=False):
    name: str = ""
    persistentVolumeClaim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class SchedulingGroup(Struct, gc=False):
    """`spec.schedulingGroup` of Kubernetes 1.36 and later."""

    podGroupName: str = ""


class WorkloadRef(Struct, gc=False):
    """`spec.workloadRef` of Kubernetes 1.35."""

    name: str = ""
    podGroup: str = ""
    podGroupReplicaKey: str = ""


class PodSpec(Struct, gc=False):
    nodeName: str = ""
    schedulerName: str = "default-scheduler"
    priority: int | None = None
    priorityClassName: str = ""
    preemptionPolicy: str | None = None
    restartPolicy: str = ""
    runtimeClassName: str | None = None
    hostNetwork: bool = False
    containers: list[Container] = []
    initContainers: list[Container] | None = None
    overhead: Quantities | None = None
    resources: Resources | None = None
    nodeSelector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[TolerationSpec] | None = None
    topologySpreadConstraints: list[TopologySpreadConstraint] | None = None
    schedulingGates: list[SchedulingGate] | None = None
    volumes: list[Volume] | None = None
    schedulingGroup: SchedulingGroup | None = None
    workloadRef: WorkloadRef | None = None


class Condition(Struct, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    lastTransitionTime: str | None = None


class Terminated(Struct, gc=False):
    exitCode: int = 0


class ContainerState(Struct, gc=False):
    terminated: Terminated | None = None


class ContainerStatus(Struct, gc=False):
    name: str = ""
    state: ContainerState | None = None
    allocatedResources: Quantities | None = None
    resources: Resources | None = None


class PodStatus(Struct, gc=False):
    phase: str = ""
    conditions: list[Condition] | None = None
    nominatedNodeName: str = ""
    resize: str = ""
    containerStatuses: list[ContainerStatus] | None = None
    initContainerStatuses: list[ContainerStatus] | None = None
    allocatedResources: Quantities | None = None
    resources: Resources | None = None


class Pod(Struct, gc=False):
    metadata: Metadata = field(default_factory=Metadata)
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)
