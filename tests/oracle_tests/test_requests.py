"""Quantities and effective requests: the grammar of the API reference, and worked examples of the documentation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests.oracle.quantity import ceiling, quantity
from tests.oracle.requests import allocatable, effective_requests
from tests.oracle.world_parts import CARD, node

Json = dict[str, Any]
MI = 2**20

QUANTITIES = [
    ("0", 0),
    ("1k", 1000),
    ("1Ki", 1024),
    ("0.5Gi", 2**29),
    ("1.5Ti", 3 * 2**39),
    ("1E", 10**18),
    ("1E3", 1000),
    ("12e6", 12_000_000),
    ("1e-3", Fraction(1, 1000)),
    ("100m", Fraction(1, 10)),
    ("250u", Fraction(1, 4000)),
    ("3n", Fraction(3, 10**9)),
    (".5", Fraction(1, 2)),
    ("5.", 5),
    ("+4", 4),
    ("-1", -1),
    (2, 2),
    (0.5, Fraction(1, 2)),
    ("128974848000m", 128974848),
]


@pytest.mark.parametrize(("written", "value"), QUANTITIES)
def test_quantities_are_exact(written: str | int | float, value: Fraction | int) -> None:
    assert quantity(written) == value


@pytest.mark.parametrize(
    "written", ["", ".", "1 Gi", "1gi", "1KB", "1e", "0x10", "1..5", "1Gi2", "one", "--1", "1K", "NaN", "1,000", "١"]
)
def test_what_is_no_quantity_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        quantity(written)


def test_ceiling_rounds_up() -> None:
    assert [ceiling(Fraction(n, 2)) for n in (-1, 0, 1, 2, 3)] == [0, 0, 1, 1, 2]


def container(name: str = "main", limits: Json | None = None, **asks: str) -> Json:
    return {"name": name, "resources": {"requests": asks, **({"limits": limits} if limits else {})}}


def sidecar(cpu: str) -> Json:
    return {**container("side", cpu=cpu), "restartPolicy": "Always"}


REQUESTS = [
    ("pod overhead, the example of its page",
     {"containers": [container("busybox", cpu="500m", memory="100Mi"), container("nginx", cpu="1500m", memory="100Mi")],
      "overhead": {"cpu": "250m", "memory": "120Mi"}},
     {"cpu": 2250, "memory": 320 * MI}),
    ("a limit without a request is the request",
     {"containers": [container(limits={CARD: "2", "cpu": "2"}, cpu="1")]}, {"cpu": 1000, CARD: 2}),
    ("the largest plain init container, not the sum",
     {"containers": [container(cpu="1")], "initContainers": [container("a", cpu="3"), container("b", cpu="2")]},
     {"cpu": 3000}),
    ("resources are compared one by one",
     {"containers": [container(cpu="2", memory="1Mi")], "initContainers": [container("a", cpu="1", memory="5Mi")]},
     {"cpu": 2000, "memory": 5 * MI}),
    ("a sidecar runs beside the containers",
     {"containers": [container(cpu="1")], "initContainers": [sidecar(cpu="2")]}, {"cpu": 3000}),
    ("an init container runs beside the sidecars before it",
     {"containers": [container(cpu="1")], "initContainers": [sidecar(cpu="2"), container("late", cpu="4")]},
     {"cpu": 6000}),
    ("and not beside those after it",
     {"containers": [container(cpu="1")], "initContainers": [container("early", cpu="4"), sidecar(cpu="2")]},
     {"cpu": 4000}),
    ("pod-level requests replace the sum, sidecars and init containers included",
     {"containers": [container(cpu="3", memory="50Mi")], "initContainers": [container("a", cpu="9")],
      "resources": {"requests": {"cpu": "1", "memory": "100Mi"}}},
     {"cpu": 1000, "memory": 100 * MI}),
    ("cards have no pod level",
     {"containers": [container(limits={CARD: "1"})], "resources": {"requests": {CARD: "5"}}}, {CARD: 1}),
    ("a pod-level limit counts where no container asks",
     {"containers": [container(cpu="1")], "resources": {"limits": {"cpu": "4", "memory": "200Mi"}}},
     {"cpu": 1000, "memory": 200 * MI}),
    ("overhead comes on top of the pod level",
     {"containers": [], "resources": {"requests": {"cpu": "1"}}, "overhead": {"cpu": "250m"}}, {"cpu": 1250}),
    ("a fraction is rounded up once per pod",
     {"containers": [container("a", cpu="0.0004"), container("b", cpu="0.0004")]}, {"cpu": 1}),
    ("nothing asked", {"containers": [container(cpu="0")]}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "asked"), [row[1:] for row in REQUESTS], ids=[row[0] for row in REQUESTS])
def test_effective_requests(spec: Json, asked: dict[str, int]) -> None:
    assert effective_requests({"metadata": {"name": "p"}, "spec": spec}) == {**asked, "pods": 1}


def test_a_resize_under_way_counts_the_largest() -> None:
    told: Json = {"name": "main", "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2"}}
    made: Json = {"spec": {"containers": [container(cpu="1")]}, "status": {"containerStatuses": [told]}}
    assert effective_requests(made)["cpu"] == 3000
    made["spec"]["containers"] = [container(cpu="5")]
    assert effective_requests(made)["cpu"] == 5000
    made["status"]["conditions"] = [{"type": "PodScheduled", "status": "True", "reason": "Infeasible"}]
    assert effective_requests(made)["cpu"] == 5000
    made["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
    assert effective_requests(made)["cpu"] == 3000
    del told["resources"]
    assert effective_requests(made)["cpu"] == 2000


def test_allocatable_is_read_in_the_same_units() -> None:
    assert allocatable(node("n", room={"cpu": "3500m", "memory": "1Ki", "pods": ""})) == {
        "cpu": 3500,
        "memory": 1024,
        CARD: 8,
    }
