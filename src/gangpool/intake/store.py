"""Objects of all kinds but nodes and pods, found by API group, kind, namespace and name.

It is the `Context` that dialects ask, in a dump as in the live cluster. Mutable owner: `World`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]
Key = tuple[str, str]


def kind_of(obj: Object) -> Key:
    """(API group, kind); the version is not looked at."""
    version = str(obj.get("apiVersion") or "")
    return version.partition("/")[0] if "/" in version else "", str(obj.get("kind") or "")


def name_of(obj: Object) -> tuple[str, str]:
    """(namespace, name); a missing namespace is "" here, see `Store.get`."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping):
        return "", ""
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


class Store:
    """Kinds to objects. Objects without a namespace are found under any: cluster kinds, and manifests that leave
    it to the context of kubectl."""

    def __init__(self) -> None:
        self._kinds: dict[Key, dict[tuple[str, str], Object]] = {}

    def put(self, obj: Object) -> None:
        """Add or replace."""
        self._kinds.setdefault(kind_of(obj), {})[name_of(obj)] = obj

    def drop(self, obj: Object) -> None:
        """Remove, if it is there."""
        self._kinds.get(kind_of(obj), {}).pop(name_of(obj), None)

    def get(self, group: str, kind: str, namespace: str, name: str) -> Object | None:
        """The object, None if there is none."""
        objects = self._kinds.get((group, kind))
        if not objects:
            return None
        found = objects.get((namespace, name)) or objects.get(("", name))
        return found or (objects.get(("default", name)) if not namespace else None)

    def any_of(self, group: str, kind: str) -> bool:
        """Is there at least one object of this kind?"""
        return bool(self._kinds.get((group, kind)))

    def all_of(self, group: str, kind: str) -> Iterable[Object]:
        """All objects of a kind, in the order in which they came."""
        return tuple(self._kinds.get((group, kind), {}).values())
