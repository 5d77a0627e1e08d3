"""The scheduler's metrics: every series with its meaning, and where its value is read.

`/metrics` calls `text_of`; the page docs/reference/metrics.md is generated from `SERIES`. Values are read from their
owners at that moment; `Meters` holds the few that must be fed as things happen.
"""

from __future__ import annotations

import os
import resource
import time
from collections import Counter
from typing import TYPE_CHECKING

from gangpool.live.state import resource_of
from gangpool.serve.metrics import Histogram, Labels, Series, Values, exposition

if TYPE_CHECKING:  # the scheduler feeds the meters
    from gangpool.live.scheduler import Scheduler

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

OUTCOMES = ("applied", "restart", "bad")

SERIES: tuple[Series, ...] = (
    Series("gangpool_leader", "gauge", "1 while this replica holds the Lease, else 0."),
    Series("gangpool_leader_terms_total", "counter", "Times that this replica began to lead."),
    Series("gangpool_lease_left_seconds", "gauge", "So long it leads without another renewal; 0 while it does not."),
    Series("gangpool_fence_present", "gauge", "1 where the API server refuses Bindings of whoever does not lead."),
    Series("gangpool_fence_outdated", "gauge", "1 where the installed fence is not the one of this version."),
    Series("gangpool_fence_refusals_total", "counter", "Bindings not sent or refused because another replica leads."),
    Series("gangpool_ready", "gauge", "1 once every resource has been listed."),
    Series("gangpool_scheduling_duration_seconds", "histogram", "From when a pod was seen to wait until its node was."),
    Series("gangpool_settle_duration_seconds", "histogram", "Time to bring gangs up to date before a plan."),
    Series("gangpool_plan_duration_seconds", "histogram", "Time of one plan of everything that waits."),
    Series("gangpool_commit_duration_seconds", "histogram", "From a decision to the answer about its last bind."),
    Series("gangpool_loop_lag_seconds", "histogram", "How late the event loop's sign of life was, four a second."),
    Series("gangpool_decisions_total", "counter", "Decisions: members seated, units refused, gangs undone."),
    Series("gangpool_refusals_total", "counter", "Times that a gang or single pod began to wait, by reason code."),
    Series("gangpool_waiting_units", "gauge", "Gangs and single pods that wait now, by reason code."),
    Series("gangpool_waiting_pods", "gauge", "Pods that wait now."),
    Series("gangpool_oldest_wait_seconds", "gauge", "Age of the oldest pod that waits; 0 when none does."),
    Series("gangpool_resting_units", "gauge", "Units that are left alone after the API server refused their bind."),
    Series("gangpool_binds_total", "counter", "Bindings by outcome: bound or lost."),
    Series("gangpool_bind_conflicts_total", "counter", "Bindings that the API server answered with a conflict."),
    Series("gangpool_gangs_undone_total", "counter", "Half-bound gangs that were evicted as a whole."),
    Series("gangpool_evictions_total", "counter", "Pods evicted."),
    Series("gangpool_writes_total", "counter", "Conditions, events and gang statuses written."),
    Series("gangpool_writes_failed_total", "counter", "Such writes refused, by HTTP status (0: no answer)."),
    Series("gangpool_writes_queued", "gauge", "Such writes that wait for their turn."),
    Series("gangpool_api_errors_total", "counter", "Requests without an answer: refused, reset or timed out."),
    Series("gangpool_api_refusals_total", "counter", "Answers of the API server of 400 and above, by HTTP status."),
    Series("gangpool_api_throttled_total", "counter", "Requests that the API server answered with 429."),
    Series("gangpool_lists_total", "counter", "Full lists by resource."),
    Series("gangpool_watches_total", "counter", "Watches begun by resource."),
    Series("gangpool_watch_gaps_total", "counter", "Times that the server had forgotten where a watch was (410)."),
    Series("gangpool_pool_nodes", "gauge", "Nodes of the pool."),
    Series("gangpool_pool_cards", "gauge", "Whole cards of the pool, by state: all or free."),
    Series("gangpool_config_valid", "gauge", "0 while the configuration file is bad and the last good one holds."),
    Series("gangpool_config_restart_needed", "gauge", "1 while the file differs from what this process goes by."),
    Series("gangpool_config_reads_total", "counter", "Changes of the file by outcome: applied, restart (needed), bad."),
    Series("process_cpu_seconds_total", "counter", "User and system CPU time of this process."),
    Series("process_resident_memory_bytes", "gauge", "Resident memory of this process."),
)


class Meters:
    """What happened so far in this process, fed by the scheduler."""

    def __init__(self) -> None:
        self.settle = Histogram(SECONDS)
        self.plan = Histogram(SECONDS)
        self.commit = Histogram(SECONDS)
        self.lag = Histogram(SECONDS)
        self.n_seats = 0
        self.n_fenced = 0


