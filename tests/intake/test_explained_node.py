"""What `explain` says of a node."""

from __future__ import annotations

from typing import Any

import pytest

from tests.intake.asked import codes, why
from tests.intake.build import CARD, Json, node, pod

DEVICES = '{"v": 1, "cards": [{"index": 0, "healthy": true}, {"index": 1, "healthy": false, "reason": "Xid 79"}]}'


def n1(cards: int = 8, capacity: Json | None = None, conditions: list[Json] | None = None, **more: Any) -> Json:
    """A node with capacity and conditions."""
    made = node("n1", cards, **more)
    made["status"] |= {
        "capacity": {**made["status"]["allocatable"], **(capacity or {})},
        "conditions": conditions or [],
    }
    return made


def test_an_open_node_with_its_pods() -> None:
    held = pod(
        "b", 2, nodeName="n1", annotations={"gangpool.io/devices": '{"containers": {"main": {"cards": [4, 5]}}}'}
    )
    foreign = pod("a", 1, nodeName="n1", schedulerName="other")
    labels = {"topology.kubernetes.io/zone": "z"}
    answer = why("node/n1", n1(labels=labels), held, foreign, pod("elsewhere"))
    assert (answer.object, answer.gang, answer.state, codes(answer)) == ("node/n1", None, "open", [""])
    assert answer.room is not None
    assert [(p.pod, p.cards, p.cards_exact, p.ours) for p in answer.room.pods] == [
        ("a", (0,), False, False),
        ("b", (4, 5), True, True),
    ]
    first = answer.room.resources[0]
    assert (first.resource, first.capacity, first.allocatable, first.held, first.free) == (CARD, "8", "8", "3", "5")


@pytest.mark.parametrize(
    ("made", "state", "found", "words"),
    [
        (n1(unschedulable=True), "closed", ["node-cordoned"], "unschedulable"),
        (
            n1(conditions=[{"type": "Ready", "status": "Unknown", "message": "stopped posting", "reason": "Gone"}]),
            "closed",
            ["node-not-ready"],
            "is not ready: Gone: stopped posting",
        ),
        (n1(room={"pods": "0"}), "closed", ["node-full", "node-doubt"], "the kubelet takes 0"),
        (n1(taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}]), "open", ["node-tainted"], "a=b:NoSchedule"),
        (n1(taints=[{"key": "a", "value": "b", "effect": "PreferNoSchedule"}]), "open", [""], ""),
        (n1(6, {CARD: "8"}), "open", ["node-degraded"], "6 of 8 nvidia.com/gpu usable"),
        (n1(capacity={"cpu": "128"}), "open", [""], ""),
        (
            n1(labels={"nvidia.com/mig.config.state": "pending"}),
            "open",
            ["node-degraded"],
            "label nvidia.com/mig.config.state=pending",
        ),
        (
            n1(2, annotations={"gangpool.io/devices": DEVICES}),
            "open",
            ["node-degraded", "node-degraded"],
            "1 of 2 cards can be handed out whole",
        ),
        (
            n1(
                taints=[
                    {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
                    {"key": "a", "effect": "NoExecute"},
                ]
            ),
            "closed",
            ["node-cordoned", "node-tainted"],
            "unschedulable",
        ),
    ],
)
def test_why_a_node_takes_nothing(made: Json, state: str, found: list[str], words: str) -> None:
    answer = why("node/n1", made)
    assert (answer.state, codes(answer)) == (state, found)
    assert words in ("" if answer.reason is None else answer.reason.message)


def test_since_when_it_is_not_ready() -> None:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    assert why("node/n1", n1(conditions=[ready])).since is None
    assert why("node/n1", n1(conditions=[{**ready, "status": "False"}])).since == "2026-01-01T00:00:00Z"


def test_a_node_whose_pods_hold_all_cards() -> None:
    answer = why("no n1", n1(), pod("a", 8, nodeName="n1"))
    assert (answer.state, codes(answer)) == ("open", ["node-full"])


def test_a_node_that_offers_less_than_its_pods_hold() -> None:
    """Two cards went bad under a running pod: both numbers are told, nothing is free."""
    answer = why("node/n1", n1(6, {CARD: "8"}), pod("a", 8, nodeName="n1"))
    assert codes(answer) == ["node-degraded", "node-full"]
    assert answer.reason is not None
    assert answer.reason.message == "6 of 8 nvidia.com/gpu usable, and its pods hold 8"
    assert answer.room is not None and answer.room.resources[0].free == "-2"


def test_a_node_without_capacity_is_judged_by_what_it_offers() -> None:
    answer = why("node/n1", node("n1"))
    assert (answer.state, codes(answer)) == ("open", [""])
    assert answer.room is not None and {one.capacity for one in answer.room.resources} == {None}
