"""The command as a whole: what it imports, how failures end, which exit codes come out."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from gangpool.cli.main import COMMANDS, explain, run

SLOW = {"numpy", "rich", "yaml", "aiohttp", "asyncio", "email", "http", "gangpool.core.ledger"}
"""Imports that cost more than help and completion may take."""


def loaded(arguments: list[str], **environment: str) -> set[str]:
    """Modules that one command line imports, seen in a fresh interpreter."""
    program = (
        "import atexit, sys\nfrom gangpool.cli.main import run\n"
        "atexit.register(lambda: print(*sys.modules, sep='\\n', file=sys.stderr))\n"
        f"sys.exit(run({arguments!r}))"
    )
    command = [sys.executable, "-c", program]
    environment = os.environ | environment | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["--help"], {}),
        (["place", "--help"], {}),
        (["explain", "--help"], {}),
        (["jobs", "--help"], {}),
        (["completion", "zsh"], {}),
        (["x"], {"_GANGPOOL_COMPLETE": "zsh_complete", "COMP_WORDS": "gangpool pl", "COMP_CWORD": "1"}),
    ],
)
def test_help_and_completion_import_nothing_slow(arguments: list[str], environment: dict[str, str]) -> None:
    modules = loaded(arguments, **environment)
    assert "gangpool.cli.main" in modules
    assert not SLOW & modules


def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    alone = capsys.readouterr().out
    assert run(["-h"]) == 0
    assert capsys.readouterr().out == alone
    assert all(f"  {name} " in alone for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "-h"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: gangpool {name} ")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("gangpool ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_call_us_back(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert f"_GANGPOOL_COMPLETE={shell}_complete" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plcae"], "gangpool: No such command 'plcae'"),
        (["place"], "gangpool place: no workloads are given"),
        (["place", "-f", "x", "-o", "xml"], "gangpool place: Invalid value for '-o'"),
        (["place", "-f", "-", "--pool", "-"], "gangpool place: stdin can be"),
        (["place", "-f", "x", "--pool", "h100:0"], "gangpool place: Invalid value for --pool: 'h100:0' needs"),
        (["nodes", "--pool", "h100"], "gangpool nodes: Invalid value for --pool: 'h100' needs a number of nodes"),
        (["place", "-f", "x", "--now", "noon"], "gangpool place: Invalid value for '--now': 'noon' is no time"),
        (["place", "-f", "x", "--now", "2026-08-01T12:00:00"], "gangpool place: Invalid value for '--now'"),
        (["nodes", "--pool", "h100:1", "-l", "a in"], "gangpool nodes: Invalid value for -l: 'a in' is no part"),
        (["nodes", "--request-timeout", "soon"], "gangpool nodes: Invalid value for '--request-timeout': 'soon' is"),
        (["nodes", "--as-group", "ops"], "gangpool nodes: --as-group needs --as"),
        (["completion"], "gangpool completion: Missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish"),
        (["completion", "tcsh"], "gangpool completion: Invalid value for"),
    ],
)
def test_wrong_usage_is_two_lines_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert lines[0].startswith(message)
    assert len(lines) == 2 and lines[1].endswith("--help'.")


def test_an_unexpected_failure_is_one_line_and_exit_code_1() -> None:
    lines, code = explain(RuntimeError("odd\nthing"))
    assert code == 1
    assert lines == ["gangpool: internal error: RuntimeError: odd\\nthing (GANGPOOL_DEBUG=1 shows where)"]


def test_a_full_disk_is_named_as_such() -> None:
    lines, code = explain(OSError(errno.ENOSPC, "No space left on device"))
    assert (lines, code) == (["gangpool: the answer cannot be written: No space left on device"], 1)


def test_a_closed_stdout_is_no_failure() -> None:
    command = ["sh", "-c", 'exec "$0" -m gangpool nodes --pool h100:1 >&-', sys.executable]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, stderr=subprocess.PIPE, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("debug", ["", "1"])
def test_a_traceback_is_shown_only_on_request(
    debug: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        def read(self, _limit: int) -> bytes:
            raise RuntimeError("no luck")

    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Broken()))
    monkeypatch.setenv("GANGPOOL_DEBUG", debug)
    if debug:
        with pytest.raises(RuntimeError):
            run(["quantity", "--file", "-"])
    else:
        assert run(["quantity", "--file", "-"]) == 1
        assert capsys.readouterr().err.startswith("gangpool: internal error: RuntimeError: no luck")


def test_ctrl_c_ends_without_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Interrupted:
        def read(self, _limit: int) -> bytes:
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Interrupted()))
    assert run(["quantity", "--file", "-"]) == 130
    assert capsys.readouterr().err.strip() == ""


def test_a_reader_that_goes_away_ends_it_without_words() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "gangpool", "nodes", "--pool", "h100:1"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_terminal_that_lacks_letters_shows_them_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO('["\u5343"]'.encode())))
    assert run(["quantity", "--file", "-"]) == 3
    screen.seek(0)
    assert "'\\u5343'" in screen.read()
