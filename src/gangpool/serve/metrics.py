"""Metrics as Prometheus reads them: families of samples in, the text exposition format (0.0.4) out.

Used by every process that serves /metrics. Values stay with their owners and are read when somebody asks; only a
histogram has to be fed as things happen. Promises: what it writes, Prometheus' own parser reads.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Literal

from msgspec import Struct

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[tuple[str, str], ...]


class Series(Struct, frozen=True):
    """One family as the reference page shows it: name, type, what it says."""

    name: str
    type: Literal["counter", "gauge", "histogram"]
    help: str


class Histogram:
    """Counts of observations up to each bound, their sum. `bounds` rise; +Inf comes by itself."""

    def __init__(self, bounds: Iterable[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """One more. O(log bounds)."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


Values = float | Histogram | Mapping[Labels, float]
"""A single value, a histogram, or one value per set of labels."""


def exposition(families: Iterable[tuple[Series, Values]]) -> str:
    """The text of /metrics. A family without samples is left out."""
    lines: list[str] = []
    for series, values in families:
        samples = list(_samples(series.name, values))
        if samples:
            lines += [f"# HELP {series.name} {_escaped(series.help)}", f"# TYPE {series.name} {series.type}", *samples]
    return "\n".join(lines) + "\n"


def _samples(name: str, values: Values) -> Iterable[str]:
    if isinstance(values, Histogram):
        bounds = (*(_number(bound) for bound in values.bounds), "+Inf")
        for bound, n in zip(bounds, accumulate(values.counts), strict=True):
            yield _sample(f"{name}_bucket", (("le", bound),), n)
        yield _sample(f"{name}_sum", (), values.sum)
        yield _sample(f"{name}_count", (), sum(values.counts))
    elif isinstance(values, Mapping):
        for labels, value in sorted(values.items()):
            yield _sample(name, labels, value)
    else:
        yield _sample(name, (), values)


def _sample(name: str, labels: Labels, value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(text, quoted=True)}"' for key, text in labels)
    return f"{name}{{{inside}}} {_number(value)}" if inside else f"{name} {_number(value)}"


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))


def _escaped(text: str, *, quoted: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quoted else text
