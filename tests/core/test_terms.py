"""Counters of inter-pod rules and host ports: who is counted where, when selectors and namespaces come later."""

from __future__ import annotations

import numpy as np
import pytest

from gangpool.core.ledger import Claim, Ledger
from gangpool.core.model import HOSTNAME, Shape
from gangpool.core.terms import TERMINATING, Counter
from tests.core.build import ZONE, kind, ledger_of, member, selector, shape, spread, term

WORLD = """
a/a1: n1=8 n2=8
b/b1: n3=8
-/-: n4=8
"""


def hold(ledger: Ledger, uid: str, node: str, what: Shape | None = None, labels: str = "", space: str = "ml") -> None:
    found, tag = ledger.kind(what or shape(), space, member("x", labels=labels).labels)
    ledger.hold(Claim(uid, ledger.slot[node], found, tag))


def totals(ledger: Ledger) -> list[int]:
    return [counter.total for counter in ledger.terms.counters()]


def test_a_counter_moves_on_one_node_and_in_total() -> None:
    counter = Counter(4)
    counter.move(2, 3)
    counter.move(1, 1)
    counter.move(2, -1)
    assert (counter.of.view.tolist(), counter.total, counter.version) == ([0, 1, 2, 0], 3, 3)


def test_members_per_value_leave_out_nodes_without_the_label() -> None:
    ledger = ledger_of(WORLD)
    column = ledger.columns.column(ZONE)
    match = ledger.terms.match((selector("app=x"), ("ml",), None))
    assert match.by_value(column).tolist() == [0, 0, 0]
    for uid, node in (("p", "n1"), ("q", "n2"), ("r", "n3"), ("s", "n4")):
        hold(ledger, uid, node, labels="app=x")
    counts = match.by_value(column)
    assert counts.dtype == np.int64
    assert dict(zip(column.values, counts.tolist(), strict=False)) == {"a": 2, "b": 1}
    assert counts.tolist()[-1] == 0
    assert match.total == 4


def test_a_selector_that_comes_later_counts_members_that_are_there() -> None:
    ledger = ledger_of(WORLD)
    hold(ledger, "p", "n1", labels="app=x")
    hold(ledger, "q", "n1", labels="app=y")
    hold(ledger, "r", "n3", labels="app=x", space="other")
    before = ledger.claims["p"].kind
    match = ledger.terms.match((selector("app=x"), ("ml",), None))
    assert (match.total, match.of.at[0]) == (1, 1)
    assert match in ledger.claims["p"].kind.moves
    assert ledger.claims["p"].kind is not before
    assert match not in ledger.claims["q"].kind.moves
    ledger.release("p")
    assert totals(ledger) == [0]


def test_the_selectors_that_match_labels() -> None:
    terms = ledger_of(WORLD).terms
    assert terms.matches_of("ml", (("app", "x"),)) == ()
    one, two = (terms.match((selector(text), ("ml",), None)) for text in ("app=x", "app"))
    assert terms.matches_of("ml", (("app", "x"),)) == (one, two)
    assert terms.matches_of("ml", (("app", "y"),)) == (two,)
    assert terms.matches_of("ml", ()) == terms.matches_of("other", (("app", "x"),)) == ()


def test_the_same_selector_is_one_counter_and_counts_once() -> None:
    ledger = ledger_of(WORLD)
    hold(ledger, "p", "n1", labels="app=x")
    first, column = ledger.terms.term(term(ZONE, "app=x"))
    again, other = ledger.terms.term(term(HOSTNAME, "app=x"))
    assert first is again
    assert first.total == 1
    assert (column.key, other.key) == (ZONE, HOSTNAME)
    assert ledger.terms.n_matches == 1


@pytest.mark.parametrize(
    ("spaces", "by_label", "expected"),
    [
        (("ml",), None, True),
        (("ops",), None, False),
        (("ops",), selector("team=red"), True),
        (("ops",), selector("team=blue"), False),
        (("ops",), (), True),
        (("ops", "ml"), None, True),
    ],
)
def test_namespaces_of_a_term(spaces: tuple[str, ...], by_label: object, expected: bool) -> None:
    ledger = ledger_of(WORLD)
    ledger.set_namespace("ml", {"team": "red"})
    hold(ledger, "p", "n1", labels="app=x")
    match, _ = ledger.terms.term(term(ZONE, "app=x", *spaces, by_label=by_label))  # type: ignore[arg-type]
    assert (match.total == 1) is expected


