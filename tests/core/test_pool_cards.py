"""Which cards and ports claims hold: told by the pod, chosen by a plan, or guessed."""

from __future__ import annotations

import pytest

from gangpool.core.model import Card, Member, Port
from gangpool.core.pool import Pool
from tests.core.build import foreign, member, node, plan, pool_of, shape, submit

WORLD = "a/a1: n1=8 n2=8"


def cards_of(pool: Pool, uid: str) -> int:
    pool.guess()
    return pool.ledger.claims[uid].cards


def told(uid: str, where: str, cards: tuple[int, ...] | None, n: int = 2, **more: object) -> Member:
    return foreign(uid, where, shape(n), cards=cards, **more)


def test_cards_are_those_that_the_pod_names_or_the_lowest_free() -> None:
    pool = pool_of(WORLD)
    pool.set_member(told("p", "n1", (1, 7)))
    pool.set_member(told("q", "n1", None))
    pool.set_member(told("r", "n1", (), 0))
    assert (cards_of(pool, "p"), cards_of(pool, "q"), cards_of(pool, "r")) == (0b10000010, 0b101, 0)
    assert pool.free_mask(0) == 0b01111000
    assert pool.free_mask(1) == 0b11111111
    pool.drop_member("q")
    assert pool.free_mask(0) == 0b01111101
    pool.set_node(node("n1", 4))
    assert pool.free_mask(0) == 0b1101


def test_who_is_told_its_cards_is_right_and_guesses_move() -> None:
    """1. Two pods hold guessed cards, a third is told its own. 2. The node goes and returns, or events come in
    another order: a guess is made before the pod comes that is told the same card. 3. The guess moves."""
    pool = pool_of(WORLD)
    pool.set_member(told("p", "n1", None))
    pool.set_member(told("q", "n1", None, 1))
    pool.set_member(told("r", "n1", (1, 2)))
    assert (cards_of(pool, "p"), cards_of(pool, "q"), cards_of(pool, "r")) == (0b1001, 0b10000, 0b110)
    assert pool.free_mask(0) == 0b11100000
    pool.set_member(told("s", "n1", (2, 3)))
    assert (cards_of(pool, "p"), cards_of(pool, "q"), cards_of(pool, "r")) == (0b10001, 0b100000, 0b110)
    assert pool.free_mask(0) == 0b11000000


def test_free_cards_follow_members_that_tell_theirs() -> None:
    pool = pool_of("a/a1: n1=8")
    assert pool.free_mask(0) == 0xFF
    pool.set_member(foreign("p", "n1", shape(2), cards=(2, 3)))
    assert pool.free_mask(0) == 0b11110011
    pool.set_member(foreign("q", "n1", shape(1), cards=(7,)))
    assert pool.free_mask(0) == 0b01110011
    pool.drop_member("p")
    assert pool.free_mask(0) == 0b01111111


@pytest.mark.parametrize("is_known", [False, True])
def test_guesses_do_not_depend_on_who_came_first(is_known: bool) -> None:
    """1. A pod of others comes to a node where one of ours has the lowest card and port. 2. Ours ends. 3. The next of
    ours gets the card that a dry run on a dump of this moment says: there the other pod has the lowest."""
    cards = tuple(Card(i, switch=f"s{i // 2}") for i in range(4)) if is_known else ()
    facts = node("n1", 4, cards=cards, ports=(Port("mlx0"), Port("mlx1")), room={"rdma/hca": 4})
    asked = shape(1, room={"rdma/hca": 1})
    theirs = foreign("theirs", "n1", asked)
    ours = foreign("ours", "n1", asked, cards=(0,), ports=("mlx0",))
    live, dry = Pool(), Pool()
    for pool, pods in ((live, [ours, theirs]), (dry, [theirs])):
        pool.set_node(facts)
        for pod in pods:
            pool.set_member(pod)
    live.drop_member("ours")
    found = []
    for pool in (live, dry):
        pool.set_member(member("next", asked))
        (seat,) = plan(pool).seats
        found.append((cards_of(pool, "theirs"), pool.ledger.claims["theirs"].ports, seat.cards, seat.ports))
    assert found == [(0b1, ("mlx0",), 0b10, ("mlx1",))] * 2


def test_cards_that_a_plan_has_given_are_told_too() -> None:
    pool = pool_of("a/a1: n1=8")
    pool.set_member(member("p", shape(1)))
    assert plan(pool).seats[0].cards == 0b1
    facts = pool.ledger.facts[0]
    assert facts is not None
    pool.drop_node("n1")
    pool.set_member(told("q", "n1", None, 1))
    pool.set_node(facts)
    assert (cards_of(pool, "p"), cards_of(pool, "q")) == (0b1, 0b10)
    pool.set_member(told("r", "n1", (0,), 1))
    assert cards_of(pool, "p") == 0b1


def test_seats_tell_cards_ports_and_ranks() -> None:
    cards = tuple(Card(i, switch=f"s{i // 2}", healthy=i != 0) for i in range(4))
    ports = tuple(Port(f"mlx{i}", switch=f"s{i}") for i in range(2))
    pool = Pool()
    pool.set_node(node("n1", 3, cards=cards, ports=ports, room={"rdma/hca": 4, "vpc.amazonaws.com/efa": 4}))
    key = submit(pool, "g", 1, shape(2, room={"rdma/hca": 1}))
    pool.set_member(member("single", shape(1, room={"vpc.amazonaws.com/efa": 2})))
    made = plan(pool)
    by_uid = {seat.member.uid: seat for seat in made.seats}
    assert (by_uid["g-0"].cards, by_uid["g-0"].ports, by_uid["g-0"].rank) == (0b1100, ("mlx1",), 0)
    assert (by_uid["single"].cards, by_uid["single"].ports, by_uid["single"].rank) == (0b10, ("mlx0", "mlx1"), None)
    assert pool.ledger.claims["g-0"].ports == ("mlx1",)
    pool.drop_member("g-0")
    pool.drop_member("single")
    submit(pool, "h", 2, shape(1, room={"rdma/hca": 1}))
    again = plan(pool)
    assert [(seat.cards, seat.ports) for seat in again.seats] == [(0b10, ("mlx0",)), (0b100, ("mlx1",))]
    assert key in pool.units


def test_ports_that_a_running_pod_names_are_in_use() -> None:
    ports = (Port("mlx0"), Port("mlx1"))
    pool = Pool()
    pool.set_node(node("n1", 8, ports=ports, room={"rdma/hca": 4}))
    pool.set_member(foreign("p", "n1", shape(1, room={"rdma/hca": 1}), ports=("mlx0",)))
    pool.set_member(member("q", shape(1, room={"rdma/hca": 1})))
    assert plan(pool).seats[0].ports == ("mlx1",)
    pool.drop_member("p")
    assert pool._port_uses[0] == {"mlx0": 0, "mlx1": 1}
    pool.set_member(member("r", shape(1, room={"rdma/hca": 1})))
    assert plan(pool).seats[0].ports == ("mlx0",)


def test_a_member_that_asks_for_no_port_gets_none() -> None:
    pool = Pool()
    pool.set_node(node("n1", 8, ports=(Port("mlx0"),), room={"rdma/hca": 4}))
    pool.set_member(member("p"))
    assert plan(pool).seats[0].ports == ()
