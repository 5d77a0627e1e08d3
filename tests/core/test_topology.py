"""Trees: their order, ranges, parents, names; nodes outside a level."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gangpool.core.topology import Path, Tree, without_hostname
from tests.core.build import LEVELS, RACK, ZONE, pool_of

WORLD = """
b/b10: n1=8 n2=8
b/b2: n3=8
a/x: n4=8
-/-: n5=8
a/-: n6=8
b/b2: n7=8
"""


def tree_of(world: str, levels: tuple[str, ...] = LEVELS) -> Tree:
    return pool_of(world, levels).forest.tree(levels)


def test_domains_in_natural_order_with_nodes_outside_last() -> None:
    tree = tree_of(WORLD)
    assert tree.keys == LEVELS
    assert tree.depth == 2
    assert tree.order.tolist() == [3, 5, 2, 6, 0, 1, 4]
    assert [tree.name(0, 0)] == [""]
    assert [tree.name(1, d) for d in range(len(tree.names[1]))] == ["a", "b", "-"]
    assert [tree.name(2, d) for d in range(len(tree.names[2]))] == ["a/x", "a/-", "b/b2", "b/b10", "-/-"]
    assert tree.real[1].tolist() == [True, True, False]
    assert tree.real[2].tolist() == [True, False, True, True, False]
    assert tree.all_real == [True, False, False]
    assert not tree.is_identity


def test_ranges_parents_and_children() -> None:
    tree = tree_of(WORLD)
    assert tree.start == [[0, 7], [0, 2, 6, 7], [0, 1, 2, 4, 6, 7]]
    assert [s.tolist() for s in tree.starts] == tree.start
    assert tree.child == [[0, 3], [0, 2, 4, 5]]
    assert tree.up == [[-1], [0, 0, 0], [0, 0, 1, 1, 2]]
    assert [u.tolist() for u in tree.up_of] == tree.up
    assert tree.dom == [[0] * 7, [1, 1, 1, 0, 2, 0, 1], [3, 3, 2, 0, 4, 1, 2]]
    assert [d.tolist() for d in tree.dom_of] == tree.dom
    assert tree.nodes(2, 2).tolist() == [2, 6]
    assert tree.nodes(0, 0).tolist() == tree.order.tolist()
    assert tree.span(0, 0, 2) == (0, 5)
    assert tree.span(1, 1, 2) == (2, 4)
    assert tree.span(2, 3, 2) == (3, 4)
    assert tree.above(2, 3, 1) == 1
    assert tree.above(2, 4, 0) == 0
    assert tree.above(1, 2, 1) == 2


def test_the_levels_of_a_node_without_those_that_it_is_outside_of() -> None:
    tree = tree_of(WORLD)
    assert tree.path_of(2) == ((ZONE, "b"), (RACK, "b/b2"))
    assert tree.path_of(5) == ((ZONE, "a"),)
    assert tree.path_of(4) == ()


def test_equal_names_under_different_parents_are_different_domains() -> None:
    tree = tree_of("a/r: n1=8\nb/r: n2=8")
    assert [tree.name(2, d) for d in range(2)] == ["a/r", "b/r"]
    assert tree.up[2] == [0, 1]


def test_an_empty_label_is_no_label_and_ends_the_path() -> None:
    pool = pool_of("a/a1: n1=8")
    facts = pool.ledger.facts[0]
    assert facts is not None
    pool.set_node(replace(facts, name="n2", labels={ZONE: "", RACK: "a1"}))
    tree = pool.forest.tree(LEVELS)
    assert tree.path_of(1) == ()
    assert tree.real[2].tolist() == [True, False]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["leaf-10", "leaf-9", "leaf-1"], ["leaf-1", "leaf-9", "leaf-10"]),
        (["10", "9", "100"], ["9", "10", "100"]),
        (["b", "a", "a1"], ["a", "a1", "b"]),
        (["leaf-2", "leaf-02", "leaf-002"], ["leaf-002", "leaf-02", "leaf-2"]),
        (["x1y", "x10y", "x2y"], ["x10y", "x1y", "x2y"]),
    ],
)
def test_natural_order(given: list[str], expected: list[str]) -> None:
    tree = Tree(("k",), [(name,) for name in given], len(given))
    assert [path[0] for path in tree.names[1]] == expected


def test_a_pool_in_tree_order_is_known_as_such() -> None:
    assert tree_of("a/a1: n1=8 n2=8\nb/b1: n3=8").is_identity
    assert not tree_of("b/b1: n1=8\na/a1: n2=8").is_identity
    pool = pool_of("a/a1: n1=8 n2=8 n3=8")
    pool.drop_node("n3")
    assert not pool.forest.tree(LEVELS).is_identity


def test_a_tree_without_nodes_has_no_domains() -> None:
    tree = tree_of("")
    assert tree.names == [[()], [], []]
    assert tree.span(0, 0, 1) == (0, 0)
    assert tree.nodes(0, 0).tolist() == []
    pool = pool_of("a/a1: n1=8")
    pool.drop_node("n1")
    gone = pool.forest.tree(LEVELS)
    assert gone.names == [[()], [], []]
    assert gone.dom == [[0], [-1], [-1]]


def test_slots_of_lost_nodes_are_in_no_domain_below_the_pool() -> None:
    pool = pool_of("a/a1: n1=8 n2=8\na/a2: n3=8")
    pool.drop_node("n2")
    tree = pool.forest.tree(LEVELS)
    assert [dom[1] for dom in tree.dom] == [0, -1, -1]
    assert 1 not in tree.order.tolist()


def test_the_hostname_is_no_level_of_a_topology() -> None:
    assert without_hostname(("zone", "kubernetes.io/hostname")) == ("zone",)


PART = st.sampled_from([None, "a", "b", "a1", "a2", "a10", "1", "01", "10", "2"])


@st.composite
def path_lists(draw: st.DrawFn) -> tuple[int, list[Path | None]]:
    """Any paths, with gaps in the middle too, as HyperNodes can make them; None: no node in the slot."""
    depth = draw(st.integers(0, 3))
    path = st.one_of(st.none(), st.tuples(*[PART] * depth))
    return depth, draw(st.lists(path, max_size=24))


@given(path_lists())
def test_every_domain_is_a_contiguous_range(made: tuple[int, list[Path | None]]) -> None:
    depth, paths = made
    tree = Tree(tuple(f"k{level}" for level in range(depth)), paths, len(paths))
    alive = [i for i, path in enumerate(paths) if path is not None]
    assert sorted(tree.order.tolist()) == alive
    assert tree.is_identity == (tree.order.tolist() == list(range(len(paths))))
    for level in range(depth + 1):
        wanted: dict[Path, set[int]] = {(): set()} if level == 0 else {}
        for i in alive:
            path = paths[i]
            assert path is not None
            wanted.setdefault(path[:level], set()).add(i)
        found = {path: set(tree.nodes(level, d).tolist()) for d, path in enumerate(tree.names[level])}
        assert found == wanted
        assert len(tree.names[level]) == len(wanted)
        for domain, path in enumerate(tree.names[level]):
            assert {tree.dom[level][i] for i in found[path]} <= {domain}
            assert tree.real[level][domain] == (not path or path[-1] is not None)
            assert np.array_equal(tree.nodes(level, domain), tree.order[slice(*tree.start[level][domain : domain + 2])])
            if level:
                assert tree.names[level - 1][tree.up[level][domain]] == path[:-1]
            for below in range(level, depth + 1):
                first, last = tree.span(level, domain, below)
                assert {tree.above(below, d, level) for d in range(first, last)} <= {domain}
                inside = [d for d, name in enumerate(tree.names[below]) if name[:level] == path]
                assert list(range(first, last)) == inside
        assert tree.all_real[level] == all(tree.real[level])
