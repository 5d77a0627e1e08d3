"""One hold on the Lease, and the times that it goes by. Values only; `candidate` makes them, `lease` reads them.

The clock is our own: whether a Lease is ours, and whether another's has run out, nobody else's clock decides.
"""

from __future__ import annotations

import time

from msgspec import Struct

DURATION_S = 15
_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> float:
    """Seconds of a clock that nobody sets, and that goes on while a machine is suspended."""
    return time.clock_gettime(_CLOCK)


class Times(Struct, frozen=True):
    """How long a Lease lasts; everything else follows from it."""

    duration_s: int = DURATION_S

    @property
    def renew_s(self) -> float:
        """Between two renewals."""
        return self.duration_s / 3

    @property
    def held_s(self) -> float:
        """So long after its last renewal a leader writes; then writes that are on their way have time to arrive."""
        return self.duration_s * 7 / 8

    @property
    def look_s(self) -> float:
        """Between two looks of a replica that waits, and between two tries in trouble. Takeover comes at most this
        long after the Lease has run out, and after a leader has given it back."""
        return min(1.0, self.duration_s / 15)

    @property
    def stall_s(self) -> float:
        """A loop without a sign of life for so long is not renewed for. A plan of some seconds is no stall."""
        return self.duration_s * 2 / 3

    @property
    def call_s(self) -> float:
        """Longest time for one request about the Lease."""
        return self.duration_s / 5


class Term(Struct, frozen=True):
    """Our hold on the Lease; `identity` "" is none. `before`: who held it until we took it, "" where it was given
    back. `is_fresh`: nobody has held it since our first look."""

    identity: str = ""
    before: str = ""
    renewed_at: float = 0.0
    is_fresh: bool = False


NONE = Term()
