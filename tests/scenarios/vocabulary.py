"""Which node labels the words `rack`, `spine`, … of a scenario stand for, and how the pool comes to know them.

`levels configured rack=KEY` puts the keys into the configuration, `levels preset …` leaves it to the presets, and
with `levels named …` nobody says them but the workload itself.
"""

from __future__ import annotations

import re

from msgspec import Struct

from gangpool.intake.config import Config, TopologyConfig

MODES = ("configured", "preset", "named")


class Vocabulary(Struct, frozen=True):
    """`keys`: word to label key, widest level first."""

    mode: str = "preset"
    keys: dict[str, str] = {}

    @property
    def name(self) -> str:
        """For the ids of tests: mode and the nearest key."""
        return f"{self.mode}-{list(self.keys.values())[-1].rpartition('/')[2]}" if self.keys else "flat"

    def key(self, word: str) -> str:
        """The label key of a level; other words are keys themselves."""
        return self.keys.get(word, word)

    def tier(self, word: str) -> int:
        """Volcano's number of a level: 1 is the nearest. Only where pool and workload count the same levels."""
        return len(self.keys) - list(self.keys).index(word)

    def path(self, word: str) -> list[str]:
        """The keys that tell a domain of a level: its own and all wider ones."""
        keys = list(self.keys.values())
        return keys[: keys.index(self.keys[word]) + 1]

    def config(self) -> Config:
        """The configuration of the pool."""
        return Config(topology=TopologyConfig(tuple(self.keys.values()) if self.mode == "configured" else None))

    def in_words(self, message: str) -> str:
        """A reason with the scenario's words for levels instead of the keys' last parts."""
        for word, key in self.keys.items():
            message = re.sub(rf"\b(in|level|one) {re.escape(key.rpartition('/')[2])}\b", rf"\1 {word}", message)
        return message


def read_vocabulary(line: str) -> Vocabulary:
    """`configured zone=KEY rack=KEY`; ValueError when it is none."""
    mode, *pairs = line.split()
    if mode not in MODES:
        raise ValueError(f"levels {mode}: say one of {', '.join(MODES)}")
    keys = {}
    for pair in pairs:
        word, equals, key = pair.partition("=")
        if not equals or not key:
            raise ValueError(f"levels: {pair!r} is no WORD=KEY")
        keys[word] = key
    return Vocabulary(mode, keys)
