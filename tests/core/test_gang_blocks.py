"""Blocks of a gang: whole blocks first, the rest as a smaller one, inside the gang's required level."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gangpool.core.model import HOSTNAME, Block, Gang, Level, Role
from gangpool.core.pool import Pool
from tests.core.build import RACK, ZONE, level, members, only_wait, plan, pool_of, seated, shape, spread, submit, term


def blocks(size: int, key: str = RACK, role: str = "") -> tuple[tuple[str, Block], ...]:
    return ((role, Block(size, level(key))),)


def by_rank(placed: dict[str, str]) -> str:
    return " ".join(placed[uid] for uid in sorted(placed, key=lambda uid: int(uid.rsplit("-", 1)[1])))


@pytest.mark.parametrize(
    ("n", "size", "expected"),
    [
        (4, 2, "n2 n2 n2 n2"),
        (6, 2, "n2 n2 n2 n2 n1 n1"),
        (6, 3, "n1 n1 n1 n2 n2 n2"),
        (5, 2, "n2 n2 n2 n2 n2"),
        (8, 2, "n2 n2 n2 n2 n1 n1 n3 n3"),
        (1, 4, "n3"),
        (7, 4, "n2 n2 n2 n2 n1 n1 n1"),
    ],
)
def test_blocks_by_rank_each_in_one_rack(n: int, size: int, expected: str) -> None:
    pool = pool_of("a/a1: n1=3\na/a2: n2=5\na/a3: n3=2")
    submit(pool, "g", n, blocks=blocks(size))
    assert by_rank(seated(pool)) == expected


def test_the_spare_room_of_a_rack_holds_no_block() -> None:
    pool = pool_of("a/a1: n1=3\na/a2: n2=3")
    submit(pool, "g", 6, blocks=blocks(2))
    reason = only_wait(plan(pool)).reason
    assert (reason.code, reason.numbers["best"]) == ("cannot-fit", 4)
    assert reason.message.startswith("4 of 6 members fit in the pool")


def test_blocks_stay_inside_the_required_level() -> None:
    pool = pool_of("a/a1: n1=2\nb/b1: n2=2\nb/b2: n3=2")
    submit(pool, "g", 4, required=level(ZONE), blocks=blocks(2))
    assert set(seated(pool).values()) == {"n2", "n3"}


def test_a_required_level_below_the_blocks_level_holds() -> None:
    """1. Blocks share a zone, the whole gang must share a rack. 2. No rack takes four: the gang waits, although
    two blocks would fit in the zone. 3. A gang of three, one block and a rest, gets the rack that holds it."""
    pool = pool_of("a/a1: n1=2\na/a2: n2=2\na/a3: n3=3")
    submit(pool, "g", 4, required=level(RACK), blocks=blocks(2, ZONE))
    reason = only_wait(plan(pool)).reason
    assert (reason.numbers["best"], reason.best_domain) == (3, "a/a3")
    submit(pool, "h", 3, required=level(RACK), blocks=blocks(2, ZONE))
    assert by_rank(seated(pool)) == "n3 n3 n3"


def test_the_domain_of_the_blocks_must_hold_the_rest_too() -> None:
    """1. Both zones hold the two whole blocks, zone a is as tight. 2. Only zone b has a place for the fifth."""
    pool = pool_of("a/a1: n1=4\nb/b1: n2=4\nb/b2: n3=1")
    submit(pool, "g", 5, required=level(ZONE), blocks=blocks(2))
    assert by_rank(seated(pool)) == "n2 n2 n2 n2 n3"


def test_a_spare_block_holds_the_rest() -> None:
    pool = pool_of("a/a1: n1=2\nb/b1: n2=2\nb/b2: n3=2")
    submit(pool, "g", 3, required=level(ZONE), blocks=blocks(2))
    assert by_rank(seated(pool)) == "n2 n2 n3"
    submit(pool, "h", 3, required=level(ZONE), blocks=blocks(2))
    assert only_wait(plan(pool)).reason.code == "cannot-fit"


def test_nodes_outside_the_blocks_level_hold_no_block() -> None:
    pool = pool_of("a/a1: n1=2\na/-: n2=8")
    submit(pool, "g", 4, blocks=blocks(2))
    assert only_wait(plan(pool)).reason.numbers["best"] == 2
    submit(pool, "h", 3, blocks=blocks(2))
    assert only_wait_of(pool, "ml/h") == "cannot-fit"


def only_wait_of(pool: Pool, gang: str) -> str:
    (code,) = [wait.reason.code for wait in plan(pool).waits if wait.gang == gang]
    return code


def test_a_gang_smaller_than_a_block_is_refused_with_what_one_domain_takes() -> None:
    """1. Two members that must share a rack. 2. Each rack takes one: the reason must not say that both fit."""
    pool = pool_of("a/a1: n1=1\na/a2: n2=1")
    submit(pool, "g", 2, blocks=blocks(4))
    reason = only_wait(plan(pool)).reason
    assert (reason.numbers["best"], reason.numbers["needed"], reason.best_domain) == (1, 2, "a/a1")


def test_members_of_a_role_that_share_a_level_are_counted_in_one_domain() -> None:
    pool = pool_of("a/a1: n1=1\na/a2: n2=1")
    roles = (Role("m", 1), Role("w", 2))
    pool.set_gang(Gang("ml/g", 3, roles, role_levels=(("w", level(RACK)),)))
    for one in (*members("ml/g", 1, role="m"), *members("ml/g", 2, role="w")):
        pool.set_member(one)
    reason = only_wait(plan(pool)).reason
    assert reason.message.startswith("2 of 3 members fit in the pool; role w has no place")


def test_one_member_per_node_in_blocks() -> None:
    apart = shape(anti_affinity=(term(HOSTNAME, "app=x"),))
    pool = pool_of("a/a1: n1=8 n2=8 n3=8\na/a2: n4=8 n5=8")
    submit(pool, "g", 4, apart, labels="app=x", blocks=blocks(2))
    placed = by_rank(seated(pool)).split()
    assert sorted(placed[:2]) == ["n4", "n5"] or sorted(placed[2:]) == ["n4", "n5"]
    assert len(set(placed)) == 4


def test_coupled_members_in_blocks_below_a_required_level() -> None:
    """Spread members are seated one by one; their blocks' level may be wider than what the gang requires."""
    even = shape(spread=(spread(HOSTNAME, "app=x", 2),))
    pool = pool_of("a/a1: n1=8 n2=8\na/a2: n3=8")
    submit(pool, "g", 4, even, labels="app=x", required=level(RACK), blocks=blocks(2, ZONE))
    assert sorted(seated(pool).values()) == ["n1", "n1", "n2", "n2"]


