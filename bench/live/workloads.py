"""The live workloads by name, and the figures that each of them gives.

Called by `__main__`. Sizes are those of the issue that asked for them, scaled down for a try-out. Time here is wall
time, for the API server, etcd and the scheduler share the machine: only ratios of one run can be compared.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Coroutine, Sequence

from msgspec import Struct

from bench.harness import Measurement
from bench.live import large, moments, rates, things


class Size(Struct, frozen=True):
    """How large, and how often. `scale`: 1 for the figures that count."""

    scale: float = 1.0
    rounds: int = 3

    def of(self, n: int, step: int = 4) -> int:
        """A number of pods or nodes at this scale."""
        return max(step, int(n * self.scale) // step * step)


async def binds(size: Size) -> list[Measurement]:
    """Gangs of 4 and 8: an open loop with and without a watch, gangpool, in turns; then kube-scheduler."""
    bare, watching, ours = [], [], []
    for i in range(size.rounds):
        bare.append(await rates.open_loop(size.of(10_000), "none"))
        say(f"open loop without a watch, round {i + 1}: {bare[-1].per_s:.0f}/s")
        watching.append(await rates.open_loop(size.of(10_000), "pods"))
        say(f"open loop, round {i + 1}: {watching[-1].per_s:.0f}/s")
        ours.append(await rates.gangpool(size.of(10_000)))
        say(f"gangpool, round {i + 1}: {ours[-1].per_s:.0f}/s, first bind after {ours[-1].first_s:.2f} s")
    peer = await rates.kube_scheduler(size.of(1_500))
    say(f"kube-scheduler: {peer.per_s:.0f}/s, first bind after {peer.first_s:.2f} s")
    per_s = [found.per_s for found in ours]
    return [
        of("open-loop", "rate", "1/s", [found.per_s for found in watching]),
        of("open-loop-cpu", "figure", "ms", [found.cpu_per_bind_s * 1e3 for found in watching]),
        of("watch-cost", "ratio", "x", _pairs([w.per_s for w in watching], [b.per_s for b in bare])),
        of("gangs", "rate", "1/s", per_s),
        of("gangs", "ratio", "x", _pairs(per_s, [found.per_s for found in watching])),
        of("gangs-cpu", "figure", "ms", [found.cpu_per_bind_s * 1e3 for found in ours]),
        of("gangs-first-bind", "time", "s", [found.first_s for found in ours]),
        of("gangs-first-bind-cpu", "figure", "s", [found.first_cpu_s for found in ours]),
        of("gangs-kube-scheduler", "rate", "1/s", [peer.per_s]),
        of("gangs-kube-scheduler-first-bind", "time", "s", [peer.first_s]),
        of("gangs-beside-kube-scheduler", "ratio", "x", [rate / peer.per_s for rate in per_s]),
    ]


async def gang(size: Size) -> list[Measurement]:
    """One gang of 500, from its last pod to its last bind, by turns with kube-scheduler."""
    ours, theirs = [], []
    for i in range(size.rounds):
        ours.append(await moments.gang(things.OURS, size.of(500)))
        theirs.append(await moments.gang(things.THEIRS, size.of(500)))
        say(f"gang of {size.of(500)}, round {i + 1}: {ours[-1]:.2f} s, kube-scheduler {theirs[-1]:.2f} s")
    return [
        of("gang-500", "time", "s", ours),
        of("gang-500", "ratio", "x", _pairs(ours, theirs)),
        of("gang-500-kube-scheduler", "time", "s", theirs),
    ]


async def pod(size: Size) -> list[Measurement]:
    """Single pods, one after another, on an idle cluster."""
    return [of("pod", "time", "s", await moments.pods(size.of(100)))]


async def start(size: Size) -> list[Measurement]:
    """A start on a large cluster."""
    found = await large.start(size.of(5_000), size.of(135_000), size.of(5_000))
    return [
        of("start-140000", "time", "s", [found.first_s]),
        of("start-140000-cpu", "figure", "s", [found.first_cpu_s]),
        of("start-140000", "memory", "bytes", [found.peak_bytes]),
    ]


Workload = Callable[[Size], Coroutine[None, None, list[Measurement]]]
WORKLOADS: dict[str, Workload] = {"binds": binds, "gang": gang, "pod": pod, "start": start}
NAMES: dict[str, tuple[str, ...]] = {
    "binds": (
        *("open-loop", "open-loop-cpu", "watch-cost", "gangs", "gangs-cpu", "gangs-first-bind", "gangs-first-bind-cpu"),
        *("gangs-kube-scheduler", "gangs-kube-scheduler-first-bind", "gangs-beside-kube-scheduler"),
    ),
    "gang": ("gang-500", "gang-500-kube-scheduler"),
    "pod": ("pod",),
    "start": ("start-140000", "start-140000-cpu"),
}
"""Names of the figures of each workload, as ranges.toml has them."""


def of(name: str, kind: str, unit: str, values: Sequence[float]) -> Measurement:
    """A measurement from its values."""
    return Measurement(name, kind, unit, statistics.median(values), min(values), max(values), len(values))


def _pairs(values: Sequence[float], references: Sequence[float]) -> list[float]:
    """Ratios of what ran one right after the other."""
    return [a / b for a, b in zip(values, references, strict=True)]


def say(text: str) -> None:
    """Progress, with the load of the machine."""
    print(f"{text} (load {os.getloadavg()[0]:.1f})", file=sys.stderr, flush=True)
