"""Child processes that cannot outlive the tool: own process group, ended by id, killed by the kernel if we die."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import socket
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_given: set[int] = set()


def free_port() -> int:
    """A TCP port of 127.0.0.1 that is free now and that this run has not handed out before."""
    while True:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = int(s.getsockname()[1])
        if port not in _given:
            _given.add(port)
            return port


def _child() -> None:
    os.setpgid(0, 0)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Child:
    """One running process with its log file."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name, self.process, self.log = name, process, log
        self.frozen = False
        self.expected_end = False
        self.slow_end_s: float | None = None  # set when SIGTERM was not enough

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def running(self) -> bool:
        return self.process.returncode is None

    def send(self, sig: int) -> None:
        """Signal to the process and its children (its own group)."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, sig)

    def freeze(self) -> None:
        self.frozen = True
        self.send(signal.SIGSTOP)

    def thaw(self) -> None:
        self.frozen = False
        self.send(signal.SIGCONT)

    async def stop(self, patience_s: float = 5.0) -> None:
        """SIGTERM, then SIGKILL after ``patience_s``; the group is empty afterwards."""
        self.expected_end = True
        if self.running:
            if self.frozen:
                self.thaw()
            self.send(signal.SIGTERM)
            try:
                await asyncio.wait_for(self.process.wait(), patience_s)
            except TimeoutError:
                self.slow_end_s = patience_s
        self.send(signal.SIGKILL)
        await self.process.wait()

    def tail(self, lines: int = 15) -> str:
        """Last lines of its log."""
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""


async def start(name: str, command: list[str], log: Path, cwd: Path | None = None) -> Child:
    """Start ``command`` with output into ``log``."""
    with log.open("ab") as out:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out, cwd=cwd, preexec_fn=_child
        )
    return Child(name, process, log)
