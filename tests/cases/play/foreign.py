"""CRDs of other projects that a case uses and the product does not ship, with schemas that accept anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.cases.play.case import CaseError, objects
from tests.cases.play.context import Context
from tests.cases.play.product import established

TABLE = Path(__file__).with_name("crds.yaml")


def crd(group: str, version: str, kind: str, plural: str, scope: str) -> dict[str, Any]:
    """A permissive CRD with a status subresource."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, test only"},
        },
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": kind + "List"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def table() -> dict[tuple[str, str], dict[str, Any]]:
    """(apiVersion, kind) -> CRD, from crds.yaml."""
    rows = yaml.safe_load(TABLE.read_text())["kinds"]
    return {
        (f"{r['group']}/{r['version']}", r["kind"]): crd(
            r["group"], r["version"], r["kind"], r["plural"], r.get("scope", "Namespaced")
        )
        for r in rows
    }


async def install_foreign(ctx: Context) -> None:
    """Those that the files of the case, or its ``needs: [CRD plural.group]``, ask for and the API server lacks."""
    assert ctx.api and ctx.cluster
    known = table()
    by_name = {c["metadata"]["name"]: c for c in known.values()}
    wanted: dict[str, dict[str, Any]] = {}
    for path in sorted(ctx.folder.glob("*.yaml")):
        if path.name != "expect.yaml":
            for obj in objects(path):
                found = known.get((obj.get("apiVersion", ""), obj.get("kind", "")))
                if found:
                    wanted[found["metadata"]["name"]] = found
    for need in ctx.case.needs:
        if need.startswith("CRD "):
            if need[4:] not in by_name:
                raise CaseError(f"needs: {need}: not in {TABLE.name}")
            wanted[need[4:]] = by_name[need[4:]]
    for name, body in wanted.items():
        if await ctx.cluster.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}") is None:
            await ctx.api.apply(body)
            await established(ctx.cluster, name)
