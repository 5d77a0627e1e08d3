"""Fixtures `control_plane` (one per test) and `shared_control_plane` (one per run), for every test of the suite.

Loaded by tests/conftest.py. A test says what it needs beside the API with the marker:
`@pytest.mark.cluster(controllers=True)`, fields of `Settings`; the shared one has the controllers. Promises: tests that
use them carry the marker `cluster`; binaries are built before the first test, outside its time limit; where that fails,
each of these tests fails with the sentence that says what to do; a failing test shows the ends of the logs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster import build

if TYPE_CHECKING:  # not at run time: nothing of it is needed, nor its import paid, where no test of this kind runs
    from tests.cluster.plane import ControlPlane

NAMES = frozenset({"control_plane", "shared_control_plane"})
_WHY_NOT = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use the fixtures, before `-m` chooses among them."""
    for item in items:
        if NAMES & set(getattr(item, "fixturenames", ())) and not item.get_closest_marker("cluster"):
            item.add_marker("cluster")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Build what is missing, visibly."""
    if session.config.option.collectonly or not any(item.get_closest_marker("cluster") for item in session.items):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        try:
            build.ensure()
        except build.BuildFailed as failed:
            session.config.stash[_WHY_NOT] = str(failed)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the ends of the logs to the report of a failure."""
    report = yield
    if report.failed:
        for name in sorted(NAMES & set(getattr(item, "funcargs", ()))):
            report.sections.append((f"logs of {name}", item.funcargs[name].tails()))  # type: ignore[attr-defined]
    return report


@pytest.fixture
def control_plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane for this test alone."""
    marker = request.node.get_closest_marker("cluster")
    with _plane(request, tmp_path_factory, marker.kwargs if marker else {}) as plane:
        yield plane


@pytest.fixture(scope="session")
def shared_control_plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """One control plane for all tests that ask for it: take a namespace of your own, break nothing, leave no nodes."""
    with _plane(request, tmp_path_factory, {"controllers": True}) as plane:
        yield plane


def _plane(request: pytest.FixtureRequest, folders: pytest.TempPathFactory, settings: dict[str, Any]) -> ControlPlane:
    from tests.cluster.commands import Settings
    from tests.cluster.plane import ControlPlane

    if why_not := request.config.stash.get(_WHY_NOT, ""):
        pytest.fail(why_not, pytrace=False)
    return ControlPlane(Settings(**settings), folders.mktemp("plane"))
