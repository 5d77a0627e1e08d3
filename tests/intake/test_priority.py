"""Priorities as admission would fill them in."""

from __future__ import annotations

import pytest

from gangpool.intake.priority import priority_of, why_no_priority
from gangpool.intake.store import Store
from gangpool.workloads.base import WorkloadError
from tests.intake.build import ask, deployment, job, node, pod, priority_class, reason, where


def store_of(*classes: dict) -> Store:
    store = Store()
    for one in classes:
        store.put(one)
    return store


def test_the_value_of_a_class() -> None:
    store = store_of(priority_class("high", 1000), priority_class("low", -5))
    assert [priority_of(name, store) for name in ("high", "low", "none", "")] == [1000, -5, None, 0]


def test_the_classes_of_every_cluster_are_known() -> None:
    assert priority_of("system-node-critical", Store()) == 2_000_001_000
    assert priority_of("system-cluster-critical", store_of(priority_class("a", 1))) == 2_000_000_000


def test_the_default_class_counts_for_pods_that_name_none_the_lowest_of_several() -> None:
    store = store_of(priority_class("a", 300, globalDefault=True), priority_class("b", 200, globalDefault=True))
    assert priority_of("", store) == 200


@pytest.mark.parametrize("value", ["5", 1.5, True, 1 << 31, [], {"a": 1}])
def test_a_value_that_is_no_32_bit_number_is_refused(value: object) -> None:
    with pytest.raises(WorkloadError, match="value"):
        priority_of("a", store_of(priority_class("a", value)))  # type: ignore[arg-type]


def test_a_class_that_is_not_there_is_a_reason_only_where_the_input_has_classes() -> None:
    assert why_no_priority("gone", Store()) is None
    found = why_no_priority("gone", store_of(priority_class("a", 1)))
    assert found is not None and (found.code, found.message) == ("object-missing", "priorityclass gone not found")


def test_the_higher_priority_is_planned_first() -> None:
    pool = [node("n1"), priority_class("high", 10), priority_class("usual", 5, globalDefault=True)]
    usual = deployment("usual", 1, 8)
    high = deployment("high", 1, 8, priorityClassName="high")
    low = deployment("low", 1, 8, priority=1)
    assert where(ask(pool, low, usual, high)) == {"high-0": "n1"}
    assert where(ask(pool, low, usual)) == {"usual-0": "n1"}


def test_a_gang_is_as_urgent_as_its_class_or_its_members() -> None:
    pool = [node("n1"), priority_class("high", 10)]
    by_pods = job("by-pods", 2, 4, priorityClassName="high")
    assert where(ask(pool, job("none", 2, 4), by_pods)) == {"by-pods-0": "n1", "by-pods-1": "n1"}


def test_a_missing_class_refuses_and_an_unknown_one_is_a_doubt() -> None:
    web = deployment("web", priorityClassName="high")
    assert reason(ask([node("n1"), priority_class("low", 1)], web), "web-0").code == "object-missing"
    answer = ask([node("n1")], web)
    assert where(answer) == {"web-0": "n1"}
    assert [(w.object, w.field, w.code, w.file) for w in answer.warnings] == [
        ("Deployment/ml/web", "spec.template.spec.priorityClassName", "reference-unchecked", "f.yaml")
    ]


def test_a_priority_that_admission_has_filled_in_is_not_doubted() -> None:
    answer = ask([node("n1"), pod("a", priority=7, priorityClassName="high")])
    assert where(answer) == {"a": "n1"}
    assert answer.warnings == ()
