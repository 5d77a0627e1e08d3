"""Measures workloads; what a `bench_*.py` file imports.

A benchmark is a function with `@bench(name)` that builds a `Case`, or one with `@figure(name, unit)` that returns a
number (of whole nodes, of a ratio). Time is CPU time of this process, so other load on the machine counts little; the
garbage collector is emptied before each run and stays on. A run whose result fails its check has no figure.
"""

from __future__ import annotations

import gc
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Case:
    """One workload, ready to run as often as wanted.

    `prepare` gives the state of one run and is not measured; `work` takes it and is; `check` takes state and result and
    raises AssertionError where the result is wrong. `count`: how many units (decisions, placements) one run makes.
    `seconds`: where a run measures itself (the median of its thousand placements), reads that from its result.
    """

    work: Callable[[Any], Any]
    check: Callable[[Any, Any], None]
    prepare: Callable[[], Any] = lambda: None
    count: int = 1
    seconds: Callable[[Any], float] | None = None


@dataclass(frozen=True)
class Bench:
    """A registered benchmark. `reference`: name of the one that it is compared with, run by turns with it.

    `memory`: the peak memory of one run is measured too, in a process of its own."""

    name: str
    build: Callable[[], Case]
    runs: int = 5
    reference: str | None = None
    memory: bool = False


@dataclass(frozen=True)
class Figure:
    """A registered number that is not a time. `compute` checks what it returns."""

    name: str
    unit: str
    compute: Callable[[], float]


@dataclass(frozen=True)
class Measurement:
    """What was measured of one workload. Kind: `time` (seconds), `rate` (1/s), `ratio`, `memory` (bytes), `figure`."""

    workload: str
    kind: str
    unit: str
    median: float
    least: float
    most: float
    runs: int


BENCHES: dict[str, Bench] = {}
FIGURES: dict[str, Figure] = {}


def bench(
    name: str, *, reference: str | None = None, runs: int = 5, memory: bool = False
) -> Callable[[Callable[[], Case]], Callable[[], Case]]:
    """Register a function that builds a Case."""

    def register(build: Callable[[], Case]) -> Callable[[], Case]:
        _require_new(name)
        BENCHES[name] = Bench(name, build, runs, reference, memory)
        return build

    return register


def figure(name: str, unit: str) -> Callable[[Callable[[], float]], Callable[[], float]]:
    """Register a function that returns a number in `unit`, after checking what it comes from."""

    def register(compute: Callable[[], float]) -> Callable[[], float]:
        _require_new(name)
        FIGURES[name] = Figure(name, unit, compute)
        return compute

    return register


def _require_new(name: str) -> None:
    if name in BENCHES or name in FIGURES:
        raise ValueError(f"two benchmarks are named {name}")


@dataclass
class Samples:
    """Seconds of the runs so far of one benchmark, built once. Mutable: grows by one with each run."""

    of: Bench
    case: Case
    seconds: list[float] = field(default_factory=list)

    def run(self) -> None:
        """Run once, check, keep the time."""
        self.seconds.append(run_once(self.case))


def run_once(case: Case) -> float:
    """Run a workload once and return its CPU seconds. Raises AssertionError where the result is wrong."""
    state = case.prepare()
    gc.collect()
    before = time.process_time()
    result = case.work(state)
    took_s = time.process_time() - before
    case.check(state, result)
    return took_s if case.seconds is None else case.seconds(result)


def measure(name: str, runs: int | None = None) -> list[Measurement]:
    """Run a benchmark, by turns with its reference where it has one, after one run of each that does not count."""
    of = BENCHES[name]
    turns = [Samples(of, of.build())]
    if of.reference is not None:
        other = BENCHES[of.reference]
        turns.append(Samples(other, other.build()))
    for samples in turns:
        run_once(samples.case)
    for _ in range(runs or of.runs):
        for samples in turns:
            samples.run()
    own = turns[0]
    found = [_summary(name, "time", "s", own.seconds)]
    if own.case.count > 1:
        found.append(_summary(name, "rate", "1/s", [own.case.count / max(s, 1e-9) for s in own.seconds]))
    if len(turns) > 1:
        # The ratio of medians; its spread from the pairs, which ran one right after the other.
        pairs = [a / max(b, 1e-9) for a, b in zip(own.seconds, turns[1].seconds, strict=True)]
        ratio = statistics.median(own.seconds) / max(statistics.median(turns[1].seconds), 1e-9)
        found.append(Measurement(name, "ratio", "x", ratio, min(pairs), max(pairs), len(pairs)))
    return found


def compute(name: str) -> Measurement:
    """Compute a figure."""
    value = FIGURES[name].compute()
    return Measurement(name, "figure", FIGURES[name].unit, value, value, value, 1)


def _summary(name: str, kind: str, unit: str, values: Sequence[float]) -> Measurement:
    return Measurement(name, kind, unit, statistics.median(values), min(values), max(values), len(values))


def peak_memory(name: str) -> int:
    """Run a workload once and return the peak of this process's memory in bytes, from the end of `prepare`.

    What `prepare` keeps (the input) is in it. Meaningful in a fresh process only.
    """
    case = BENCHES[name].build()
    state = case.prepare()
    gc.collect()
    _forget_peak()
    result = case.work(state)
    peak = _peak()
    case.check(state, result)
    return peak


def _forget_peak() -> None:
    """Set the kernel's high-water mark back to the present (Linux; elsewhere the mark of the whole process counts)."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak() -> int:
    if sys.platform == "linux":
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
