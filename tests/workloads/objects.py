"""Objects for the tests of dialects: manifests by name, a context over a list, short spellings of workloads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import yaml

from gangpool.objects.pod import Pod
from gangpool.workloads import registry
from gangpool.workloads.base import Context, Expansion, GangOf, Object

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Objects:
    """A context over some objects."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._objects = list(objects)

    def get(self, group: str, kind: str, namespace: str, name: str) -> Object | None:
        for obj in self.all_of(group, kind):
            metadata = obj["metadata"]
            if metadata["name"] == name and namespace in ("", metadata.get("namespace", "default")):
                return obj
        return None

    def any_of(self, group: str, kind: str) -> bool:
        return any(True for _ in self.all_of(group, kind))

    def all_of(self, group: str, kind: str) -> Iterable[Object]:
        return [o for o in self._objects if (_group(o), o.get("kind")) == (group, kind)]


def _group(obj: Object) -> str:
    api_version: str = obj.get("apiVersion", "")
    return api_version.partition("/")[0] if "/" in api_version else ""


def manifests(path: str) -> list[dict[str, Any]]:
    """The documents of one file under examples/."""
    text = (EXAMPLES / path).read_text(encoding="utf-8")
    return [document for document in yaml.safe_load_all(text) if document]


def written(text: str) -> dict[str, Any]:
    """One object from YAML."""
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def obj(kind: str, spec: dict[str, Any], name: str = "a", **metadata: Any) -> dict[str, Any]:
    """An object in namespace ml; `kind` with its apiVersion: `batch/v1 Job`."""
    api_version, _, short = kind.rpartition(" ")
    return {
        "apiVersion": api_version,
        "kind": short,
        "metadata": {"name": name, "namespace": "ml", **metadata},
        "spec": spec,
    }


def template(cards: int = 0, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod template with one container."""
    container: dict[str, Any] = {"name": "main"}
    if cards:
        container["resources"] = {"limits": {"nvidia.com/gpu": cards}}
    return {"metadata": {"annotations": annotations or {}}, "spec": {"containers": [container], **spec}}


def vcjob(*tasks: dict[str, Any], name: str = "a", **spec: Any) -> dict[str, Any]:
    """A Volcano Job."""
    return obj("batch.volcano.sh/v1alpha1 Job", {"tasks": list(tasks), **spec}, name)


def task(name: str = "worker", replicas: int = 2, **more: Any) -> dict[str, Any]:
    """A task of a Volcano Job."""
    return {"name": name, "replicas": replicas, "template": template(), **more}


def the_gang(found: dict[str, Any], context: Context = registry.NOTHING) -> GangOf:
    """The only gang of an object."""
    (gang,) = registry.expand(found, context).gangs
    return gang


def names(expansion: Expansion) -> list[str]:
    """Names of the pods in order."""
    return [spec.pod["metadata"]["name"] for _, spec in expansion.members]


def codes(expansion: Expansion) -> list[tuple[str, str]]:
    """(code, field) of the findings in order."""
    return [(f.code, f.field) for f in expansion.findings]


def decoded(pod: Object) -> Pod:
    """A pod as the API server would send it."""
    return msgspec.convert(pod, Pod)


def pod(name: str = "p-0", labels: dict[str, str] | None = None, **more: Any) -> Pod:
    """A live pod in namespace ml."""
    metadata = {"name": name, "namespace": "ml", "labels": labels or {}, **more.pop("metadata", {})}
    return decoded({"metadata": metadata, "spec": {"containers": [{"name": "main"}], **more}})
