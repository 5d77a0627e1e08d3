"""What a log shows of lines that come by the dozen."""

from __future__ import annotations

import logging

from gangpool.cli.fold import PERIOD_S, SHOWN, Fold


def shown(fold: Fold, at: float, text: str, *args: object, level: int = logging.WARNING) -> str:
    """The line as it is shown, "" for none."""
    record = logging.LogRecord("gangpool.kube", level, "x.py", 1, text, args, None)
    record.created = at
    return record.getMessage() if fold.filter(record) else ""


def test_the_first_of_a_kind_are_shown_and_the_others_counted() -> None:
    fold = Fold()
    lines = [shown(fold, 1.0, "follow-trouble path=%s", number) for number in range(40)]
    assert [line for line in lines if line] == [f"follow-trouble path={number}" for number in range(SHOWN)]
    assert shown(fold, 1.0 + PERIOD_S, "follow-trouble path=%s", 7) == f"follow-trouble path=7 unseen={40 - SHOWN}"


def test_a_new_period_begins_with_the_line_that_is_shown() -> None:
    fold = Fold()
    for at in (0.0, PERIOD_S, 2 * PERIOD_S):
        lines = [shown(fold, at, "x") for _ in range(SHOWN + 2)]
        assert sum(bool(line) for line in lines) == SHOWN
    assert shown(fold, 3 * PERIOD_S, "x") == "x unseen=2"


def test_kinds_are_told_apart_and_errors_always_shown() -> None:
    fold = Fold()
    assert all(shown(fold, 0.0, f"kind-{number}") for number in range(20))
    assert all(shown(fold, 0.0, "fenced", level=logging.ERROR) for _ in range(20))


def test_few_lines_are_left_as_they_are() -> None:
    fold = Fold()
    assert [shown(fold, at, "bind-lost pod=%s", "a") for at in (0.0, 1.0, 60.0)] == ["bind-lost pod=a"] * 3
