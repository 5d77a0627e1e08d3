"""What every test run shares: which skips are allowed, how hypothesis runs, where the shared folder is.

A skipped or expected-to-fail test hides a hole, so each needs a line in tests/skips.txt; without it the run fails.
Runs are repeatable: hypothesis derives its examples from the test itself, other random choices from `seed`.
Environment: GANGPOOL_LONG=1 (long tests, many examples), GANGPOOL_SEED, GANGPOOL_SHARED (a folder).
For new random examples: `pytest --hypothesis-profile explore`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import hypothesis
import pytest

pytest_plugins = ["tests.cluster.fixtures"]

LONG = os.environ.get("GANGPOOL_LONG", "") not in ("", "0")
SEED = int(os.environ.get("GANGPOOL_SEED", "1"))
SKIPS_FILE = Path(__file__).with_name("skips.txt")
NO_SHARED = "no shared folder beside this checkout; GANGPOOL_SHARED names another place"

# No deadlines: they measure the wall clock of a busy machine, not the code.
_common = hypothesis.settings(deadline=None, print_blob=True)
hypothesis.settings.register_profile("ci", _common, derandomize=True, database=None, max_examples=100)
hypothesis.settings.register_profile("long", _common, derandomize=True, database=None, max_examples=2_000)
hypothesis.settings.register_profile("explore", _common, max_examples=1_000)
# For scripts.mutants: whether an example fails is all that counts, so the smallest one is not looked for.
_phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
hypothesis.settings.register_profile("mutants", hypothesis.settings.get_profile("ci"), phases=_phases)
hypothesis.settings.load_profile("long" if LONG else "ci")


class Skip(NamedTuple):
    """A test that did not say yes or no, and why."""

    nodeid: str
    reason: str


_skips: list[Skip] = []
_allowed: list[Skip] = []


def allowed_skips(text: str) -> list[Skip]:
    """Read the list: `pattern of node ids | pattern of the reason | why it is allowed`, all three present."""
    allowed = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 3 or not all(fields):
            raise pytest.UsageError(f"{SKIPS_FILE.name}:{number}: want `node ids | reason | why it is allowed`")
        allowed.append(Skip(fields[0], fields[1]))
    return allowed


def unlisted(skips: Iterable[Skip], allowed: Iterable[Skip]) -> list[Skip]:
    """Return the skips that no line of the list covers."""
    lines = list(allowed)
    return [
        skip
        for skip in skips
        if not any(fnmatchcase(skip.nodeid, line.nodeid) and fnmatchcase(skip.reason, line.reason) for line in lines)
    ]


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if (xfail := getattr(report, "wasxfail", None)) is not None:
        return f"expected failure: {xfail}"
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def pytest_configure() -> None:
    """Read the list first, so that a mistake in it stops the run before any test."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts background jobs so, and what tests start would inherit it: then Ctrl-C could not be tested.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _allowed[:] = allowed_skips(SKIPS_FILE.read_text(encoding="utf-8"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped:
        _skips.append(Skip(report.nodeid, _reason(report)))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skips.append(Skip(report.nodeid, _reason(report)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests marked `long`, visibly (`N deselected`), unless they are asked for."""
    long = [] if LONG else [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and unlisted(_skips, _allowed):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if forbidden := unlisted(_skips, _allowed):
        terminalreporter.section("skipped without leave", red=True)
        for skip in forbidden:
            terminalreporter.line(f"{skip.nodeid}: {skip.reason}")
        terminalreporter.line(f"The run fails: make these tests run, or give each a line in tests/{SKIPS_FILE.name}.")


def pytest_report_header() -> str:
    return f"gangpool: seed {SEED}, {'long' if LONG else 'short'} run (GANGPOOL_SEED, GANGPOOL_LONG)"


@pytest.fixture(scope="session")
def seed() -> int:
    """Seed of every random choice that hypothesis doesn't make; the run's header shows it."""
    return SEED


@pytest.fixture(scope="session")
def is_long() -> bool:
    """Whether this run may take minutes per test."""
    return LONG


@pytest.fixture(scope="session")
def shared_folder(pytestconfig: pytest.Config) -> Path:
    """Folder with cases, seed manifests and reference tables, beside the checkout."""
    folder = Path(os.environ.get("GANGPOOL_SHARED") or pytestconfig.rootpath.parent / "shared")
    if not folder.is_dir():
        pytest.skip(NO_SHARED)
    return folder
