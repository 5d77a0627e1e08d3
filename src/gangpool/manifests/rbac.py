"""Service accounts and roles with the least rights: process `gangpool X` runs as `gangpool-X` of `gangpool-system`."""

from __future__ import annotations

from typing import Any

NAMESPACE = "gangpool-system"
FENCE = "gangpool-fence"
LEASE = "gangpool-scheduler"
POLICIES = ["validatingadmissionpolicies", "validatingadmissionpolicybindings"]
READ = ["list", "watch"]
GROUPS = ["scheduling.k8s.io", "scheduling.volcano.sh", "scheduling.x-k8s.io", "scheduling.run.ai"]

Rule = dict[str, list[str]]


def rule(groups: list[str], resources: list[str], verbs: list[str]) -> Rule:
    """One rule of a role."""
    return {"apiGroups": groups, "resources": resources, "verbs": verbs}


def named(groups: list[str], resources: list[str], verbs: list[str], name: str) -> Rule:
    """A rule about one object."""
    return {**rule(groups, resources, verbs), "resourceNames": [name]}


FOLLOWED: list[Rule] = [
    rule([""], ["pods", "nodes", "namespaces", "persistentvolumeclaims", "persistentvolumes"], READ),
    rule(["storage.k8s.io"], ["storageclasses"], READ),
    rule(["scheduling.k8s.io"], ["priorityclasses", "podgroups", "workloads"], READ),
    rule(["scheduling.volcano.sh"], ["podgroups", "queues"], READ),
    rule(["batch.volcano.sh"], ["jobs"], READ),
    rule(["topology.volcano.sh"], ["hypernodes"], READ),
    rule(["scheduling.x-k8s.io"], ["podgroups"], READ),
    rule(["batch"], ["jobs"], READ),
    rule(["apps"], ["statefulsets"], READ),
    rule(["kueue.x-k8s.io"], ["topologies", "localqueues"], READ),
    rule(["kai.scheduler"], ["topologies"], READ),
    rule(["scheduling.run.ai"], ["podgroups", "queues"], READ),
    rule(["jobset.x-k8s.io"], ["jobsets"], READ),
    rule(["leaderworkerset.x-k8s.io"], ["leaderworkersets"], READ),
    rule(["kubeflow.org"], ["pytorchjobs", "tfjobs", "xgboostjobs", "paddlejobs", "jaxjobs", "mpijobs"], READ),
    rule(["ray.io"], ["rayclusters", "rayjobs"], READ),
]
"""What the scheduler follows: `gangpool.live.resources` (a test compares)."""

EVENTS = rule([""], ["events"], ["create", "patch"])

SCHEDULER: list[Rule] = [
    *FOLLOWED,
    rule([""], ["pods"], ["get"]),  # after a bind whose answer was lost
    rule([""], ["pods/binding", "pods/eviction"], ["create"]),
    rule([""], ["pods/status"], ["patch"]),
    rule(GROUPS, ["podgroups/status"], ["patch"]),
    named(["admissionregistration.k8s.io"], POLICIES, ["get"], FENCE),
    EVENTS,
]
JOBS: list[Rule] = [
    rule(["batch.volcano.sh"], ["jobs"], READ),
    rule(["batch.volcano.sh"], ["jobs/status"], ["patch"]),
    rule(["batch.volcano.sh"], ["jobs/finalizers"], ["update"]),  # where owner references need it (OpenShift)
    rule(["scheduling.volcano.sh"], ["podgroups"], ["create"]),
    rule([""], ["pods"], [*READ, "create", "delete"]),
    rule([""], ["resourcequotas"], READ),
]
RIGHTS: dict[str, list[Rule]] = {
    "scheduler": SCHEDULER,
    "jobs-controller": JOBS,
    "webhook": [],
    "agent": [],
    "console": FOLLOWED,
}
LEASES: list[Rule] = [
    rule(["coordination.k8s.io"], ["leases"], ["create"]),  # what is created has no name yet that could be compared
    named(["coordination.k8s.io"], ["leases"], ["get", "update"], LEASE),
]


def rbac() -> list[dict[str, Any]]:
    """Accounts, cluster roles and their bindings; leases in our own namespace only."""
    found: list[dict[str, Any]] = []
    for process, rules in RIGHTS.items():
        name = f"gangpool-{process}"
        found.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}})
        if rules:
            found += [_role("ClusterRole", name, rules), _binding("ClusterRoleBinding", name)]
        if process == "scheduler":
            found += [_role("Role", name, LEASES), _binding("RoleBinding", name)]
    return found


def _role(kind: str, name: str, rules: list[Rule]) -> dict[str, Any]:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": _meta(kind, name), "rules": rules}


def _binding(kind: str, name: str) -> dict[str, Any]:
    role = kind.removesuffix("Binding")
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": _meta(kind, name),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
    }


def _meta(kind: str, name: str) -> dict[str, str]:
    return {"name": name} if kind.startswith("Cluster") else {"name": name, "namespace": NAMESPACE}
