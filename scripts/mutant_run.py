"""A copy of the repository in which one file at a time is wrong, and pytest on it; used by `scripts.mutants`.

A run is bounded in time (a mutant may loop for ever) and in memory (it may collect for ever).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from scripts.mutation import mutate

MEMORY_KIB = 6 << 20
LEAST_LIMIT_S = 30.0
HANG_FACTOR = 6
"""A run that takes so many times what it took without a mutation hangs: other load is far from that."""

NOT_FAST = (
    *("agree", "bench", "cases", "cli", "cluster", "cluster_tests", "e2e", "faults", "jobs", "kube"),
    *("live", "manifests", "scripts", "serve", "test_skips.py"),
)
"""Parts of tests/ that start processes or don't run the core."""

LATER = ("oracle_tests", "judged")
"""Parts that come after the others and before `LAST`."""

LAST = ("core/test_ledger_history.py", "core/test_cycle_history.py", "core/test_sweep.py", "scenarios")
"""Fast tests that take long: what others catch is caught sooner without them."""

FAILED_LINE = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


class TreeFails(Exception):
    """The tests fail although nothing was mutated."""


class Selection(NamedTuple):
    """Tests to run, and the time after which they hang."""

    tests: tuple[str, ...]
    limit_s: float


class Result(NamedTuple):
    """`failed`: the first test that failed, or how the run ended; empty where all passed."""

    failed: str
    took_s: float
    output: str


def mirror_tests(root: Path, file: str) -> list[str]:
    """Return the test files that mirror a module: src/gangpool/core/x.py has tests/core/test_x.py, test_x_….py."""
    module = Path(file).relative_to("src/gangpool")
    folder = root / "tests" / module.parent
    names = [*folder.glob(f"test_{module.stem}.py"), *folder.glob(f"test_{module.stem}_*.py")]
    return _in_order(root, names)


def fast_tests(root: Path) -> list[list[str]]:
    """Return the parts of tests/ that may catch a mutant, in runs one after the other: those of the core that are
    quick, then the others, slow ones last."""
    tests = root / "tests"
    parts = [p for p in tests.iterdir() if p.is_dir() or p.match("test_*.py")]
    others = [p for p in parts if p.name not in (*NOT_FAST, "core")]
    chosen = [p for p in others if any(p.rglob("test_*.py") if p.is_dir() else [p])]
    slow = [tests / name for name in LAST]
    core = list((tests / "core").rglob("test_*.py"))
    quick = [path for path in core if path not in slow]
    runs = [_in_order(root, quick), _in_order(root, [*chosen, *(path for path in core if path in slow)])]
    return [run for run in runs if run]


def _in_order(root: Path, paths: Iterable[Path]) -> list[str]:
    """By name, slow ones last."""
    names = [str(path.relative_to(root)) for path in paths]
    late = {f"tests/{name}": place for place, name in enumerate((*LATER, *LAST), 1)}
    return sorted(names, key=lambda name: (late.get(name, 0), name))


class Tree:
    """One copy. Mutable: its files, one of which is wrong inside `mutated`."""

    def __init__(self, root: Path, folder: Path) -> None:
        shutil.copytree(root, folder, ignore=shutil.ignore_patterns(".*", "__pycache__", "_build"))
        self.folder = folder
        shared = os.environ.get("GANGPOOL_SHARED") or str(root.parent / "shared")
        self._env = {**os.environ, "GANGPOOL_SHARED": shared, "OPENBLAS_NUM_THREADS": "1"}
        self._env |= {"PYTHONPATH": str(folder / "src"), "GANGPOOL_LONG": "", "COLUMNS": "200"}

    @contextmanager
    def mutated(self, file: str, number: int) -> Iterator[None]:
        """Make a mutation for the time of the block."""
        path = self.folder / file
        source = path.read_text(encoding="utf-8")
        try:
            self._write(path, mutate(source, number))
            yield
        finally:
            self._write(path, source)

    def _write(self, path: Path, source: str) -> None:
        # Compiled files are told apart by size and second only: two versions of one second could be mixed up.
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            compiled.unlink()
        path.write_text(source, encoding="utf-8")

    def measure(self, what: str, tests: Sequence[str], least_limit_s: float) -> Selection:
        """Run tests without a mutation, to know when they hang. Raises TreeFails where they fail."""
        result = self.test(Selection(tuple(tests), 3600.0))
        if result.failed:
            raise TreeFails(f"{what} fail without a mutation ({result.failed}):\n{result.output[-4000:]}")
        return Selection(tuple(tests), max(least_limit_s, HANG_FACTOR * result.took_s))

    def test(self, selection: Selection) -> Result:
        """Run the tests up to the first failure."""
        pytest = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider"]
        # Shrinking a counterexample would take minutes, and one is enough.
        pytest += ["--hypothesis-profile", "mutants", *selection.tests]
        limited = ["sh", "-c", f'ulimit -v {MEMORY_KIB}; exec "$0" "$@"', *pytest]
        started = time.monotonic()
        options: dict[str, Any] = {"text": True, "errors": "replace", "start_new_session": True}
        options |= {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(limited, cwd=self.folder, env=self._env, **options) as process:
            try:
                output, _ = process.communicate(timeout=selection.limit_s)
            except subprocess.TimeoutExpired:
                return Result(f"time-out after {selection.limit_s:.0f} s", time.monotonic() - started, "")
            finally:
                _end(process)
        return Result(_failed(process.returncode, output), time.monotonic() - started, output)


def _end(process: subprocess.Popen[str]) -> None:
    """End the run with all that it started (its own session: nothing else is in that group)."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _failed(code: int, output: str) -> str:
    if code == 0:
        return ""
    if code < 0:
        return f"end by signal {-code}"
    if code in (4, 5):  # pytest: wrong usage, no tests: the mutant isn't to blame
        raise TreeFails(f"pytest ran no test (exit {code}):\n{output[-4000:]}")
    found = FAILED_LINE.search(output)
    return found[1] if found else f"pytest exit {code}"
