"""Typed reads of decoded objects: the right type, or a WorkloadError that names the field.

Called by every dialect. Manifests are written by hand, so any value can be anywhere; what the API server would
refuse is refused here with the same field path. `path` is dotted (`spec.replicas`), relative to `obj`; `base` is
the path of `obj` itself and only appears in messages. Null counts as absent, as in the API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from gangpool.workloads.base import Object, WorkloadError

MAX_PODS = 100_000
"""Most pods of one object that we expand; ten times the largest pool that we plan for."""

COUNT = (0, MAX_PODS)
INT32 = (0, 2**31 - 1)
"""Counts in the API are 32-bit."""

LONG_BITS = 128
"""Longer numbers are not printed: Python refuses to write thousands of digits."""

T = TypeVar("T")


def join(base: str, path: str) -> str:
    """One field path from two parts, either of which may be empty."""
    return f"{base}.{path}" if base and path else base or path


def find(obj: Object, path: str, base: str = "") -> Any:
    """The value at a dotted path; None when it or anything above it is absent or null."""
    value: Any = obj
    parts = path.split(".")
    for i, part in enumerate(parts):
        if value is None:
            return None
        if type(value) is not dict and not isinstance(value, Mapping):  # the former is quick, and the usual case
            raise WorkloadError(join(base, ".".join(parts[:i])), f"must be an object, found {_found(value)}")
        value = value.get(part)
    return value


def mapping(obj: Object, path: str, base: str = "") -> Object:
    """An object; empty when absent."""
    return value_mapping(find(obj, path, base), join(base, path))


def value_mapping(value: Any, where: str) -> Object:
    """A value that is already there as an object; empty when null."""
    if value is None:
        return {}
    if type(value) is not dict and not isinstance(value, Mapping):
        raise WorkloadError(where, f"must be an object, found {_found(value)}")
    return value


def required(obj: Object, path: str, base: str = "") -> Object:
    """An object that must be there."""
    if find(obj, path, base) is None:
        raise WorkloadError(join(base, path), "is missing")
    return mapping(obj, path, base)


def items(obj: Object, path: str, base: str = "") -> list[tuple[str, Object]]:
    """(field path, object) for each entry of a list of objects; empty when absent."""
    where = join(base, path)
    found = _typed(find(obj, path, base), list, "a list", where)
    if found is None:
        return []
    for i, item in enumerate(found):
        if not isinstance(item, Mapping):
            raise WorkloadError(f"{where}[{i}]", f"must be an object, found {_found(item)}")
    return [(f"{where}[{i}]", item) for i, item in enumerate(found)]


def texts(obj: Object, path: str, base: str = "") -> dict[str, str]:
    """Labels or annotations: text to text; empty when absent."""
    where = join(base, path)
    found: Mapping[Any, Any] = mapping(obj, path, base)
    for key, value in found.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise WorkloadError(f"{where}[{key}]", f"must be text, found {_found(value)}; put it in quotes")
    return dict(found)


def text(obj: Object, path: str, base: str = "", default: str = "") -> str:
    """A text value."""
    found = _typed(find(obj, path, base), str, "text", join(base, path))
    return default if found is None else found


def flag(obj: Object, path: str, base: str = "") -> bool:
    """A truth value; False when absent."""
    return bool(_typed(find(obj, path, base), bool, "true or false", join(base, path)))


def integer(obj: Object, path: str, base: str = "", default: int = 0, within: tuple[int, int] = COUNT) -> int:
    """A whole number within bounds (both included); `default` when absent."""
    found = optional_integer(obj, path, base, within)
    return default if found is None else found


def optional_integer(obj: Object, path: str, base: str = "", within: tuple[int, int] = COUNT) -> int | None:
    """A whole number within bounds (both included); None when absent."""
    value, where = find(obj, path, base), join(base, path)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise WorkloadError(where, f"must be a whole number, found {_found(value)}")
    return _bounded(value, where, within)


def number(annotations: Mapping[str, str], key: str, where: str, least: int = 1) -> int | None:
    """A whole number written as text in an annotation or label; None when absent. `where` is the path of the map."""
    written = annotations.get(key)
    if written is None:
        return None
    value = whole(written)
    if value is None:
        raise WorkloadError(f"{where}[{key}]", f"must be a whole number, found {written[:40]!r}")
    return _bounded(value, f"{where}[{key}]", (least, MAX_PODS))


def whole(written: str) -> int | None:
    """A whole number from text of at most nine digits; None for anything else."""
    return int(written) if written.isascii() and written.isdigit() and len(written) <= 9 else None


def _bounded(value: int, where: str, within: tuple[int, int]) -> int:
    low, high = within
    if not low <= value <= high:
        raise WorkloadError(where, f"must be from {low} to {high}, found {_found(value)}")
    return value


def _typed(value: Any, kind: type[T], words: str, where: str) -> T | None:
    if value is not None and not isinstance(value, kind):
        raise WorkloadError(where, f"must be {words}, found {_found(value)}")
    return value


def _found(value: object) -> str:
    """What stands there, in words and short."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f"text {value[:40]!r}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > LONG_BITS:
        return f"a number of {value.bit_length()} bits"
    return str(value)[:40]
