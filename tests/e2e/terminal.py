"""The `gangpool` command as a person or script runs it: in a process of its own, with what it cost, or in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from gangpool.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


class Outcome(Struct, frozen=True):
    """What a run printed and cost."""

    code: int
    out: str
    err: str
    cpu_s: float = 0.0
    peak_mib: float = 0.0

    def answer(self) -> dict[str, Any]:
        """The JSON document on stdout."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


def command(*arguments: str, stdin: bytes = b"") -> Outcome:
    """`python -m gangpool …` in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": "random"}
    environment.pop("GANGPOOL_DEBUG", None)
    child = subprocess.Popen(
        [sys.executable, "-m", "gangpool", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=ROOT,
    )
    before = os.times()
    out, err = child.communicate(stdin, timeout=100)
    after = os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return Outcome(child.returncode, out.decode(), err.decode(), cpu_s)


def in_process(capsys: pytest.CaptureFixture[str], *arguments: str) -> Outcome:
    """The same without a new process, for what needs many runs."""
    capsys.readouterr()
    code = run(arguments)
    said = capsys.readouterr()
    return Outcome(int(code), said.out, said.err)


def is_one_message(outcome: Outcome) -> bool:
    """Did it end as the interface promises for input that cannot be read: exit code 2, one line, no traceback?"""
    lines = outcome.err.splitlines()
    return (
        outcome.code == 2
        and outcome.out == ""
        and len(lines) == 1
        and lines[0].startswith("gangpool: ")
        and "internal error" not in lines[0]
        and len(lines[0]) < 1000
    )