@pytest.mark.parametrize("coupled", [False, True])
def test_a_role_shares_its_level_and_its_blocks_theirs(coupled: bool) -> None:
    """1. Workers share a zone and sit two by two in racks; the master has to go to zone a. 2. Zone a has racks for
    one block only, so the workers are in zone b, and no block is split."""
    rules: dict[str, Any] = {"spread": (spread(ZONE, "app=x", 9),)} if coupled else {}
    pool = pool_of("a/a1: n1=3\na/a2: n2=1\nb/b1: n3=3\nb/b2: n4=3")
    gang = Gang(
        "ml/g",
        5,
        (Role("m", 1), Role("w", 4)),
        role_levels=(("w", level(ZONE)),),
        blocks=blocks(2, RACK, "w"),
        required=None,
        preferred=(Level(key=ZONE),),
    )
    pool.set_gang(gang)
    big = shape(1, cpu=2)
    for one in (*members("ml/g", 1, big, role="m"), *members("ml/g", 4, shape(**rules), role="w", labels="app=x")):
        pool.set_member(one)
    placed = seated(pool)
    workers = [placed[f"g-w-{r}"] for r in range(4)]
    assert sorted(workers) == ["n3", "n3", "n4", "n4"]
    assert workers[0] == workers[1]
    assert placed["g-m-0"] in {"n1", "n2", "n3", "n4"}


