"""Kubernetes quantities as exact fractions, read by the grammar of the API reference ("Quantity").

Part of the oracle: it must not import gangpool, so that a mistake there cannot hide here.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

_NUMBER = r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
_QUANTITY = re.compile(rf"{_NUMBER}(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?", re.ASCII)

_FACTOR = {
    "": Fraction(1),
    **{suffix: Fraction(1, 1000 ** (3 - i)) for i, suffix in enumerate(["n", "u", "m"])},
    **{suffix: Fraction(1000 ** (i + 1)) for i, suffix in enumerate(["k", "M", "G", "T", "P", "E"])},
    **{suffix: Fraction(1024 ** (i + 1)) for i, suffix in enumerate(["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])},
}


@lru_cache(maxsize=4096)
def quantity(written: str | int | float) -> Fraction:
    """The value of a quantity; ValueError if it is none. Numbers of YAML and JSON count as their decimal text."""
    found = _QUANTITY.fullmatch(str(written))
    if found is None:
        raise ValueError(f"{written!r} is not a quantity")
    value = Fraction(found["number"])
    if found["exponent"] is not None:
        return value * Fraction(10) ** int(found["exponent"])
    return value * _FACTOR[found["suffix"] or ""]


def ceiling(value: Fraction) -> int:
    """The least whole number that is not below `value`."""
    return -((-value.numerator) // value.denominator)
