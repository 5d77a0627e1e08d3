"""Label selectors as kubectl writes them: `a=b,c!=d,e,!f,g in (x,y),h notin (z),n>3`.

Called by the read commands that take `-l`. The meaning of each requirement is `core.match`'s.
"""

from __future__ import annotations

import re

from gangpool.core.model import Operator, Requirement

_KEY = r"[A-Za-z0-9][A-Za-z0-9./_-]*"
_VALUE = r"[A-Za-z0-9]?[A-Za-z0-9._-]*"
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_COMPARE = re.compile(rf"({_KEY})\s*(==|=|!=|>|<)\s*({_VALUE})")
_EXISTS = re.compile(rf"(!?)\s*({_KEY})")
_SPLIT = re.compile(r",(?![^(]*\))")
_OPERATORS: dict[str, Operator] = {
    "=": "In",
    "==": "In",
    "!=": "NotIn",
    ">": "Gt",
    "<": "Lt",
    "in": "In",
    "notin": "NotIn",
}


def read_selector(text: str) -> tuple[Requirement, ...]:
    """The requirements of a selector, all of which must hold; no text: no requirement. Raises ValueError.

    >>> [r.operator for r in read_selector("a=b,!c,d in (x,y)")]
    ['In', 'DoesNotExist', 'In']
    """
    return tuple(_requirement(part.strip()) for part in _SPLIT.split(text)) if text.strip() else ()


def _requirement(part: str) -> Requirement:
    if match := _SET.fullmatch(part):
        values = tuple(value.strip() for value in match[3].split(","))
        if all(re.fullmatch(_VALUE, value) for value in values):
            return Requirement(match[1], _OPERATORS[match[2]], values)
    elif match := _COMPARE.fullmatch(part):
        if match[2] not in "<>" or re.fullmatch(r"-?\d+", match[3]):
            return Requirement(match[1], _OPERATORS[match[2]], (match[3],))
    elif match := _EXISTS.fullmatch(part):
        return Requirement(match[2], "DoesNotExist" if match[1] else "Exists")
    raise ValueError(f"{part!r} is no part of a label selector; write a=b, a!=b, a in (b,c), a or !a")
