"""Styles, domains and ungrouped nodes, as `gangpool tree` shows them."""

from __future__ import annotations

from gangpool.core.model import NodeFacts
from gangpool.intake.answer import DomainEntry
from gangpool.intake.trees import tree

STYLES = {"fabric": ("core", "spine", "leaf"), "site": ("zone", "rack")}


def domains(labels: dict[str, str], *others: dict[str, str]) -> tuple[str | None, list[str], bool]:
    """Style, domains and `ungrouped` of a node with these labels in a pool with others."""
    nodes = [NodeFacts(f"n{i}", {}, labels) for i, labels in enumerate([labels, *others])]
    node = tree(nodes, STYLES).nodes[0]
    return node.style, [entry.domain for entry in node.domains], node.ungrouped


def test_a_domain_is_the_path_from_the_widest_level() -> None:
    assert domains({"core": "c", "spine": "s", "leaf": "7"}) == ("fabric", ["c", "c/s", "c/s/7"], False)


def test_a_level_that_no_node_has_is_no_level() -> None:
    assert domains({"spine": "s", "leaf": "7"}) == ("fabric", ["s", "s/7"], False)


def test_a_node_that_lacks_a_level_of_others_is_outside_of_it_and_of_narrower_ones() -> None:
    assert domains({"core": "c", "leaf": "7"}, {"spine": "s"}) == ("fabric", ["c"], False)


def test_an_empty_value_counts_as_lacking() -> None:
    assert domains({"zone": "", "core": ""}) == (None, [], True)


def test_the_first_style_that_gives_a_domain_wins() -> None:
    assert domains({"zone": "z", "rack": "r", "spine": "s"}) == ("fabric", ["s"], False)
    assert domains({"zone": "z", "rack": "r", "spine": "s"}, {"core": "c"}) == ("site", ["z", "z/r"], False)


def test_values_are_text() -> None:
    nodes = [NodeFacts(name, {}, {"zone": "z", "rack": rack}) for name, rack in (("a", "7"), ("b", "07"))]
    a, b = tree(nodes, STYLES).nodes
    assert a.domains[0] == b.domains[0] == DomainEntry("zone", "z")
    assert a.domains[1] != b.domains[1]


def test_memory_is_a_number_and_amounts_are_plain_decimals() -> None:
    with_memory = NodeFacts("a", {"cpu": 95500, "memory": 2 << 40, "rdma/ib": 1000}, {})
    a, b = tree([with_memory, NodeFacts("b", {}, {})], STYLES).nodes
    assert (a.memory_bytes, b.memory_bytes) == (2 << 40, None)
    assert a.allocatable == {"cpu": "95.5", "memory": str(2 << 40), "rdma/ib": "1000"}
