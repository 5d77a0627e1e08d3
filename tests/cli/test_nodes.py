"""The table of `gangpool nodes`, its order, and what is refused before anything is read."""

from __future__ import annotations

from gangpool.cli.nodes import lines, sort_nodes
from gangpool.intake.answer import DomainEntry
from gangpool.intake.node_list import NodeEntry

BUSY = NodeEntry("b", True, True, 8, 2, 8, 3, 110, (DomainEntry("leaf", "l1"),), (), {}, {})
CORDONED = NodeEntry(
    "a",
    False,
    False,
    8,
    8,
    None,
    0,
    110,
    (),
    ("node.kubernetes.io/unschedulable:NoSchedule",),
    {},
    {"cpu": "191.5", "memory": str((2 << 40) - 1)},
)


def test_a_line_per_node() -> None:
    assert list(lines([BUSY, CORDONED])) == [
        "NAME   STATUS                        CARDS   FREE   PORTS   PODS    DOMAIN   TAINTS",
        "b      Ready                         8       2      8       3/110   l1       -",
        "a      NotReady,SchedulingDisabled   8       8      -       0/110   -        1",
    ]


def test_wide_names_taints_and_adds_cpu_and_memory() -> None:
    line = next(lines([CORDONED], wide=True, with_heads=False)).split()
    assert line[-3:] == ["node.kubernetes.io/unschedulable:NoSchedule", "191.5", "2047Gi"]


def test_order() -> None:
    both = [BUSY, CORDONED]
    assert [n.name for n in sort_nodes(both, "")] == ["b", "a"]
    assert [n.name for n in sort_nodes(both, "name")] == ["a", "b"]
    assert [n.name for n in sort_nodes(both, "cards_free")] == ["b", "a"]
    assert [n.name for n in sort_nodes(both, "cards")] == ["b", "a"]
    assert [n.name for n in sort_nodes(both, "ports")] == ["a", "b"]
    assert [n.name for n in sort_nodes(both, "domain")] == ["a", "b"]
