"""What a plain word of YAML means, as kubectl reads it.

Called by `files.yaml_text`. kubectl's YAML is neither YAML 1.1 nor 1.2 in all points (tried against
sigs.k8s.io/yaml 1.6): `yes`, `on`, `y` are true; `010` and `0o10` are 8; `0x10`, `0b11`, `1_000` are numbers;
`12:30` and `2026-01-01` are text. A float without fraction is an integer to whoever reads it next, as in the JSON
that kubectl sends.
"""

from __future__ import annotations

import math
import re

_INT_FLOAT_MAX = 1e21
"""From here on Go writes floats with an exponent, and they are integers no more."""
_NUMBER_LENGTH_MAX = 400
"""A longer number is beyond any float, and text to kubectl."""

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL = ("", "~", "null", "Null", "NULL")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(_NULL, None),
}
_INT64 = range(-(2**63), 2**64)
"""Integers outside are floats, as in Go."""
_NUMBER_START = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

Scalar = str | int | float | bool | None


class NotFinite(ValueError):
    """Infinity or not-a-number, which JSON cannot say."""


def plain_scalar(text: str) -> Scalar:
    """The value of an unquoted word. Raises NotFinite.

    >>> [plain_scalar(word) for word in ("on", "010", "1e3", "12:30", "2026-01-01", "~", "0.5")]
    [True, 8, 1000, '12:30', '2026-01-01', None, 0.5]
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    if len(text) > _NUMBER_LENGTH_MAX:
        return text
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(digits):
        value = _integer(digits)
        if value in _INT64:
            return value
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return text if math.isinf(number) else as_json_number(number)
    if _NOT_FINITE.fullmatch(text):
        raise NotFinite(text)
    return text


def as_json_number(value: float) -> int | float:
    """A float as kubectl's JSON carries it: without fraction it is an integer.

    >>> as_json_number(8.0), as_json_number(0.5), as_json_number(1e22)
    (8, 0.5, 1e+22)
    """
    return int(value) if value.is_integer() and abs(value) < _INT_FLOAT_MAX else value


def _integer(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    body = digits.lstrip("+-").lower()
    if body[:2] in ("0x", "0b", "0o"):
        return sign * int(body, 0)
    return sign * int(body, 8 if body[0] == "0" else 10)
