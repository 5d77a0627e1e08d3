"""Objects of all kinds but nodes and pods, found by API group, kind, namespace and name.

It is the `Context` that dialects ask, in a dump as in the live cluster. Mutable owner: `World`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]
Key = tuple[str, str]
Name = tuple[str, str]

CLUSTER_WIDE: frozenset[Key] = frozenset(
    {
        ("", "Namespace"),
        ("", "Node"),
        ("", "PersistentVolume"),
        ("storage.k8s.io", "StorageClass"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("node.k8s.io", "RuntimeClass"),
        ("scheduling.volcano.sh", "Queue"),
        ("scheduling.run.ai", "Queue"),
        ("topology.volcano.sh", "HyperNode"),
        ("kueue.x-k8s.io", "Topology"),
        ("kai.scheduler", "Topology"),
        ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
    }
)
"""Kinds without namespaces, of those that anybody here asks for."""
DEFAULT_NAMESPACE = "default"
_LONGEST = 253
"""Characters of a name that the API allows."""
_SHORT = 40


def kind_of(obj: Object) -> Key:
    """(API group, kind); the version is not looked at."""
    version = str(obj.get("apiVersion") or "")
    return version.partition("/")[0] if "/" in version else "", str(obj.get("kind") or "")


def name_of(obj: Object) -> Name:
    """(namespace, name) as the API server fills them in: "" for kinds without namespaces, `default` where a manifest
    leaves it out."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping):
        metadata = {}
    return _space(kind_of(obj), _text(metadata.get("namespace"))), _text(metadata.get("name"))


def subject_of(obj: Object) -> str:
    """`Kind/namespace/name` for messages; the namespace is empty for kinds without."""
    space, name = name_of(obj)
    return f"{_text(obj.get('kind'))[:_LONGEST]}/{space[:_LONGEST]}/{name[:_LONGEST]}"


def _text(value: object) -> str:
    """A name as text; what is no name is shown in short, because messages show it."""
    return value if isinstance(value, str) else str(value or "")[:_SHORT]


def _space(kind: Key, namespace: str) -> str:
    return "" if kind in CLUSTER_WIDE else namespace or DEFAULT_NAMESPACE


class Store:
    """Kinds to objects. A dry run also has new ones, which no cluster has seen yet; some of them are only expected,
    because a controller would make them. The input does not count as having a kind because of those."""

    def __init__(self) -> None:
        self._kinds: dict[Key, dict[Name, Object]] = {}
        self.complete: frozenset[Key] = frozenset()
        """Kinds of which we hold every object, be it none: those that a live cluster serves."""
        self._new: dict[Key, set[Name]] = {}
        self._expected: dict[Key, set[Name]] = {}

    def put(self, obj: Object, *, is_new: bool = False) -> None:
        """Add or replace."""
        kind, name = kind_of(obj), name_of(obj)
        self._kinds.setdefault(kind, {})[name] = obj
        self._expected.get(kind, set()).discard(name)
        if is_new:
            self._new.setdefault(kind, set()).add(name)
        elif self._new:
            self._new.get(kind, set()).discard(name)

    def expect(self, obj: Object) -> None:
        """What a controller would make; where it is there already, that one counts."""
        kind, name = kind_of(obj), name_of(obj)
        if name not in self._kinds.get(kind, {}):
            self.put(obj, is_new=True)
            self._expected.setdefault(kind, set()).add(name)

    def is_new(self, obj: Object) -> bool:
        """Would it only now be created?"""
        return name_of(obj) in self._new.get(kind_of(obj), ())

    def drop(self, obj: Object) -> None:
        """Remove, if it is there."""
        kind, name = kind_of(obj), name_of(obj)
        self._kinds.get(kind, {}).pop(name, None)
        for marked in (self._new, self._expected):
            marked.get(kind, set()).discard(name)

    def get(self, group: str, kind: str, namespace: str, name: str) -> Object | None:
        """The object, None if there is none. The namespace of a kind without namespaces is not looked at."""
        objects = self._kinds.get((group, kind))
        return objects.get((_space((group, kind), namespace), name)) if objects else None

    def any_of(self, group: str, kind: str) -> bool:
        """Has the input at least one object of this kind, or is it known to hold all that there are?"""
        if (group, kind) in self.complete:
            return True
        objects = self._kinds.get((group, kind))
        return objects is not None and len(objects) > len(self._expected.get((group, kind), ()))

    def all_of(self, group: str, kind: str) -> Iterable[Object]:
        """All objects of a kind, in the order in which they came."""
        return tuple(self._kinds.get((group, kind), {}).values())
