"""Facts of a node: amounts in the ledger's units, taints written and implied, cards, and what could not be used."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gangpool.core.model import Card, NodeFacts, Port, Taint
from gangpool.objects.faults import ObjectError
from gangpool.objects.node import facts
from gangpool.objects.quantity import AMOUNT_MAX
from gangpool.objects.typed import as_node

Json = dict[str, Any]
GPU = "nvidia.com/gpu"
PLENTY = {"cpu": "96", "memory": "1000Gi", "pods": "110", GPU: "8"}


def node(allocatable: Json | None = PLENTY, **more: Any) -> Json:
    status = {"allocatable": allocatable, "conditions": more.pop("conditions", None)}
    metadata = {"name": "n1", "labels": more.pop("labels", {}), "annotations": more.pop("annotations", {})}
    return {"metadata": metadata, "spec": more, "status": status}


def read(made: Json) -> tuple[NodeFacts, list[str]]:
    found, doubts = facts(as_node(made))
    return found, [str(doubt) for doubt in doubts]


def ready(status: str) -> list[Json]:
    return [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": status}]


def test_allocatable_in_the_ledger_units() -> None:
    amounts = {
        "cpu": "95500m",
        "memory": "2113276288Ki",
        "ephemeral-storage": "1.5Ti",
        "hugepages-2Mi": "42242Mi",
        "pods": 110,
        "rdma/hca": "1k",
        GPU: "8",
    }
    found, doubts = read(node(amounts))
    assert doubts == []
    assert found.allocatable == {
        "cpu": 95500,
        "memory": 2163994918912,
        "ephemeral-storage": 1649267441664,
        "hugepages-2Mi": 44293947392,
        "pods": 110,
        "rdma/hca": 1000,
        GPU: 8,
    }


@pytest.mark.parametrize(
    ("quantity", "counted", "why"),
    [
        ("x", None, "counted as 0"),
        ("1e99999", None, "counted as 0"),
        ("-3", 0, "negative"),
        ("7.5", 7, "not whole; counted as 7"),  # half a card is no card
        ("1025", 1024, "more than the ledger counts"),
        ("8Ei", 1024, "more than the ledger counts"),
        ("9999.5", 1024, "not whole; counted as 1024"),
    ],
)
def test_amounts_that_cannot_be_used_are_told(quantity: str, counted: int | None, why: str) -> None:
    found, doubts = read(node({**PLENTY, GPU: quantity}))
    assert found.allocatable.get(GPU) == counted
    assert len(doubts) == 1
    assert doubts[0].startswith(f"status.allocatable[{GPU}]: ")
    assert why in doubts[0]
    assert found.allocatable["cpu"] == 96000


def test_what_is_more_than_the_ledger_counts_is_cut() -> None:
    found, doubts = read(node({**PLENTY, "rdma/ib": "8Ei"}))
    assert found.allocatable["rdma/ib"] == AMOUNT_MAX
    assert [doubt for doubt in doubts if "more than the ledger counts" in doubt] == doubts != []


def test_memory_may_have_a_fraction() -> None:
    assert read(node({**PLENTY, "memory": "0.3Ki"}))[0].allocatable["memory"] == 308


@pytest.mark.parametrize("amounts", [{"cpu": "1"}, {"cpu": "1", "pods": "0"}])
def test_no_pods_is_room_for_none_and_told(amounts: Json) -> None:
    """kube-scheduler takes an absent number of pods as 0 and puts nothing there."""
    found, doubts = read(node(amounts))
    assert found.allocatable.get("pods", 0) == 0
    assert doubts == ["status.allocatable[pods]: is absent or 0: no pod can be placed on this node"]


def test_capacity_stands_in_where_allocatable_is_absent() -> None:
    made = node(None)
    made["status"]["capacity"] = PLENTY
    assert read(made)[0].allocatable["cpu"] == 96000
    made["status"]["allocatable"] = {"pods": "1"}
    assert read(made)[0].allocatable == {"pods": 1}


NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")
UNREACHABLE = Taint("node.kubernetes.io/unreachable", "", "NoSchedule")
CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


@pytest.mark.parametrize(
    ("made", "taints"),
    [
        (node(), ()),
        (node(conditions=ready("True")), ()),
        (node(conditions=[]), ()),  # a dump written by hand says nothing of it
        (node(conditions=ready("False")), (NOT_READY,)),
        (node(conditions=ready("Unknown")), (UNREACHABLE,)),
        (node(unschedulable=True), (CORDONED,)),
        (node(unschedulable=True, conditions=ready("False")), (CORDONED, NOT_READY)),
        (
            node(taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}, {"key": "x", "effect": "NoExecute"}]),
            (Taint("gpu", "yes", "NoSchedule"), Taint("x", "", "NoExecute")),
        ),
    ],
)
def test_taints(made: Json, taints: tuple[Taint, ...]) -> None:
    assert read(made) == (read(made)[0], [])
    assert read(made)[0].taints == taints


def test_implied_taints_are_not_doubled() -> None:
    key = "node.kubernetes.io/unreachable"
    written = [{"key": key, "effect": "NoSchedule"}, {"key": key, "effect": "NoExecute"}]
    found, _ = read(node(taints=written, conditions=ready("Unknown")))
    assert [str(taint) for taint in found.taints] == [f"{key}:NoSchedule", f"{key}:NoExecute"]


def test_implied_taint_beside_another_effect_of_the_same_key() -> None:
    key = "node.kubernetes.io/not-ready"
    found, _ = read(node(taints=[{"key": key, "effect": "NoExecute"}], conditions=ready("False")))
    assert [str(taint) for taint in found.taints] == [f"{key}:NoExecute", f"{key}:NoSchedule"]


def test_an_unknown_effect_is_left_out_and_told() -> None:
    found, doubts = read(node(taints=[{"key": "a", "effect": "Never"}, {"key": "b", "effect": "NoSchedule"}]))
    assert found.taints == (Taint("b", "", "NoSchedule"),)
    assert doubts == ["spec.taints[0].effect: 'Never' is no effect of a taint; left out"]


def test_no_cards_while_mig_is_being_reconfigured() -> None:
    amounts = {**PLENTY, "nvidia.com/mig-1g.10gb": "7", "aliyun.com/gpu-mem": "640", "rdma/hca": "8"}
    found, _ = read(node(amounts, labels={"nvidia.com/mig.config.state": "pending"}))
    assert {name: n for name, n in found.allocatable.items() if n} == {
        "cpu": 96000,
        "memory": 1000 * 1024**3,
        "pods": 110,
        "rdma/hca": 8,
    }
    assert found.notes == ("label nvidia.com/mig.config.state=pending",)


def test_mig_reconfigured_with_success_changes_nothing() -> None:
    found, _ = read(node(labels={"nvidia.com/mig.config.state": "success"}))
    assert (found.allocatable[GPU], found.notes) == (8, ())


def devices(**more: Any) -> Json:
    return {"gangpool.io/devices": json.dumps({"v": 1, **more})}


def test_cards_and_ports_of_the_annotation() -> None:
    cards = [
        {"index": 1, "uuid": "GPU-1", "memory_mib": 81559, "numa": 1, "switch": "0000:18:00.0", "pcie": "0000:1a:00.0"},
        {"index": 0, "healthy": False, "reason": "xid 79"},
    ]
    ports = [{"device": "mlx5_0", "port": 1, "numa": 0, "switch": "s", "rail": 3, "rate_gbps": 400, "healthy": False}]
    found, doubts = read(node(annotations=devices(cards=cards, ports=ports, nvlink="nvswitch", board="H100")))
    assert doubts == []
    assert found.cards == (
        Card(0, healthy=False, reason="xid 79"),
        Card(1, "GPU-1", 81559, 1, "0000:18:00.0"),
    )
    assert found.ports == (Port("mlx5_0", 0, "s", 3, healthy=False),)
    assert found.nvswitch


def test_unhealthy_cards_lower_the_count() -> None:
    cards = [{"index": i, "healthy": i != 5} for i in range(8)]
    found, _ = read(node(annotations=devices(cards=cards)))
    assert found.allocatable[GPU] == 7
    assert found.notes == ("7 of 8 cards can be handed out whole",)
    found, _ = read(node({**PLENTY, GPU: "6"}, annotations=devices(cards=cards)))  # the kubelet knows of more
    assert (found.allocatable[GPU], found.notes) == (6, ())


def test_a_card_with_a_given_mig_layout_is_never_whole() -> None:
    cards = [{"index": 0, "mig": {"mode": "static", "instances": []}}, {"index": 1, "mig": {"mode": "dynamic"}}]
    found, _ = read(node(annotations=devices(cards=cards)))
    assert found.cards == (Card(1),)
    assert found.allocatable[GPU] == 1


def test_an_annotation_without_cards_says_nothing_of_them() -> None:
    found, _ = read(node(annotations=devices(ports=[{"device": "mlx5_0"}])))
    assert (found.allocatable[GPU], found.cards) == (8, ())
    assert not found.nvswitch


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "truncated"),
        ("[]", "Expected `object`"),
        ("{}", "required field `v`"),
        ('{"v": 2}', "version is 2"),
        ('{"v": 1, "cards": [{"index": "0"}]}', "Expected `int`"),
        ('{"v": 1, "cards": [{}]}', "index"),
        ('{"v": 1, "cards": [{"index": -1}]}', "not within"),
        ('{"v": 1, "cards": [{"index": 63}]}', "not within"),
        ('{"v": 1, "cards": [{"index": 0}, {"index": 0}]}', "same index"),
        ('{"v": 1, "ports": [{"device": "a"}, {"device": "a"}]}', "same device"),
        ('{"v": 1, "x": ' + "[" * 100_000, "recursion"),
        ('{"v": 1, "nvlink": "\ud800"}', "surrogate"),
    ],
)
def test_a_malformed_annotation_is_told_and_ignored(text: str, why: str) -> None:
    found, doubts = read(node(annotations={"gangpool.io/devices": text}))
    assert (found.cards, found.ports, found.allocatable[GPU]) == ((), (), 8)
    assert len(doubts) == 1
    assert doubts[0].startswith("metadata.annotations[gangpool.io/devices]: ")
    assert why in doubts[0]


def test_a_node_without_a_name_is_an_error() -> None:
    with pytest.raises(ObjectError, match=r"metadata\.name: is missing"):
        facts(as_node({}))


def test_a_bare_node_is_a_node() -> None:
    found, doubts = read({"metadata": {"name": "n"}})
    assert found == NodeFacts(name="n", allocatable={}, labels={})
    assert len(doubts) == 1