@pytest.mark.parametrize("coupled", [False, True])
def test_a_lost_worker_waits_for_its_role_s_domain(coupled: bool) -> None:
    """1. Workers share a rack, one runs in a1, which is full now. 2. The lost one is tried in every rack with room:
    it must not be seated in another one, whether it is planned alone, with a master, or searched for."""
    rules: dict[str, Any] = {"spread": (spread(ZONE, "app=x", 9),)} if coupled else {}
    pool = pool_of("a/a1: n1=1\na/a2: n2=4\nb/b1: n3=4")
    pool.set_gang(Gang("ml/g", 3, (Role("m", 1), Role("w", 2)), role_levels=(("w", level(RACK)),)))
    for one in (*members("ml/g", 1, role="m"), *members("ml/g", 2, shape(**rules), role="w", labels="app=x")):
        pool.set_member(replace(one, node="n1") if one.uid == "g-w-0" else one)
    reason = only_wait(plan(pool)).reason
    assert (reason.code, reason.numbers["best"]) == ("cannot-fit", 2)
    pool.set_member(replace(members("ml/g", 1, role="m")[0], node="n3"))
    reason = only_wait(plan(pool)).reason
    assert (reason.code, reason.numbers["best"], reason.best_domain) == ("cannot-fit", 2, "a/a1")


def test_large_gangs_of_coupled_members_sit_in_blocks_without_a_search() -> None:
    """Blocks of four in racks, even over zones; 600 states of a search would not see the end of it."""
    pool = pool_of("\n".join(f"{'ab'[k % 2]}/r{k}: n{k}=6" for k in range(40)))
    even = shape(spread=(spread(ZONE, "app=x", 4),))
    submit(pool, "g", 100, even, labels="app=x", blocks=blocks(4))
    placed = by_rank(seated(pool)).split()
    assert len(placed) == 100
    assert all(len(set(placed[k : k + 4])) == 1 for k in range(0, 100, 4))


@pytest.mark.parametrize("coupled", [False, True])
def test_blocks_of_several_kinds_each_share_a_domain(coupled: bool) -> None:
    """1. Ranks in blocks of three: two masters with the first worker, then three workers. 2. Only the large rack holds
    the masters' block, and has no room for the other besides. 3. Both blocks are where they fit as a whole, although
    the room of four racks would do for more members."""
    rules: dict[str, Any] = {"spread": (spread(ZONE, "role=w", 9),)} if coupled else {}
    pool = pool_of("a/a1: n1=9\na/a2: n2=2\na/a3: n3=3\nb/b1: n4=2")
    pool.set_gang(Gang("ml/g", 6, (Role("m", 2), Role("w", 4)), blocks=blocks(3)))
    workers = members("ml/g", 4, shape(**rules), start=2, role="w", labels="role=w")
    for one in (*members("ml/g", 2, shape(4), role="m"), *workers):
        pool.set_member(one)
    assert by_rank(seated(pool)) == "n1 n1 n1 n3 n3 n3"


def test_a_block_that_fits_nowhere_beside_the_others_refuses_the_gang() -> None:
    """The first block counts, of the second, which must be whole, no member."""
    pool = pool_of("a/a1: n1=9\na/a2: n2=2\na/a3: n3=2\nb/b1: n4=2")
    pool.set_gang(Gang("ml/g", 6, (Role("m", 2), Role("w", 4)), blocks=blocks(3)))
    for one in (*members("ml/g", 2, shape(4), role="m"), *members("ml/g", 4, start=2, role="w")):
        pool.set_member(one)
    reason = only_wait(plan(pool)).reason
    assert (reason.code, reason.numbers["best"]) == ("cannot-fit", 3)
    assert list(pool.faults()) == []
