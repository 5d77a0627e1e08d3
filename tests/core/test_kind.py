"""What a kind knows of its shape: amounts, counters that it moves, rules that bind its members to each other."""

from __future__ import annotations

import pytest

from gangpool.core.kind import Kind
from gangpool.core.ledger import Ledger
from gangpool.core.model import HOSTNAME, Shape
from tests.core.build import ZONE, kind, ledger_of, shape, spread, term

WORLD = "a/a1: n1=8 n2=8"
OWN, OTHER = "app=x", "app=y"


def kind_of(what: Shape, labels: str = OWN) -> tuple[Ledger, Kind]:
    ledger = ledger_of(WORLD)
    return ledger, kind(ledger, what, labels)


def test_amounts_are_asked_of_the_ledgers_columns() -> None:
    ledger, found = kind_of(shape(2, cpu=3, gib=4, room={"example.com/x": 5}))
    assert {name: amount for name, vec in ledger.free.items() for v, amount in found.asks if v is vec} == {
        "nvidia.com/gpu": 2,
        "cpu": 3000,
        "memory": 4 << 30,
        "pods": 1,
        "example.com/x": 5,
    }
    assert found.n_cards == 2
    assert kind_of(shape(0))[1].n_cards == 0


@pytest.mark.parametrize(
    ("rules", "coupled", "one_per_node", "plain"),
    [
        ({}, False, False, True),
        ({"anti_affinity": (term(HOSTNAME, OWN),)}, False, True, False),
        ({"anti_affinity": (term(HOSTNAME, OTHER),)}, False, False, False),
        ({"anti_affinity": (term(ZONE, OWN),)}, True, False, False),
        ({"anti_affinity": (term(HOSTNAME, OWN), term(ZONE, OWN))}, True, True, False),
        ({"anti_affinity": (term(HOSTNAME, OWN, "ops"),)}, False, False, False),
        ({"affinity": (term(ZONE, OWN),)}, True, False, False),
        ({"affinity": (term(ZONE, OTHER),)}, False, False, False),
        ({"spread": (spread(ZONE, OWN),)}, True, False, False),
        ({"spread": (spread(ZONE, OTHER),)}, False, False, False),
        ({"spread": (spread(ZONE, OWN, hard=False),)}, False, False, True),
        ({"host_ports": (("", "TCP", 80),)}, False, True, False),
        ({"soft_terms": ((3, term(ZONE, OWN)),)}, False, False, True),
        ({"preferred": ((3, ()),)}, False, False, True),
    ],
)
def test_what_rules_mean_for_a_kind(rules: dict[str, object], coupled: bool, one_per_node: bool, plain: bool) -> None:
    _, found = kind_of(shape(**rules))  # type: ignore[arg-type]
    assert (found.coupled, found.one_per_node, found.is_plain()) == (coupled, one_per_node, plain)


def test_a_claim_moves_own_matches_carried_terms_and_ports_once_each() -> None:
    rule = term(HOSTNAME, OWN)
    ledger, found = kind_of(shape(anti_affinity=(rule, rule), host_ports=(("", "TCP", 80), ("", "TCP", 80))))
    match, _, carry = ledger.terms.anti(rule)
    assert found.moves[:2] == (match, carry)
    assert len(found.moves) == 3
    assert found.self_repels == [ledger.columns.column(HOSTNAME)] * 2


def test_affinity_and_spread_know_whether_they_mean_their_own() -> None:
    rules = {"affinity": (term(ZONE, OWN), term(ZONE, OTHER)), "spread": (spread(ZONE, OTHER), spread(ZONE, OWN))}
    _, found = kind_of(shape(**rules))  # type: ignore[arg-type]
    assert [a.self_match for a in found.attracts] == [True, False]
    assert [s.self_match for s in found.spreads] == [False, True]
    assert [s.column.key for s in found.spreads] == [ZONE, ZONE]


def test_a_running_carrier_takes_the_plainness_of_those_it_repels() -> None:
    ledger, found = kind_of(shape())
    assert found.is_plain()
    carrier = kind(ledger, shape(anti_affinity=(term(ZONE, OWN),)), OTHER)
    again = kind(ledger, shape(), OWN)
    assert again.is_plain()
    ledger.claim(0, carrier)
    assert not again.is_plain()
    assert kind(ledger, shape(), OTHER).is_plain()
    ledger.rollback((0, 0))
    assert again.is_plain()


def test_equal_shapes_and_labels_are_one_kind() -> None:
    ledger, found = kind_of(shape(1))
    assert kind(ledger, shape(1), OWN) is found
    assert kind(ledger, shape(1), "app=z") is found
    assert kind(ledger, shape(2), OWN) is not found
    ledger.terms.term(term(ZONE, OWN))
    assert kind(ledger, shape(1), OWN) is not found
    assert kind(ledger, shape(1), "app=z") is found


def test_one_shape_object_is_looked_up_by_its_identity() -> None:
    ledger = ledger_of(WORLD)
    what = shape(1)
    first = ledger.kind(what, "ml", ())[0]
    assert ledger.kind(what, "ml", ())[0] is first
    assert ledger.kind(shape(1), "ml", ())[0] is first
    assert ledger.kind(shape(1), "ops", ())[0] is first


def test_a_kind_of_another_size_keeps_the_rules() -> None:
    ledger, found = kind_of(shape(1, anti_affinity=(term(HOSTNAME, OWN),)))
    sized = ledger.kind_sized(found, (("cpu", 5000), ("pods", 1)))
    assert (sized.matches, sized.one_per_node, sized.n_cards) == (found.matches, True, 0)
    assert [amount for _, amount in sized.asks] == [5000, 1]
    assert ledger.kind_sized(found, (("cpu", 5000), ("pods", 1))) is sized
    assert sized.number != found.number
