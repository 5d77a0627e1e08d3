"""The table of `gangpool tree`."""

from __future__ import annotations

from gangpool.cli.tree import lines
from gangpool.core.model import NodeFacts
from gangpool.intake.trees import tree

STYLES = {"fabric": ("spine", "leaf")}


def test_narrower_domains_stand_under_their_wider_one() -> None:
    places = [("s1", "a"), ("s2", "a"), ("s1", "b"), ("s1", "a")]
    nodes = [
        NodeFacts(f"n{i}", {"nvidia.com/gpu": 8}, {"spine": spine, "leaf": leaf})
        for i, (spine, leaf) in enumerate(places)
    ]
    nodes.append(NodeFacts("bare", {}, {}))
    assert list(lines(tree(nodes, STYLES))) == [
        "DOMAIN        LEVEL   NODES   CARDS   NAMES",
        "s1            spine   3       24      n[0,2-3]",
        "  s1/a        leaf    2       16      n[0,3]",
        "  s1/b        leaf    1       8       n2",
        "s2            spine   1       8       n1",
        "  s2/a        leaf    1       8       n1",
        "(ungrouped)   -       1       0       bare",
    ]
