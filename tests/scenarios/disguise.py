"""Other names for everything, so that a right answer cannot hang on the alphabet.

Nodes, domains and workloads get random names; what is shown is put back into the scenario's own.
"""

from __future__ import annotations

import re
from random import Random


class Disguise:
    """With a source of random numbers all names are other ones; without it names stay."""

    def __init__(self, rng: Random | None) -> None:
        self._rng = rng
        self._worn: dict[str, str] = {}
        self._real: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        """The name that the cluster sees."""
        if self._rng is None or not name:
            return name
        if name not in self._worn:
            worn = f"{self._rng.choice('aefkmsxz')}q{self._rng.randrange(10**9):09d}y"
            self._worn[name], self._real[worn] = worn, name
        return self._worn[name]

    def off(self, text: str) -> str:
        """A text in the scenario's names."""
        if not self._real:
            return text
        return re.sub(r"[a-z]q\d{9}y", lambda found: self._real.get(found[0], found[0]), text)