def text_of(scheduler: Scheduler) -> str:
    """The text of /metrics. O(units that wait + nodes)."""
    values = {**_stages(scheduler), **_waiting(scheduler, time.time()), **_edges(scheduler), **_pool(scheduler)}
    return exposition((series, values[series.name]) for series in SERIES)


def _stages(scheduler: Scheduler) -> dict[str, Values]:
    meters, binder, undo = scheduler.meters, scheduler.binder, scheduler.undo
    refusals = scheduler.reporter.notices.refusals
    return {
        "gangpool_leader": float(scheduler.leadership.is_held()),
        "gangpool_leader_terms_total": scheduler.leadership.n_terms,
        "gangpool_lease_left_seconds": scheduler.leadership.left_s(),
        "gangpool_fence_present": _known(scheduler.fence.is_present),
        "gangpool_fence_outdated": _known(scheduler.fence.is_outdated),
        "gangpool_fence_refusals_total": meters.n_fenced,
        "gangpool_ready": float(scheduler.is_ready),
        "gangpool_scheduling_duration_seconds": scheduler.follower.waited,
        "gangpool_settle_duration_seconds": meters.settle,
        "gangpool_plan_duration_seconds": meters.plan,
        "gangpool_commit_duration_seconds": meters.commit,
        "gangpool_loop_lag_seconds": meters.lag,
        "gangpool_decisions_total": _by(
            "decision", {"seat": meters.n_seats, "refuse": refusals.total(), "undo": undo.n_undone}
        ),
        "gangpool_refusals_total": _by("code", refusals),
        "gangpool_binds_total": _by("outcome", {"bound": binder.n_bound, "lost": binder.n_lost}),
        "gangpool_bind_conflicts_total": binder.n_conflicts,
        "gangpool_gangs_undone_total": undo.n_undone,
        "gangpool_evictions_total": undo.n_evicted,
    }


def _waiting(scheduler: Scheduler, wall: float) -> dict[str, Values]:
    units: Counter[str] = Counter()
    n_pods, oldest = 0, wall
    for code, members in scheduler.reporter.notices.waiting():
        units[code] += 1
        n_pods += len(members)
        oldest = min(oldest, *(member.created for member in members))
    now = time.monotonic()
    return {
        "gangpool_waiting_units": _by("code", units),
        "gangpool_waiting_pods": n_pods,
        "gangpool_oldest_wait_seconds": max(0.0, wall - oldest),
        "gangpool_resting_units": len(scheduler.committer.rests.keys(now)),
    }


def _edges(scheduler: Scheduler) -> dict[str, Values]:
    lists: Counter[str] = Counter()
    watches: Counter[str] = Counter()
    gaps: Counter[str] = Counter()
    for path, reflector in scheduler.follower.reflectors.items():
        name = resource_of(path)
        lists[name] += reflector.n_lists
        watches[name] += reflector.n_watches
        gaps[name] += reflector.n_gaps
    file = scheduler.config_file
    reporter, transport = scheduler.reporter, scheduler.client.transport
    failed = {str(status): n for status, n in reporter.n_failed.items()}
    return {
        "gangpool_writes_total": _by("what", reporter.n_writes),
        "gangpool_writes_failed_total": _by("status", failed),
        "gangpool_writes_queued": reporter.notices.n_queued,
        "gangpool_api_errors_total": transport.n_errors,
        "gangpool_api_refusals_total": _by("status", {str(status): n for status, n in transport.n_refused.items()}),
        "gangpool_api_throttled_total": transport.n_throttled,
        "gangpool_lists_total": _by("resource", lists),
        "gangpool_watches_total": _by("resource", watches),
        "gangpool_watch_gaps_total": _by("resource", gaps),
        "gangpool_config_valid": float(file.is_valid),
        "gangpool_config_restart_needed": float(bool(file.needs_restart)),
        "gangpool_config_reads_total": _by("outcome", {name: file.n_read[name] for name in OUTCOMES}),
    }


def _pool(scheduler: Scheduler) -> dict[str, Values]:
    ledger = scheduler.follower.world.pool.ledger
    nodes = [i for i, _ in ledger.alive()]
    cards = {
        "all": sum(ledger.all_cards.at[i] for i in nodes),
        "free": sum(max(ledger.free_cards.at[i], 0) for i in nodes),
    }
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "gangpool_pool_nodes": len(nodes),
        "gangpool_pool_cards": _by("state", cards),
        "process_cpu_seconds_total": usage.ru_utime + usage.ru_stime,
        "process_resident_memory_bytes": _resident_bytes(),
    }


def _known(value: bool | None) -> Values:
    """Nothing where it is not known."""
    return {} if value is None else float(value)


def _by(label: str, values: dict[str, int]) -> dict[Labels, float]:
    return {((label, key),): n for key, n in values.items()}


def _resident_bytes() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - Linux only; elsewhere the peak
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
