"""Traces: what a command showed, and whether a written line says the same.

A line is compared as a whole, but for two freedoms: `bound H: n1 n2 | n1 n3` allows either, and a `waits` line names
only the words of the reason that matter: `waits H cannot-fit "rack r1" "9 of 10" not "memory"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

_WORDS = re.compile(r'(not )?"([^"]*)"')


class Line(Struct, frozen=True):
    """One line shown. `message`: the words of a reason, which may be quoted in part."""

    text: str
    message: str | None = None

    def full(self) -> str:
        """The line as `--rewrite` writes it."""
        return self.text if self.message is None else f'{self.text} "{self.message}"'


def waits(who: str, code: str, message: str) -> Line:
    """The line of a gang or pod that waits."""
    return Line(f"waits {who} {code}", message.replace('"', "'"))


def says(expected: str, line: Line) -> bool:
    """Does the written line agree with what was shown?"""
    if line.message is None:
        head, colon, rest = expected.partition(":")
        if not colon:
            return expected == line.text
        return line.text in {f"{head}: {choice.strip()}" for choice in rest.split("|")}
    if '"' not in expected:
        return expected == line.text
    words = _WORDS.findall(expected)
    head = expected[: expected.index('"')].removesuffix("not ").strip()
    return head == line.text and all((word in line.message) is not bool(negated) for negated, word in words)


def differences(expected: Sequence[str], shown: Sequence[Line]) -> list[str]:
    """What is not as written, as sentences; empty: the trace agrees."""
    found = []
    for i in range(max(len(expected), len(shown))):
        want = expected[i] if i < len(expected) else None
        have = shown[i] if i < len(shown) else None
        if want is None and have is not None:
            found.append(f"not expected: {have.full()}")
        elif have is None:
            found.append(f"missing: {want}")
        elif want is not None and not says(want, have):
            found.append(f"expected: {want}\n     shown: {have.full()}")
    return found


def kept(expected: Sequence[str], shown: Iterable[Line]) -> list[str]:
    """The new trace: lines that still agree stay as they are written, others are written in full."""
    lines = list(shown)
    same = len(expected) == len(lines)
    return [expected[i] if same and says(expected[i], line) else line.full() for i, line in enumerate(lines)]
