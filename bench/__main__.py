"""Runs the benchmarks: prints a table, writes JSON, exits 1 where a result is wrong or a figure is out of its range."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path

from bench import harness, ranges
from bench.harness import BENCHES, FIGURES, Measurement
from bench.ranges import Range

FOLDER = Path(__file__).resolve().parent
DEFAULT_JSON = FOLDER.parent / ".cache/bench.json"
COLUMNS = ("workload", "kind", "median", "least", "most", "unit", "range", "")


def measure_all(names: Sequence[str], runs: int | None) -> tuple[list[Measurement], list[str]]:
    """Run the named benchmarks; return what was measured, and what went wrong."""
    found: list[Measurement] = []
    wrong = []
    for name in names:
        print(f"running {name}", file=sys.stderr, flush=True)
        try:
            if name in FIGURES:
                found.append(harness.compute(name))
            else:
                found.extend(harness.measure(name, runs))
                if BENCHES[name].memory:
                    found.append(_memory(name))
        except AssertionError as error:
            wrong.append(f"{name}: the result is wrong: {error}")
    return found, wrong


def _memory(name: str) -> Measurement:
    """Measure the peak memory in a fresh process, where nothing else has left a mark."""
    command = [sys.executable, "-m", "bench", "--peak-memory", name]
    done = subprocess.run(command, cwd=FOLDER.parent, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"the process that measures its memory ended with {done.returncode}")
    peak = float(done.stdout)
    return Measurement(name, "memory", "bytes", peak, peak, peak, 1)


def table(found: Sequence[Measurement], limits: Sequence[Range]) -> list[str]:
    """Lay out measurements in columns, with their ranges."""
    rows: list[tuple[str, ...]] = [COLUMNS]
    for m in found:
        limit = ranges.find(limits, m)
        unit = limit.unit if limit else {"time": "ms", "memory": "MiB"}.get(m.kind, m.unit)
        values = [ranges.number(ranges.in_unit(m, v, unit)) for v in (m.median, m.least, m.most)]
        verdict = "" if limit is None else "ok" if limit.holds(m) else "OUT OF RANGE"
        rows.append((m.workload, m.kind, *values, unit, str(limit) if limit else "-", verdict))
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def judge(
    found: Sequence[Measurement], limits: Sequence[Range], chosen: Sequence[str], known: Collection[str] | None = None
) -> list[str]:
    """Return what is out of range, and the ranges whose figure was not measured though its workload was asked for.
    `known`: all workloads that there are; by default those that are registered."""
    wrong = []
    for m in found:
        limit = ranges.find(limits, m)
        if limit is not None and not limit.holds(m):
            value = ranges.in_unit(m, m.median, limit.unit)
            wrong.append(f"{m.workload}: {m.kind} is {ranges.number(value)} {limit.unit}, want {limit}")
    measured = {(m.workload, m.kind) for m in found}
    known = BENCHES.keys() | FIGURES.keys() if known is None else known
    lost = [
        r for r in limits if (r.workload, r.kind) not in measured and (r.workload in chosen or r.workload not in known)
    ]
    return wrong + [f"{r.workload}: ranges.toml has a range for its {r.kind}, which nothing measured" for r in lost]


def as_json(found: Sequence[Measurement], limits: Sequence[Range], wrong: Sequence[str]) -> str:
    """What was measured, where, and what is wrong with it."""
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}
    rows = [{**asdict(m), "range": str(limit) if (limit := ranges.find(limits, m)) else None} for m in found]
    return json.dumps({"machine": machine, "measurements": rows, "wrong": wrong}, indent=1, ensure_ascii=False) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Command line: see --help."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="run these only; * matches anything")
    parser.add_argument("--runs", type=int, help="runs per workload in place of its own number")
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="file for the figures")
    parser.add_argument("--list", action="store_true", help="only list the names")
    parser.add_argument("--peak-memory", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)

    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        # CPU time adds up all threads, and the scheduler has one. The benchmarks import numpy only now.
        os.environ.setdefault(variable, "1")
    for path in sorted(FOLDER.glob("bench_*.py")):
        importlib.import_module(f"bench.{path.stem}")
    if options.peak_memory:
        print(harness.peak_memory(options.peak_memory))
        return 0
    known = [*BENCHES, *FIGURES]
    chosen = [n for n in known if not options.names or any(fnmatchcase(n, pattern) for pattern in options.names)]
    if options.list or not chosen:
        print("\n".join(known if options.list else ["no such benchmark; there are:", *known]))
        return 0 if options.list else 2
    try:
        limits = ranges.read(ranges.FILE.read_text(encoding="utf-8"))
    except ranges.BadRange as error:
        print(f"{ranges.FILE.name}: {error}", file=sys.stderr)
        return 2
    found, wrong = measure_all(chosen, options.runs)
    wrong += judge(found, limits, chosen)
    print("\n".join(table(found, limits)))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(as_json(found, limits, wrong), encoding="utf-8")
    for line in wrong:
        print(line)
    print(f"bench: {len(chosen)} workloads, {len(found)} figures, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
