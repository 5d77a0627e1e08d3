"""The world lines of a scenario, taken apart: options, and lines that make nodes and pods.

Options are `levels …` (once for each set of label keys that the scenario is played with), `dialects …` and
`shuffle N` (play it N times more, with other names and other orders; `shuffle N slow`: all N only in the long run).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tests.scenarios.controllers import DIALECTS, USUAL
from tests.scenarios.page import Scenario
from tests.scenarios.vocabulary import Vocabulary, read_vocabulary

SHORT_RUN = 4
"""So many shuffles of a slow scenario in the short run."""

OPTIONS = ("levels", "dialects", "shuffle")


class Setting(Struct, frozen=True):
    """`lines` make objects, see `parts.read_line`."""

    vocabularies: tuple[Vocabulary, ...] = (Vocabulary(),)
    dialects: tuple[str, ...] = USUAL
    n_shuffles: int = 0
    is_slow: bool = False
    lines: tuple[str, ...] = ()

    def shuffles(self, is_long: bool) -> range:
        """The numbers of the shuffles to play."""
        return range(1, (SHORT_RUN if self.is_slow and not is_long else self.n_shuffles) + 1)


def setting_of(scenario: Scenario) -> Setting:
    """The setting; what the scenario says itself goes before what its page says, option by option."""
    shared, own = _taken_apart(scenario.shared), _taken_apart(scenario.own)
    said = {word: own[word] or shared[word] for word in (*OPTIONS, "")}
    levels = tuple(read_vocabulary(text) for text in said["levels"])
    dialects = tuple(said["dialects"][-1].split()) if said["dialects"] else USUAL
    unknown = set(dialects) - set(DIALECTS)
    if unknown:
        raise ValueError(f"dialects: {sorted(unknown)} are none of {sorted(DIALECTS)}")
    shuffles = (said["shuffle"] or ["0"])[-1].split()
    slow = shuffles[1:] == ["slow"]
    return Setting(levels or (Vocabulary(),), dialects, int(shuffles[0]), slow, tuple(said[""]))


def _taken_apart(lines: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {word: [] for word in (*OPTIONS, "")}
    for line in lines:
        word, _, rest = line.partition(" ")
        if word in OPTIONS:
            found[word].append(rest)
        else:
            found[""].append(line)
    return found
