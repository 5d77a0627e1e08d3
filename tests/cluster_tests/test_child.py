"""Processes: ended for certain, frozen, started again, never left behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster.child import Child, kill_all

SLEEPS = "import signal, sys; print('up', flush=True); signal.pause()"
IGNORES = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); signal.pause()"
HAS_A_CHILD = "import subprocess; p = subprocess.Popen(['sleep', '1000']); print(p.pid, flush=True); p.wait()"
END_MAX_MS = 20_000

Start = Callable[[str], Child]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start Python code and wait for its first line."""
    children: list[Child] = []

    def begin(code: str) -> Child:
        log = tmp_path / f"{len(children)}.log"
        os.mkfifo(log)
        children.append(Child("sleeper", [sys.executable, "-I", "-S", "-c", code], log))
        # A FIFO as log: reading its first line is waiting for it, and opening it for both never blocks.
        reader = os.open(log, os.O_RDWR)
        children[-1].start()
        first = os.read(reader, 100)
        os.close(reader)
        log.unlink()
        log.write_bytes(first)
        return children[-1]

    yield begin
    kill_all(children)


def ends(pid: int) -> bool:
    """Whether a process ends in time, or has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    try:
        return bool(poll.poll(END_MAX_MS))
    finally:
        os.close(descriptor)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]


def test_killed_is_gone(start: Start) -> None:
    child = start(SLEEPS)
    pid = child.pid
    assert (child.is_running, child.exit_status) == (True, None)
    child.kill()
    assert (child.is_running, child.exit_status) == (False, -signal.SIGKILL)
    assert not Path(f"/proc/{pid}").exists()
    child.kill()  # once more does no harm


def test_its_children_go_with_it(start: Start) -> None:
    child = start(HAS_A_CHILD)
    grandchild = int(child.tail())
    child.kill()
    assert ends(grandchild)


def test_frozen_it_is_there_and_ends_all_the_same(start: Start) -> None:
    child = start(SLEEPS)
    child.freeze()
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert (child.is_frozen, child.is_running, state(child.pid)) == (True, True, "T")
    child.thaw()
    os.waitid(os.P_PID, child.pid, os.WCONTINUED | os.WNOWAIT)
    assert not child.is_frozen
    assert state(child.pid) in "RS"  # it may be on its way back to sleep
    child.freeze()
    child.kill()
    assert child.exit_status == -signal.SIGKILL


def test_stop_is_gentle_first(start: Start) -> None:
    gentle, stubborn = start(SLEEPS), start(IGNORES)
    gentle.freeze()
    assert gentle.stop(patience_s=10) and gentle.exit_status == -signal.SIGTERM
    assert not stubborn.stop(patience_s=0.05) and stubborn.exit_status == -signal.SIGKILL


def test_started_again_it_is_another_process(start: Start) -> None:
    child = start(SLEEPS)
    before = child.pid
    child.start()
    assert child.pid == before  # it runs: nothing to do
    child.restart()
    assert child.is_running and child.pid != before


def test_ends_with_the_thread_that_started_it(start: Start) -> None:
    with ThreadPoolExecutor(max_workers=1) as thread:
        child = thread.submit(start, SLEEPS).result()
        assert child.is_running
    assert ends(child.pid)
    assert child.exit_status == -signal.SIGKILL


def test_the_leash_notices_that_the_parent_is_gone() -> None:
    leash = Path(__file__).parent.parent / "cluster" / "leash.py"
    done = subprocess.run([sys.executable, leash, "1", "/bin/true"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr == "the parent ended before the leash was tied\n"


def test_a_process_that_was_never_started_has_no_pid(tmp_path: Path) -> None:
    child = Child("sleeper", ["/bin/true"], tmp_path / "log")
    child.kill()
    assert child.exit_status is None and not child.is_running and child.tail() == ""
    with pytest.raises(RuntimeError, match="sleeper was not started"):
        _ = child.pid


def test_tail_is_the_end_of_the_log(start: Start, tmp_path: Path) -> None:
    child = Child("talker", [sys.executable, "-I", "-S", "-c", "print(*range(50), sep='\\n')"], tmp_path / "talk")
    child.start()
    child.wait()
    assert child.tail(3) == "47\n48\n49"
