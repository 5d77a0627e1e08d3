"""Building once: what the folder is named by, that nothing runs twice, what is said when it can't be built.

`go` is a script here that writes what it is told to; the real build is what all cluster tests run on.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import build

GO_MOD = (build.HERE / "go.mod").read_text(encoding="utf-8")
WRITES = """for argument; do case "$before" in -o) echo built >"$argument";; esac; before=$argument; done"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GANGPOOL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def put_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    """Put a `go` first on PATH that notes its calls in the file returned."""
    calls, go = tmp_path / "calls", tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(f'#!/bin/sh\necho "$GOWORK $*" >>{calls}\n{body}\n', encoding="utf-8")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{go.parent}:{os.environ['PATH']}")
    return calls


def test_versions_are_those_of_go_mod() -> None:
    assert f"k8s.io/kubernetes {build.KUBERNETES} " in GO_MOD
    assert re.search(rf"^go {re.escape(build.GO_MINIMUM)}\b", GO_MOD, re.MULTILINE)
    tools = re.search(r"^tool \((.*?)^\)", GO_MOD, re.MULTILINE | re.DOTALL)
    assert tools and set(tools[1].split()) == set(build.PACKAGES.values())


def test_kubernetes_knows_its_version_and_etcd_is_left_alone() -> None:
    assert "gitVersion=v1.37.2" in build.flags("kubectl")[-1] and "gitMinor=37" in build.flags("kubectl")[-1]
    assert "gitVersion" not in build.flags("etcd")[-1]


def test_builds_what_is_missing_and_nothing_twice(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    calls = put_go(tmp_path, monkeypatch, WRITES)
    assert build.main(["--only", "etcd"]) == 0
    assert build.main(["--only", "etcd", "kubectl"]) == 0
    told = calls.read_text(encoding="utf-8").splitlines()
    assert [line.split()[-1] for line in told] == [build.PACKAGES["etcd"], build.PACKAGES["kubectl"]]
    assert all(line.startswith("off build -mod=readonly ") for line in told)
    folder = cache / "cluster" / build.folder().name
    assert sorted(path.name for path in folder.iterdir()) == ["etcd", "kubectl"]
    out, err = capfd.readouterr()
    assert out == f"{folder}\n" * 2
    assert "cluster: building etcd from source" in err and "cluster: built kubectl in " in err


def test_a_failed_build_leaves_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    put_go(tmp_path, monkeypatch, f"{WRITES}; echo no proxy >&2; exit 1")
    assert build.main(["--only", "etcd"]) == 1
    assert list(build.folder().iterdir()) == []
    err = capfd.readouterr().err
    assert "no proxy\n" in err and "etcd could not be built" in err


def test_without_go_one_sentence_says_what_to_install(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert build.main([]) == 1
    assert capsys.readouterr().err == f"cluster: {build.NO_GO}\n"
    assert "install Go 1.26 or newer" in build.NO_GO
    assert not cache.exists()


def test_built_binaries_need_no_go(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build.folder().mkdir(parents=True)
    for name in build.CONTROL_PLANE:
        (build.folder() / name).touch()
    monkeypatch.setenv("PATH", "/nonexistent")
    assert build.ensure() == build.folder()


def test_two_builds_at_once_build_once(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The script says that it has begun and goes on when it is told to, through two named pipes.
    begun, go_on = tmp_path / "begun", tmp_path / "go-on"
    os.mkfifo(begun)
    os.mkfifo(go_on)
    calls = put_go(tmp_path, monkeypatch, f"echo begun >{begun}; read line <{go_on}; {WRITES}")
    command = [sys.executable, "-m", "tests.cluster.build", "--only", "etcd"]
    root = build.HERE.parent.parent
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as first:
        assert begun.read_text(encoding="utf-8") == "begun\n"
        with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as second:
            assert second.stderr and second.stderr.readline() == b"cluster: waiting for another build to end\n"
            go_on.write_text("now\n", encoding="utf-8")
            assert first.communicate()[0] == second.communicate()[0] == f"{build.folder()}\n".encode()
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(calls.read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"GANGPOOL_CACHE": "/a/b"}, "/a/b"),
        ({"GANGPOOL_CACHE": "", "XDG_CACHE_HOME": "/x"}, "/x/gangpool"),
        ({"GANGPOOL_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/gangpool"),
    ],
)
def test_the_cache_is_where_people_expect_it(
    environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(build.cache()) == expected
