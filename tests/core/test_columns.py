"""Columns of labels, the filters made of them, and how filters follow changes of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangpool.core.columns import REPLAY_LIMIT, Column, Columns
from gangpool.core.match import node_matches, untolerated
from gangpool.core.model import NAME_FIELD, NodeFacts, NodeSelector, Requirement, Taint, Toleration
from tests.core.build import either, node, requirement, taint

EXISTS = Toleration("", "Exists")


def columns_of(*facts: NodeFacts | None, capacity: int = 8) -> Columns:
    columns = Columns(capacity)
    for i, one in enumerate(facts):
        columns.put(i, one)
    return columns


def slots(columns: Columns, *selectors: NodeSelector, tolerations: Any = (), soft_too: bool = False) -> list[int]:
    return np.nonzero(columns.filter(selectors, tolerations, soft_too).mask)[0].tolist()


def labelled(name: str, **labels: str) -> NodeFacts:
    return node(name, labels=labels)


def test_a_column_numbers_its_values_in_the_order_of_their_coming() -> None:
    column = Column("k", 4)
    assert column.of.view.tolist() == [-1] * 4
    for i, value in enumerate(("b", "a", "b")):
        column.put(i, labelled(f"n{i}", k=value))
    assert (column.values, column.ids, column.of.view.tolist()) == (["b", "a"], {"b": 0, "a": 1}, [0, 1, 0, -1])
    version = column.version
    column.put(1, labelled("other", k="a"))
    assert column.version == version
    column.put(1, labelled("n1"))
    column.put(0, None)
    assert column.of.view.tolist() == [-1, -1, 0, -1]
    assert column.version == version + 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k=1,9,10", [True, True, False, False]),
        ("k!=1", [False, True, True, True]),
        ("k", [True, True, True, False]),
        ("!k", [False, False, False, True]),
        ("k>5", [False, True, False, False]),
    ],
)
def test_a_requirement_is_evaluated_per_value_and_for_no_label(text: str, expected: list[bool]) -> None:
    column = Column("k", 4)
    for i, value in enumerate(("1", "10", "x")):
        column.put(i, labelled(f"n{i}", k=value))
    assert column.test(requirement(text)).tolist() == expected


def test_the_name_of_a_node_is_a_column_too() -> None:
    columns = columns_of(labelled("n0"), labelled("n1"))
    assert slots(columns, ((Requirement(NAME_FIELD, "In", ("n1",)),),)) == [1]
    assert slots(columns, ((Requirement(NAME_FIELD, "NotIn", ("n1",)),),)) == [0]


def test_all_selectors_must_let_a_node_in_by_any_of_their_terms() -> None:
    columns = columns_of(labelled("n0", a="1"), labelled("n1", a="1", b="1"), labelled("n2", b="1"))
    assert slots(columns, either("a=1", "b=1")) == [0, 1, 2]
    assert slots(columns, either("a=1"), either("b=1")) == [1]
    assert slots(columns, either("a=1 b=1")) == [1]
    assert slots(columns, ()) == [0, 1, 2]
    assert slots(columns, (), either("!a")) == [2]
    assert slots(columns, ((),)) == []
    assert slots(columns, ((), *either("b"))) == [1, 2]


def test_taints_keep_out_those_that_do_not_tolerate_them() -> None:
    columns = columns_of(
        labelled("n0"),
        node("n1", taints=(taint("k=v:NoSchedule"),)),
        node("n2", taints=(taint("s:PreferNoSchedule"),)),
        node("n3", taints=(taint("k=v:NoSchedule"),)),
    )
    assert slots(columns) == [0, 2]
    assert slots(columns, soft_too=True) == [0]
    assert slots(columns, tolerations=(EXISTS,), soft_too=True) == [0, 1, 2, 3]
    assert slots(columns, tolerations=(Toleration("k", "Exists"),)) == [0, 1, 2, 3]
    assert slots(columns, tolerations=None) == [0, 1, 2, 3]
    assert columns.taints_of(3) == (taint("k=v:NoSchedule"),)
    assert columns.taint_ids().tolist()[:4] == [0, 1, 2, 1]
    assert len(columns.taint_sets) == 3
    assert columns.has_soft_taints()
    assert not columns_of(node("n1", taints=(taint("k=v:NoSchedule"),))).has_soft_taints()


def test_a_filter_follows_changes_and_says_so() -> None:
    columns = columns_of(labelled("n0", a="1"), labelled("n1"))
    found = columns.filter((either("a=1"),), ())
    assert columns.filter((either("a=1"),), ()) is found
    first = found.version
    assert found.mask.tolist()[:2] == [True, False]
    columns.put(1, labelled("n1", b="2"))
    columns.filter((either("a=1"),), ())
    assert found.version == first
    columns.put(1, labelled("n1", a="1"))
    columns.put(0, None)
    columns.filter((either("a=1"),), ())
    second = found.version
    assert (found.mask.tolist()[:2], second > first) == ([False, True], True)
    columns.filter((either("a=1"),), ())
    assert found.version == second
    columns.put(1, node("n1", labels={"a": "1"}, taints=(taint("k:NoExecute"),)))
    assert slots(columns, either("a=1")) == []


@pytest.mark.parametrize("n", [REPLAY_LIMIT, REPLAY_LIMIT + 1])
def test_many_changes_are_a_full_pass(n: int) -> None:
    columns = columns_of(labelled("n0", a="1"), labelled("n1"))
    found = columns.filter((either("a=1"),), ())
    first = found.version
    for _ in range(n):
        columns.put(1, labelled("n1"))
    columns.filter((either("a=1"),), ())
    assert found.version == first
    for _ in range(n):
        columns.put(1, labelled("n1", a="1"))
    assert slots(columns, either("a=1")) == [0, 1]
    assert found.version > first
    columns.put(0, None)
    assert slots(columns, either("a=1")) == [1]


def test_growing_keeps_columns_and_makes_new_slots_empty() -> None:
    columns = columns_of(labelled("n0", a="1"), capacity=1)
    columns.column("a")
    assert slots(columns, either("a")) == [0]
    columns.grow(4)
    columns.put(2, labelled("n2", a="1"))
    assert columns.column("a").of.view.tolist() == [0, -1, 0, -1]
    assert slots(columns, either("a")) == [0, 2]
    assert slots(columns, either("!a")) == []
    assert (columns.capacity, len(columns.filter((), None).mask)) == (4, 4)


def test_a_column_made_late_knows_all_nodes() -> None:
    columns = columns_of(labelled("n0", a="1"), None, labelled("n2", a="2"))
    column = columns.column("a")
    assert column.of.view.tolist()[:3] == [0, -1, 1]
    assert columns.column("a") is column


KEYS, VALUES = st.sampled_from("ab"), st.sampled_from(["1", "2", "30"])
REQUIREMENTS = st.builds(
    lambda key, operator, values: Requirement(key, operator, tuple(values)),
    KEYS,
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
    st.lists(VALUES, min_size=1, max_size=2),
)
SELECTORS = st.lists(st.lists(REQUIREMENTS, max_size=2).map(tuple), max_size=2).map(tuple)
EFFECTS = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
TAINTS = st.lists(st.builds(Taint, KEYS, VALUES, EFFECTS), max_size=2).map(tuple)
TOLERATIONS = st.builds(
    Toleration, st.sampled_from(["a", "b", ""]), st.sampled_from(["Equal", "Exists"]), VALUES, st.just("") | EFFECTS
)
NODES = st.none() | st.builds(
    lambda labels, taints: NodeFacts("n", {}, labels, taints), st.dictionaries(KEYS, VALUES, max_size=2), TAINTS
)


@given(
    st.lists(st.tuples(st.integers(0, 5), NODES), max_size=8),
    st.lists(st.tuples(st.integers(0, 5), NODES), max_size=8),
    st.lists(SELECTORS, max_size=2).map(tuple),
    st.none() | st.lists(TOLERATIONS, max_size=2).map(tuple),
    st.booleans(),
)
def test_a_filter_equals_the_rules_node_by_node(
    before: list[tuple[int, NodeFacts | None]],
    after: list[tuple[int, NodeFacts | None]],
    selectors: tuple[NodeSelector, ...],
    tolerations: tuple[Toleration, ...] | None,
    soft_too: bool,
) -> None:
    """Twins: the mask, made at once and kept up by replay, and `match` on each node's labels and taints."""
    columns = Columns(8)
    for i, facts in before:
        columns.put(i, facts)
    columns.filter(selectors, tolerations, soft_too)
    for i, facts in after:
        columns.put(i, facts)
    mask = columns.filter(selectors, tolerations, soft_too).mask
    now = dict(before) | dict(after)
    for i in range(8):
        facts = now.get(i)
        expected = facts is not None and all(node_matches(selector, facts.labels) for selector in selectors)
        if expected and facts is not None and tolerations is not None:
            expected = untolerated(tolerations, facts.taints, soft_too) is None
        assert mask[i] == expected
