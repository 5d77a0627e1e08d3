"""Every scenario of every page in stories/, in each of its dialects and sets of label keys, and shuffled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios import page, questions, stream, verbs
from tests.scenarios.page import Scenario
from tests.scenarios.play import Play, Variant
from tests.scenarios.setting import Setting, setting_of
from tests.scenarios.trace import Line, differences, kept

STORIES = Path(__file__).parent / "stories"
WORDS = (verbs, questions, stream)
"""The modules that register commands."""

SCENARIOS = [scenario for path in sorted(STORIES.glob("*.md")) for scenario in page.read_page(path)]


def _variants() -> Iterator[tuple[str, Scenario, Setting, Variant]]:
    for scenario in SCENARIOS:
        setting = setting_of(scenario)
        for levels in setting.vocabularies:
            for dialect in setting.dialects:
                yield f"{scenario.name}-{levels.name}-{dialect}", scenario, setting, Variant(levels, dialect)


CASES = list(_variants())


def _shown(scenario: Scenario, setting: Setting, variant: Variant) -> dict[int, list[Line]]:
    """What each step shows, by its line. What breaks names the step."""
    play = Play(setting, variant)
    shown = {}
    for step in scenario.steps:
        try:
            shown[step.line] = play.do(step.command)
        except (AssertionError, ValueError) as error:
            raise AssertionError(f"{scenario.page.name}:{step.line}: > {step.command}\n{error}") from error
    return shown


def _complaints(scenario: Scenario, shown: dict[int, list[Line]]) -> list[str]:
    return [
        f"{scenario.page.name}:{step.line}: > {step.command}\n{difference}"
        for step in scenario.steps
        for difference in differences(step.expected, shown[step.line])
    ]


@pytest.mark.parametrize(("scenario", "setting", "variant"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_story(scenario: Scenario, setting: Setting, variant: Variant, rewrite: bool) -> None:
    shown = _shown(scenario, setting, variant)
    if rewrite and variant == Variant(setting.vocabularies[0], setting.dialects[0]):
        _rewrite(scenario, shown)
        return
    complaints = _complaints(scenario, shown)
    assert not complaints, "\n".join(complaints)


SHUFFLED = [case for case in CASES if case[2].n_shuffles]


@pytest.mark.parametrize(("scenario", "setting", "variant"), [c[1:] for c in SHUFFLED], ids=[c[0] for c in SHUFFLED])
def test_other_names_and_orders(
    scenario: Scenario, setting: Setting, variant: Variant, seed: int, is_long: bool
) -> None:
    for number in setting.shuffles(is_long):
        other = Variant(variant.levels, variant.dialect, number, seed)
        complaints = _complaints(scenario, _shown(scenario, setting, other))
        assert not complaints, f"shuffle {number} of seed {seed}:\n" + "\n".join(complaints)


def _rewrite(scenario: Scenario, shown: dict[int, list[Line]]) -> None:
    traces = {step.line: kept(step.expected, shown[step.line]) for step in scenario.steps}
    _pending.setdefault(scenario.page, {}).update(traces)


_pending: dict[Path, dict[int, list[str]]] = {}
"""Lines move when traces are rewritten, so each page is written once, at the end."""


@pytest.fixture(scope="module", autouse=True)
def written_pages() -> Iterator[None]:
    """Write the new traces after the last story."""
    yield
    for path, traces in _pending.items():
        path.write_text(page.rewritten(path.read_text(encoding="utf-8"), traces), encoding="utf-8")


def test_there_are_stories() -> None:
    assert len(SCENARIOS) > 20, os.listdir(STORIES)
