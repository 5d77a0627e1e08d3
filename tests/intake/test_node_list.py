"""What `gangpool nodes` says of a node, read from the ledger."""

from __future__ import annotations

from gangpool.core.ledger import Claim, Ledger
from gangpool.core.model import NodeFacts, Port, Requirement, Shape, Taint
from gangpool.core.topology import Forest
from gangpool.intake.answer import DomainEntry
from gangpool.intake.node_list import node_list


def pool() -> Ledger:
    """n1 with one pod of two cards, n2 cordoned and not ready, without cards."""
    ledger = Ledger()
    allocatable = {"cpu": 8000, "memory": 1 << 35, "pods": 110, "nvidia.com/gpu": 8}
    ledger.set_node(NodeFacts("n1", allocatable, {"spine": "s", "leaf": "l"}, ports=(Port("mlx5_0"), Port("mlx5_1"))))
    taints = (
        Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"),
        Taint("node.kubernetes.io/not-ready", "", "NoSchedule"),
        Taint("team", "a", "NoExecute"),
    )
    ledger.set_node(NodeFacts("n2", {"cpu": 4000, "pods": 10}, {}, taints))
    shape = Shape((("cpu", 1500), ("nvidia.com/gpu", 2), ("pods", 1)))
    kind, tag = ledger.kind(shape, "ml", ())
    ledger.hold(Claim("u1", ledger.slot["n1"], kind, tag, cards=0b11))
    return ledger


def test_free_is_what_claims_leave() -> None:
    ledger = pool()
    n1 = node_list(ledger, Forest(ledger, ("spine", "leaf")).tree(("spine", "leaf"))).nodes[0]
    assert (n1.name, n1.ready, n1.schedulable, n1.cards, n1.cards_free) == ("n1", True, True, 8, 6)
    assert (n1.ports, n1.pods, n1.pods_max, n1.taints) == (2, 1, 110, ())
    assert n1.allocatable["cpu"] == "8"
    assert n1.free == {"cpu": "6.5", "memory": str(1 << 35), "pods": "109", "nvidia.com/gpu": "6"}
    assert n1.domains == (DomainEntry("spine", "s"), DomainEntry("leaf", "s/l"))


def test_cordon_not_ready_and_taints_are_told() -> None:
    ledger = pool()
    n2 = node_list(ledger, Forest(ledger, ("spine",)).tree(("spine",))).nodes[1]
    assert (n2.ready, n2.schedulable, n2.cards, n2.ports, n2.domains) == (False, False, 0, None, ())
    assert n2.taints[2] == "team=a:NoExecute"


def test_a_selector_chooses_by_labels() -> None:
    ledger = pool()
    tree = Forest(ledger, ()).tree(())
    chosen = node_list(ledger, tree, (Requirement("leaf", "DoesNotExist"),)).nodes
    assert [node.name for node in chosen] == ["n2"]
