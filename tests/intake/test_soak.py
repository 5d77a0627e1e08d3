"""A process that lives for months: what jobs brought is forgotten when they are gone."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import msgspec
import pytest

from gangpool.core import ledger, tally
from gangpool.core.cycle import Cycle
from gangpool.intake.world import World
from gangpool.objects import shape
from gangpool.objects.node import Node
from gangpool.objects.pod import Pod
from tests.intake.build import CONFIG, Json, node, obj, pod

N_JOBS = 600
MOST_BYTES_PER_JOB = 50
"""Less than any object of a job: 600 dictionary entries that stay would be seen."""


def test_ended_jobs_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs with names, labels, selectors and mistakes of their own come, run, and are deleted."""
    monkeypatch.setattr(shape, "_CACHE_MAX", 50)  # small, so that what is bounded is full from the start
    monkeypatch.setattr(tally, "KEPT", 20)
    monkeypatch.setattr(ledger, "TOUCHED_LIMIT", 500)
    world = World(CONFIG)
    world.notes_most = 50
    for number in range(8):
        world.node(msgspec.convert(node(f"n{number}"), Node))
    cycle = Cycle(world.pool)
    batch(world, cycle, "first")
    tracemalloc.start()
    try:
        before = batch(world, cycle, "second")
        after = batch(world, cycle, "third")
    finally:
        tracemalloc.stop()
    assert after - before < N_JOBS * MOST_BYTES_PER_JOB


def batch(world: World, cycle: Cycle, name: str) -> int:
    """Jobs one after another; returns the bytes in use after a sweep and a collection, as far as they are traced."""
    for number in range(N_JOBS):
        one_job(world, cycle, f"{name}-{number}")
    world.pool.ledger.sweep()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def one_job(world: World, cycle: Cycle, name: str) -> None:
    group = obj("scheduling.volcano.sh/v1beta1", "PodGroup", name, spec={"minMember": 2, "queue": f"q-{name}"})
    world.object(group)
    pods = [msgspec.convert(member(name, rank), Pod) for rank in range(2)]
    for one in pods:
        world.pod(one)
    world.settle()
    plan = cycle.run()
    assert {seat.member.name for seat in plan.seats} == {f"{name}-0", f"{name}-1"}
    for one in pods:
        world.pod_gone(one.metadata.uid)
    world.object_gone(group)
    world.settle()
    assert not cycle.run().seats


def member(name: str, rank: int) -> Json:
    """A pod that keeps away from its like, with a wish that no field of a pod allows."""
    term: dict[str, Any] = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"job": name}}}
    return pod(
        f"{name}-{rank}",
        uid=f"u-{name}-{rank}",
        labels={"job": name, "index": str(rank)},
        annotations={"scheduling.k8s.io/group-name": name, "gangpool.io/rank": "x"},
        affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        owner=f"Job/{name}/batch.volcano.sh/v1alpha1",
    )
