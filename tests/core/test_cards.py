"""Cards of a member under one switch, else one NUMA node; ports beside its cards."""

from __future__ import annotations

import pytest

from gangpool.core.cards import choose_cards, choose_ports, indexes_of, lowest_bits, mask_of, whole_mask
from gangpool.core.model import Card, NodeFacts, Port
from tests.core.build import node


def box(*places: tuple[int | None, str | None], sick: tuple[int, ...] = ()) -> NodeFacts:
    """Cards by (numa, switch)."""
    cards = tuple(Card(i, numa=numa, switch=switch, healthy=i not in sick) for i, (numa, switch) in enumerate(places))
    return node("n", len(places), cards=cards)


DUAL = box((0, "a"), (0, "a"), (0, "b"), (0, "b"), (1, "c"), (1, "c"), (1, "d"), (1, "d"))
ALL = 0xFF


def test_masks_and_indexes() -> None:
    assert mask_of((0, 3, 5)) == 0b101001
    assert mask_of(()) == 0
    assert indexes_of(0b101001) == (0, 3, 5)
    assert indexes_of(0) == ()
    assert lowest_bits(0b10110, 2) == 0b110
    assert lowest_bits(0b10110, 5) == 0b10110
    assert lowest_bits(0b1, 0) == 0


def test_the_cards_that_can_be_handed_out() -> None:
    assert whole_mask(node("n", 4), 4) == 0b1111
    assert whole_mask(node("n", 4), 0) == 0
    assert whole_mask(box((0, "a"), (0, "a"), (0, "b"), sick=(1,)), 3) == 0b101


@pytest.mark.parametrize(
    ("free", "n", "chosen"),
    [
        (ALL, 1, 0b1),
        (ALL, 2, 0b11),
        (ALL, 3, 0b111),
        (ALL, 4, 0b1111),
        (ALL, 6, 0b111111),
        (ALL, 8, ALL),
        (0b11111110, 2, 0b1100),
        (0b11111110, 1, 0b10),
        (0b11111110, 3, 0b1110),
        (0b11110010, 2, 0b110000),
        (0b01010101, 2, 0b101),
        (0b11010101, 3, 0b11010000),
        (0b11110011, 4, 0b11110000),
        (0b10000000, 1, 0b10000000),
        (0b11000000, 5, 0b11000000),
        (ALL, 0, 0),
        (0, 3, 0),
    ],
)
def test_the_tightest_numa_node_and_in_it_the_tightest_switch(free: int, n: int, chosen: int) -> None:
    assert choose_cards(DUAL, free, n) == chosen


def test_the_tightest_place_that_holds_the_rest() -> None:
    odd = box((0, "a"), (0, "a"), (0, "a"), (0, "b"), (0, "b"))
    assert choose_cards(odd, 0b11111, 2) == 0b11000
    assert choose_cards(odd, 0b11111, 3) == 0b00111
    assert choose_cards(odd, 0b11111, 4) == 0b01111
    unordered = box((1, "b"), (0, "a"), (1, "b"), (0, "a"))
    assert choose_cards(unordered, 0b1111, 2) == 0b101


def test_nodes_that_say_nothing_of_their_cards_give_the_lowest() -> None:
    assert choose_cards(node("n", 8), 0b11110100, 3) == 0b110100
    assert choose_cards(node("n", 8), 0b100, 3) == 0b100
    unknown = box((None, None), (None, None), (None, None))
    assert choose_cards(unknown, 0b110, 2) == 0b110


PORTS = (
    Port("p0", numa=0, switch="a"),
    Port("p1", numa=0, switch="b"),
    Port("p2", numa=1, switch="c"),
    Port("p3", numa=1, switch="d"),
    Port("sick", numa=1, switch="d", healthy=False),
)


def ports(cards: int, n: int, uses: dict[str, int] | None = None, facts: NodeFacts = DUAL) -> tuple[str, ...]:
    facts = NodeFacts(facts.name, facts.allocatable, facts.labels, cards=facts.cards, ports=PORTS)
    return choose_ports(facts, cards, n, uses or {})


@pytest.mark.parametrize(
    ("cards", "n", "chosen"),
    [
        (0b1, 1, ("p0",)),
        (0b1100, 1, ("p1",)),
        (0b1100, 2, ("p0", "p1")),
        (0b1100, 3, ("p0", "p1", "p2")),
        (0b11000000, 2, ("p2", "p3")),
        (0b11000000, 9, ("p0", "p1", "p2", "p3")),
        (0b10001, 2, ("p0", "p2")),
        (0, 1, ("p0",)),
        (ALL, 0, ()),
        (ALL, -1, ()),
    ],
)
def test_ports_on_the_switches_then_the_numa_nodes_of_the_cards(cards: int, n: int, chosen: tuple[str, ...]) -> None:
    assert ports(cards, n) == chosen


def test_the_least_used_port_of_the_nearest() -> None:
    assert ports(0b11, 1, {"p0": 5}) == ("p0",)
    assert ports(0b1111, 1, {"p0": 1}) == ("p1",)
    assert ports(0, 2, {"p0": 1, "p2": 1}) == ("p1", "p3")


def test_cards_that_say_nothing_make_no_port_near() -> None:
    unknown = box((None, None), (None, None))
    assert ports(0b11, 1, {"p0": 1}, unknown) == ("p1",)
    nothing = NodeFacts("n", {}, {}, cards=unknown.cards, ports=(Port("x"), Port("y", switch="s")))
    assert choose_ports(nothing, 0b1, 1, {"x": 1}) == ("y",)
    assert choose_ports(NodeFacts("n", {}, {}), 1, 1, {}) == ()
