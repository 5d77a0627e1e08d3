"""Events: nodes, members and gangs that come, change, go and come back in any order; cards and ports of claims."""

from __future__ import annotations

from msgspec.structs import replace

from gangpool.core.cycle import Cycle
from gangpool.core.model import CARD, Gang
from gangpool.core.pool import Pool, Unit
from tests.core.build import foreign, member, node, places, plan, pool_of, seated, selector, shape, submit, term

WORLD = "a/a1: n1=8 n2=8"


def free(pool: Pool, name: str, resource: str = CARD) -> int:
    return pool.ledger.resource(resource).at[pool.ledger.slot[name]]


def cards_of(pool: Pool, uid: str) -> int:
    pool.guess()
    return pool.ledger.claims[uid].cards


def test_a_running_pod_holds_what_it_asks_for() -> None:
    pool = pool_of(WORLD)
    pool.set_member(foreign("p", "n1", shape(2, cpu=3)))
    assert (free(pool, "n1"), free(pool, "n1", "cpu"), free(pool, "n2")) == (6, 61_000, 8)
    pool.drop_member("p")
    assert (free(pool, "n1"), free(pool, "n1", "cpu")) == (8, 64_000)
    pool.drop_member("p")
    assert list(pool.faults()) == []


def test_a_pending_pod_holds_nothing_and_a_foreign_one_is_no_business_of_ours() -> None:
    pool = pool_of(WORLD)
    pool.set_member(member("p"))
    pool.set_member(member("q", ours=False))
    assert free(pool, "n1") == 8
    assert pool.member("q") is None
    assert [unit.key for unit in pool.waiting()] == ["pod:p"]


def test_the_same_event_twice_changes_nothing() -> None:
    pool = pool_of(WORLD)
    one = foreign("p", "n1", shape(2))
    pool.set_member(one)
    version = pool.ledger.version
    pool.set_member(replace(one))
    assert pool.ledger.version == version


def test_a_pod_that_is_bound_moves_and_grows() -> None:
    pool = pool_of(WORLD)
    one = member("p", shape(2))
    pool.set_member(one)
    pool.set_member(replace(one, node="n1"))
    assert free(pool, "n1") == 6
    assert pool.waiting() == []
    pool.set_member(replace(one, node="n1", shape=shape(3)))
    assert free(pool, "n1") == 5
    pool.set_member(replace(one, node="n2", shape=shape(3)))
    assert (free(pool, "n1"), free(pool, "n2")) == (8, 5)


def test_new_labels_of_a_running_pod_keep_its_cards() -> None:
    pool = pool_of(WORLD)
    match, _ = pool.ledger.terms.term(term("zone", "app=x"))
    pool.set_member(foreign("p", "n1", shape(2)))
    pool.set_member(foreign("q", "n1", shape(2), cards=(2, 3)))
    pool.drop_member("p")
    pool.set_member(foreign("q", "n1", shape(2), cards=(2, 3), labels="app=x"))
    assert cards_of(pool, "q") == 0b1100
    assert match.total == 1
    assert free(pool, "n1") == 6


def test_a_member_changes_its_gang() -> None:
    pool = pool_of(WORLD)
    one = member("p", gang="ml/g", node="n1")
    pool.set_member(one)
    pool.set_member(replace(one, gang="ml/h"))
    assert not pool.units["ml/g"].seated
    assert set(pool.units["ml/h"].seated) == {"p"}
    waiting = member("w", gang="ml/g")
    pool.set_member(waiting)
    pool.set_member(replace(waiting, gang="ml/h"))
    assert [unit.key for unit in pool.waiting()] == ["ml/h"]


def test_a_pod_on_a_node_that_is_not_known_yet() -> None:
    pool = pool_of(WORLD)
    pool.set_member(foreign("p", "n3", shape(2)))
    pool.set_member(foreign("q", "n3", shape(2)))
    pool.drop_member("q")
    pool.set_member(foreign("p", "n3", shape(2), labels="app=x"))
    assert pool.ledger.claims == {}
    pool.set_node(node("n3"))
    assert free(pool, "n3") == 6
    assert set(pool.ledger.claims) == {"p"}
    assert list(pool.faults()) == []


def test_a_lost_node_takes_its_claims_and_brings_them_back() -> None:
    pool = pool_of(WORLD)
    pool.set_member(foreign("p", "n1", shape(2)))
    pool.set_member(foreign("q", "n1", shape(2)))
    facts = pool.ledger.facts[0]
    assert facts is not None
    pool.drop_node("n1")
    pool.drop_node("n1")
    assert pool.ledger.claims == {}
    pool.drop_member("q")
    pool.set_node(node("n3"))
    pool.set_node(facts)
    assert free(pool, "n1") == 6
    assert free(pool, "n3") == 8
    assert cards_of(pool, "p") == 0b11


def test_a_planned_pod_returns_with_its_node() -> None:
    """1. A plan seats two pods; nobody has told us yet that they are bound. 2. Their node goes and comes back.
    3. They hold their cards again, and are planned no second time; once dropped they leave nothing behind."""
    pool = pool_of("a/a1: n1=8")
    submit(pool, "g", 2)
    assert seated(pool) == {"g-0": "n1", "g-1": "n1"}
    facts = pool.ledger.facts[0]
    assert facts is not None
    pool.drop_node("n1")
    pool.set_node(facts)
    assert free(pool, "n1") == 6
    assert plan(pool).seats == ()
    pool.drop_node("n1")
    pool.drop_member("g-0")
    pool.set_node(facts)
    assert free(pool, "n1") == 7


def test_a_plan_that_is_carried_out_changes_nothing() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 2, shape(3))
    made = plan(pool)
    for seat in made.seats:
        pool.set_member(replace(seat.member, node=seat.node))
    assert free(pool, "n1") == 2
    assert list(pool.faults()) == []
    assert plan(pool).seats == ()


