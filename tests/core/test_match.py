"""Operators of selectors, node selectors, tolerations: the table of the Kubernetes documentation."""

from __future__ import annotations

import pytest

from gangpool.core.match import holds, matches, node_matches, tolerates, untolerated
from gangpool.core.model import Requirement, Toleration
from tests.core.build import either, requirement, selector, taint


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("k=a,b", "a", True),
        ("k=a,b", "c", False),
        ("k=a", None, False),
        ("k!=a,b", "c", True),
        ("k!=a,b", "b", False),
        ("k!=a", None, True),
        ("k", "", True),
        ("k", None, False),
        ("!k", None, True),
        ("!k", "", False),
        ("k>3", "4", True),
        ("k>3", "3", False),
        ("k>3", "2", False),
        ("k>3", None, False),
        ("k<3", "2", True),
        ("k<3", "3", False),
        ("k<3", "-7", True),
        ("k<3", None, False),
        ("k>3", "four", False),
        ("k>three", "4", False),
    ],
)
def test_operators(text: str, value: str | None, expected: bool) -> None:
    assert holds(requirement(text), value) is expected


@pytest.mark.parametrize("text", ["1_0", " 10", "10 ", "1e1", "0x10", "", "+", "9223372036854775808", "1" * 64, "१०"])
def test_only_64_bit_decimals_are_integers(text: str) -> None:
    """The API server parses with 64 bits and takes no underscores; Python's int() would take 1_0 for 10."""
    assert not holds(requirement("k>5"), text)
    assert not holds(Requirement("k", "Lt", (text,)), "5")


def test_the_ends_of_64_bits_are_integers() -> None:
    assert holds(requirement("k>5"), "9223372036854775807")
    assert holds(requirement("k<5"), "-9223372036854775808")
    assert not holds(requirement("k<5"), "-9223372036854775809")
    assert holds(requirement("k>5"), "+6")


def test_gt_without_a_value_never_holds() -> None:
    assert not holds(Requirement("k", "Gt"), "4")
    assert not holds(Requirement("k", "Lt"), "4")


def test_a_label_selector_needs_all_requirements() -> None:
    assert matches(selector("a=1 b"), {"a": "1", "b": ""})
    assert not matches(selector("a=1 b"), {"a": "1"})
    assert matches((), {})
    assert not matches(None, {"a": "1"})


def test_a_node_selector_needs_one_term_with_all_requirements() -> None:
    assert node_matches(either("a=1 b=1", "c"), {"c": ""})
    assert node_matches(either("a=1 b=1", "c"), {"a": "1", "b": "1"})
    assert not node_matches(either("a=1 b=1", "c"), {"a": "1"})


def test_an_empty_term_matches_no_node_and_no_term_at_all_is_no_restriction() -> None:
    assert node_matches((), {})
    assert not node_matches(((),), {"a": "1"})
    assert node_matches(((), selector("a")), {"a": "1"})


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration("k", "Equal", "v", "NoSchedule"), True),
        (Toleration("k", "Equal", "v"), True),
        (Toleration("k", "Equal", "w"), False),
        (Toleration("k", "Equal", "v", "NoExecute"), False),
        (Toleration("x", "Equal", "v"), False),
        (Toleration("k", "Exists"), True),
        (Toleration("x", "Exists"), False),
        (Toleration("k", "Exists", effect="NoExecute"), False),
        (Toleration("", "Exists"), True),
        (Toleration("", "Exists", effect="NoSchedule"), True),
        (Toleration("", "Exists", effect="NoExecute"), False),
        (Toleration("", "Equal", "v"), False),
    ],
)
def test_tolerations(toleration: Toleration, expected: bool) -> None:
    assert tolerates((toleration,), taint("k=v:NoSchedule")) is expected
    assert tolerates((Toleration("other"), toleration), taint("k=v:NoSchedule")) is expected


def test_no_toleration_tolerates_nothing() -> None:
    assert not tolerates((), taint("k=v:NoSchedule"))


def test_the_first_taint_that_keeps_away() -> None:
    taints = (taint("soft:PreferNoSchedule"), taint("a=1:NoSchedule"), taint("b:NoExecute"))
    assert untolerated((), taints) == taint("a=1:NoSchedule")
    assert untolerated((), taints, soft_too=True) == taint("soft:PreferNoSchedule")
    assert untolerated((Toleration("a", "Exists"),), taints) == taint("b:NoExecute")
    assert untolerated((Toleration("", "Exists"),), taints, soft_too=True) is None
    assert untolerated((), ()) is None
