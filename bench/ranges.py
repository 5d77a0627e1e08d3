"""What each figure may be: reads ranges.toml and judges measurements by it; used by `python -m bench`.

A range changes only together with the measurement written beside it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness import Measurement

FILE = Path(__file__).with_name("ranges.toml")
UNITS = {
    "time": {"s": 1.0, "ms": 1e3, "µs": 1e6},
    "rate": {"1/s": 1.0},
    "ratio": {"x": 1.0},
    "memory": {"MiB": 1 / (1 << 20), "GiB": 1 / (1 << 30)},
}
"""Kind of measurement → unit → factor from the base unit (seconds, bytes)."""

KEYS = {"workload", "kind", "unit", "at_most", "at_least", "measured"}


class BadRange(Exception):
    """ranges.toml says something that can't be judged."""


@dataclass(frozen=True)
class Range:
    """Limits of one kind of one workload, in `unit`. `measured`: median (least to most), when the limit was set."""

    workload: str
    kind: str
    unit: str
    measured: str
    at_most: float | None = None
    at_least: float | None = None

    def __str__(self) -> str:
        limits = [f"{sign} {number(n)}" for sign, n in (("≥", self.at_least), ("≤", self.at_most)) if n is not None]
        return " and ".join(limits) + f" {self.unit}"

    def holds(self, measurement: Measurement) -> bool:
        """Whether the median is inside."""
        value = in_unit(measurement, measurement.median, self.unit)
        return (self.at_most is None or value <= self.at_most) and (self.at_least is None or value >= self.at_least)


def in_unit(measurement: Measurement, value: float, unit: str) -> float:
    """Convert a value of a measurement to a unit of its kind."""
    return value * UNITS.get(measurement.kind, {}).get(unit, 1.0)


def number(value: float) -> str:
    """Write a figure with about four digits and never an exponent."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def read(text: str) -> list[Range]:
    """Read ranges. Raises BadRange."""
    found = []
    for row in tomllib.loads(text).get("range", []):
        name = f"range of {row.get('workload', '?')} ({row.get('kind', '?')})"
        if row.keys() - KEYS or not {"workload", "kind", "unit", "measured"} <= row.keys():
            raise BadRange(f"{name}: want workload, kind, unit, measured, and at_most or at_least")
        if "at_most" not in row and "at_least" not in row:
            raise BadRange(f"{name}: no limit")
        if row["kind"] != "figure" and row["unit"] not in UNITS.get(row["kind"], {}):
            raise BadRange(f"{name}: kind and unit must be one of {UNITS}, or kind `figure`")
        found.append(Range(**row))
    return found


def find(ranges: Sequence[Range], measurement: Measurement) -> Range | None:
    """Return the range of a measurement."""
    wanted = (measurement.workload, measurement.kind)
    return next((r for r in ranges if (r.workload, r.kind) == wanted), None)
