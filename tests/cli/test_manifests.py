"""`gangpool manifests`: every object once, as plain YAML."""

from __future__ import annotations

import re

import pytest
import yaml

from gangpool.cli.main import run
from gangpool.manifests import crds, fence, rbac, reader

PARTS = {"crds": crds(), "rbac": [*rbac(), *reader()], "fence": fence()}


def printed(part: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["manifests", *([part] if part else [])]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_its_objects(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(yaml.safe_load_all(printed(part, capsys))) == PARTS[part]


@pytest.mark.parametrize("part", ["", "all"])
def test_without_a_part_all_are_printed(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(yaml.safe_load_all(printed(part, capsys))) == [obj for found in PARTS.values() for obj in found]


def test_nothing_stands_for_something_else(capsys: pytest.CaptureFixture[str]) -> None:
    """Parts are shared in the program; a person, or a tool without anchors, reads them where they belong."""
    assert not re.search(r"[&*]id\d", printed("all", capsys))
