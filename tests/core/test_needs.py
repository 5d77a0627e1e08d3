"""What a unit asks for: who makes up the minimum, levels as depths, where running members hold it, batches."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gangpool.core.descent import Spot
from gangpool.core.model import Block, Gang, Level, Reason, Role
from gangpool.core.needs import Needs, choose, depths_of, extras, needs_of
from gangpool.core.pool import Pool, Unit
from gangpool.core.seated import pin_of
from gangpool.core.sharing import Cut
from tests.core.build import (
    RACK,
    ZONE,
    either,
    level,
    member,
    node,
    pool_of,
    seated,
    selector,
    shape,
    spread,
    submit,
    taint,
    term,
)

WORLD = "a/a1: n1=8 n2=8\na/a2: n3=8\nb/b1: n4=8"


def needs(pool: Pool, key: str = "ml/g") -> Needs:
    found = needs_of(pool, pool.units[key])
    assert isinstance(found, Needs)
    return found


def gang_pool(*rows: tuple[Any, ...], **gang: Any) -> Pool:
    """Rows: (uid, role, rank, node or "", shape or nothing)."""
    pool = pool_of(WORLD)
    pool.set_gang(Gang("ml/g", gang.pop("minimum", len(rows)), **gang))
    for uid, role, rank, where, *what in rows:
        pool.set_member(member(uid, what[0] if what else shape(), "ml/g", role=role, rank=rank, node=where))
    return pool


def batches(found: Needs) -> list[list[str]]:
    return [[m.uid for m in batch.members] for batch in found.batches]


def chosen(pool: Pool) -> tuple[list[str], list[str]]:
    unit = pool.units["ml/g"]
    assert unit.gang is not None
    first, left = choose(unit, unit.gang, list(unit.waiting.values()))
    return [m.uid for m in first], [m.uid for m in left]


def test_the_minimum_takes_the_lowest_ranks() -> None:
    rows = [(f"p{r}", "", r, "") for r in (2, 0, 1)]
    found = needs(gang_pool(*rows, minimum=2))
    assert batches(found) == [["p0", "p1"]]
    assert [m.uid for m in found.left] == ["p2"]
    assert found.batches[0].part.n == 2


def test_roles_take_their_minimum_first_then_the_order_of_roles_and_ranks() -> None:
    rows = [("w0", "w", 0, ""), ("w1", "w", 1, ""), ("m0", "m", 0, ""), ("m1", "m", 1, ""), ("x", "other", 0, "")]
    pool = gang_pool(*rows, minimum=3, roles=(Role("m", 1), Role("w", 1)))
    found = needs(pool)
    assert batches(found) == [["m0", "m1", "w0"]]
    assert [m.uid for m in found.left] == ["w1", "x"]
    both = gang_pool(*rows, minimum=2, roles=(Role("m", 0), Role("w", 2)))
    assert batches(needs(both)) == [["w0", "w1"]]


def test_running_members_count_for_the_minimum_of_gang_and_role() -> None:
    rows = [("m0", "m", 0, "n1"), ("w0", "w", 0, "n1"), ("w1", "w", 1, ""), ("w2", "w", 2, ""), ("m1", "m", 1, "")]
    assert chosen(gang_pool(*rows, minimum=3, roles=(Role("m", 1), Role("w", 2)))) == (["w1"], ["w2", "m1"])
    assert chosen(gang_pool(*rows, minimum=1)) == ([], ["w1", "w2", "m1"])
    assert chosen(gang_pool(*rows, minimum=5)) == (["w1", "w2", "m1"], [])
    assert chosen(gang_pool(*rows, minimum=2, roles=(Role("w", 2),))) == (["w1"], ["w2", "m1"])


def test_held_members_are_not_chosen() -> None:
    pool = gang_pool(*[(f"p{r}", "", r, "") for r in range(3)], minimum=2)
    pool.set_member(member("p0", gang="ml/g", gates=("x",)))
    pool.set_member(member("p1", gang="ml/g", rank=1, blocked=Reason("claim-missing", "")))
    assert batches(needs(pool)) == [["p2"]]


def test_levels_as_depths() -> None:
    pool = pool_of(WORLD)
    gang = Gang(
        "ml/g",
        1,
        required=level(ZONE),
        preferred=(Level(key="nowhere"), level(RACK)),
        blocks=(("w", Block(2, level(RACK))), ("", Block(3, level(ZONE)))),
        role_levels=(("m", level(RACK)),),
    )
    plain = replace(gang, preferred=())
    found = depths_of(pool, plain)
    assert not isinstance(found, Reason)
    assert (found.required, found.blocks, found.roles) == (1, {"w": (Cut(2, 2),), "": (Cut(3, 1),)}, {"m": 2})
    bare = depths_of(pool, Gang("ml/g", 1))
    assert not isinstance(bare, Reason)
    assert (bare.required, bare.blocks, bare.roles, bare.tree.keys) == (0, {}, {}, (ZONE, RACK))
    wished = depths_of(pool, Gang("ml/g", 1, preferred=(Level(key="nowhere"),)))
    assert not isinstance(wished, Reason)
    assert wished.required == 0
    roles = depths_of(pool, Gang("ml/g", 1, role_levels=(("m", level(RACK)),)))
    assert not isinstance(roles, Reason)
    assert (roles.required, roles.roles) == (0, {"m": 2})


def test_a_level_that_no_node_has_is_a_reason_to_wait() -> None:
    pool = pool_of(WORLD)
    for wanted, name in ((Level(key="x"), "x"), (Level(tier_name="y"), "y"), (Level(tier=7, key=""), "tier 7")):
        gang = Gang("ml/g", 1, required=wanted)
        found = depths_of(pool_of(WORLD, ()) if wanted.tier else pool, gang)
        assert isinstance(found, Reason)
        assert found.code == "level-unknown"
        assert found.message == f"no node of the pool has the level {name}"
    assert isinstance(depths_of(pool, Gang("ml/g", 1, blocks=(("", Block(2, Level(key="x"))),))), Reason)
    assert isinstance(depths_of(pool, Gang("ml/g", 1, role_levels=(("m", Level(key="x")),))), Reason)
    submit(pool, "g", 1, required=Level(key="x"))
    assert isinstance(needs_of(pool, pool.units["ml/g"]), Reason)


def pinned(pool: Pool, depth: int) -> Spot:
    unit: Unit = pool.units["ml/g"]
    return pin_of(pool, unit.seated.values(), pool.forest.tree((ZONE, RACK)), depth)


def test_running_members_hold_the_gang_to_the_domain_with_most_of_them() -> None:
    rows = [("p0", "", 0, "n3"), ("p1", "", 1, "n1"), ("p2", "", 2, "n2"), ("p3", "", 3, "n4")]
    pool = gang_pool(*rows)
    assert pinned(pool, 0) == Spot(0, 0)
    assert pinned(pool, 1) == Spot(1, 0)
    assert pinned(pool, 2) == Spot(2, 0)
    pool.drop_member("p1")
    assert pinned(pool, 2) == Spot(2, 0)
    pool.drop_member("p2")
    assert pinned(pool, 2) == Spot(2, 1)
    pool.drop_node("n3")
    assert pinned(pool, 2) == Spot(2, 1)
    assert pool.forest.tree((ZONE, RACK)).name(2, 1) == "b/b1"
    pool.drop_node("n4")
    assert pinned(pool, 2) == Spot(0, 0)


def test_members_on_nodes_outside_the_level_hold_nobody() -> None:
    pool = pool_of("a/-: n1=8\na/a2: n3=8")
    pool.set_gang(Gang("ml/g", 2))
    pool.set_member(member("p", gang="ml/g", node="n1"))
    assert pinned(pool, 2) == Spot(0, 0)


def test_seated_members_that_nobody_has_bound_yet_hold_the_gang_too() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 2)
    assert set(seated(pool).values()) == {"n4"}
    assert pinned(pool, 2) == Spot(2, 2)


def test_a_batch_per_kind_and_role_with_rules_of_its_own() -> None:
    big = shape(2)
    rows = [("m", "m", 0, ""), ("w0", "w", 0, "", big), ("w1", "w", 1, ""), ("w2", "w", 2, "", big)]
    assert batches(needs(gang_pool(*rows))) == [["m", "w1"], ["w0", "w2"]]
    with_level = needs(gang_pool(*rows, role_levels=(("m", level(RACK)),)))
    assert batches(with_level) == [["m"], ["w0", "w2"], ["w1"]]
    parts = {batch.members[0].uid: batch.part for batch in with_level.batches}
    assert [parts[uid].level for uid in ("m", "w0")] == [2, 0]


def test_lost_members_return_to_the_neighbour_with_the_nearest_rank() -> None:
    rows = [("p0", "", 0, "n1"), ("p1", "", 1, ""), ("p2", "", 2, "n2"), ("p5", "", 5, ""), ("p6", "", 6, "n4")]
    found = needs(gang_pool(*rows))
    assert batches(found) == [["p1"], ["p5"]]
    assert [batch.part.near for batch in found.batches] == [0, 3]
    assert [batch.part.pin for batch in found.batches] == [Spot(0, 0)] * 2


def test_neighbours_of_one_domain_are_one_batch_and_the_same_role_comes_first() -> None:
    rows = [("p0", "", 0, "n1"), ("p1", "", 1, ""), ("p4", "", 4, ""), ("p5", "", 5, "n2")]
    assert batches(needs(gang_pool(*rows))) == [["p1", "p4"]]
    rows = [("m0", "m", 3, "n4"), ("w0", "w", 0, "n1"), ("w3", "w", 3, "")]
    assert needs(gang_pool(*rows)).batches[0].part.near == 0
    assert needs(gang_pool(*rows[:1], rows[2])).batches[0].part.near == 3


def test_a_member_outside_the_gangs_domain_is_nobodys_neighbour() -> None:
    """1. Two members run in rack a1, one in b1, say because labels changed. 2. A lost member is nearest by rank to
    the odd one. 3. It belongs to a1 all the same, where the gang has to be."""
    rows = [("p0", "", 0, "n1"), ("p1", "", 1, "n1"), ("p2", "", 2, "n4"), ("p3", "", 3, "")]
    pool = gang_pool(*rows, required=level(RACK))
    assert needs(pool).pin == Spot(2, 0)
    assert needs(pool).batches[0].part.near == 0
    assert seated(pool) == {"p3": "n1"}


def test_running_members_of_a_role_or_block_hold_their_own() -> None:
    rows = [("m0", "m", 0, "n4"), ("w0", "w", 0, "n1"), ("w1", "w", 1, ""), ("w2", "w", 2, "")]
    by_role = needs(gang_pool(*rows, role_levels=(("w", level(RACK)),)))
    assert [(batch.part.pin, batch.part.near) for batch in by_role.batches] == [(Spot(2, 0), 0)]
    by_block = needs(gang_pool(*rows, blocks=(("w", Block(2, level(RACK))),)))
    assert batches(by_block) == [["w1"], ["w2"]]
    assert [(b.part.pin, b.part.near) for b in by_block.batches] == [(Spot(2, 0), 0), (Spot(0, 0), -1)]


def test_members_above_the_minimum_are_held_by_those_that_sit_now() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 4, minimum=2, required=level(RACK))
    found = needs(pool)
    assert found.pin == Spot(0, 0)
    pool.set_member(replace(found.batches[0].members[0], node="n4"))
    assert [[m.uid for m in batch.members] for batch in extras(pool, pool.units["ml/g"], found)] == [["g-2", "g-3"]]
    assert found.pin == Spot(2, 2)
    found.left = []
    assert extras(pool, pool.units["ml/g"], found) == []


def test_parts_of_a_batch() -> None:
    batch = needs(gang_pool(*[(f"p{r}", "", r, "") for r in range(3)])).batches[0]
    assert ([m.uid for m in batch.first(2).members], batch.first(2).part.n) == (["p0", "p1"], 2)
    assert ([m.uid for m in batch.rest(2).members], batch.rest(2).part.n) == (["p2"], 1)
    assert batch.with_kind(batch.part.kind) is batch.part
    other = pool_of(WORLD).ledger.kind(shape(3), "ml", ())[0]
    assert batch.with_kind(other).kind is other


def test_wishes_are_tried_strictest_first_the_real_kind_last() -> None:
    batch = needs(gang_pool(("p", "", 0, ""))).batches[0]
    assert batch.wishes == (batch.part.kind,)
    batch = needs(gang_pool(("p", "", 0, "", shape(preferred=((5, selector("zone=b")),))))).batches[0]
    assert [kind.shape.held_to for kind in batch.wishes] == [(either("zone=b"),), ()]
    assert batch.wishes[-1] is batch.part.kind
    batch = needs(gang_pool(("p", "", 0, "", shape(spread=(spread(ZONE, "app=x", hard=False),))))).batches[0]
    assert [len(kind.spreads) for kind in batch.wishes] == [1, 0]
    batch = needs(gang_pool(("p", "", 0, "", shape(soft_terms=((-1, term(ZONE, "app=x")),))))).batches[0]
    assert [len(kind.repels) for kind in batch.wishes] == [1, 0]
    pool = pool_of(WORLD)
    pool.set_member(member("p", shape(soft_terms=((-1, term(ZONE, "app=x")),)), labels="app=x"))
    strict, real = needs(pool, "pod:p").batches[0].wishes
    assert (len(strict.self_repels), len(real.self_repels)) == (1, 0)


def test_soft_taints_are_avoided_where_some_node_has_one() -> None:
    pool = gang_pool(("p", "", 0, ""))
    pool.set_node(node("n9", taints=(taint("k:PreferNoSchedule"),)))
    assert [kind.shape.avoid_soft_taints for kind in needs(pool).batches[0].wishes] == [True, False]


def test_a_single_pod_asks_for_one_place_anywhere() -> None:
    pool = pool_of(WORLD)
    pool.set_member(member("p"))
    found = needs(pool, "pod:p")
    assert (batches(found), found.limit, found.pin, found.left, found.depths) == ([["p"]], 0, Spot(0, 0), [], None)
    assert found.batches[0].part.near == -1
