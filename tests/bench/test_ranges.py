"""Ranges of benchmarks: what is inside, what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench import __main__ as command
from bench.harness import Measurement
from bench.ranges import FILE, BadRange, Range, find, number, read

TIME = Measurement("gang", "time", "s", 0.010, 0.009, 0.012, 5)


@pytest.mark.parametrize(
    ("limits", "holds"),
    [({"at_most": 10.0}, True), ({"at_most": 9.9}, False), ({"at_least": 10.0}, True), ({"at_least": 10.1}, False)],
)
def test_the_median_is_compared_in_the_unit_of_the_range(limits: dict[str, float], holds: bool) -> None:
    assert Range("gang", "time", "ms", "", **limits).holds(TIME) is holds


def test_read_and_find() -> None:
    row = '[[range]]\nworkload="gang"\nkind="time"\nunit="ms"\nat_most=60\nat_least=1\nmeasured="9 (8 to 10)"\n'
    (found,) = read(row)
    assert find([found], TIME) == found
    assert find([found], replace(TIME, kind="ratio")) is None
    assert str(found) == "≥ 1 and ≤ 60 ms"


@pytest.mark.parametrize(
    "row",
    [
        'workload="g"\nkind="time"\nunit="ms"\nmeasured="9"',
        'workload="g"\nkind="time"\nunit="MiB"\nat_most=1\nmeasured="9"',
        'workload="g"\nkind="speed"\nunit="ms"\nat_most=1\nmeasured="9"',
        'workload="g"\nkind="time"\nunit="ms"\nat_most=1',
        'workload="g"\nkind="time"\nunit="ms"\nat_most=1\nmeasured="9"\nat_moist=2',
    ],
)
def test_bad_ranges_are_refused(row: str) -> None:
    with pytest.raises(BadRange, match="range of g"):
        read("[[range]]\n" + row)


def test_out_of_range_and_never_measured_are_wrong() -> None:
    limits = [Range("gang", "time", "ms", "", at_most=9.0), Range("gang", "ratio", "x", "", at_most=2.0)]
    assert command.judge([TIME], limits, ["gang"]) == [
        "gang: time is 10 ms, want ≤ 9 ms",
        "gang: ranges.toml has a range for its ratio, which nothing measured",
    ]
    assert command.table([TIME], limits)[1].split("  ")[-1] == "OUT OF RANGE"


def test_numbers_are_written_out() -> None:
    assert [number(n) for n in (0.2734, 9.5, 123456.7)] == ["0.2734", "9.5", "123,457"]


def test_the_committed_ranges_can_be_read() -> None:
    assert len(read(FILE.read_text(encoding="utf-8"))) >= 1
