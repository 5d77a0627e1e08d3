"""The fixtures in test runs of their own: how they end, what they show, what they say where Go is missing."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import build

ROOT = build.HERE.parent.parent
END_MAX_MS = 60_000
WAITS = """
import signal

def test_waits(control_plane):
    print("PIDS", *(child.pid for child in control_plane.children), flush=True)
    signal.pause()
"""
FAILS = """
def test_fails(control_plane):
    assert control_plane.kubectl("get", "pods").returncode == 7
"""
SELECTS = """
import pytest

def test_unit(): pass
def test_one(control_plane): pass
def test_shared(shared_control_plane): pass
@pytest.fixture
def pool(shared_control_plane): pass
def test_indirect(pool): pass
@pytest.mark.cluster(controllers=True)
def test_marked(control_plane): pass
"""


def command(folder: Path, suite: str, *arguments: str) -> list[str]:
    """Command of a test run on one file that has the fixtures and nothing else of this suite."""
    (folder / "test_suite.py").write_text(suite, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = cluster: …\n", encoding="utf-8")
    pytest_itself = [sys.executable, "-m", "pytest", "-p", "tests.cluster.fixtures", "-p", "no:cacheprovider"]
    places = ["-c", str(folder / "pytest.ini"), "--basetemp", str(folder / "base")]
    return [*pytest_itself, *places, *arguments, str(folder)]


def play(folder: Path, suite: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, suite, *arguments), cwd=ROOT, capture_output=True, text=True, check=False, timeout=100
    )


@pytest.mark.cluster
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_the_run_ends_no_process_is_left(tmp_path: Path, number: signal.Signals) -> None:
    run = command(tmp_path, WAITS, "-s")
    with subprocess.Popen(run, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout
        told = next(line for line in process.stdout if "PIDS" in line)
        descriptors = [os.pidfd_open(int(pid)) for pid in told.split("PIDS")[1].split()]
        assert len(descriptors) == 2
        process.send_signal(number)
        rest = process.stdout.read()
    for descriptor in descriptors:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(END_MAX_MS), "a process of the control plane is left"
        os.close(descriptor)
    if number == signal.SIGINT:  # the one that leaves time to tidy up
        assert process.returncode == pytest.ExitCode.INTERRUPTED, rest
        assert list((tmp_path / "base").rglob("kube-apiserver.log"))
        assert not list((tmp_path / "base").rglob("etcd"))


@pytest.mark.cluster
def test_a_failing_test_shows_the_ends_of_the_logs(tmp_path: Path) -> None:
    done = play(tmp_path, FAILS)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "logs of control_plane" in done.stdout
    assert "--- kube-apiserver\n" in done.stdout


def test_each_test_with_a_plane_is_marked(tmp_path: Path) -> None:
    done = play(tmp_path, SELECTS, "--collect-only", "-q", "-m", "not cluster")
    assert [line for line in done.stdout.splitlines() if "::" in line] == ["test_suite.py::test_unit"]
    assert "4 deselected" in done.stdout


def test_without_go_these_tests_fail_with_the_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANGPOOL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/nonexistent")
    done = play(tmp_path, SELECTS)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 passed, 4 errors" in done.stdout
    assert done.stdout.count(f"\n{build.NO_GO}\n") == 4
    assert "Traceback" not in done.stdout
