"""Decoded objects as structs: null counts as absent, and a wrong type is told with its path."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.objects.faults import ObjectError
from gangpool.objects.located import Located
from gangpool.objects.typed import as_node, as_pod, without_nulls


def test_null_counts_as_absent_at_every_depth() -> None:
    made = {
        "metadata": {"name": None, "labels": {"a": "1", "b": None}},
        "spec": {"nodeName": None, "containers": [{"name": "main", "ports": None, "resources": {"limits": None}}]},
        "status": None,
    }
    pod = as_pod(made)
    assert (pod.metadata.name, pod.metadata.labels, pod.spec.nodeName) == ("", {"a": "1"}, "")
    assert pod.spec.containers[0].name == "main"
    assert as_node({"spec": None}).spec.taints is None
    assert made["status"] is None


def test_nulls_in_lists_stay() -> None:
    assert without_nulls({"a": [None, {"b": None}]}) == {"a": [None, {}]}


def test_numbers_are_quantities_too() -> None:
    made = {"spec": {"containers": [{"resources": {"limits": {"cpu": 2, "memory": 1.5, "x": "1"}}}]}}
    resources = as_pod(made).spec.containers[0].resources
    assert resources is not None
    assert resources.limits == {"cpu": 2, "memory": 1.5, "x": "1"}


@pytest.mark.parametrize(
    ("made", "field", "message"),
    [
        ({"spec": {"nodeName": 3}}, "spec.nodeName", "expected str, got int"),
        ({"metadata": {"labels": {"a": 1}}}, "metadata.labels[...]", "expected str, got int"),
        ({"metadata": {"labels": {1: "a"}}}, "metadata.labels", "a key: expected str, got int"),
        ({"spec": []}, "spec", "expected object, got array"),
        ([], "object", "expected object, got array"),
        ({"spec": {"containers": [{}, {"name": []}]}}, "spec.containers[1].name", "expected str, got array"),
    ],
)
def test_a_wrong_type_is_told_with_its_path(made: Any, field: str, message: str) -> None:
    with pytest.raises(ObjectError) as refused:
        as_pod(made)
    assert (refused.value.field, refused.value.message) == (field, message)


def test_words_that_yaml_reads_as_booleans_are_explained() -> None:
    with pytest.raises(ObjectError, match=r"metadata\.name: .*put quotes around"):
        as_node({"metadata": {"name": False}})


def test_the_place_of_an_object_in_words() -> None:
    assert Located("f", {}, 2, 14).place == "document 2 (line 14)"
    assert Located("f", {}, 1, 1, 3).place == "document 1 (line 1), items[3]"
