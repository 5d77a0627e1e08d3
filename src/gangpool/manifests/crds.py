"""CRDs that the product brings: Volcano's Job and PodGroup, for clusters where Volcano is not installed.

Fields that we read have types; all others survive, because the same objects are written for Volcano, whose schema is
wider. `spec.minMember` of a Job is kept, so that it can be heard and named (Volcano's own schema drops it).
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_COUNT: Schema = {"type": "integer", "format": "int32", "minimum": 0}
_TEXT: Schema = {"type": "string"}
_OPEN: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _open(properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    """An object with typed fields that keeps the ones that it does not name."""
    schema = {**_OPEN, "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_POLICIES = _list(
    _open({"action": _TEXT, "event": _TEXT, "events": _list(_TEXT), "exitCode": {"type": "integer"}, "timeout": _TEXT})
)
_TASK = _open(
    {"name": _TEXT, "replicas": _COUNT, "minAvailable": _COUNT, "template": _OPEN, "policies": _POLICIES},
)
_JOB_SPEC = _open(
    {
        "schedulerName": _TEXT,
        "minAvailable": _COUNT,
        "minMember": _COUNT,
        "minSuccess": _COUNT,
        "queue": _TEXT,
        "maxRetry": _COUNT,
        "priorityClassName": _TEXT,
        "ttlSecondsAfterFinished": _COUNT,
        "tasks": _list(_TASK),
        "policies": _POLICIES,
    }
)
_GROUP_SPEC = _open(
    {
        "minMember": _COUNT,
        "queue": _TEXT,
        "priorityClassName": _TEXT,
        "minTaskMember": {"type": "object", "additionalProperties": _COUNT},
    }
)


def crds() -> list[dict[str, Any]]:
    """All of them, in the order of applying."""
    columns = [
        {"name": "Status", "type": "string", "jsonPath": ".status.state.phase"},
        {"name": "Min", "type": "integer", "jsonPath": ".spec.minAvailable"},
        {"name": "Running", "type": "integer", "jsonPath": ".status.running"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    group_columns = [
        {"name": "Status", "type": "string", "jsonPath": ".status.phase"},
        {"name": "MinMember", "type": "integer", "jsonPath": ".spec.minMember"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    return [
        _crd("batch.volcano.sh", "v1alpha1", "Job", "jobs", ["vcjob", "vj"], _JOB_SPEC, columns),
        _crd(
            "scheduling.volcano.sh",
            "v1beta1",
            "PodGroup",
            "podgroups",
            ["pg", "podgroup-v1beta1"],
            _GROUP_SPEC,
            group_columns,
        ),
    ]


def _crd(  # noqa: PLR0913 - one row of the table above
    group: str, version: str, kind: str, plural: str, short: list[str], spec: Schema, columns: list[Schema]
) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": spec, "status": _OPEN}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": short,
            },
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": columns,
                }
            ],
        },
    }
