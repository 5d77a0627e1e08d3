"""Times as cases write them: ``20s``, ``1m30s``, ``500ms``, or a plain number of seconds."""

from __future__ import annotations

import re

_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


def seconds(text: object, default: float = 0.0) -> float:
    """Length in seconds.

    >>> seconds("1m30s"), seconds("500ms"), seconds(7), seconds(None, 3)
    (90.0, 0.5, 7.0, 3)
    """
    if text is None:
        return default
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return float(text)
    parts = _PART.findall(str(text))
    if not parts or "".join(n + u for n, u in parts) != str(text):
        raise ValueError(f"{text!r} is not a length of time")
    return sum(float(n) * _UNIT[u] for n, u in parts)
