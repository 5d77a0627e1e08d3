"""The role of people who read the live cluster with `gangpool place`, `nodes`, `tree` and the like; bind it to them.

Printed by `gangpool manifests rbac`. Reads only, and exactly what `gangpool.live.snapshot` lists (a test compares).
"""

from __future__ import annotations

from typing import Any

from gangpool.manifests.rbac import FOLLOWED, Rule, rule

NAME = "gangpool-reader"
REFERRED: list[Rule] = [
    rule(["node.k8s.io"], ["runtimeclasses"], ["list"]),
    rule(["apps"], ["replicasets"], ["list"]),
    rule(["trainer.kubeflow.org"], ["clustertrainingruntimes", "trainingruntimes"], ["list"]),
]


def reader() -> list[dict[str, Any]]:
    """The cluster role. Whom to bind it to, the administrator decides."""
    listed = [rule(one["apiGroups"], one["resources"], ["list"]) for one in FOLLOWED]
    version = "rbac.authorization.k8s.io/v1"
    return [{"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": NAME}, "rules": [*listed, *REFERRED]}]
