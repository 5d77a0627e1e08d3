"""Kubernetes quantities, exact in every spelling: `0.5Gi`, `100m`, `1e3`, `1E`, `.5`, 4.

Called by the books of pods and nodes, by `gangpool quantity` and by pool shapes. It promises: the exact value or a
`QuantityError` that says why, never a silent zero, and bounded work for every text.

Kubernetes itself rounds below one nano up and caps binary suffixes at 2^63-1. Here values stay exact; whoever needs
whole units rounds up by `to_milli` or `to_units`, which gives what `MilliValue()` and `Value()` give. The ledger adds
up at most `AMOUNT_MAX` per pod and node, so that sums over 1,000 pods stay inside 64 bits.
A bare sign, a bare dot or a suffix alone, which the API server reads as zero, are errors here.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

AMOUNT_MAX: Final = 2**52
"""The largest amount in the ledger: 4 PiB, or 4.5 million million CPUs. Nodes are capped here; a pod that asks for
more is refused, because no node can have it."""

LENGTH_MAX = 100
"""Characters of a text; the longest that an API server prints has 20."""

EXPONENT_MAX = 100
"""A larger exponent is a mistake, and would make numbers that take memory and time without end."""

_NUMBER = re.compile(r"([+-]?)(?=[0-9]|\.[0-9])([0-9]*)(?:\.([0-9]*))?")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_SUFFIXES: Final[dict[str, Fraction]] = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", 1)},
}


class QuantityError(ValueError):
    """A text that is no quantity, or none that may stand there. `text` is what was read, `why` the cause."""

    def __init__(self, text: object, why: str) -> None:
        shown = str(text)
        shown = shown if len(shown) <= 40 else f"{shown[:40]}…"
        super().__init__(f"{shown!r} {why}")
        self.text = text
        self.why = why


def parse(text: str | int | float) -> Fraction:
    """The exact value. Numbers, as YAML and JSON may have them, count as their shortest text.

    >>> parse("0.5Gi"), parse("100m"), parse("1E"), parse("1E3")
    (Fraction(536870912, 1), Fraction(1, 10), Fraction(1000000000000000000, 1), Fraction(1000, 1))
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise QuantityError(text, "is no quantity: it is neither text nor a number")
    if isinstance(text, int):
        if abs(text) >= 10**LENGTH_MAX:
            raise QuantityError("a number", f"is absurd: it has more than {LENGTH_MAX} digits")
        return Fraction(text)
    return _parse(text if isinstance(text, str) else repr(text))


def _parse(text: str) -> Fraction:
    if not text:
        raise QuantityError(text, "is no quantity: it is empty")
    if len(text) > LENGTH_MAX:
        raise QuantityError(text, f"is absurd: it has more than {LENGTH_MAX} characters")
    found = _NUMBER.match(text)
    if found is None:
        raise QuantityError(text, "is no quantity: it must begin with a number")
    sign, whole, fraction = found.groups(default="")
    value = Fraction(int(f"{sign}{whole}{fraction}"), 10 ** len(fraction))
    rest = text[found.end() :]
    scale = _SUFFIXES.get(rest)
    return value * (_power(text, rest) if scale is None else scale)


def _power(text: str, rest: str) -> Fraction:
    found = _EXPONENT.fullmatch(rest)
    if found is None:
        raise QuantityError(
            text,
            f"is no quantity: {rest[:20]!r} is neither a suffix (n u m k M G T P E, Ki Mi Gi Ti Pi Ei) "
            "nor an exponent such as e3",
        )
    exponent = int(found[1])
    if abs(exponent) > EXPONENT_MAX:
        raise QuantityError(text, f"is absurd: its exponent is beyond {EXPONENT_MAX}")
    return Fraction(10) ** exponent


def to_milli(value: Fraction) -> int:
    """Thousandths, rounded up: the unit of CPU in the ledger.

    >>> to_milli(parse("1.5")), to_milli(parse("0.1m"))
    (1500, 1)
    """
    return -(-value.numerator * 1000 // value.denominator)


def to_units(value: Fraction) -> int:
    """Whole units, rounded up: bytes, or counts.

    >>> to_units(parse("0.1Ki"))
    103
    """
    return -(-value.numerator // value.denominator)


def extended(value: Fraction) -> int:
    """The count of an extended resource, such as cards: whole and not negative, else QuantityError.

    >>> extended(parse("2000m"))
    2
    """
    if value.denominator != 1:
        raise QuantityError(plain(value), "is not whole: this resource is counted in whole units")
    if value < 0:
        raise QuantityError(plain(value), "is negative")
    return value.numerator


def plain(value: Fraction) -> str:
    """The value as plain decimal text, exact. Only for what `parse` gives and sums of it.

    >>> plain(parse("250u")), plain(parse("1Ei")), plain(parse("-1.50"))
    ('0.00025', '1152921504606846976', '-1.5')
    """
    whole, rest = divmod(abs(value.numerator), value.denominator)
    sign = "-" if value < 0 else ""
    if not rest:
        return f"{sign}{whole}"
    places = value.denominator.bit_length()  # more than enough: each place takes a 2 and a 5 out of the denominator
    digits = f"{rest * 10**places // value.denominator:0{places}}".rstrip("0")
    return f"{sign}{whole}.{digits}"


_CACHE_MAX = 100_000
_milli: dict[str, int] = {}


def milli(text: str | int | float) -> int:
    """`to_milli(parse(text))`, remembered: a pool has few spellings and many pods. Below 0.1 µs for a known text."""
    if type(text) is not str:
        return to_milli(parse(text))
    known = _milli.get(text)
    if known is None:
        known = to_milli(parse(text))
        if len(_milli) >= _CACHE_MAX:
            _milli.clear()
        _milli[text] = known
    return known
