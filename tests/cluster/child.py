"""One process of a control plane that can be ended, frozen and started again, and cannot outlive the test run.

Called by `plane` and by fault tests. Promises: a process group of its own (Ctrl-C of a terminal does not reach it),
ended by process id and waited for (so its ports are free again), killed by the kernel when the thread that started it
is gone, output appended to one log file.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

_LEASH = Path(__file__).with_name("leash.py")
_END_MAX_S = 10.0  # a killed process is gone at once unless the disk hangs


class Child:
    """A command and, while it runs, its process. Mutable owner; start it in a thread that lives as long as it shall."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name, self.command, self.log = name, tuple(command), log
        self.is_frozen = False
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id; asking for that of a process that was never started is an error of the test."""
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process is there, frozen or not."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_status(self) -> int | None:
        """Exit status as subprocess tells it (a signal is negative); None while it runs or was never started."""
        return None if self._process is None else self._process.poll()

    def start(self) -> None:
        """Start it; nothing happens when it runs."""
        if self.is_running:
            return
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_LEASH), str(os.getpid()), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.log.parent,
                process_group=0,
            )
        self.is_frozen = False

    def send(self, number: int) -> None:
        """Send a signal to the process and its children; none where it has ended."""
        if self.is_running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def freeze(self) -> None:
        """SIGSTOP: it keeps its ports and connections and answers nothing."""
        self.send(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self) -> None:
        """SIGCONT after `freeze`."""
        self.send(signal.SIGCONT)
        self.is_frozen = False

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.send(signal.SIGKILL)
        self.wait()

    def stop(self, patience_s: float) -> bool:
        """SIGTERM, and SIGKILL after `patience_s`; whether it ended by itself. Gone in either case."""
        self.thaw()
        self.send(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(patience_s)
            return True
        self.kill()
        return False

    def restart(self) -> None:
        """Kill it and start it again with the same command, ports and files; it serves when `plane` says so."""
        self.kill()
        self.start()

    def wait(self, patience_s: float = _END_MAX_S) -> None:
        """Wait for its end; TimeoutExpired where it doesn't come."""
        if self._process is not None:
            self._process.wait(patience_s)

    def tail(self, n_lines: int = 30) -> str:
        """Last lines of its log, for messages."""
        try:
            return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-n_lines:])
        except OSError:
            return ""


def kill_all(children: Iterable[Child]) -> None:
    """Kill all at once, then wait for each."""
    children = list(children)
    for child in children:
        child.send(signal.SIGKILL)
    for child in children:
        child.wait()
