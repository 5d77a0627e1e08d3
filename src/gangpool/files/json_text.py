"""JSON to objects as kubectl reads it: one or several values in a row, in bounded time whatever the text.

Called by `files.manifests`. Promises InputError with line and column for what is not JSON, and for keys that stand
twice, numbers that no API can hold and nesting beyond `DEPTH_MAX`, naming the document.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from gangpool.files.failure import InputError
from gangpool.files.scalars import as_json_number
from gangpool.files.yaml_text import DEPTH_MAX, DOCUMENTS_MAX, Document

_BLANK = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_DIGITS_MAX = 400


class _Refused(Exception):
    """Well-formed JSON that is refused all the same."""


def documents(name: str, text: str) -> Iterator[Document]:
    """Every value of the text, one after the other."""
    position, line, number = _blank(text, 0), 1, 0
    counted = 0
    while position < len(text):
        number += 1
        line += text.count("\n", counted, position)
        counted = position
        try:
            value, position = _DECODER.raw_decode(text, position)
            _check(value, text)
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise InputError(name, place, f"not JSON: {_cause(error, text)}") from None
        except (_Refused, RecursionError) as error:
            cause = str(error) if isinstance(error, _Refused) else f"nested deeper than {DEPTH_MAX} levels"
            raise InputError(name, f"document {number} (line {line})", cause) from None
        if number > DOCUMENTS_MAX:
            raise InputError(name, f"line {line}", f"more than {DOCUMENTS_MAX:,} documents")
        yield Document(number, line, value)
        position = _blank(text, position)


def is_too_deep(value: Any) -> bool:
    """Are lists and objects nested beyond `DEPTH_MAX`? Level by level, without recursion; O(values)."""
    level = [value]
    for _ in range(DEPTH_MAX):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += [v for v in item.values() if isinstance(v, dict | list)]
            elif isinstance(item, list):
                below += [v for v in item if isinstance(v, dict | list)]
        if not below:
            return False
        level = below
    return True


def _blank(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return position if found is None else found.end()


def _cause(error: json.JSONDecodeError, text: str) -> str:
    """In the words of the decoder; where the text just ends, that."""
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
        return "it is cut off"
    return error.msg[:1].lower() + error.msg[1:]


def _check(value: Any, text: str) -> None:
    if is_too_deep(value):
        raise _Refused(f"nested deeper than {DEPTH_MAX} levels")
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise _Refused("a text has half of a surrogate pair (\\ud800 to \\udfff)") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Refused(f"the key {key[:80]!r} stands twice in one object")
            seen.add(key)
    return found


def _float(text: str) -> int | float:
    value = float(text)
    if math.isinf(value):
        raise _Refused(f"the number {text[:40]} is beyond every float")
    return as_json_number(value)


def _integer(text: str) -> int | float:
    if len(text) > _DIGITS_MAX:
        raise _Refused(f"a number has more than {_DIGITS_MAX} digits")
    value = int(text)
    return value if -(2**63) <= value < 2**64 else _float(text)


def _constant(text: str) -> Any:
    raise _Refused(f"{text} is no number that JSON can say")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_int=_integer, parse_constant=_constant)
