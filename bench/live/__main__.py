"""Measures the live scheduler: prints a table, writes JSON, exits 1 where a figure is out of its range."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import ranges
from bench.__main__ import as_json, judge, table
from bench.harness import Measurement
from bench.live.clock import Stuck
from bench.live.workloads import NAMES, WORKLOADS, Size

LIMITS = Path(__file__).with_name("ranges.toml")
DEFAULT_JSON = Path(__file__).resolve().parents[2] / ".cache/bench-live.json"


def main(argv: Sequence[str] | None = None) -> int:
    """Command line: see --help."""
    parser = argparse.ArgumentParser(prog="python -m bench.live", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *WORKLOADS], metavar="NAME", help=", ".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=Size().rounds, help="so often what is compared, in turns")
    parser.add_argument("--scale", type=float, default=1.0, help="for a try-out, such as 0.1; nothing is judged then")
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="file for the figures")
    options = parser.parse_args(argv)

    limits = ranges.read(LIMITS.read_text(encoding="utf-8"))
    names = options.names or list(WORKLOADS)
    before = os.getloadavg()[0]
    found: list[Measurement] = []
    failed = []
    for name in names:
        print(f"running {name}", file=sys.stderr, flush=True)
        try:
            found += asyncio.run(WORKLOADS[name](Size(options.scale, options.rounds)))
        except (AssertionError, Stuck) as error:
            failed.append(f"{name}: {error}")
    chosen = [figure for name in names for figure in NAMES[name]]
    known = [figure for name in WORKLOADS for figure in NAMES[name]]
    wrong = failed + (judge(found, limits, chosen, known) if options.scale == 1.0 else [])
    print("\n".join(table(found, limits)))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(as_json(found, limits, wrong), encoding="utf-8")
    for line in wrong:
        print(line)
    print(f"bench-live: {len(found)} figures, {len(wrong)} wrong; load {before:.1f} before, scale {options.scale:g}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
