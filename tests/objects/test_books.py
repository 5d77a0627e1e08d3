"""The books of a pod against rules of the Kubernetes documentation, each number with its reasoning; and against the
oracle, which was written from the same documentation by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangpool.objects.books import requests, sorted_requests
from gangpool.objects.faults import ObjectError
from gangpool.objects.typed import as_pod
from tests.oracle.requests import effective_requests

Json = dict[str, Any]
GPU = "nvidia.com/gpu"
GI = 1024**3


def box(requests: Json | None = None, limits: Json | None = None, **more: Any) -> Json:
    """A container."""
    return {"name": "main", "resources": {"requests": requests or {}, "limits": limits or {}}, **more}


def sidecar(requests: Json) -> Json:
    return box(requests, restartPolicy="Always")


def books(*containers: Json, init: list[Json] | None = None, status: Json | None = None, **spec: Any) -> dict[str, int]:
    pod = {"spec": {"containers": list(containers), "initContainers": init or [], **spec}, "status": status or {}}
    asked = requests(as_pod(pod))
    assert asked.pop("pods") == 1  # every pod takes one of the kubelet's places
    return asked


def test_containers_add_up_in_the_ledger_units() -> None:
    asked = books(box({"cpu": "1500m", "memory": "1Gi", GPU: "1"}), box({"cpu": 2, "memory": "512Mi", GPU: 2}))
    assert asked == {"cpu": 3500, "memory": GI + GI // 2, GPU: 3}


def test_a_pod_that_asks_for_nothing_takes_a_place_only() -> None:
    assert books(box()) == {}
    assert sorted_requests(as_pod({})) == (("pods", 1),)


@pytest.mark.parametrize(
    ("container", "wanted"),
    [
        (box(limits={GPU: "8"}), {GPU: 8}),  # the limit is the request
        (box({"cpu": "1"}, {"cpu": "4", "memory": "1Gi"}), {"cpu": 1000, "memory": GI}),  # for each resource by itself
        (box({"cpu": "0"}, {"cpu": "4"}), {}),  # a written zero stays
        ({"name": "no resources at all"}, {}),
    ],
)
def test_requests_default_from_limits(container: Json, wanted: dict[str, int]) -> None:
    assert books(container) == wanted


@pytest.mark.parametrize(
    ("init", "wanted"),
    [
        # ordinary init containers run one by one before the containers (cpu 2): the largest counts if it is larger
        ([box({"cpu": "1"})], 2000),
        ([box({"cpu": "12"})], 12000),
        ([box({"cpu": "3"}), box({"cpu": "5"})], 5000),
        # a sidecar runs on beside the containers: 2 + 1
        ([sidecar({"cpu": "1"})], 3000),
        # an init container runs beside the sidecars before it: max(2 + 1, 4 + 1)
        ([sidecar({"cpu": "1"}), box({"cpu": "4"})], 5000),
        # but not beside those after it: max(2 + 1, 4)
        ([box({"cpu": "4"}), sidecar({"cpu": "1"})], 4000),
        # both: sidecars 1 and 2; peaks 1 + 3 = 4 and 1 + 2 + 1 = 4; all running 2 + 3 = 5
        ([sidecar({"cpu": "1"}), box({"cpu": "3"}), sidecar({"cpu": "2"}), box({"cpu": "1"})], 5000),
    ],
)
def test_init_containers_and_sidecars(init: list[Json], wanted: int) -> None:
    assert books(box({"cpu": "2"}), init=init) == {"cpu": wanted}


def test_the_peak_is_taken_for_each_resource_by_itself() -> None:
    init = [box({"cpu": "8", "memory": "1Gi"}), box({GPU: "1"})]
    assert books(box({"cpu": "1", "memory": "2Gi"}), init=init) == {"cpu": 8000, "memory": 2 * GI, GPU: 1}


def test_overhead_is_added_at_the_end() -> None:
    """2 + max(8, 1) cpu; memory is in the overhead only."""
    overhead = {"cpu": "2", "memory": "4Gi"}
    assert books(box({"cpu": "8"}), init=[box({"cpu": "1"})], overhead=overhead) == {"cpu": 10000, "memory": 4 * GI}


@pytest.mark.parametrize(
    ("level", "wanted"),
    [
        # pod-level requests replace the containers' (cpu 2, memory 2Gi, gpu 1), also downwards
        ({"requests": {"cpu": "4"}}, {"cpu": 4000, "memory": 2 * GI, GPU: 1}),
        ({"requests": {"cpu": "1", "memory": "1Gi"}}, {"cpu": 1000, "memory": GI, GPU: 1}),
        # absent requests default to the containers' sum where limits are set ...
        ({"limits": {"cpu": "9"}}, {"cpu": 2000, "memory": 2 * GI, GPU: 1}),
        # ... and to the limit where no container asks
        ({"limits": {"hugepages-2Mi": "4Mi"}}, {"cpu": 2000, "memory": 2 * GI, GPU: 1, "hugepages-2Mi": 4 * 1024**2}),
        # cards cannot be asked for by the pod as a whole
        ({"requests": {GPU: "5"}}, {"cpu": 2000, "memory": 2 * GI, GPU: 1}),
    ],
)
def test_pod_level_resources(level: Json, wanted: dict[str, int]) -> None:
    assert books(box({"cpu": "2", "memory": "2Gi", GPU: "1"}), resources=level) == wanted


def test_pod_level_limit_counts_where_no_container_asks() -> None:
    assert books(box({GPU: "1"}), resources={"limits": {"cpu": "3"}}) == {"cpu": 3000, GPU: 1}


def test_overhead_comes_on_top_of_pod_level_requests() -> None:
    assert books(box(), resources={"requests": {"cpu": "4"}}, overhead={"cpu": "250m"}) == {"cpu": 4250}


def resized(allocated: str | None, applied: str | None, conditions: list[Json] | None = None) -> Json:
    told: Json = {"name": "main"}
    if allocated is not None:
        told["allocatedResources"] = {"cpu": allocated}
    if applied is not None:
        told["resources"] = {"requests": {"cpu": applied}}
    return {"containerStatuses": [told], "conditions": conditions or []}


INFEASIBLE = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
DEFERRED = [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        (resized("4", "4"), 4000),  # nothing is being resized
        (resized("2", "2"), 4000),  # growing: what is wanted counts at once
        (resized("8", "8"), 8000),  # shrinking: what is held counts until it is given back
        (resized("4", "8"), 8000),  # shrinking: allocated already, not applied yet
        (resized("6", None), 6000),  # not applied yet: what is allocated stands for it
        (resized(None, None), 4000),  # an old kubelet tells nothing
        (resized("2", "2", DEFERRED), 4000),  # it may still be done
        (resized("2", "2", INFEASIBLE), 2000),  # it can never be done: only what is held counts
        (resized("2", "3", INFEASIBLE), 3000),
    ],
)
def test_in_place_resize(status: Json, wanted: int) -> None:
    assert books(box({"cpu": "4"}), status=status) == {"cpu": wanted}


def test_resize_of_the_pod_as_a_whole() -> None:
    """Wanted 4, allocated 6, applied 5: the largest; and an infeasible wish does not count."""
    level = {"requests": {"cpu": "4"}}
    status: Json = {"allocatedResources": {"cpu": "6"}, "resources": {"requests": {"cpu": "5"}}}
    assert books(box({"cpu": "1"}), resources=level, status=status) == {"cpu": 6000}
    level = {"requests": {"cpu": "9"}}
    assert books(box({"cpu": "1"}), resources=level, status={**status, "conditions": INFEASIBLE}) == {"cpu": 6000}


def test_the_old_word_for_an_infeasible_resize() -> None:
    assert books(box({"cpu": "4"}), status={**resized("2", "2"), "resize": "Infeasible"}) == {"cpu": 2000}


def test_amounts_are_rounded_to_thousandths_one_by_one_and_to_units_at_the_end() -> None:
    """1.5 bytes twice are 3, not 4; a tenth of a milli-CPU is one, as the API server stores it."""
    assert books(box({"memory": "1500m", "cpu": "0.1m"}), box({"memory": "1500m", "cpu": "0.1m"})) == {
        "memory": 3,
        "cpu": 2,
    }


@pytest.mark.parametrize(
    ("container", "field", "why"),
    [
        (box({"cpu": "-1"}), "spec.containers[0].resources.requests[cpu]", "negative"),
        (box(limits={GPU: "500m"}), f"spec.containers[0].resources.limits[{GPU}]", "whole"),
        (box({"rdma/hca": "1.5k", "memory": "x"}), "spec.containers[0].resources.requests[memory]", "number"),
        (box({"memory": "1e99999"}), "spec.containers[0].resources.requests[memory]", "absurd"),
        (box({"memory": "5Pi"}), "spec", "more than any node"),
    ],
)
def test_impossible_amounts_name_their_field(container: Json, field: str, why: str) -> None:
    with pytest.raises(ObjectError, match=why) as refused:
        books(container)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"initContainers": [box({"cpu": "x"})]}, "spec.initContainers[0].resources.requests[cpu]"),
        ({"overhead": {"cpu": "x"}}, "spec.overhead[cpu]"),
        ({"resources": {"requests": {"cpu": "x"}}}, "spec.resources.requests[cpu]"),
        ({"resources": {"limits": {"cpu": "x"}}}, "spec.resources.limits[cpu]"),
    ],
)
def test_every_place_of_a_quantity_is_named(spec: Json, field: str) -> None:
    with pytest.raises(ObjectError) as refused:
        requests(as_pod({"spec": spec}))
    assert refused.value.field == field


def test_answers_are_copies() -> None:
    pod = as_pod({"spec": {"containers": [box({"cpu": "1"})]}})
    requests(pod)["cpu"] = 7
    assert requests(pod)["cpu"] == 1000


RESOURCES = {
    "cpu": ["0", "100m", "1", "2500m"],
    "memory": ["0", "100Mi", "1Gi", "129e6"],
    "ephemeral-storage": ["1Gi", "0.5Gi"],
    GPU: ["0", "1", "2000m"],
}
amounts = st.dictionaries(st.sampled_from(list(RESOURCES)), st.integers(0, 3)).map(
    lambda chosen: {name: RESOURCES[name][i % len(RESOURCES[name])] for name, i in chosen.items()}
)
resources = st.fixed_dictionaries({}, optional={"requests": amounts, "limits": amounts})
containers = st.fixed_dictionaries(
    {"name": st.just("main"), "resources": resources}, optional={"restartPolicy": st.just("Always")}
)
pods = st.fixed_dictionaries(
    {"containers": st.lists(containers, min_size=1, max_size=3), "initContainers": st.lists(containers, max_size=4)},
    optional={"overhead": amounts, "resources": resources},
)


@given(pods)
def test_equals_the_oracle(spec: Json) -> None:
    assert requests(as_pod({"spec": spec})) == effective_requests({"spec": spec})