def test_labels_of_a_namespace_change_who_is_counted() -> None:
    ledger = ledger_of(WORLD)
    hold(ledger, "p", "n1", labels="app=x")
    hold(ledger, "q", "n2", labels="app=x", space="ops")
    match, _ = ledger.terms.term(term(ZONE, "app=x", "none", by_label=selector("team=red")))
    assert match.total == 0
    grown = ledger.grow_version
    ledger.set_namespace("ml", {"team": "red"})
    assert (match.total, match.of.at[0]) == (1, 1)
    assert match in ledger.claims["p"].kind.moves
    assert match not in ledger.claims["q"].kind.moves
    assert ledger.grow_version > grown
    ledger.set_namespace("ml", None)
    assert match.total == 0
    assert match not in ledger.claims["p"].kind.moves


def test_a_namespace_that_no_selector_asks_about_changes_nothing() -> None:
    ledger = ledger_of(WORLD)
    hold(ledger, "p", "n1", labels="app=x")
    ledger.terms.term(term(ZONE, "app=x"))
    version = ledger.version
    ledger.set_namespace("ml", {"team": "red"})
    assert ledger.version == version
    match, _ = ledger.terms.term(term(ZONE, "app=x", "none", by_label=selector("team=red")))
    assert match.total == 1


def test_carriers_of_anti_affinity_are_counted_and_repel_those_that_match() -> None:
    ledger = ledger_of(WORLD)
    rule = term(ZONE, "app=y")
    hold(ledger, "p", "n1", shape(anti_affinity=(rule,)), labels="app=x")
    match, column, carry = ledger.terms.anti(rule)
    assert (match.total, carry.total, carry.of.at[0]) == (0, 1, 1)
    assert match.carries == [carry]
    assert carry.column is column
    assert ledger.terms.anti(rule)[2] is carry
    assert match.carries == [carry]
    other = ledger.terms.anti(term(HOSTNAME, "app=y"))[2]
    assert match.carries == [carry, other]


def test_spread_leaves_terminating_pods_out_and_affinity_does_not() -> None:
    ledger = ledger_of(WORLD)
    hold(ledger, "p", "n1", labels="app=x")
    hold(ledger, "q", "n1", labels=f"app=x {TERMINATING}=true")
    rule = spread(ZONE, "app=x")
    assert ledger.terms.spread(rule.selector, rule.namespace).total == 1
    assert ledger.terms.term(term(ZONE, "app=x"))[0].total == 2
    assert ledger.terms.spread(None, "ml").total == 0


def test_equal_labels_in_one_namespace_are_one_tag() -> None:
    ledger = ledger_of(WORLD)
    labels = (("app", "x"),)
    assert ledger.terms.tag("ml", labels) is ledger.terms.tag("ml", labels)
    assert ledger.terms.tag("ml", labels) is not ledger.terms.tag("ops", labels)
    match, _ = ledger.terms.term(term(ZONE, "app=x"))
    assert ledger.terms.tag("ml", labels).matches == (match,)
    assert ledger.terms.tag("ml", (("app", "x"), ("b", "2"))).matches == (match,)
    assert ledger.terms.tag("ops", labels).matches == ()


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (("", "TCP", 80), ("", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("10.0.0.1", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), False),
        (("10.0.0.1", "TCP", 80), ("0.0.0.0", "TCP", 80), True),
        (("::", "TCP", 80), ("10.0.0.1", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("", "TCP", 80), True),
        (("", "TCP", 80), ("", "UDP", 80), False),
        (("", "TCP", 80), ("", "TCP", 81), False),
    ],
)
def test_host_ports_clash_whichever_was_there_first(
    one: tuple[str, str, int], other: tuple[str, str, int], clash: bool
) -> None:
    """A kind that was made before the other address came up must know it too."""
    ledger = ledger_of(WORLD)
    first = kind(ledger, shape(host_ports=(one,)))
    second = kind(ledger, shape(host_ports=(other,)))
    for holder, newcomer in ((first, second), (second, first)):
        ledger.claim(0, holder)
        assert any(use.of.at[0] for use in newcomer.clashes) is clash
        assert not any(use.of.at[1] for use in newcomer.clashes)
        ledger.rollback((0, 0))


def test_host_port_counters_go_back() -> None:
    ledger = ledger_of(WORLD)
    hold(ledger, "p", "n1", shape(host_ports=(("", "TCP", 80), ("", "TCP", 81))))
    assert totals(ledger) == [1, 1]
    ledger.release("p")
    assert totals(ledger) == [0, 0]


def test_counters_grow_with_the_ledger() -> None:
    ledger = ledger_of(WORLD)
    hold(ledger, "p", "n3", shape(host_ports=(("", "TCP", 80),), anti_affinity=(term(ZONE, "app=x"),)), "app=x")
    ledger.reserve(200)
    for counter in ledger.terms.counters():
        assert len(counter.of.view) == 200
        assert (counter.total, counter.of.at[2]) == (1, 1)
    assert len(totals(ledger)) == 3
