"""Columns, short forms of names, and foreign text that must not reach the terminal raw."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gangpool.cli.table import name_ranges, plain, ranges, table


def test_columns_are_three_blanks_apart_and_end_without_blanks() -> None:
    assert list(table(("NAME", "FREE"), [("node-0", 8), ("n", "")])) == ["NAME     FREE", "node-0   8", "n"]


def test_headings_can_be_left_out() -> None:
    assert list(table(("NAME", "FREE"), [("n", 8)], with_heads=False)) == ["n   8"]


def test_no_rows_leave_the_headings() -> None:
    assert list(table(("A", "B"), [])) == ["A   B"]


def test_control_characters_are_escaped() -> None:
    assert plain("a\x1b[31m\tb\n") == "a\\x1b[31m\\tb\\n"
    assert plain("千卡") == "千卡"


def test_numbers_in_short() -> None:
    assert ranges([]) == ""
    assert ranges([7, 0, 1, 2]) == "0-2,7"


def test_names_keep_their_leading_zeros() -> None:
    assert name_ranges(["n-08", "n-09", "n-10", "n-7"]) == "n-7,n-[08-10]"


def test_numbers_without_leading_zeros_share_a_bracket() -> None:
    assert name_ranges(["n-9", "n-10", "n-11", "n-100", "n-099"]) == "n-[9-11],n-[099-100]"


def test_a_long_list_says_how_many_are_left_out() -> None:
    assert name_ranges(["a", "b", "c-1", "c-2"], limit=2) == "a,b,... 2 more"


NAMES = st.sets(st.from_regex(r"[a-b]?-?[0-9]{0,3}", fullmatch=True).filter(bool), max_size=8)


@given(NAMES)
def test_every_name_can_be_read_back(names: set[str]) -> None:
    text = name_ranges(names)
    read: list[str] = []
    for part in _parts(text):
        prefix, bracket, runs = part.partition("[")
        for run in runs.rstrip("]").split(",") if bracket else [""]:
            low, _, high = run.partition("-")
            numbers = range(int(low), int(high or low) + 1) if low else []
            read += [f"{prefix}{number:0{len(low)}}" for number in numbers] or [prefix]
    assert sorted(read) == sorted(names)


def _parts(text: str) -> list[str]:
    parts, depth = [""], 0
    for c in text:
        depth += (c == "[") - (c == "]")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [part for part in parts if part]
