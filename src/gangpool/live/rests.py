"""Units that are left alone for a while after a bind of theirs did not come about, each time longer.

Called by `scheduler`, which plans around them. Two causes: the server refuses (a policy, a quota): the reason is
told and tried again after 1 s, 2 s, … up to a minute; or the pod was not as we knew it (gone, made anew, bound by
another): a watch will show so in a moment, so the first rest is short. Without it, a bind that fails and a plan that
does not know why would chase each other. Times are monotonic seconds. Mutable owner of who rests.
"""

from __future__ import annotations

from collections.abc import Container

from msgspec import Struct

FIRST_REFUSED_S = 1.0
FIRST_OUTDATED_S = 0.05
MOST_S = 60.0


class Rest(Struct, frozen=True):
    """Until when, after how many tries; `text`: the server's refusal, "" where there is none."""

    until: float
    tries: int
    text: str


class Rests:
    """By key of unit."""

    def __init__(self) -> None:
        self._rests: dict[str, Rest] = {}

    def refused(self, key: str, now: float, text: str) -> float:
        """The server refuses the unit's binds; `text` is told while it rests. Seconds until the next try."""
        return self._again(key, now, FIRST_REFUSED_S, text)

    def outdated(self, key: str, now: float) -> float:
        """A pod of the unit was not as we knew it."""
        return self._again(key, now, FIRST_OUTDATED_S, "")

    def _again(self, key: str, now: float, first_s: float, text: str) -> float:
        before = self._rests.get(key)
        tries = before.tries if before is not None and bool(before.text) == bool(text) else 0
        wait_s = min(first_s * 2.0 ** min(tries, 20), MOST_S)
        self._rests[key] = Rest(now + wait_s, tries + 1, text)
        return wait_s

    def is_refused(self, key: str) -> bool:
        """The server has refused it, and it has not come about since."""
        rest = self._rests.get(key)
        return rest is not None and bool(rest.text)

    def done(self, key: str) -> None:
        """All its binds came about."""
        self._rests.pop(key, None)

    def keys(self, now: float) -> frozenset[str]:
        """Who rests now."""
        return frozenset(key for key, rest in self._rests.items() if rest.until > now)

    def texts(self, now: float) -> dict[str, str]:
        """The server's refusal of those that rest now because of one."""
        return {key: rest.text for key, rest in self._rests.items() if rest.until > now and rest.text}

    def next_s(self, now: float, most_s: float) -> float:
        """Seconds until the next of them may be planned again, at most `most_s`."""
        return min((most_s, *(rest.until - now for rest in self._rests.values() if rest.until > now)))

    def keep(self, units: Container[str]) -> None:
        """Forget all others: they are gone. O(rests)."""
        for key in [key for key in self._rests if key not in units]:
            del self._rests[key]
