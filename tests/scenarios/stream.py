"""Many gangs over virtual time: they arrive at a rate, run for a while and end; after each event one cycle."""

from __future__ import annotations

import heapq
import re

from tests.scenarios import parts
from tests.scenarios.ask import GangAsk, RoleAsk
from tests.scenarios.play import Group, Play, verb
from tests.scenarios.trace import Line
from tests.scenarios.verbs import finish, submit_gang

_STREAM = re.compile(
    r"(?P<count>\d+) gangs (?P<name>\S+) of (?P<least>\d+) to (?P<most>\d+) x (?P<cards>\d+), "
    r"(?P<rate>\d+) per second, each runs (?P<runs>[\d.]+)s, within (?P<within>[\d.]+)s"
)


@verb("stream")
def stream(play: Play, text: str) -> list[Line]:
    """`stream 60 gangs G of 1 to 8 x 1, 15 per second, each runs 3s, within 70s`: sizes go round. Ends when all have
    run, or when nothing moves any more."""
    found = _STREAM.fullmatch(text)
    if found is None:
        raise ValueError(f"stream {text!r}: see docs/scenarios.md")
    count, least, most = int(found["count"]), int(found["least"]), int(found["most"])
    runs_s, start_s = float(found["runs"]), play.now_s
    arrivals = [(start_s + i / int(found["rate"]), i) for i in range(count)]
    ends: list[tuple[float, str]] = []
    done_s = start_s
    while arrivals or ends:
        if arrivals and (not ends or arrivals[0][0] <= ends[0][0]):
            play.now_s, i = arrivals.pop(0)
            size = least + i % (most - least + 1)
            name = f"{found['name']}-{i + 1}"
            submit_gang(play, GangAsk(name, (RoleAsk("", size, int(found["cards"])),), size))
        else:
            play.now_s, name = heapq.heappop(ends)
            finish(play, name)
            done_s = play.now_s
        for group in _started(play):
            heapq.heappush(ends, (play.now_s + runs_s, play.worn.off(group.name)))
    n_done = sum(_has_run(play, group) for group in play.groups.values())
    took_s = done_s - start_s
    limit = found["within"]
    took = f"within {limit}s" if took_s <= float(limit) else f"in {took_s:.1f}s"
    return [Line(f"stream {found['name']}: {n_done} of {count} have run, {took}")]


def _started(play: Play) -> list[Group]:
    """One cycle; the gangs that are bound by it."""
    plan = play.cycle()
    names = {play.group_of[f"{seat.member.namespace}/{seat.member.name}"] for seat in plan.seats}
    return [play.groups[name] for name in sorted(names, key=parts.natural)]


def _has_run(play: Play, group: Group) -> bool:
    return all(pod["status"]["phase"] == "Succeeded" for pod in play.pods_of(group))
