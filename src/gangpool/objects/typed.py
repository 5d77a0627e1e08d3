"""From a decoded object (YAML, JSON) to the structs of Pods and Nodes.

Called by `gangpool.files` and intake, for pods that controllers would make as well. As the API server does, fields
that are null count as absent. A field of the wrong type raises ObjectError with its path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from gangpool.objects.faults import ObjectError
from gangpool.objects.node import Node
from gangpool.objects.pod import Pod

Kind = TypeVar("Kind", Pod, Node)

_BOOLEAN = "Expected `str`, got `bool`"
_WHERE = re.compile(r"(?P<what>.*?) - at (?P<key>`key` in )?`\$\.?(?P<path>[^`]*)`", re.DOTALL)


def as_pod(obj: Mapping[str, Any]) -> Pod:
    """The Pod that this object is; its kind is not looked at."""
    return _as(obj, Pod)


def as_node(obj: Mapping[str, Any]) -> Node:
    """The Node that this object is; its kind is not looked at."""
    return _as(obj, Node)


def wrong_type(error: msgspec.ValidationError) -> ObjectError:
    """The error of a decoder in our form: path of the field, then what was found there."""
    found = _WHERE.fullmatch(str(error))
    what, path = (str(error), "") if found is None else (found["what"], found["path"])
    key = "a key: " if found is not None and found["key"] else ""
    hint = " (in YAML y, n, yes, no, on, off are true and false: put quotes around)" if _BOOLEAN in what else ""
    return ObjectError(path or "object", key + what.replace("`", "").lower() + hint)


def without_nulls(value: Any) -> Any:
    """A copy without the fields that are null, at every depth. Recursive: files limits how deep objects are."""
    if isinstance(value, Mapping):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [without_nulls(item) for item in value]
    return value


def _as(obj: Mapping[str, Any], kind: type[Kind]) -> Kind:
    try:
        return msgspec.convert(obj, kind)
    except msgspec.ValidationError:
        pass
    try:
        return msgspec.convert(without_nulls(obj), kind)
    except msgspec.ValidationError as error:
        raise wrong_type(error) from None
