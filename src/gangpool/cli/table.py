"""Plain columns as kubectl prints them, and short forms of many names. No colour, no Unicode, no terminal needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

_GAP = "   "
_NAME = re.compile(r"(.*?)(\d{1,18})")


def plain(text: object) -> str:
    """Text of one line: control characters of foreign names are escaped, so that they cannot move the cursor."""
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in shown)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, with_heads: bool = True) -> Iterator[str]:
    """Lines of left-aligned columns three blanks apart, without blanks at the end."""
    cells = [[plain(cell) for cell in row] for row in rows]
    if with_heads:
        cells.insert(0, list(heads))
    widths = [max((len(row[i]) for row in cells), default=0) for i in range(len(heads))]
    for row in cells:
        yield _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in short: `0-3,6`.

    >>> ranges([0, 1, 2, 3, 6])
    '0-3,6'
    """
    return ",".join(low if low == high else f"{low}-{high}" for low, high in _runs(str(n) for n in sorted(numbers)))


def name_ranges(names: Iterable[str], limit: int = 0) -> str:
    """Names in short, sorted: those that differ in their last number only share a bracket. `limit` cuts the list
    after so many brackets or names, and says how many names are left out (0: no limit).

    >>> name_ranges(["node-0007", "node-0008", "node-0012", "gpu-a", "job-9", "job-10"])
    'gpu-a,job-[9-10],node-[0007-0008,0012]'
    """
    parts: list[tuple[str, int]] = []
    for (prefix, width), group in groupby(_split_all(names), key=lambda s: s[:2]):
        tails = [tail for _, _, tail in group]
        if width == 0:
            parts += [(prefix, 1)] * len(tails)
        elif len(tails) == 1:
            parts.append((prefix + tails[0], 1))
        else:
            runs = ",".join(low if low == high else f"{low}-{high}" for low, high in _runs(tails))
            parts.append((f"{prefix}[{runs}]", len(tails)))
    shown = parts[:limit] if limit else parts
    left_out = sum(n for _, n in parts[len(shown) :])
    return ",".join(text for text, _ in shown) + (f",... {left_out} more" if left_out else "")


def _split_all(names: Iterable[str]) -> list[tuple[str, int, str]]:
    """Names as `_split` has them, sorted by number. Numbers without leading zeros are of width 1, whatever they are,
    unless others of the same prefix and length have leading zeros."""
    found = {_split(name) for name in names}
    padded = {(prefix, width) for prefix, width, tail in found if width > 1 and tail[0] == "0"}
    merged = [(prefix, width if (prefix, width) in padded else min(width, 1), tail) for prefix, width, tail in found]
    return sorted(merged, key=lambda s: (s[0], s[1], int(s[2] or 0)))


def _split(name: str) -> tuple[str, int, str]:
    """(prefix, width of the number, number as text); width 0: the name ends in no number."""
    match = _NAME.fullmatch(name)
    return (match[1], len(match[2]), match[2]) if match else (name, 0, "")


def _runs(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """First and last of each run of consecutive numbers; the texts ascend."""
    run: list[str] = []
    for text in texts:
        if run and int(text) != int(run[-1]) + 1:
            yield run[0], run[-1]
            run = []
        run.append(text)
    if run:
        yield run[0], run[-1]
