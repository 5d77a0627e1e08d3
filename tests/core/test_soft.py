"""Preferences as rules, strictest first, dropped one by one, lightest first."""

from __future__ import annotations

from typing import Any

from gangpool.core.model import HOSTNAME, Shape
from gangpool.core.soft import MOST_TRIES, variants
from tests.core.build import (
    ZONE,
    either,
    member,
    node,
    pool_of,
    requirement,
    seated,
    selector,
    shape,
    spread,
    taint,
    term,
)

A, B = selector("board=a100"), selector("zone=b")
LABELS = (("app", "x"),)


def found(with_taints: bool = False, **rules: Any) -> tuple[Shape, ...]:
    return variants(shape(**rules), LABELS, with_taints)


def test_a_shape_without_preferences_is_its_only_variant() -> None:
    one = shape(1, anti_affinity=(term(ZONE, "app=x"),), spread=(spread(ZONE, "app=x"),))
    assert variants(one, LABELS, False) == (one,)


def test_heavier_preferences_hold_longer_and_the_shape_itself_is_last() -> None:
    tries = found(preferred=((1, A), (9, B)))
    assert [v.held_to for v in tries] == [((B,), (A,)), ((B,),), ()]
    assert tries[-1] == shape(preferred=((1, A), (9, B)))
    assert all(v.node_selectors == () for v in tries)


def test_preferences_join_the_rules_that_are_there() -> None:
    hard: dict[str, Any] = {
        "held_to": (either("x"),),
        "affinity": (term(ZONE, "app=z"),),
        "anti_affinity": (term(ZONE, "app=w"),),
    }
    near, apart = term(ZONE, "app=y"), term(HOSTNAME, "app=x")
    first = found(preferred=((3, A),), soft_terms=((2, near), (-1, apart)), **hard)[0]
    assert first.held_to == (either("x"), (A,))
    assert first.affinity == (term(ZONE, "app=z"), near)
    assert first.anti_affinity == (term(ZONE, "app=w"), apart)


def test_a_wish_to_be_near_its_own_kind_is_left_to_the_packing() -> None:
    own = found(soft_terms=((5, term(ZONE, "app=x")),))
    assert len(own) == 1
    assert len(found(soft_terms=((5, term(ZONE, "app=y")),))) == 2
    assert len(found(soft_terms=((-5, term(ZONE, "app=x")),))) == 2


def test_soft_spreads_become_rules_and_hard_ones_stay() -> None:
    hard, soft = spread(ZONE, "app=x"), spread(HOSTNAME, "app=x", 2, hard=False)
    tries = found(spread=(soft, hard))
    assert [len(v.spread) for v in tries] == [2, 2]
    assert tries[0].spread == (hard, spread(HOSTNAME, "app=x", 2, hard=True, wished=True))
    assert tries[1].spread == (soft, hard)


def test_soft_taints_are_the_lightest_wish() -> None:
    tries = found(with_taints=True, preferred=((1, A),))
    assert [(v.avoid_soft_taints, len(v.held_to)) for v in tries] == [(True, 1), (False, 1), (False, 0)]
    assert [v.avoid_soft_taints for v in found(with_taints=True)] == [True, False]


def test_an_empty_preference_is_none() -> None:
    assert len(found(preferred=((5, ()),))) == 1


def test_the_lightest_of_many_are_dropped_together() -> None:
    many = tuple((weight, (requirement(f"k{weight}"),)) for weight in range(1, MOST_TRIES + 4))
    tries = found(preferred=many)
    assert len(tries) == MOST_TRIES + 1
    assert [len(v.held_to) for v in tries] == list(range(MOST_TRIES, -1, -1))
    assert tries[0].held_to[0] == ((requirement(f"k{MOST_TRIES + 3}"),),)


WORLD = "a/a1: n1=8\nb/b1: n2=8"


def place(*pods: Any, world: str = WORLD) -> dict[str, str]:
    pool = pool_of(world)
    for pod in pods:
        pool.set_member(pod)
    return seated(pool)


def test_a_preference_is_met_where_there_is_room_and_keeps_nobody_waiting() -> None:
    wish = shape(8, preferred=((1, B),))
    assert place(member("p", wish)) == {"p": "n2"}
    assert place(member("p", wish), member("q", wish)) == {"p": "n2", "q": "n1"}


def test_the_heavier_preference_wins() -> None:
    assert place(member("p", shape(1, preferred=((1, selector("zone=a")), (2, B))))) == {"p": "n2"}
    assert place(member("p", shape(1, preferred=((2, selector("zone=a")), (1, B))))) == {"p": "n1"}


def test_nodes_with_a_soft_taint_come_last() -> None:
    pool = pool_of("a/a1: n1=8")
    pool.set_node(node("n0", taints=(taint("k:PreferNoSchedule"),)))
    pool.set_member(member("p", shape(8)))
    assert seated(pool) == {"p": "n1"}
    pool.set_member(member("q", shape(8)))
    assert seated(pool) == {"q": "n0"}
