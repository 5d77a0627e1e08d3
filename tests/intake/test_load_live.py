"""A stream that comes from a running cluster: what is complete, and what cannot be read does not end it."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.intake.config import Config
from gangpool.intake.failure import IntakeError
from gangpool.intake.load import Live, load
from gangpool.intake.world import Note

CLASS = ("scheduling.k8s.io", "PriorityClass")
NOTE = Note("queues", "", "not-permitted", "is left out")


def broken_class() -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": "many",
    }


def broken_pod() -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": "much"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ml"},
        "spec": {"schedulerName": "gangpool", "containers": [container]},
    }


def test_kinds_are_complete_and_notes_are_kept() -> None:
    world = load([Live(frozenset({CLASS}), (NOTE,))], Config())
    assert world.store.any_of(*CLASS)
    assert list(world.notes) == [NOTE]
    assert not load([], Config()).store.any_of(*CLASS)


@pytest.mark.parametrize(
    ("broken", "subject", "field"),
    [
        (broken_class(), "PriorityClass//high", "value"),
        (broken_pod(), "Pod/ml/p", "spec.containers[0].resources.requests[cpu]"),
    ],
)
def test_what_cannot_be_read_is_left_out_of_a_cluster_and_ends_a_dump(
    broken: dict[str, Any], subject: str, field: str
) -> None:
    world = load([Live(), broken], Config())
    (note,) = world.notes
    assert (note.object, note.field, note.code) == (subject, field, "unreadable")
    assert note.message.endswith("; it is left out")
    assert world.pool.member("ml/p") is None
    with pytest.raises(IntakeError, match=subject):
        load([broken], Config())
