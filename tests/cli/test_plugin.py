"""`kubectl gangpool`: the names that kubectl looks for, help that says what was typed, completion."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from gangpool.cli import plugin
from gangpool.cli.main import PLUGIN, run

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def test_the_package_has_the_programs_that_kubectl_looks_for() -> None:
    scripts = tomllib.loads(PYPROJECT.read_text())["project"]["scripts"]
    found = {}
    for name, target in scripts.items():
        module, _, function = target.partition(":")
        found[name] = getattr(import_module(module), function)
    assert found["kubectl-gangpool"] is plugin.main
    assert found["kubectl_complete-gangpool"] is plugin.complete


def test_help_says_what_was_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nodes", "-h"], PLUGIN) == 0
    said = capsys.readouterr().out
    assert said.startswith("Usage: kubectl gangpool nodes [OPTIONS]\n")
    assert "| kubectl gangpool nodes --pool -\n" in said
    assert run(["nodes", "-h"]) == 0
    assert capsys.readouterr().out == said.replace("kubectl gangpool", "gangpool")


def test_wrong_usage_names_the_command_as_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nodes", "--request-timeout", "soon"], PLUGIN) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("kubectl gangpool nodes: Invalid value for '--request-timeout'")
    assert second == "See 'kubectl gangpool nodes --help'."


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["pl"], ["place\tWould this run now, where, and if not, why.", ":4"]),
        (["nodes", "--sort-by", "do"], ["domain", ":4"]),
        (["place", "-f", ""], [":0"]),
    ],
)
def test_completion(words: list[str], lines: list[str]) -> None:
    """Values with help behind a tab; :4 says that no file names follow, :0 that they may."""
    assert list(plugin.completions(words)) == lines


def test_completion_of_nothing_lists_the_commands() -> None:
    assert {line.partition("\t")[0] for line in plugin.completions([])} >= {"place", "nodes", "tree", ":4"}
