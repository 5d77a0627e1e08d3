"""Objects found by kind, namespace and name."""

from __future__ import annotations

import pytest

from gangpool.intake.store import Store, kind_of, name_of, subject_of
from tests.intake.build import obj

QUEUE = ("scheduling.volcano.sh", "Queue")
CLAIM = ("", "PersistentVolumeClaim")


def claim(name: str, namespace: str | None = "ml", **spec: str) -> dict:
    return obj("v1", "PersistentVolumeClaim", name, namespace, spec=spec)


def test_the_version_of_a_kind_is_not_looked_at() -> None:
    assert kind_of({"apiVersion": "batch/v1", "kind": "Job"}) == ("batch", "Job")
    assert kind_of({"apiVersion": "v1", "kind": "Pod"}) == ("", "Pod")
    assert kind_of({}) == ("", "")


def test_a_missing_namespace_is_the_default_one() -> None:
    store = Store()
    store.put(claim("data", None))
    assert store.get(*CLAIM, "default", "data") is store.get(*CLAIM, "", "data")
    assert store.get(*CLAIM, "default", "data") is not None
    assert store.get(*CLAIM, "ml", "data") is None
    assert name_of(claim("data", None)) == ("default", "data")


def test_kinds_without_namespaces_are_found_from_every_namespace() -> None:
    store = Store()
    store.put(obj("scheduling.volcano.sh/v1beta1", "Queue", "q", None))
    assert store.get(*QUEUE, "ml", "q") is not None
    store.put(obj("scheduling.volcano.sh/v1beta1", "Queue", "q2", "somewhere"))
    assert store.get(*QUEUE, "ml", "q2") is not None


def test_subjects_name_kind_namespace_and_name() -> None:
    assert subject_of(claim("data")) == "PersistentVolumeClaim/ml/data"
    assert subject_of(obj("v1", "Node", "n1", None)) == "Node//n1"
    assert subject_of({"kind": "Job"}) == "Job/default/"


@pytest.mark.parametrize("metadata", [None, [], "x", {"name": {}}, {"namespace": 5}])
def test_metadata_of_any_shape_has_a_name(metadata: object) -> None:
    found = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    store = Store()
    store.put(found)
    assert store.all_of("", "Service") == (found,)
    assert subject_of(found).startswith("Service/")


def test_the_last_object_of_a_name_counts_until_it_is_dropped() -> None:
    store = Store()
    store.put(claim("data", volumeName="a"))
    store.put(claim("data", volumeName="b"))
    found = store.get(*CLAIM, "ml", "data")
    assert found is not None and found["spec"]["volumeName"] == "b"
    store.drop(claim("data"))
    store.drop(claim("data"))
    assert store.get(*CLAIM, "ml", "data") is None
    assert not store.any_of(*CLAIM)


def test_what_a_controller_would_make_does_not_count_as_having_its_kind() -> None:
    store = Store()
    store.expect(claim("data-0"))
    assert store.get(*CLAIM, "ml", "data-0") is not None
    assert not store.any_of(*CLAIM)
    assert store.is_new(claim("data-0"))
    store.put(claim("other"))
    assert store.any_of(*CLAIM)


def test_what_is_there_is_not_made_again() -> None:
    store = Store()
    store.put(claim("data-0", volumeName="pv"))
    store.expect(claim("data-0"))
    found = store.get(*CLAIM, "ml", "data-0")
    assert found is not None and found["spec"] == {"volumeName": "pv"}
    assert not store.is_new(found)


def test_an_expected_object_that_comes_is_new_no_more() -> None:
    store = Store()
    store.expect(claim("data-0"))
    store.put(claim("data-0", volumeName="pv"))
    assert store.any_of(*CLAIM)
    assert not store.is_new(claim("data-0"))
    store.put(claim("data-1"), is_new=True)
    assert store.is_new(claim("data-1"))
    store.drop(claim("data-1"))
    assert not store.is_new(claim("data-1"))
