"""Selectors of the API as requirements: what each spelling means, equality, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gangpool.core.model import NAME_FIELD, Requirement
from gangpool.objects.faults import ObjectError
from gangpool.objects.pod import LabelSelector, NodeSelectorTerms
from gangpool.objects.selectors import node_selector_of, node_terms_of, selector_of

Json = dict[str, Any]


def labels(made: Json) -> Any:
    return selector_of(msgspec.convert(made, LabelSelector), "s")


def nodes(*terms: Json) -> Any:
    return node_terms_of(msgspec.convert({"nodeSelectorTerms": terms}, NodeSelectorTerms), "s")


def test_absent_matches_nothing_and_empty_everything() -> None:
    assert selector_of(None) is None
    assert labels({}) == ()
    assert labels({"matchLabels": {}, "matchExpressions": []}) == ()


def test_labels_and_expressions_are_one_list() -> None:
    expressions = [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "NotIn", "values": ["2", "1"]}]
    assert labels({"matchLabels": {"c": "x"}, "matchExpressions": expressions}) == (
        Requirement("a", "Exists"),
        Requirement("b", "NotIn", ("1", "2")),
        Requirement("c", "In", ("x",)),
    )


def test_equal_selectors_come_out_equal() -> None:
    one = {"matchLabels": {"a": "1", "b": "2"}}
    other = {
        "matchExpressions": [
            {"key": "b", "operator": "In", "values": ["2", "2"]},
            {"key": "a", "operator": "In", "values": ["1"]},
            {"key": "b", "operator": "In", "values": ["2"]},
        ]
    }
    assert labels(one) == labels(other)


def test_node_selector() -> None:
    assert node_selector_of(None) == ()
    assert node_selector_of({}) == ()
    assert node_selector_of({"b": "2", "a": "1"}) == ((Requirement("a", "In", ("1",)), Requirement("b", "In", ("2",))),)


def test_node_terms_are_alternatives_and_an_empty_one_stays() -> None:
    found = nodes(
        {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]},
        {},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
    )
    assert found == ((Requirement("a", "DoesNotExist"),), (), (Requirement(NAME_FIELD, "In", ("n1",)),))


@pytest.mark.parametrize(
    ("value", "read"), [("5", "5"), ("-5", "-5"), ("+007", "7"), ("9223372036854775807", "9223372036854775807")]
)
def test_gt_and_lt_take_one_whole_number(value: str, read: str) -> None:
    found = nodes({"matchExpressions": [{"key": "a", "operator": "Gt", "values": [value]}]})
    assert found == ((Requirement("a", "Gt", (read,)),),)


@pytest.mark.parametrize(
    ("expression", "field", "why"),
    [
        ({"key": "a", "operator": "Near"}, "operator", "none of In, NotIn, Exists, DoesNotExist, Gt, Lt"),
        ({"key": "a"}, "operator", "''"),
        ({"operator": "Exists"}, "key", "missing"),
        ({"key": "a", "operator": "In"}, "values", "at least one"),
        ({"key": "a", "operator": "NotIn", "values": []}, "values", "at least one"),
        ({"key": "a", "operator": "Exists", "values": ["x"]}, "values", "no values"),
        ({"key": "a", "operator": "DoesNotExist", "values": ["x"]}, "values", "no values"),
        ({"key": "a", "operator": "Gt", "values": ["1", "2"]}, "values", "exactly one"),
        ({"key": "a", "operator": "Lt"}, "values", "exactly one"),
        ({"key": "a", "operator": "Lt", "values": ["1.5"]}, "values", "whole numbers"),
        ({"key": "a", "operator": "Lt", "values": ["x"]}, "values", "whole numbers"),
        ({"key": "a", "operator": "Gt", "values": [""]}, "values", "whole numbers"),
        ({"key": "a", "operator": "Gt", "values": ["9223372036854775808"]}, "values", "whole numbers"),
    ],
)
def test_impossible_expressions_of_node_terms(expression: Json, field: str, why: str) -> None:
    with pytest.raises(ObjectError, match=why) as refused:
        nodes({"matchExpressions": [{"key": "fine", "operator": "Exists"}, expression]})
    assert refused.value.field == f"s.nodeSelectorTerms[0].matchExpressions[1].{field}"


@pytest.mark.parametrize(
    ("expression", "field"),
    [
        ({"key": "metadata.labels", "operator": "In", "values": ["a"]}, "key"),
        ({"key": "metadata.name", "operator": "Exists"}, "operator"),
        ({"key": "metadata.name", "operator": "In", "values": ["a", "b"]}, "values"),
        ({"key": "metadata.name", "operator": "NotIn"}, "values"),
    ],
)
def test_impossible_fields_of_node_terms(expression: Json, field: str) -> None:
    with pytest.raises(ObjectError) as refused:
        nodes({"matchFields": [expression]})
    assert refused.value.field == f"s.nodeSelectorTerms[0].matchFields[0].{field}"


def test_label_selectors_know_no_gt() -> None:
    with pytest.raises(ObjectError, match="'Gt' is none of In, NotIn, Exists, DoesNotExist") as refused:
        labels({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]})
    assert refused.value.field == "s.matchExpressions[0].operator"


def test_no_terms_at_all_are_refused() -> None:
    with pytest.raises(ObjectError, match="at least one term"):
        nodes()
