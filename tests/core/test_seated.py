"""The order of members and what those with a node mean for the others."""

from __future__ import annotations

from gangpool.core.descent import Spot
from gangpool.core.model import Gang, Role
from gangpool.core.seated import by_rank, nearest, neighbours_of, pin_of, slot_of
from tests.core.build import LEVELS, member, pool_of

WORLD = "a/a1: n1=8 n2=8\na/a2: n3=8\nb/b1: n4=8"


def test_by_rank_and_name_within_the_order_of_roles() -> None:
    rows = [("d", "w", 0), ("c", "m", 1), ("b", "m", 0), ("a", "other", 0), ("e", "w", 0)]
    pods = [member(uid, role=role, rank=rank) for uid, role, rank in rows]
    roles = (Role("m"), Role("w"))
    assert "".join(m.uid for m in sorted(pods, key=by_rank(Gang("ml/g", 1, roles)))) == "bcdea"
    assert "".join(m.uid for m in sorted(pods, key=by_rank(Gang("ml/g", 1, roles[:1])))) == "abdec"


def test_the_neighbour_with_the_nearest_rank_of_the_same_role() -> None:
    neighbours = [(0, "w", 10), (4, "w", 14), (1, "m", 21)]
    assert nearest(member("p", role="w", rank=1), neighbours) == 10
    assert nearest(member("p", role="w", rank=3), neighbours) == 14
    assert nearest(member("p", role="w", rank=2), neighbours) == 10
    assert nearest(member("p", role="m", rank=9), neighbours) == 21
    assert nearest(member("p", role="x", rank=3), neighbours) == 14
    assert nearest(member("p"), []) == -1


def test_only_members_in_the_gangs_domain_are_neighbours() -> None:
    pool = pool_of(WORLD)
    rows = (("p", 0, "n1"), ("q", 1, "n2"), ("r", 2, "n3"), ("s", 3, "n4"), ("t", 4, "lost"))
    pods = [member(uid, rank=rank, node=where, gang="ml/g") for uid, rank, where in rows]
    for one in reversed(pods):
        pool.set_member(one)
    tree = pool.forest.tree(LEVELS)
    assert [slot_of(pool, one) for one in pods] == [0, 1, 2, 3, -1]
    assert neighbours_of(pool, iter(pods), tree, 0) == [(0, "", 0), (1, "", 1), (2, "", 2), (3, "", 3)]
    assert neighbours_of(pool, iter(pods), tree, 1) == [(0, "", 0), (1, "", 1), (2, "", 2)]
    assert neighbours_of(pool, iter(pods), tree, 2) == [(0, "", 0), (1, "", 1)]
    assert pin_of(pool, pods, tree, 2) == Spot(2, 0)
    assert pin_of(pool, pods[2:], tree, 2) == Spot(2, 1)
    assert pin_of(pool, pods[4:], tree, 2) == Spot(0, 0)
