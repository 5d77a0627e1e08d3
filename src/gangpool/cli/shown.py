"""Times and amounts as people read them, short; `-o json` has them exactly. Called by the texts of read commands."""

from __future__ import annotations

from gangpool.intake import times

_STEPS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
_BYTES = ("memory", "ephemeral-storage", "hugepages-")


def age(since: str | None, now_s: float) -> str:
    """How long ago, in one unit as kubectl writes it; "" where that is not known.

    >>> age("1970-01-01T00:01:00Z", 200.0), age("1970-01-01T00:01:00Z", 8000.0), age(None, 0.0)
    ('2m', '2h', '')
    """
    began_s = times.seconds(since)
    if began_s is None:
        return ""
    passed_s = max(int(now_s - began_s), 0)
    size, unit = next((step for step in _STEPS if passed_s >= 2 * step[0]), _STEPS[-1])
    return f"{passed_s // size}{unit}"


def amount(resource: str, text: str) -> str:
    """A plain decimal; bytes in the largest binary unit that leaves a whole number or more than 10, rounded down.

    >>> amount("memory", str(2 << 40)), amount("memory", str((2 << 40) - 1)), amount("cpu", "95.5")
    ('2Ti', '2047Gi', '95.5')
    """
    if not resource.startswith(_BYTES):
        return text
    n = int(text)
    for bits, unit in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        if abs(n) >> bits >= 10 or (n and n % (1 << bits) == 0):
            return f"{n >> bits}{unit}"
    return text


def last_word(level: str) -> str:
    """`leaf` of `network.topology.nvidia.com/leaf`."""
    return level.rpartition("/")[2]
