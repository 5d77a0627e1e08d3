"""Gangs in a pool: one kind by its sums, several kinds by trials inside bounds, coupled members one after another,
lost members back beside their neighbours."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from gangpool.core.ask import Ask, Part, Refusal, Seating
from gangpool.core.descent import Spot, meet
from gangpool.core.gang import TRIES_PER_LEVEL, Planner, above, inner
from gangpool.core.model import HOSTNAME, Block, Gang, Role, Shape
from gangpool.core.pool import Pool
from tests.core.build import (
    LEVELS,
    RACK,
    ZONE,
    either,
    foreign,
    kind,
    level,
    member,
    members,
    node,
    only_wait,
    places,
    plan,
    pool_of,
    seated,
    shape,
    spread,
    submit,
    term,
)

WORLD = "a/a1: n1=4 n2=4\na/a2: n3=4\nb/b1: n4=4 n5=4"


def roles_pool(world: str, *groups: tuple[str, int, Shape], **gang: Any) -> Pool:
    pool = pool_of(world)
    pool.set_gang(Gang("ml/g", sum(n for _, n, _ in groups), tuple(Role(role, n) for role, n, _ in groups), **gang))
    for role, n, what in groups:
        for one in members("ml/g", n, what, role=role, labels=f"app=g role={role}"):
            pool.set_member(one)
    return pool


def on(placed: dict[str, str]) -> dict[str, int]:
    return dict(Counter(placed.values()))


# ---- one kind


def test_a_gang_sits_in_the_lowest_domain_in_the_order_of_ranks() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 6)
    assert list(seated(pool).items()) == [(f"g-{r}", "n4" if r < 4 else "n5") for r in range(6)]


def test_a_preferred_level_costs_nothing_and_a_required_one_holds() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 13, preferred=(level(ZONE),))
    assert len(seated(pool)) == 13
    pool = pool_of(WORLD)
    submit(pool, "g", 13, required=level(ZONE))
    assert only_wait(plan(pool)).reason.code == "cannot-fit"


def test_hosts_can_be_a_level() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 4, required=level(HOSTNAME))
    assert len(on(seated(pool))) == 1
    submit(pool, "h", 5, required=level(HOSTNAME))
    assert only_wait(plan(pool)).reason.numbers["best"] == 4


@pytest.mark.parametrize(
    ("lost", "free", "expected"),
    [
        ({1: "n1"}, "n1=8-7", {"g-1": "n1"}),
        ({1: "n1"}, "n1=8-8 n2=8", {"g-1": "n2"}),
        ({1: "n1"}, "n1=8-8 n2=8-8", {"g-1": "n3"}),
        ({1: "n1", 5: "n4"}, "n1=8-4", {"g-1": "n1", "g-5": "n4"}),
    ],
)
def test_lost_members_return_to_their_neighbours(lost: dict[int, str], free: str, expected: dict[str, str]) -> None:
    """Members 0–2 run on n1, 4–6 on n4; whoever is lost goes to the nearest domain with room around them."""
    n2 = "" if "n2" in free else " n2=8"
    pool = pool_of(f"a/a1: {free}{n2}\na/a2: n3=8\nb/b1: n4=8 n5=8\nc/c1: n6=2")
    pool.set_gang(Gang("ml/g", 6))
    for rank in (0, 1, 2, 4, 5, 6):
        where = "" if rank in lost else "n1" if rank < 3 else "n4"
        pool.set_member(member(f"g-{rank}", shape(1 if rank in lost else 0), "ml/g", rank=rank, node=where))
    assert seated(pool) == expected


def test_a_neighbour_outside_a_level_still_counts_at_the_wider_one() -> None:
    """The rack of its neighbour is not known, the zone is."""
    pool = pool_of("a/a1: n1=1\nb/-: n2=1-1\nb/b1: n3=8")
    pool.set_gang(Gang("ml/g", 2))
    pool.set_member(member("g-0", shape(0), "ml/g", node="n2"))
    pool.set_member(member("g-1", gang="ml/g", rank=1))
    assert seated(pool) == {"g-1": "n3"}


def test_a_lost_member_with_no_room_around_it_goes_where_any_member_would() -> None:
    """1. Nothing in its zone is free: the lowest domain around its neighbour is the pool. 2. In it the rule for all
    domains: the smallest zone that holds it, not the smallest rack of a larger zone."""
    pool = pool_of("a/a1: n1=8-8\nb/b1: n2=2\nc/c1: n3=1\nc/c2: n4=5")
    pool.set_gang(Gang("ml/g", 2))
    pool.set_member(member("g-0", shape(0), "ml/g", node="n1"))
    pool.set_member(member("g-1", shape(1), "ml/g", rank=1))
    assert seated(pool) == {"g-1": "n2"}


def test_members_near_one_that_is_outside_the_gangs_domain_wait_for_room_in_it() -> None:
    pool = pool_of("a/a1: n1=2\nb/b1: n2=8")
    pool.set_gang(Gang("ml/g", 4, required=level(RACK)))
    for rank, where in enumerate(("n1", "n1", "", "")):
        pool.set_member(member(f"g-{rank}", gang="ml/g", rank=rank, node=where))
    assert seated(pool) == {}


# ---- claims


def test_claims_of_many_nodes_are_one_record_and_of_few_several() -> None:
    pool = pool_of("a/a1: " + " ".join(f"n{i}=4" for i in range(20)))
    ledger, planner = pool.ledger, Planner(pool.ledger)
    one = kind(ledger, shape(1))

    def claimed(nodes: list[int], counts: list[int]) -> tuple[int, list[int]]:
        mark = ledger.mark()
        planner.claim(one, np.array(nodes, dtype=np.int64), np.array(counts, dtype=np.int64))
        found = len(ledger.journal), [4 - n for n in ledger.free_cards.view[:20].tolist()]
        ledger.rollback(mark)
        return found

    assert claimed([3, 3, 1], [1, 1, 2]) == (3, [0, 2, 0, 2] + [0] * 16)
    assert claimed(list(range(16)), [1] * 16) == (16, [1] * 16 + [0] * 4)
    assert claimed(list(range(17)), [2] * 17) == (1, [2] * 17 + [0] * 3)
    assert claimed([*range(17), 0], [1] * 18) == (1, [2] + [1] * 16 + [0] * 3)


# ---- several kinds


def test_roles_share_one_domain_of_the_required_level() -> None:
    pool = roles_pool("a/a1: n1=8\nb/b1: n2=9 n3=2", ("m", 1, shape(1)), ("w", 2, shape(4)), required=level(RACK))
    assert on(seated(pool)) in ({"n2": 3}, {"n2": 2, "n3": 1})


def test_the_tightest_domain_that_passes_every_bound() -> None:
    pool = roles_pool("a/a1: n1=16\na/a2: n2=12\nb/b1: n3=9", ("m", 1, shape(1)), ("w", 1, shape(8)))
    assert on(seated(pool)) == {"n3": 2}


def test_roles_that_need_different_boards_sit_apart() -> None:
    world = "a/a1: n1=4\nb/b1: n2=4"
    pool = roles_pool(world, ("m", 1, shape(1, node_selectors=(either("zone=b"),))), ("w", 4, shape(1)))
    assert seated(pool) == {"g-m-0": "n2", **{f"g-w-{r}": "n1" for r in range(4)}}


def test_parts_are_tried_by_need_tightness_and_size_then_backwards() -> None:
    pool = pool_of("a/a1: n1=8\nb/b1: n2=8")
    store, web = shape(1, cpu=2), shape(1, affinity=(term(RACK, "app=store"),))
    only = shape(1, node_selectors=(either("zone=b"),))
    kind(pool.ledger, web)
    kinds = [
        kind(pool.ledger, web),
        kind(pool.ledger, store, "app=store"),
        kind(pool.ledger, only),
        kind(pool.ledger, shape(2)),
    ]
    ask = Ask(tuple(Part(one, n) for one, n in zip(kinds, (1, 2, 2, 2), strict=True)), pool.forest.tree(LEVELS))
    assert list(Planner(pool.ledger)._orders(ask, Spot(0, 0))) == [[3, 2, 1, 0], [0, 1, 2, 3]]
    alone = Ask(ask.parts[:1], ask.tree)
    assert list(Planner(pool.ledger)._orders(alone, Spot(0, 0))) == [[0]]


def test_a_role_with_few_places_goes_first() -> None:
    """The worker fits only where the small ones would go by themselves."""
    world = "a/a1: n1=4\nb/b1: n2=4"
    pool = roles_pool(world, ("s", 4, shape(1)), ("w", 1, shape(4, node_selectors=(either("zone=a"),))))
    assert seated(pool)["g-w-0"] == "n1"


def test_what_bounds_refuse_is_proved_at_once() -> None:
    pool = roles_pool("a/a1: n1=8 n2=8", ("m", 1, shape(4)), ("w", 4, shape(4, cpu=2)))
    planner = Planner(pool.ledger)
    parts = [Part(kind(pool.ledger, what), n) for what, n in ((shape(4), 1), (shape(4, cpu=2), 4))]
    answer = planner.seat(Ask(tuple(parts), pool.forest.tree(LEVELS)))
    assert isinstance(answer, Refusal)
    assert (answer.is_proved, answer.budget) == (True, 0)
    assert only_wait(plan(pool)).reason.code == "cannot-fit"


@pytest.mark.parametrize(("n_racks", "tried"), [(2, 2), (TRIES_PER_LEVEL, 4), (6, 4)])
def test_so_many_domains_of_a_level_are_tried_and_a_refusal_counts_them(n_racks: int, tried: int) -> None:
    """Two nodes of seven hold four of three cards, and 14 cards, but not three of three beside one of five. No bound
    sees that, in any rack."""
    pool = pool_of("\n".join(f"a/a{r}: n{r}=7 m{r}=7" for r in range(n_racks)))
    parts = tuple(Part(kind(pool.ledger, shape(cards)), n) for cards, n in ((3, 3), (5, 1)))
    answer = Planner(pool.ledger).seat(Ask(parts, pool.forest.tree(LEVELS), limit=2), thorough=False)
    assert isinstance(answer, Refusal)
    assert (answer.is_proved, answer.budget) == (False, tried)


# ---- coupled members


def test_members_that_keep_apart_by_rack() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 3, shape(anti_affinity=(term(RACK, "app=g"),)), labels="app=g")
    assert on(seated(pool)).keys() in ({"n1", "n3", "n4"}, {"n2", "n3", "n4"}, {"n1", "n3", "n5"}, {"n2", "n3", "n5"})
    submit(pool, "h", 4, shape(anti_affinity=(term(RACK, "app=h"),)), labels="app=h")
    assert only_wait(plan(pool)).reason.numbers["best"] == 3


def test_members_that_sit_together_take_the_tightest_value_with_room_for_all() -> None:
    pool = pool_of("a/a1: n1=2\na/a2: n2=3\nb/b1: n3=8")
    submit(pool, "g", 3, shape(affinity=(term(RACK, "app=g"),)), labels="app=g")
    assert on(seated(pool)) == {"n2": 3}
    submit(pool, "h", 9, shape(affinity=(term(RACK, "app=h"),)), labels="app=h")
    assert only_wait(plan(pool)).reason.numbers["best"] == 8


def test_members_that_sit_together_by_two_keys() -> None:
    """Room is counted by the first of them; racks named alike in two zones are one value of the second."""
    together = (term(ZONE, "app=g"), term(RACK, "app=g"))
    pool = pool_of("a/r1: n1=2\nb/r1: n2=2\nb/r2: n3=3")
    submit(pool, "g", 3, shape(affinity=together), labels="app=g")
    assert on(seated(pool)) == {"n3": 3}


def test_members_join_those_of_their_kind_that_run() -> None:
    pool = pool_of("a/a1: n1=8\nb/b1: n2=8")
    pool.set_member(foreign("f", "n2", shape(0), labels="app=g"))
    submit(pool, "g", 3, shape(affinity=(term(RACK, "app=g"),)), labels="app=g")
    assert on(seated(pool)) == {"n2": 3}


def test_a_spread_gang_is_as_even_as_it_must_be() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 7, shape(spread=(spread(ZONE, "app=g"),)), labels="app=g")
    by_zone = Counter("a" if name in ("n1", "n2", "n3") else "b" for name in seated(pool).values())
    assert sorted(by_zone.values()) == [3, 4]


def test_a_spread_gang_inside_a_required_domain() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 6, shape(spread=(spread(HOSTNAME, "app=g", 3),)), labels="app=g", required=level(RACK))
    assert on(seated(pool)) in ({"n4": 3, "n5": 3}, {"n1": 3, "n2": 3})


def test_host_ports_one_per_node() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 5, shape(host_ports=(("", "TCP", 80),)))
    assert set(on(seated(pool)).values()) == {1}
    submit(pool, "h", 1, shape(host_ports=(("10.0.0.1", "TCP", 80),)))
    assert "5 excluded by host port" in only_wait(plan(pool)).reason.message


def test_the_one_that_others_need_is_seated_first() -> None:
    pool = roles_pool(
        "a/a1: n1=1\na/a2: n2=8",
        ("w", 2, shape(1, affinity=(term(RACK, "role=m"),))),
        ("m", 1, shape(1)),
    )
    assert on(seated(pool)) == {"n2": 3}


@pytest.mark.parametrize("as_block", [False, True])
def test_a_domain_that_was_tried_in_vain_is_left_as_it_was(as_block: bool) -> None:
    """1. Two members that keep apart by board share a rack, their master fits in a third one only. 2. The tighter rack
    has room for two, but one board. 3. They sit in the other, and nothing is held in the first."""
    pool = pool_of("a/a1: n1=2\na/a2: n2=2 n3=2\na/a3: n4=8")
    for name, board in (("n1", "x"), ("n2", "y"), ("n3", "z")):
        rack = "a1" if name == "n1" else "a2"
        pool.set_node(node(name, 2, labels={ZONE: "a", RACK: rack, "board": board}))
    of_role: dict[str, Any] = {"role_levels": (("w", level(RACK)),)}
    if as_block:
        of_role = {"blocks": (("w", Block(2, level(RACK))),)}
    roles = (Role("m", 1), Role("w", 2))
    pool.set_gang(Gang("ml/g", 3, roles, required=level(ZONE), **of_role))
    apart = shape(1, anti_affinity=(term("board", "role=w"),))
    for one in (*members("ml/g", 1, shape(8), role="m"), *members("ml/g", 2, apart, role="w", labels="role=w")):
        pool.set_member(one)
    placed = seated(pool)
    assert (placed["g-m-0"], {placed["g-w-0"], placed["g-w-1"]}) == ("n4", {"n2", "n3"})
    assert list(pool.faults()) == []


@pytest.mark.parametrize("arrival", [("n1", "n2"), ("n2", "n1")])
def test_of_values_with_equal_room_the_first_by_name_is_taken(arrival: tuple[str, str]) -> None:
    """Members that must sit with each other by board; which node came first decides nothing."""
    boards = {"n1": "x", "n2": "y"}
    pool = Pool(LEVELS)
    for name in arrival:
        pool.set_node(node(name, 4, labels={ZONE: "a", RACK: "a1", "board": boards[name]}))
    submit(pool, "g", 4, shape(affinity=(term("board", "app=g"),)), labels="app=g")
    assert on(seated(pool)) == {"n1": 4}


# ---- domains


def test_domains_inside_each_other() -> None:
    tree = pool_of(WORLD).forest.tree(LEVELS)
    assert inner(Spot(1, 0), Spot(2, 1)) == Spot(2, 1) == inner(Spot(2, 1), Spot(1, 0))
    assert inner(Spot(1, 0), Spot(1, 0)) == Spot(1, 0)
    assert meet(tree, Spot(1, 0), Spot(2, 1))
    assert meet(tree, Spot(2, 2), Spot(1, 1))
    assert not meet(tree, Spot(1, 1), Spot(2, 1))
    assert not meet(tree, Spot(2, 0), Spot(2, 1))
    assert above(tree, Spot(2, 2), 1) == Spot(1, 1)
    assert above(tree, Spot(1, 1), 2) == Spot(1, 1)
    assert above(tree, Spot(1, 1), 1) == Spot(1, 1)


def test_seating_leaves_claims_and_a_refusal_none() -> None:
    pool = pool_of(WORLD)
    planner, tree = Planner(pool.ledger), pool.forest.tree(LEVELS)
    part = Part(kind(pool.ledger, shape(1)), 4)
    before = pool.ledger.free_cards.view.tolist()
    assert isinstance(planner.seat(Ask((part,), tree)), Seating)
    assert sum(pool.ledger.free_cards.view.tolist()) == sum(before) - 4
    pool.ledger.rollback((0, 0))
    assert isinstance(planner.seat(Ask((Part(part.kind, 21),), tree)), Refusal)
    assert pool.ledger.free_cards.view.tolist() == before


def test_the_most_that_one_domain_of_the_limit_holds() -> None:
    pool = pool_of(WORLD + "\n-/-: n6=9")
    planner, tree = Planner(pool.ledger), pool.forest.tree(LEVELS)
    one = kind(pool.ledger, shape(1))
    assert [planner.most(one, [one], Ask((), tree, limit=depth)) for depth in range(3)] == [29, 12, 8]
    assert planner.most(one, [one], Ask((), tree, limit=2, pin=Spot(2, 1))) == 4
    assert places(plan(pool)) == {}
