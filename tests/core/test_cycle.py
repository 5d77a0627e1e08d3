"""The cycle: queue order, all or nothing, preferences, what is remembered between cycles, waits and their reasons."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gangpool.core.ask import Ask, Part
from gangpool.core.cycle import Cycle, ask_key, is_helped, spread_out
from gangpool.core.descent import Spot
from gangpool.core.gang import Planner
from gangpool.core.model import Gang, Level, Plan, Reason, Role
from tests.core.build import (
    LEVELS,
    RACK,
    ZONE,
    either,
    foreign,
    ints,
    kind,
    member,
    members,
    node,
    only_wait,
    places,
    plan,
    pool_of,
    selector,
    shape,
    spread,
    submit,
    term,
)

WORLD = "a/a1: n1=8\nb/b1: n2=8"


def codes(made: Plan) -> dict[str, str]:
    return {wait.gang or wait.members[0].uid: wait.reason.code for wait in made.waits}


def test_an_empty_pool_has_an_empty_plan() -> None:
    assert plan(pool_of("")) == Plan((), ())
    assert plan(pool_of(WORLD)) == Plan((), ())


def test_units_are_planned_in_queue_order_and_small_ones_fill_up() -> None:
    pool = pool_of("a/a1: n1=8")
    submit(pool, "late", 4, created=2.0)
    submit(pool, "early", 5, created=1.0)
    submit(pool, "small", 3, created=3.0)
    made = plan(pool)
    assert [seat.member.gang for seat in made.seats] == ["ml/early"] * 5 + ["ml/small"] * 3
    assert codes(made) == {"ml/late": "cannot-fit"}
    submit(pool, "urgent", 1, priority=1)
    assert codes(plan(pool)) == {"ml/late": "cannot-fit", "ml/urgent": "cannot-fit"}


def test_seats_say_who_where_and_which_rank() -> None:
    pool = pool_of("a/a1: n1=8")
    submit(pool, "g", 2, shape(2))
    pool.set_member(member("p", shape(1)))
    made = plan(pool)
    assert [(s.member.uid, s.node, s.cards, s.rank) for s in made.seats] == [
        ("g-0", "n1", 0b11, 0),
        ("g-1", "n1", 0b1100, 1),
        ("p", "n1", 0b10000, None),
    ]
    assert plan(pool) == Plan((), ())


def test_a_wait_lists_its_members_by_rank_and_whose_they_are() -> None:
    pool = pool_of("a/a1: n1=1")
    pool.set_gang(Gang("ml/g", 3))
    for one in reversed(members("ml/g", 3)):
        pool.set_member(one)
    pool.set_member(member("p", shape(8)))
    waits = plan(pool).waits
    assert [(wait.gang, [m.uid for m in wait.members]) for wait in waits] == [
        ("ml/g", ["g-0", "g-1", "g-2"]),
        ("", ["p"]),
    ]


def test_nothing_is_held_by_a_gang_that_does_not_fit() -> None:
    pool = pool_of("a/a1: n1=8")
    pool.set_gang(Gang("ml/g", 3, (Role("m", 1), Role("w", 2))))
    for one in (*members("ml/g", 1, shape(4), role="m"), *members("ml/g", 2, shape(4, cpu=2), role="w")):
        pool.set_member(one)
    assert plan(pool).seats == ()
    assert pool.ledger.claims == {}
    assert pool.ledger.free_cards.at[0] == 8
    submit(pool, "h", 8)
    assert len(plan(pool).seats) == 8


def test_every_sort_of_wait_has_its_code() -> None:
    pool = pool_of(WORLD)
    submit(pool, "big", 17)
    submit(pool, "where", 1, required=Level(key="nowhere"))
    pool.set_gang(Gang("ml/few", 3))
    pool.set_member(member("few-0", gang="ml/few"))
    pool.set_member(member("gated", gates=("x/y",)))
    assert codes(plan(pool)) == {
        "ml/big": "cannot-fit",
        "ml/where": "level-unknown",
        "ml/few": "members-missing",
        "gated": "gated",
    }


def test_an_elastic_gang_of_equals_is_refused_by_proof() -> None:
    """There are other members to choose, but all are alike: nothing else was left to try."""
    pool = pool_of("a/a1: n1=4")
    submit(pool, "g", 8, minimum=6)
    assert codes(plan(pool)) == {"ml/g": "cannot-fit"}


# ---- members that wait for others


def test_a_pod_waits_in_line_for_the_one_that_it_must_be_near() -> None:
    """1. The pod that needs the other comes first in the queue. 2. The other is seated. 3. In the same cycle the
    first is looked at again, in the order of the queue."""
    pool = pool_of(WORLD)
    near = shape(affinity=(term(ZONE, "app=store"),), node_selectors=(either("zone=b"),))
    pool.set_member(member("web", near, priority=9))
    pool.set_member(member("web2", near, priority=8))
    pool.set_member(member("never", shape(1, affinity=(term(ZONE, "app=none"),)), priority=7))
    pool.set_member(member("store", shape(node_selectors=(either("zone=b"),)), labels="app=store"))
    made = plan(pool)
    assert [seat.member.uid for seat in made.seats] == ["store", "web", "web2"]
    assert codes(made) == {"never": "cannot-fit"}


def test_a_spread_is_looked_at_again_when_the_emptiest_domain_fills() -> None:
    """1. A pod may only go to zone a, which has one more than zone b already. 2. Others fill zone b, in the same
    cycle or a later one: nothing has become free, and yet the pod may go now."""
    rule = spread(ZONE, "app=x", honor_affinity=False)
    pool = pool_of(WORLD)
    cycle = Cycle(pool)
    pool.set_member(foreign("f", "n1", shape(0), labels="app=x"))
    pool.set_member(member("p", shape(node_selectors=(either("zone=a"),), spread=(rule,)), labels="app=x", priority=5))
    assert codes(cycle.run()) == {"p": "cannot-fit"}
    pool.set_member(foreign("g", "n2", shape(0), labels="app=x"))
    assert places(cycle.run()) == {"p": "n1"}
    pool.set_member(member("q", shape(node_selectors=(either("zone=a"),), spread=(rule,)), labels="app=x", priority=5))
    pool.set_member(member("r", shape(node_selectors=(either("zone=b"),)), labels="app=x"))
    assert places(cycle.run()) == {"r": "n2", "q": "n1"}


# ---- memory


class Counting(Planner):
    """A planner that counts what it is asked."""

    asked = 0

    def seat(self, ask: Ask, thorough: bool = True) -> Any:
        self.asked += 1
        return super().seat(ask, thorough)


def counting(pool: Any) -> tuple[Cycle, Counting]:
    cycle = Cycle(pool)
    cycle.planner = Counting(pool.ledger)
    return cycle, cycle.planner


def test_a_refusal_is_remembered_until_room_may_have_grown() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 20)
    cycle, planner = counting(pool)
    first = cycle.run()
    assert cycle.run() == first
    assert planner.asked == 1
    pool.set_member(foreign("f", "n1", shape(1)))
    assert only_wait(cycle.run()).reason.numbers["best"] == 15
    assert planner.asked == 1
    pool.drop_member("f")
    assert only_wait(cycle.run()).reason.numbers["best"] == 16
    assert planner.asked == 2
    pool.set_node(node("n3", 4))
    assert len(cycle.run().seats) == 20


def test_equal_asks_of_other_gangs_are_refused_by_memory() -> None:
    pool = pool_of(WORLD)
    for name in ("g", "h"):
        submit(pool, name, 20)
    submit(pool, "i", 19)
    cycle, planner = counting(pool)
    assert len(cycle.run().waits) == 3
    assert planner.asked == 2


def test_a_refusal_by_affinity_is_forgotten_with_every_new_pod() -> None:
    pool = pool_of(WORLD)
    pool.set_member(member("p", shape(affinity=(term(ZONE, "app=x"),))))
    cycle, planner = counting(pool)
    cycle.run()
    cycle.run()
    assert planner.asked == 1
    pool.set_member(foreign("f", "n2", shape(0), labels="app=x"))
    assert places(cycle.run()) == {"p": "n2"}


def test_memory_is_bounded() -> None:
    pool = pool_of(WORLD)
    cycle = Cycle(pool)
    cycle._refused = {(k,): (0, 0) for k in range(10_001)}
    submit(pool, "g", 20)
    cycle._reasons = {(k,): (0, Reason("gated", "")) for k in range(10_001)}
    cycle.run()
    assert len(cycle._refused) == len(cycle._reasons) == 1


# ---- preferences


def test_preferences_of_different_parts_are_dropped_together() -> None:
    """The worker has two wishes, the master one; the strictest of both are tried first."""
    pool = pool_of(WORLD)
    w = shape(4, preferred=((5, selector("zone=a")), (1, selector("zone=b"))))
    m = shape(1, preferred=((9, selector("zone=b")),))
    pool.set_gang(Gang("ml/g", 2, (Role("m", 1), Role("w", 1))))
    pool.set_member(member("m", m, "ml/g", role="m"))
    pool.set_member(member("w", w, "ml/g", role="w"))
    made = plan(pool)
    assert places(made) == {"m": "n2", "w": "n1"}
    assert list(pool.faults()) == []
    assert pool.ledger.claims["w"].kind.shape == w


def test_a_wish_that_was_granted_moves_the_counters_of_the_real_kind() -> None:
    pool = pool_of(WORLD)
    pool.set_member(member("p", shape(1, soft_terms=((-3, term(ZONE, "app=x")),)), labels="app=x"))
    pool.set_member(member("q", shape(1, soft_terms=((-3, term(ZONE, "app=x")),)), labels="app=x"))
    assert set(places(plan(pool)).values()) == {"n1", "n2"}
    carries = [c.total for c in pool.ledger.terms._carries.values()]
    assert carries == [0]


# ---- keys


def test_what_makes_two_asks_different() -> None:
    pool = pool_of(WORLD)
    tree, one = pool.forest.tree(LEVELS), kind(pool.ledger, shape(1))
    part = Part(one, 2)
    base = Ask((part,), tree)
    same = replace(base, name="other", needed=9, running=3, is_single=True)
    assert ask_key(same) == ask_key(base)
    others = [
        replace(base, limit=1),
        replace(base, pin=Spot(1, 1)),
        replace(base, pin=Spot(1, 0)),
        replace(base, tree=pool.forest.tree((ZONE,))),
        replace(base, parts=(part, part)),
        *(
            replace(base, parts=(replace(part, **change),))
            for change in (
                {"n": 3},
                {"level": 1},
                {"block_size": 1},
                {"block_level": 1},
                {"pin": Spot(1, 0)},
                {"pin": Spot(1, 1)},
                {"near": 1},
                {"kind": kind(pool.ledger, shape(2))},
            )
        ),
    ]
    assert len({ask_key(ask) for ask in (base, *others)}) == len(others) + 1


def test_who_may_be_helped_by_others() -> None:
    pool = pool_of(WORLD)
    tree = pool.forest.tree(LEVELS)

    def helped(*shapes: Any) -> bool:
        return is_helped(Ask(tuple(Part(kind(pool.ledger, one), 1) for one in shapes), tree))

    assert not helped(shape(1), shape(1, anti_affinity=(term(ZONE, "app=x"),)))
    assert helped(shape(1), shape(1, affinity=(term(ZONE, "app=x"),)))
    assert helped(shape(1, spread=(spread(RACK, "app=x"),)))


def test_one_slot_per_member() -> None:
    assert spread_out(ints(4, 2, 9), ints(2, 0, 1)) == [4, 4, 9]
