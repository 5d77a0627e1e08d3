"""The kinds that the live world follows beside pods and nodes, and under which paths an API server may serve them.

The first version that is served is used; a kind that is not served at all counts as absent.
"""

from __future__ import annotations

from msgspec import Struct


class Resource(Struct, frozen=True):
    """One kind: API group, kind, plural, versions newest first ("" group: core)."""

    group: str
    kind: str
    plural: str
    versions: tuple[str, ...]

    def paths(self) -> tuple[str, ...]:
        """List paths over all namespaces, one per version."""
        root = f"/apis/{self.group}" if self.group else "/api"
        return tuple(f"{root}/{version}/{self.plural}" for version in self.versions)


PODS = "/api/v1/pods"
NODES = "/api/v1/nodes"

RESOURCES: tuple[Resource, ...] = (
    Resource("", "Namespace", "namespaces", ("v1",)),
    Resource("", "PersistentVolumeClaim", "persistentvolumeclaims", ("v1",)),
    Resource("", "PersistentVolume", "persistentvolumes", ("v1",)),
    Resource("storage.k8s.io", "StorageClass", "storageclasses", ("v1",)),
    Resource("scheduling.k8s.io", "PriorityClass", "priorityclasses", ("v1",)),
    Resource("scheduling.k8s.io", "PodGroup", "podgroups", ("v1beta1", "v1alpha3", "v1alpha2")),
    Resource("scheduling.k8s.io", "Workload", "workloads", ("v1beta1", "v1alpha3", "v1alpha2", "v1alpha1")),
    Resource("scheduling.volcano.sh", "PodGroup", "podgroups", ("v1beta1",)),
    Resource("scheduling.volcano.sh", "Queue", "queues", ("v1beta1",)),
    Resource("batch.volcano.sh", "Job", "jobs", ("v1alpha1",)),
    Resource("topology.volcano.sh", "HyperNode", "hypernodes", ("v1alpha1",)),
    Resource("scheduling.x-k8s.io", "PodGroup", "podgroups", ("v1alpha1",)),
    Resource("batch", "Job", "jobs", ("v1",)),
    Resource("apps", "StatefulSet", "statefulsets", ("v1",)),
    Resource("kueue.x-k8s.io", "Topology", "topologies", ("v1beta2", "v1beta1", "v1alpha1")),
    Resource("kueue.x-k8s.io", "LocalQueue", "localqueues", ("v1beta2", "v1beta1")),
    Resource("kai.scheduler", "Topology", "topologies", ("v1alpha1",)),
    Resource("scheduling.run.ai", "PodGroup", "podgroups", ("v2alpha2",)),
    Resource("scheduling.run.ai", "Queue", "queues", ("v2",)),
    Resource("jobset.x-k8s.io", "JobSet", "jobsets", ("v1alpha2",)),
    Resource("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets", ("v1",)),
    Resource("kubeflow.org", "PyTorchJob", "pytorchjobs", ("v1",)),
    Resource("kubeflow.org", "TFJob", "tfjobs", ("v1",)),
    Resource("kubeflow.org", "XGBoostJob", "xgboostjobs", ("v1",)),
    Resource("kubeflow.org", "PaddleJob", "paddlejobs", ("v1",)),
    Resource("kubeflow.org", "JAXJob", "jaxjobs", ("v1",)),
    Resource("kubeflow.org", "MPIJob", "mpijobs", ("v2beta1", "v1")),
    Resource("ray.io", "RayCluster", "rayclusters", ("v1",)),
    Resource("ray.io", "RayJob", "rayjobs", ("v1",)),
)
