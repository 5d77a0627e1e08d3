"""The check of file lengths."""

from __future__ import annotations

import pytest

from scripts.lengths import complaints


@pytest.mark.parametrize(
    ("n_lines", "top", "fails"),
    [
        (400, "", []),
        (401, "", [False]),
        (999, "", [False]),
        (401, '"""X.\n\nLength: one table."""\n', []),
        (1_000, "", [True]),
    ],
)
def test_limits(n_lines: int, top: str, fails: list[bool]) -> None:
    text = top + "x = 1\n" * (n_lines - top.count("\n"))
    assert [fail for _, fail in complaints("a.py", text)] == fails


def test_a_reason_does_not_excuse_a_thousand_lines() -> None:
    assert [fail for _, fail in complaints("a.py", "# Length: why\n" + "\n" * 999)] == [True]
