"""Scenario pages: Markdown in, scenarios out, and the same page with other traces.

A page tells a story; its fenced blocks are executed. ```` ```world ```` describes nodes and options, ```` ```steps ````
holds commands (`> …`) with the trace that each must give below it. A `##` heading begins a scenario; a world block
before the first one counts for all of the page. Read by `test_stories`; the words are in docs/scenarios.md.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

FENCE = "```"
WORLD, STEPS = "world", "steps"


class PageError(Exception):
    """A page cannot be read; says where and why."""


class Step(Struct):
    """One command and the trace below it. `line` is that of the command, counted from 1."""

    line: int
    command: str
    expected: list[str]


class Scenario(Struct):
    """One story. `shared` are the world lines of its page, `own` those below its heading."""

    page: Path
    title: str
    shared: list[str]
    own: list[str]
    steps: list[Step]

    @property
    def name(self) -> str:
        """For the ids of tests: page and title, words joined."""
        words = "".join(c if c.isalnum() else " " for c in self.title.lower()).split()
        return f"{self.page.stem}-{'-'.join(words)}"


def read_page(path: Path) -> list[Scenario]:
    """The scenarios of one page, in order. Raises PageError."""
    shared: list[str] = []
    found: list[Scenario] = []
    block = ""
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = text.strip()
        if line.startswith(FENCE):
            block = "" if block else line.removeprefix(FENCE).strip() or "other"
        elif not block and line.startswith("## "):
            found.append(Scenario(path, line.removeprefix("## ").strip(), shared, [], []))
        elif not line or line.startswith("#"):
            continue
        elif block == WORLD:
            (found[-1].own if found else shared).append(line)
        elif block == STEPS:
            _add(found, path, number, line)
    for scenario in found:
        if not any(step.expected for step in scenario.steps):
            raise PageError(f"{path.name}: {scenario.title!r} expects nothing")
    return found


def _add(found: list[Scenario], path: Path, number: int, line: str) -> None:
    where = f"{path.name}:{number}"
    if not found:
        raise PageError(f"{where}: steps before the first ## heading")
    steps = found[-1].steps
    if line.startswith(">"):
        steps.append(Step(number, line[1:].strip(), []))
    elif not steps or number != steps[-1].line + len(steps[-1].expected) + 1:
        raise PageError(f"{where}: a trace stands directly below its command")
    else:
        steps[-1].expected.append(line)


def rewritten(text: str, traces: dict[int, list[str]]) -> str:
    """The page with the trace of each command in `traces` (by its line) replaced."""
    lines = text.splitlines()
    out: list[str] = []
    number = 0
    while number < len(lines):
        out.append(lines[number])
        number += 1
        if number in traces:
            out += traces[number]
            while number < len(lines) and _is_trace(lines[number].strip()):
                number += 1
    return "\n".join(out) + "\n"


def _is_trace(line: str) -> bool:
    return bool(line) and not line.startswith((">", "#", FENCE))
