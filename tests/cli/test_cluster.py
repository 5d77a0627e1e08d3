"""What a person is told when there is no live cluster to read: one sentence and an exit code, whatever is wrong."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gangpool.cli.cluster import Progress, refusal
from gangpool.cli.exits import Exit
from gangpool.cli.main import run
from gangpool.kube.client import ApiError
from gangpool.kube.kubeconfig import Access
from tests.cluster.ports import free_ports


@pytest.fixture(autouse=True)
def no_other_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def kubeconfig(folder: Path, server: str) -> str:
    path = folder / "config"
    path.write_text(
        json.dumps(
            {
                "current-context": "a",
                "contexts": [{"name": "a", "context": {"cluster": "a", "namespace": "ml"}}],
                "clusters": [{"name": "a", "cluster": {"server": server}}],
            }
        )
    )
    return str(path)


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def told(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on stderr; nothing on stdout."""
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    return line


@pytest.mark.parametrize("command", [("nodes",), ("tree",), ("place", "-f", "job.yaml")])
def test_no_kubeconfig_at_all(command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(list(command)) == 2
    home = tmp_path / ".kube/config"
    assert told(capsys) == (
        f"gangpool: no live cluster to read: {home}: No such file or directory; give --kubeconfig"
        " (--pool reads a dump or a shape)"
    )


def test_a_context_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = kubeconfig(tmp_path, "http://127.0.0.1:1")
    assert run(["nodes", "--kubeconfig", config, "--context", "b"]) == 2
    assert "has no context b (there are: a)" in told(capsys)


def test_a_server_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = f"http://127.0.0.1:{free_ports(1)[0]}"
    assert run(["nodes", "--kubeconfig", kubeconfig(tmp_path, server)]) == 1
    assert told(capsys).startswith(f"gangpool: no answer from the API server {server}: ")


def test_a_server_that_says_nothing(silent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tree", "--kubeconfig", kubeconfig(tmp_path, silent), "--request-timeout", "50ms"]) == 4
    assert told(capsys) == (f"gangpool: {silent}: GET /apis: no answer within 0.05 s; --request-timeout sets how long")


def test_a_manifest_that_is_not_there_is_told_before_the_cluster_is_asked(
    silent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["place", "-f", str(tmp_path / "no.yaml"), "--kubeconfig", kubeconfig(tmp_path, silent)]) == 2
    assert "no.yaml: No such file or directory" in told(capsys)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (
            ApiError(403, "Forbidden", 'User "b" cannot list resource "nodes"'),
            Exit.FORBIDDEN,
            'not permitted: User "b"',
        ),
        (ApiError(401, "Unauthorized", "Unauthorized"), Exit.FORBIDDEN, "http://a does not know who you are (401 "),
        (ApiError(503, "", "overloaded"), Exit.ERROR, "http://a: 503 overloaded"),
        (ApiError(404, "NotFound", ""), Exit.ERROR, "http://a answers 404 (NotFound); is it a Kubernetes API server?"),
        (ApiError(500, "InternalError", ""), Exit.ERROR, "http://a: 500 InternalError"),
    ],
)
def test_what_a_server_refuses(error: ApiError, code: Exit, text: str) -> None:
    found = refusal(Access("http://a", None), error)
    assert (found.exit, found.message[: len(text)]) == (code, text)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_and_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr("gangpool.cli.cluster.QUIET_S", 0.0)
    progress = Progress()
    progress.tell("pods", 12500)
    text = "reading the cluster: 12,500 pods"
    assert screen.getvalue() == "\r" + text
    progress.end()
    assert screen.getvalue() == "\r" + text + "\r" + " " * len(text) + "\r"


def test_a_quick_reading_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    progress = Progress()
    progress.tell("pods", 5)
    progress.end()
    assert screen.getvalue() == ""


def test_no_progress_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr("gangpool.cli.cluster.QUIET_S", 0.0)
    progress = Progress()
    progress.tell("pods", 12500)
    progress.end()
    assert screen.getvalue() == ""
