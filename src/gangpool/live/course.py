"""How far the members of gangs are: which run, which have finished and stay as objects.

The follower tells what pods turn to; `notices` asks when it says how a gang stands, since a finished pod is in no unit
any more. Mutable; holds finished pods of gangs that exist, nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from gangpool.objects.pod import Pod

RUNNING, SUCCEEDED, FAILED = "Running", "Succeeded", "Failed"


class Counts(Struct, frozen=True):
    """Members of a gang by phase. What has no node, or has not begun, is not counted."""

    running: int = 0
    succeeded: int = 0
    failed: int = 0


class Course:
    """Finished members by gang, and who has turned since somebody asked."""

    def __init__(self) -> None:
        self._finished: dict[str, dict[str, str]] = {}
        self._gang_of: dict[str, str] = {}
        self._turned: dict[str, str] = {}

    def runs(self, uid: str, gang: str) -> None:
        """A member has begun."""
        self._turned[uid] = gang

    def finished(self, uid: str, gang: str, phase: str) -> None:
        """A member has succeeded or failed."""
        self._finished.setdefault(gang, {})[uid] = phase
        self._gang_of[uid] = gang
        self._turned[uid] = gang

    def gone(self, uid: str) -> None:
        """A pod is gone: a finished one counts no more."""
        self._turned.pop(uid, None)
        gang = self._gang_of.pop(uid, None)
        if gang is not None:
            del self._finished[gang][uid]
            if not self._finished[gang]:
                del self._finished[gang]

    def turned(self) -> dict[str, str]:
        """Gangs, each with one of its members, in which something has turned since the last call."""
        found, self._turned = self._turned, {}
        return {gang: uid for uid, gang in found.items()}

    def counts(self, gang: str, seated: Iterable[str], pods: Mapping[str, Pod]) -> Counts:
        """Of one gang; `seated`: uids of its members with nodes."""
        phases = Counter(self._finished.get(gang, {}).values())
        running = sum(pods[uid].status.phase == RUNNING for uid in seated if uid in pods)
        return Counts(running, phases[SUCCEEDED], phases[FAILED])
