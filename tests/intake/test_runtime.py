"""RuntimeClasses in a dry run, as admission adds them."""

from __future__ import annotations

import pytest

from gangpool.intake.runtime import read
from gangpool.objects.faults import ObjectError
from tests.intake.build import Json, ask, deployment, node, obj, pod, reason, where

KATA = "kata"


def runtime(**more: object) -> Json:
    return obj("node.k8s.io/v1", "RuntimeClass", KATA, None, handler="kata", **more)


def small(cpu: str) -> Json:
    return node("n1", 0, room={"cpu": cpu})


def web(**more: object) -> Json:
    return deployment("web", 1, 0, runtimeClassName=KATA, limits={"cpu": "1"}, **more)


def test_overhead_is_added() -> None:
    pool = [runtime(overhead={"podFixed": {"cpu": "250m"}})]
    assert where(ask([small("1250m"), *pool], web())) == {"web-0": "n1"}
    assert reason(ask([small("1249m"), *pool], web()), "web-0").code == "cannot-fit"


def test_overhead_that_is_written_stays() -> None:
    pool = [small("1500m"), runtime(overhead={"podFixed": {"cpu": "250m"}})]
    assert where(ask(pool, web(overhead={"cpu": "500m"}))) == {"web-0": "n1"}
    assert where(ask(pool, web(overhead={"cpu": "501m"}))) == {}


def test_its_nodes_and_tolerations_count() -> None:
    taint = {"key": "kata", "value": "yes", "effect": "NoSchedule"}
    scheduling = {"nodeSelector": {"kata": "yes"}, "tolerations": [{"key": "kata", "operator": "Exists"}]}
    pool = [node("n1", 0), node("n2", 0, labels={"kata": "yes"}, taints=[taint]), runtime(scheduling=scheduling)]
    assert where(ask(pool, web())) == {"web-0": "n2"}


def test_pods_of_the_pool_have_been_through_admission() -> None:
    pool = [small("1"), runtime(overhead={"podFixed": {"cpu": "250m"}})]
    assert where(ask([*pool, pod("p", 0, runtimeClassName=KATA, limits={"cpu": "1"})])) == {"p": "n1"}


def test_a_missing_class_refuses_and_an_unknown_one_is_a_doubt() -> None:
    answer = ask([small("4")], web())
    assert where(answer) == {"web-0": "n1"}
    assert [(w.field, w.code) for w in answer.warnings] == [
        ("spec.template.spec.runtimeClassName", "reference-unchecked")
    ]
    other = obj("node.k8s.io/v1", "RuntimeClass", "other", None)
    assert reason(ask([small("4"), other], web()), "web-0").message == "runtimeclass kata not found"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"overhead": {"podFixed": {"cpu": "-1"}}}, "overhead.podFixed[cpu]"),
        ({"overhead": {"podFixed": {"cpu": []}}}, "overhead.podFixed"),
        ({"overhead": 5}, "overhead"),
        ({"scheduling": {"nodeSelector": {"a": 1}}}, "scheduling.nodeSelector"),
        ({"scheduling": {"tolerations": {}}}, "scheduling.tolerations"),
    ],
)
def test_a_class_that_cannot_be_read_names_its_field(body: Json, field: str) -> None:
    with pytest.raises(ObjectError) as caught:
        read(body)
    assert caught.value.field.startswith(field)
