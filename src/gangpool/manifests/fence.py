"""The fence: an admission policy that lets only the present leader bind and evict.

It compares the identity in each Binding and Eviction of our scheduler with the holder of the Lease, so that a frozen
or partitioned old leader is refused by the server itself (422). Without the Lease nobody leads, and the fence stands
open: the server looks for the Lease before it asks whose Binding it is, and a fence that is shut then (`Deny`) keeps
every scheduler of the cluster from binding.
"""

from __future__ import annotations

from typing import Any

from gangpool.manifests.rbac import FENCE as NAME
from gangpool.manifests.rbac import LEASE, NAMESPACE

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:gangpool-scheduler"
LEADER = "gangpool.io/leader"

_IDENTITY = f"object.metadata.?annotations[?'{LEADER}']"


def fence() -> list[dict[str, Any]]:
    """Policy and binding."""
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"},
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods/binding", "pods/eviction"],
                    }
                ]
            },
            "matchConditions": [{"name": "our-scheduler", "expression": f"request.userInfo.username == '{ACCOUNT}'"}],
            "validations": [
                {
                    "expression": f"{_IDENTITY}.orValue('') == params.spec.?holderIdentity.orValue('-')",
                    "messageExpression": f"'{NAME}: ' + {_IDENTITY}.orValue('nobody') + ' does not lead'",
                    "message": f"{NAME}: only the holder of the Lease {LEASE} may bind and evict",
                }
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {
            "policyName": NAME,
            "validationActions": ["Deny"],
            "paramRef": {"name": LEASE, "namespace": NAMESPACE, "parameterNotFoundAction": "Allow"},
        },
    }
    return [policy, binding]
