"""The scheduler's metrics, read by Prometheus' own parser."""

from __future__ import annotations

import re
import time
from typing import Any

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from gangpool.core.model import Reason, Wait
from gangpool.intake.config import Config
from gangpool.kube.lease import Leadership
from gangpool.live.scheduler import Scheduler
from gangpool.live.series import SERIES, text_of
from gangpool.objects.node import Node
from tests.kube.standin import in_loop, served
from tests.live.stage import pod_of

UNITS = ("_seconds", "_bytes")


def read(scheduler: Scheduler) -> dict[str, Any]:
    """Samples by name and labels."""
    found: dict[str, Any] = {}
    for family in text_string_to_metric_families(text_of(scheduler)):
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


@in_loop
async def test_what_happened_is_shown() -> None:
    async with served() as (_, client):
        scheduler = Scheduler(client, Config(), Leadership(client, "ns", "lease", "a"))
        node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"nvidia.com/gpu": "8", "pods": "10"}}}
        scheduler.follower.world.node(msgspec.convert(node, Node))
        scheduler.follower.take_pod(pod_of("a"))
        (unit,) = scheduler.follower.world.pool.waiting()
        scheduler.reporter.waits([Wait("", tuple(unit.waiting.values()), Reason("cannot-fit", "x"))], {})
        scheduler.committer.rests.refused("ml/g", time.monotonic(), "quota")
        scheduler.meters.plan.observe(0.003)
        scheduler.meters.plan.observe(70.0)
        scheduler.meters.n_seats = 4
        scheduler.binder.n_bound = 3
        scheduler.undo.n_undone = 1
        scheduler.follower.pod_reflector.n_watches = 5
        client.transport.n_throttled = 2
        found = read(scheduler)
        assert found["gangpool_leader"] == 0
        assert found["gangpool_ready"] == 0
        assert found["gangpool_plan_duration_seconds_count"] == 2
        assert found["gangpool_plan_duration_seconds_sum"] == 70.003
        assert found["gangpool_plan_duration_seconds_bucket{le=0.0025}"] == 0
        assert found["gangpool_plan_duration_seconds_bucket{le=0.005}"] == 1
        assert found["gangpool_plan_duration_seconds_bucket{le=+Inf}"] == 2
        assert found["gangpool_decisions_total{decision=seat}"] == 4
        assert found["gangpool_decisions_total{decision=undo}"] == 1
        assert found["gangpool_refusals_total{code=cannot-fit}"] == 1
        assert found["gangpool_waiting_units{code=cannot-fit}"] == 1
        assert found["gangpool_waiting_pods"] == 1
        assert found["gangpool_oldest_wait_seconds"] > 0
        assert found["gangpool_resting_units"] == 1
        assert found["gangpool_binds_total{outcome=bound}"] == 3
        assert found["gangpool_watches_total{resource=pods}"] == 5
        assert found["gangpool_api_throttled_total"] == 2
        assert found["gangpool_writes_queued"] == 4
        assert found["gangpool_pool_cards{state=free}"] == 8
        assert found["process_resident_memory_bytes"] > 1 << 20


@in_loop
async def test_every_series_has_a_value_or_none_yet() -> None:
    async with served() as (_, client):
        scheduler = Scheduler(client, Config(), Leadership(client, "ns", "lease", "a"))
        names = {re.sub(r"_(bucket|sum|count)?(\{.*)?$", "", name.partition("{")[0]) for name in read(scheduler)}
        empty = {"gangpool_fence_present", "gangpool_fence_outdated", "gangpool_api_refusals_total"}  # not known yet
        empty |= {"gangpool_refusals_total", "gangpool_waiting_units", "gangpool_writes_total"}
        assert {series.name for series in SERIES} - empty - {"gangpool_writes_failed_total"} <= names | empty


def test_names_follow_the_convention() -> None:
    for series in SERIES:
        assert re.fullmatch(r"(gangpool|process)_[a-z_]+", series.name)
        assert series.name.endswith("_total") == (series.type == "counter")
        assert series.type != "histogram" or series.name.endswith(UNITS)
        assert series.help.endswith(".")
    assert len({series.name for series in SERIES}) == len(SERIES)
