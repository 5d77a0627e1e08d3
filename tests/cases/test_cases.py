"""Field cases: each folder below `field` is a situation that people have reported, with what a correct product does.

A handful runs in every `make test`, all of them in `make test-long`. What is wished for (`should`) is printed, not
required. `expected.txt` lists the cases that do not pass yet.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from tests.cases.play import words
from tests.cases.play.case import Case, find, load
from tests.cases.play.registry import CHECKS, STEPS
from tests.cases.play.runner import Outcome, Result, play
from tests.cluster.plane import ControlPlane

HERE = Path(__file__).parent
OFTEN = ("I01", "I03", "S01", "S04", "S17")
PRODUCT = [sys.executable, "-m", "gangpool"]
assert words.MODULES  # its import registers the words
CASES = {case.id: case for case in map(load, find([HERE / "field"]))}
IN_FILES = [case_id for case_id, case in CASES.items() if not case.is_live()]
ON_A_CLUSTER = [case_id for case_id, case in CASES.items() if case.is_live()]


def expected(text: str) -> dict[str, str]:
    """Why a case does not pass, by its id."""
    rows = [line.split("|") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {case_id.strip(): reason.strip() for case_id, reason in rows}


EXPECTED = expected((HERE / "expected.txt").read_text(encoding="utf-8"))


def marked(case_ids: list[str]) -> list[object]:
    """Parameters; all but a handful are long."""
    return [pytest.param(it, id=it, marks=() if it in OFTEN else pytest.mark.long) for it in case_ids]


def judge(case: Case, result: Result) -> None:
    """Passed, unless the list says that it does not."""
    for outcome in result.outcomes:
        print(line_of(outcome))
    if reason := EXPECTED.get(case.id):
        assert not result.passed, f"{case.id} passes now: strike it off expected.txt ({reason})"
        return
    failed = [line_of(outcome) for outcome in result.outcomes if outcome.must and not outcome.ok]
    assert result.passed, "\n".join([*failed, result.error, result.logs])


def line_of(outcome: Outcome) -> str:
    """One check in a line."""
    mark = "ok  " if outcome.ok else "FAIL" if outcome.must else "miss"
    return f"{mark} {outcome.step}: {outcome.text}" + ("" if outcome.ok else f"; seen: {outcome.seen}")


@pytest.mark.timeout(300)
@pytest.mark.cluster(controllers=False)
@pytest.mark.parametrize("case_id", marked(ON_A_CLUSTER))
def test_on_a_cluster(case_id: str, control_plane: ControlPlane, tmp_path: Path) -> None:
    judge(CASES[case_id], asyncio.run(play(CASES[case_id], tmp_path, PRODUCT, control_plane)))


@pytest.mark.parametrize("case_id", marked(IN_FILES))
def test_in_files(case_id: str, tmp_path: Path) -> None:
    judge(CASES[case_id], asyncio.run(play(CASES[case_id], tmp_path, PRODUCT, None)))


def test_the_list_names_cases_that_exist() -> None:
    assert set(EXPECTED) <= set(CASES)
    assert set(OFTEN) <= set(CASES)


def test_every_word_is_explained() -> None:
    text = (HERE / "vocabulary.md").read_text(encoding="utf-8")
    assert [word for word in sorted({*STEPS, *CHECKS}) if not re.search(rf"`{re.escape(word)}\b", text)] == []
