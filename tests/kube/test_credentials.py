"""Who we are, request by request: tokens from files and plugins, renewed when they end or are refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from gangpool.kube import credentials as module
from gangpool.kube.credentials import Credentials
from gangpool.kube.kubeconfig import Access, AccessError, ExecPlugin
from gangpool.kube.transport import Unreachable
from tests.kube.standin import WATCH, in_loop, json_of, served, status, stream

PODS = "/api/v1/pods"
NO = status(401, "Unauthorized")


def plugin(folder: Path, answer: str, env: tuple[tuple[str, str], ...] = ()) -> ExecPlugin:
    """A plugin that counts its runs in `runs` and prints `answer`, in which N is that count."""
    script = folder / "plugin.py"
    script.write_text(
        "import os, sys\n"
        f"runs = {str(folder / 'runs')!r}\n"
        "n = int(open(runs).read()) + 1 if os.path.exists(runs) else 1\n"
        "open(runs, 'w').write(str(n))\n"
        "asked = os.environ.get('KUBERNETES_EXEC_INFO', '') + os.environ.get('X', '')\n"
        f"open({str(folder / 'seen')!r}, 'w').write(asked)\n"
        f"print({answer!r}.replace('N', str(n)))\n"
    )
    return ExecPlugin("client.authentication.k8s.io/v1", (sys.executable, str(script)), env)


def credential(**fields: str) -> str:
    return json.dumps({"kind": "ExecCredential", "status": fields})


@in_loop
async def test_fixed_token_and_password() -> None:
    assert await Credentials(Access("x", None)).headers() == {}
    assert await Credentials(Access("x", None, token="t")).headers() == {"Authorization": "Bearer t"}
    basic = await Credentials(Access("x", None, basic=("joe", "pw"))).headers()
    assert basic == {"Authorization": "Basic am9lOnB3"}
    assert not Credentials(Access("x", None, token="t")).refused({"Authorization": "Bearer t"})


@in_loop
async def test_token_file_is_read_again_when_it_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FILE_AGE_S", 0.0)
    file = tmp_path / "token"
    file.write_text("one\n")
    who = Credentials(Access("x", None, token_file=str(file)))
    assert await who.headers() == {"Authorization": "Bearer one"}
    file.write_text("two\n")
    assert await who.headers() == {"Authorization": "Bearer two"}


@in_loop
async def test_refused_token_is_read_again_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    async with served(lambda url: Access(url, None, token_file=str(file))) as (api, client):
        api.on("GET", PODS, json_of({}), NO, json_of({"ok": 1}), NO)
        await client.send("GET", PODS)
        file.write_text("new")
        assert await client.send("GET", PODS) == b'{"ok": 1}'
        sent = [asked.headers["Authorization"] for asked in api.asked]
        assert sent == ["Bearer old", "Bearer old", "Bearer new"]
        with pytest.raises(Exception, match="401"):
            await client.send("GET", PODS)
        assert api.count("GET", PODS) == 5


@in_loop
async def test_refused_watch_renews_too(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    async with served(lambda url: Access(url, None, token_file=str(file))) as (api, client):
        api.on(WATCH, PODS, NO, stream(api))
        first = await client.transport.open(PODS, {"watch": "1"}, 5.0)
        assert first.status == 200
        first.close()
        assert api.count(WATCH, PODS) == 2


@in_loop
async def test_missing_token_file_is_no_answer_not_the_end(tmp_path: Path) -> None:
    """The kubelet swaps the file; a moment without it must not end a scheduler."""
    async with served(lambda url: Access(url, None, token_file=str(tmp_path / "gone"))) as (api, client):
        with pytest.raises(Unreachable, match="gone: No such file"):
            await client.send("GET", PODS)
        with pytest.raises(Unreachable, match="gone: No such file"):
            await client.transport.open(PODS, {}, 1.0)
        assert api.asked == []


@in_loop
async def test_plugin_is_run_once_and_told_what_it_is_asked(tmp_path: Path) -> None:
    run = plugin(tmp_path, credential(token="t-N"), (("X", "-from-env"),))
    who = Credentials(Access("x", None, exec_plugin=run))
    assert await who.headers() == {"Authorization": "Bearer t-1"}
    assert await who.headers() == {"Authorization": "Bearer t-1"}
    seen = (tmp_path / "seen").read_text()
    assert json.loads(seen.removesuffix("-from-env")) == {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    assert seen.endswith("-from-env")


@in_loop
async def test_plugin_runs_again_when_its_token_ends_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = plugin(tmp_path, credential(token="t-N", expirationTimestamp="2020-01-01T00:00:00Z"))
    who = Credentials(Access("x", None, exec_plugin=run))
    first = await who.headers()
    assert await who.headers() == first  # one that has ended already is used for a second, not asked for at once
    assert who.refused(first)
    second = await who.headers()
    assert second == {"Authorization": "Bearer t-2"}
    assert who.refused(first)  # another request that had the old token: somebody has renewed it by now
    assert await who.headers() == second


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("no json", "printed no ExecCredential"),
        ('{"kind": "ExecCredential"}', "printed no ExecCredential"),
        (credential(token="t", expirationTimestamp="soon"), "of no use"),
    ],
)
def test_plugin_that_prints_nonsense(tmp_path: Path, answer: str, words: str) -> None:
    @in_loop
    async def story() -> None:
        with pytest.raises(AccessError, match=words):
            await Credentials(Access("x", None, exec_plugin=plugin(tmp_path, answer))).headers()

    story()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("/nowhere/plugin",), "/nowhere/plugin failed: No such file"),
        ((sys.executable, "-c", "import sys; sys.exit('log in first')"), "ended with 1: log in first"),
        ((sys.executable, "-c", "import time; time.sleep(60)"), "gave no answer in 0.05 s"),
    ],
)
def test_plugin_that_fails(command: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLUGIN_LIMIT_S", 0.05 if "time" in command[-1] else 30.0)

    @in_loop
    async def story() -> None:
        with pytest.raises(AccessError, match=words):
            await Credentials(Access("x", None, exec_plugin=ExecPlugin("v1", command))).headers()

    story()
