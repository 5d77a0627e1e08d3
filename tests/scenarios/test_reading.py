"""The scenario language itself: a page that expects nothing, or the wrong thing, must not pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.ask import read_gang
from tests.scenarios.disguise import Disguise
from tests.scenarios.page import PageError, read_page, rewritten
from tests.scenarios.parts import read_line
from tests.scenarios.trace import Line, differences, kept, says, waits
from tests.scenarios.vocabulary import Vocabulary, read_vocabulary

PAGE = """# Page

```world
n1: 8
```

## One

```steps
> run
nothing waits

> free
free: 8 cards
```

## Two

```world
n2: 4
```

```steps
> run
```

```steps
> free
free: 4 cards
```
"""


def _write(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_page_is_read_as_scenarios_with_the_world_of_the_page(tmp_path: Path) -> None:
    one, two = read_page(_write(tmp_path, PAGE))
    assert (one.title, one.shared, one.own) == ("One", ["n1: 8"], [])
    assert (two.title, two.shared, two.own) == ("Two", ["n1: 8"], ["n2: 4"])
    assert [(s.command, s.expected) for s in one.steps] == [("run", ["nothing waits"]), ("free", ["free: 8 cards"])]


@pytest.mark.parametrize(
    "text",
    [
        "```steps\n> run\nnothing waits\n```\n",
        "## One\n\n```steps\n> run\n```\n",
        "## One\n\n```steps\n> run\n\nnothing waits\n```\n",
    ],
    ids=["no heading", "nothing expected", "trace away from its command"],
)
def test_a_page_that_cannot_be_meant_so_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(PageError):
        read_page(_write(tmp_path, text))


def test_rewriting_changes_traces_and_nothing_else() -> None:
    line = PAGE.splitlines().index("> run") + 1
    assert rewritten(PAGE, {}) == PAGE
    new = rewritten(PAGE, {line: ["bound G: n1", "bound H: n1"]})
    assert new == PAGE.replace("nothing waits\n", "bound G: n1\nbound H: n1\n")


def test_a_line_agrees_as_a_whole_or_by_one_of_its_choices() -> None:
    shown = Line("bound H: n1 n2")
    assert says("bound H: n1 n2", shown)
    assert says("bound H: n1 n3 | n1 n2", shown)
    assert not says("bound H: n1", shown)
    assert not says("bound G: n1 n2", shown)
    assert not says("bound H: n1 | n2", shown)


def test_a_reason_agrees_by_its_code_and_the_words_quoted() -> None:
    shown = waits("H", "cannot-fit", '9 of 10 members fit in rack r; cpu asked 4, best 2 ("r1")')
    assert says('waits H cannot-fit "9 of 10" "rack r" not "memory"', shown)
    assert not says('waits H cannot-fit "8 of 10"', shown)
    assert not says('waits H cannot-fit not "cpu"', shown)
    assert not says('waits H not-found "9 of 10"', shown)
    assert not says('waits G cannot-fit "9 of 10"', shown)
    assert says("waits H cannot-fit", shown)


def test_differences_name_what_is_missing_and_what_is_too_much() -> None:
    assert differences(["a"], [Line("a")]) == []
    assert len(differences(["a", "b"], [Line("a")])) == 1
    assert len(differences([], [Line("a")])) == 1
    assert len(differences(["a"], [Line("b")])) == 1


def test_a_rewritten_trace_keeps_lines_that_still_agree() -> None:
    reason = waits("H", "cannot-fit", "9 of 10 members fit")
    assert kept(['waits H cannot-fit "9 of 10"'], [reason]) == ['waits H cannot-fit "9 of 10"']
    assert kept(['waits H cannot-fit "8 of 10"'], [reason]) == ['waits H cannot-fit "9 of 10 members fit"']
    assert kept(["bound H: n1"], [Line("bound H: n1"), reason])[0] == "bound H: n1"


def test_a_gang_in_words() -> None:
    ask = read_gang("H master 1 x 8 (cpu=32), worker 3 x 4 required rack preferred a,b min 3 apart cpu=2 as native")
    assert [(r.name, r.count, r.cards) for r in ask.roles] == [("master", 1, 8), ("worker", 3, 4)]
    assert (ask.total, ask.minimum, ask.required, ask.preferred) == (4, 3, "rack", ("a", "b"))
    assert ask.apart and ask.dialect == "native"
    assert ask.asks(ask.roles[0]) == {"nvidia.com/gpu": "8", "cpu": "32"}
    assert ask.asks(ask.roles[1]) == {"nvidia.com/gpu": "4", "cpu": "2"}


@pytest.mark.parametrize("text", ["H", "H 2", "H 2 x 8 beside rack", "H 2 x 8 required", "H x 8"])
def test_a_gang_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"gang|word"):
        read_gang(text)


def test_a_node_in_words() -> None:
    levels = Vocabulary("preset", {"rack": "topology.kubernetes.io/rack"})
    first, second, busy = read_line("n1 n2 rack=r1 board=h100: 8 cpu=4", levels, Disguise(None)) + read_line(
        "pod old on n1: 3", levels, Disguise(None)
    )
    assert first["metadata"]["labels"]["topology.kubernetes.io/rack"] == "r1"
    assert (second["metadata"]["name"], second["status"]["allocatable"]["nvidia.com/gpu"]) == ("n2", "8")
    assert first["metadata"]["labels"]["board"] == "h100"
    assert first["status"]["allocatable"]["cpu"] == "4"
    assert busy["spec"]["nodeName"] == "n1"


def test_levels_in_words() -> None:
    levels = read_vocabulary("configured zone=a.example/zone rack=a.example/tier-0")
    assert levels.config().topology.levels == ("a.example/zone", "a.example/tier-0")
    assert (levels.tier("rack"), levels.tier("zone")) == (1, 2)
    assert levels.path("rack") == ["a.example/zone", "a.example/tier-0"]
    assert levels.in_words("3 of 4 members fit in tier-0 z/r") == "3 of 4 members fit in rack z/r"
    with pytest.raises(ValueError, match="levels"):
        read_vocabulary("guessed rack=a.example/rack")
