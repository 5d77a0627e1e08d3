"""The measuring harness: wrong results have no figure, ratios come from runs by turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bench import harness
from bench.harness import Case, Measurement


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the real benchmarks out of these tests, and these out of the real ones."""
    monkeypatch.setattr(harness, "BENCHES", {})
    monkeypatch.setattr(harness, "FIGURES", {})


def scripted(seconds: list[float], log: list[str], name: str, count: int = 1) -> Case:
    """Build a workload whose runs take the given times; the run that does not count comes first."""
    times: Iterator[float] = iter(seconds)

    def work(_: Any) -> float:
        log.append(name)
        return next(times)

    return Case(work=work, check=lambda _, took_s: None, count=count, seconds=lambda took_s: took_s)


def test_median_spread_rate_and_ratio_of_runs_by_turns() -> None:
    log: list[str] = []
    harness.bench("new", reference="old", runs=3)(lambda: scripted([9.0, 1.0, 3.0, 2.0], log, "new", count=10))
    harness.bench("old")(lambda: scripted([9.0, 4.0, 4.0, 8.0], log, "old"))
    assert harness.measure("new") == [
        Measurement("new", "time", "s", 2.0, 1.0, 3.0, 3),
        Measurement("new", "rate", "1/s", 5.0, 10 / 3, 10.0, 3),
        Measurement("new", "ratio", "x", 0.5, 0.25, 0.75, 3),
    ]
    assert log == ["new", "old"] * 4


def test_a_wrong_result_has_no_figure() -> None:
    def check(_: Any, result: int) -> None:
        assert result == 2, "one is not two"

    harness.bench("wrong")(lambda: Case(work=lambda _: 1, check=check))
    with pytest.raises(AssertionError, match="one is not two"):
        harness.measure("wrong")


def test_each_run_has_a_state_of_its_own() -> None:
    states: list[list[int]] = []

    def prepare() -> list[int]:
        states.append([])
        return states[-1]

    case = Case(prepare=prepare, work=lambda state: state.append(1), check=lambda state, _: None)
    harness.bench("state", runs=3)(lambda: case)
    (measured,) = harness.measure("state")
    assert states == [[1]] * 4
    assert 0 <= measured.least <= measured.median <= measured.most


def test_two_of_one_name_are_refused() -> None:
    harness.figure("nodes", "nodes")(lambda: 3.0)
    assert harness.compute("nodes") == Measurement("nodes", "figure", "nodes", 3.0, 3.0, 3.0, 1)
    with pytest.raises(ValueError, match="two benchmarks are named nodes"):
        harness.bench("nodes")(lambda: Case(work=lambda _: 1, check=lambda _, __: None))
