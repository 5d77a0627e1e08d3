"""Files in a folder, and `gangpool place` run on them in this process: what most end-to-end tests need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.terminal import Outcome, in_process
from tests.intake.build import Json

Answer = dict[str, Any]


class Desk:
    """One folder and its files."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys

    def file(self, name: str, *objects: Json) -> str:
        """A file of documents; JSON by its ending, a List where there are several."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".json"):
            found = objects[0] if len(objects) == 1 else dump(objects)
            path.write_text(json.dumps(found))
        else:
            path.write_text(yaml.safe_dump_all(objects))
        return str(path)

    def run(self, *arguments: str) -> Outcome:
        """`gangpool place …`."""
        return in_process(self.capsys, "place", *arguments)

    def ask(self, pool: list[Json] | str, *objects: Json | Path, code: int = 0) -> Answer:
        """The document for these objects or files on this pool (a shape, or objects)."""
        at = pool if isinstance(pool, str) else self.file("pool.json", dump(pool))
        given = [str(one) for one in objects if isinstance(one, Path)]
        made = [one for one in objects if not isinstance(one, Path)]
        if made:
            given.append(self.file("given.yaml", *made))
        outcome = self.run("-f", *given, "--pool", at, "-o", "json")
        assert (outcome.code, outcome.err) == (code, "")
        return outcome.answer()


def dump(objects: Any) -> Json:
    """What kubectl prints of several objects."""
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def pods(answer: Answer) -> list[str]:
    """Names of the pods that are placed, in order."""
    return [entry["pod"] for entry in answer["placed"]]


def where(answer: Answer) -> dict[str, str]:
    """Pod to node."""
    return {entry["pod"]: entry["node"] for entry in answer["placed"]}


def message(answer: Answer, at: int = 0) -> str:
    """Why the first of those that wait waits."""
    found = answer["pending"][at]["reason"]["message"]
    assert isinstance(found, str)
    return found
