"""What all long-running commands share: addresses, signals, errors in plain words."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
from pathlib import Path

import click
import pytest

from gangpool.cli.main import run
from gangpool.cli.process import freeze, read_address, run_until_told
from gangpool.kube.kubeconfig import AccessError

ACCESS = """
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
"""
PROCESSES = ("scheduler", "jobs-controller")


@pytest.mark.parametrize(
    ("text", "address"), [("127.0.0.1:80", ("127.0.0.1", 80)), ("[::1]:0", ("::1", 0)), (":8080", ("", 8080))]
)
def test_address(text: str, address: tuple[str, int]) -> None:
    assert read_address(None, None, text) == address


@pytest.mark.parametrize("text", ["8080", "host", "host:", "host:x", "host:70000", "host:-1"])
@pytest.mark.parametrize("process", PROCESSES)
def test_address_that_is_none(text: str, process: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([process, "--listen", text]) == 2
    assert f"'{text}' is no HOST:PORT, such as 127.0.0.1:8080" in capsys.readouterr().err


@pytest.mark.parametrize("process", PROCESSES)
def test_configuration_that_is_bad_ends_the_start(
    process: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("apiVersion: gangpool.io/v1\nkind: Config\ntopologi: {}\n")
    assert run([process, "--config", str(path)]) == 2
    assert capsys.readouterr().err == f"gangpool: {path}: topologi: unknown key; did you mean topology?\n"


@pytest.mark.parametrize("process", PROCESSES)
def test_kubeconfig_that_is_missing_is_told_in_one_line(
    process: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([process, "--kubeconfig", str(tmp_path / "none.conf"), "--listen", "127.0.0.1:0"]) == 2
    text = capsys.readouterr().err
    assert text.startswith("gangpool: ")
    assert "none.conf" in text
    assert text.count("\n") == 1


@pytest.mark.parametrize("process", PROCESSES)
def test_an_address_that_is_taken_is_told_in_one_line(
    process: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Connections that were opened before are closed, or the event loop complains of them."""
    access = tmp_path / "config"
    access.write_text(ACCESS)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        assert run([process, "--kubeconfig", str(access), "--listen", listen]) == 1
    gc.collect()
    said = capsys.readouterr().err
    assert caplog.messages == []
    assert said == f"gangpool: cannot listen on {listen}: Address already in use; --listen sets where\n"


def test_level_of_the_log_that_is_none(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("GANGPOOL_LOG", "loud")
    assert run(["scheduler"]) == 2
    assert "GANGPOOL_LOG=LOUD is no level" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_cleaning_up_is_not_broken_off_by_who_asks_twice(number: signal.Signals) -> None:
    told: list[str] = []

    async def work() -> None:
        os.kill(os.getpid(), number)
        try:
            await asyncio.Event().wait()
        finally:
            os.kill(os.getpid(), number)
            await asyncio.sleep(0.05)  # the second signal arrives, or would
            told.append("cleaned up")

    run_until_told(work())
    assert told == ["cleaned up"]


def test_hangup_is_a_word_and_no_end() -> None:
    told: list[str] = []

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        while not told:
            await asyncio.sleep(0)

    run_until_told(work(), lambda: told.append("read it"))
    assert told == ["read it"]


@pytest.mark.parametrize(("error", "said"), [(AccessError("no file"), "no file"), (OSError("in use"), "in use")])
def test_what_a_user_can_mend_is_said_as_such(error: Exception, said: str) -> None:
    async def work() -> None:
        raise error

    with pytest.raises(click.ClickException) as told:
        run_until_told(work())
    assert told.value.message == said


def test_of_a_group_of_errors_the_first_is_told() -> None:
    async def fails() -> None:
        raise ValueError("defect")

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())

    with pytest.raises(ValueError, match="defect"):
        run_until_told(work())


def test_what_is_there_is_left_alone_by_garbage_collection() -> None:
    before = gc.get_freeze_count()
    try:
        freeze()
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()