def test_a_node_that_shrinks_below_its_use_has_negative_room() -> None:
    pool = pool_of(WORLD)
    pool.set_member(foreign("p", "n1", shape(6)))
    pool.set_node(replace(node("n1", 4), labels={"zone": "a", "rack": "a1"}))
    assert free(pool, "n1") == -2
    pool.set_member(member("q", shape(1)))
    assert seated(pool) == {"q": "n2"}
    pool.drop_member("p")
    assert free(pool, "n1") == 4


def test_members_are_found_by_uid() -> None:
    pool = pool_of(WORLD)
    one = member("p")
    pool.set_member(one)
    assert pool.member("p") is one
    assert pool.member("q") is None


def test_planned_members_are_counted_by_selectors_that_come_later() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 2, labels="app=x")
    assert len(seated(pool)) == 2
    match, _ = pool.ledger.terms.term(term("zone", "app=x"))
    assert match.total == 2


def test_gangs_below_their_minimum_come_first() -> None:
    """They hold room that is of no use until the others run."""
    pool = pool_of(WORLD)
    submit(pool, "urgent", 2, priority=9)
    submit(pool, "full", 3, minimum=1)
    submit(pool, "partly", 3)
    for name in ("full", "partly"):
        pool.set_member(member(f"{name}-0", gang=f"ml/{name}", node="n1"))
    assert [unit.key for unit in pool.waiting()] == ["ml/partly", "ml/urgent", "ml/full"]
    pool.set_member(member("partly-1", gang="ml/partly", node="n1"))
    pool.set_member(member("partly-2", gang="ml/partly", node="n1"))
    pool.set_member(member("partly-3", gang="ml/partly"))
    assert [unit.key for unit in pool.waiting()] == ["ml/urgent", "ml/full", "ml/partly"]


def test_single_pods_leave_no_unit_behind_and_gangs_stay_until_they_are_dropped() -> None:
    pool = pool_of(WORLD)
    pool.set_member(member("p"))
    pool.drop_member("p")
    assert pool.units == {}
    key = submit(pool, "g", 2)
    pool.drop_gang(key)
    assert key in pool.units
    pool.drop_member("g-0")
    pool.drop_member("g-1")
    assert pool.waiting() == []
    pool.drop_gang(key)
    pool.drop_gang("ml/none")
    assert pool.units == {}


def test_members_may_come_before_their_gang() -> None:
    pool = pool_of(WORLD)
    pool.set_member(member("p", gang="ml/g"))
    unit = pool.units["ml/g"]
    assert unit.gang == Gang("ml/g", 1)
    pool.set_gang(Gang("ml/g", 2))
    assert pool.units["ml/g"] is unit
    assert unit.gang == Gang("ml/g", 2)


def test_queue_order_is_priority_then_age_then_rank_then_name() -> None:
    pool = pool_of(WORLD)
    pool.set_member(member("late", created=2.0))
    pool.set_member(member("b", created=1.0))
    pool.set_member(member("a", created=1.0))
    pool.set_member(member("second", created=1.0, rank=1))
    pool.set_member(member("urgent", priority=5, created=9.0))
    pool.set_gang(Gang("ml/g", 1, priority=7, created=10.0))
    pool.set_gang(Gang("ml/a0", 1, created=1.0))
    pool.set_member(member("x", gang="ml/g"))
    pool.set_member(member("y", gang="ml/a0"))
    order = [next(iter(unit.waiting)) for unit in pool.waiting()]
    assert order == ["x", "urgent", "a", "y", "b", "second", "late"]


def test_faults_are_found() -> None:
    """The tests of histories rest on this list: each kind of fault must show."""
    pool = pool_of(WORLD)
    pool.set_member(foreign("p", "n1", shape(2), cards=(0, 1)))
    assert list(pool.faults()) == []
    pool.ledger.resource(CARD).at[0] -= 1
    assert list(pool.faults()) == [f"books of {CARD} on slot 0: 5 free, 6 by the claims"]
    pool.ledger.resource(CARD).at[0] += 1
    pool.set_member(foreign("o", "n2", shape(1), cards=(1,)))
    pool.set_member(foreign("n", "n2", shape(1), cards=(0,)))
    assert list(pool.faults()) == []
    pool.set_member(foreign("q", "n1", shape(2), cards=(1, 2)))
    assert [fault[:15] for fault in pool.faults()] == ["card held twice"]
    pool.drop_member("q")
    pool.units["ml/g"] = Unit("ml/g", None)
    pool.units["ml/g"].waiting["p"] = foreign("p", "n1", shape(2))
    assert list(pool.faults()) == ["waiting member p holds a claim"]
    del pool.units["ml/g"]
    del pool._member_of["p"]
    assert list(pool.faults()) == ["claim without member: p"]


def test_namespaces_reach_the_ledger() -> None:
    pool = pool_of(WORLD)
    pool.set_member(foreign("p", "n1", shape(), labels="app=x"))
    match, _ = pool.ledger.terms.term(term("zone", "app=x", "none", by_label=selector("team=red")))
    pool.set_namespace("ml", {"team": "red"})
    assert match.total == 1


def test_settled_members_leave_the_queue_and_keep_their_place() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 3, minimum=2)
    pool.set_member(member("g-3", gang="ml/g", rank=3, gates=("x/hold",)))
    cycle = Cycle(pool)
    assert len(places(cycle.run())) == 3
    unit = pool.units["ml/g"]
    assert set(unit.seated) == {"g-0", "g-1", "g-2"}
    assert set(unit.waiting) == {"g-3"}
    assert pool.waiting() == [unit]
    assert {pool.ledger.claims[uid].node for uid in unit.seated} == {0}
