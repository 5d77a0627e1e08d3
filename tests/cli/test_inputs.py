"""What the flags of read commands name: durations, namespaces, the source of the pool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest

from gangpool.cli.inputs import in_namespace, namespace_of
from gangpool.cli.main import run
from gangpool.cli.options import Source, read_duration
from gangpool.files import Located

CONTEXT = click.Context(click.Command("x"))
OPTION = click.Option(["--x"])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("0", 0), ("5", 5), ("1m30s", 90), ("1.5h", 5400), ("250ms", 0.25), ("10us", 1e-5), (".5s", 0.5)],
)
def test_durations_as_kubectl_takes_them(text: str, seconds: float) -> None:
    assert read_duration(CONTEXT, OPTION, text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "-1s", "1d", "1 s", "1m30", "soon", "1..5s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no duration"):
        read_duration(CONTEXT, OPTION, text)


def named(kind: str, version: str, metadata: Any) -> Located:
    return Located("f", {"apiVersion": version, "kind": kind, "metadata": metadata})


@pytest.mark.parametrize(
    ("found", "namespace"),
    [
        (named("Job", "batch/v1", {"name": "a"}), "ml"),
        (named("Job", "batch/v1", {"name": "a", "namespace": "own"}), "own"),
        (named("Job", "batch/v1", None), "ml"),
        (named("StorageClass", "storage.k8s.io/v1", {"name": "a"}), None),
    ],
)
def test_what_names_no_namespace_is_in_the_one_given(found: Located, namespace: str | None) -> None:
    (made,) = in_namespace([found], "ml")
    assert (made.object["metadata"] or {}).get("namespace") == namespace
    assert in_namespace([found], None) == [found]


def test_the_namespace_is_the_given_one_else_that_of_the_context(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        json.dumps(
            {
                "current-context": "a",
                "contexts": [{"name": "a", "context": {"cluster": "a", "namespace": "team"}}],
                "clusters": [{"name": "a", "cluster": {"server": "http://a"}}],
            }
        )
    )
    assert namespace_of(Source(kubeconfig=str(config))) == "team"
    assert namespace_of(Source(kubeconfig=str(config), namespace="ml")) == "ml"
    assert namespace_of(Source(pool="h100:1")) is None


def test_place_plans_in_the_namespace_that_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = tmp_path / "pod.json"
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}}
    manifest.write_text(json.dumps(pod))
    for flags, namespace in ((["-n", "ml"], "ml"), ([], "default")):
        assert run(["place", "-f", str(manifest), "--pool", "h100:1", "-o", "json", *flags]) == 0
        (placed,) = json.loads(capsys.readouterr().out)["placed"]
        assert placed["namespace"] == namespace
