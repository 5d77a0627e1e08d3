"""Members above the minimum: as many as fit, in the gang's domain, under the same rules, and their reasons."""

from __future__ import annotations

from gangpool.core.cycle import Cycle
from gangpool.core.model import HOSTNAME, Block, Gang, Role
from gangpool.core.pool import Pool
from tests.core.build import RACK, level, member, members, only_wait, places, plan, pool_of, shape, spread, submit, term


def seated_and_best(pool: Pool) -> tuple[str, tuple[object, ...]]:
    made = plan(pool)
    placed = places(made)
    reason = only_wait(made).reason
    return " ".join(placed[uid] for uid in sorted(placed)), (reason.numbers["needed"], reason.numbers["best"])


def test_as_many_as_fit_and_a_reason_for_the_others() -> None:
    """The reason speaks of a member that waits, not of the minimum that runs already; in every cycle the same."""
    pool = pool_of("a/a1: n1=5")
    submit(pool, "g", 8, minimum=3)
    cycle = Cycle(pool)
    first = cycle.run()
    assert len(first.seats) == 5
    wait = only_wait(first)
    assert [m.uid for m in wait.members] == ["g-5", "g-6", "g-7"]
    assert wait.reason.message.startswith("0 of 1 members fit in the pool; nvidia.com/gpu asked 1, best 0")
    assert only_wait(cycle.run()) == wait
    assert only_wait(Cycle(pool).run()) == wait


def test_extras_stay_in_the_required_domain() -> None:
    pool = pool_of("a/a1: n1=3\na/a2: n2=2")
    submit(pool, "g", 4, minimum=2, required=level(RACK))
    assert seated_and_best(pool) == ("n2 n2", (1, 0))


def test_extras_of_a_gang_without_minimum_share_the_required_domain() -> None:
    """1. Nothing must run, nothing holds the gang to a rack. 2. The first member that is seated does."""
    pool = pool_of("a/a1: n1=1\na/a2: n2=1")
    submit(pool, "g", 2, minimum=0, required=level(RACK))
    assert seated_and_best(pool) == ("n1", (1, 0))


def test_coupled_extras_come_one_by_one() -> None:
    pool = pool_of("a/a1: n1=8\nb/b1: n2=2")
    submit(pool, "g", 8, shape(spread=(spread("zone", "app=x", 1),)), minimum=2, labels="app=x")
    placed, _ = seated_and_best(pool)
    assert sorted(placed.split()) == ["n1"] * 3 + ["n2"] * 2


def test_one_per_node_extras() -> None:
    pool = pool_of("a/a1: n1=8 n2=8 n3=8")
    submit(pool, "g", 5, shape(anti_affinity=(term(HOSTNAME, "app=x"),)), minimum=2, labels="app=x")
    made = plan(pool)
    assert sorted(places(made).values()) == ["n1", "n2", "n3"]
    assert "excluded by anti-affinity" in only_wait(made).reason.message


def test_a_block_above_the_minimum_is_not_split() -> None:
    """1. Four members run as two blocks. 2. The third block fits nowhere as a whole: its first member is seated.
    3. Its second belongs to the same rack and waits, although another rack has room."""
    pool = pool_of("a/a1: n1=4\na/a2: n2=1\na/a3: n3=1")
    submit(pool, "g", 6, minimum=4, blocks=(("", Block(2, level(RACK))),))
    made = plan(pool)
    assert places(made) == {"g-0": "n1", "g-1": "n1", "g-2": "n1", "g-3": "n1", "g-4": "n2"}
    reason = only_wait(made).reason
    assert (reason.numbers["best"], reason.best_domain) == (0, "a/a2")


def test_whole_blocks_above_the_minimum_go_where_there_is_room() -> None:
    pool = pool_of("a/a1: n1=2\na/a2: n2=2\na/a3: n3=2")
    submit(pool, "g", 8, minimum=2, blocks=(("", Block(2, level(RACK))),))
    made = plan(pool)
    placed = places(made)
    assert [placed[f"g-{r}"] for r in range(6)] == ["n1", "n1", "n2", "n2", "n3", "n3"]
    assert [m.uid for m in only_wait(made).members] == ["g-6", "g-7"]


def test_a_role_with_a_level_stays_in_one_domain() -> None:
    """1. The master runs where there is no room for a worker. 2. The first worker goes elsewhere. 3. It holds the
    second one to its rack, where there is no room."""
    pool = pool_of("a/a1: n1=1\na/a2: n2=1\na/a3: n3=1")
    pool.set_gang(Gang("ml/g", 1, (Role("m", 1), Role("w", 0)), role_levels=(("w", level(RACK)),)))
    for one in (*members("ml/g", 1, role="m"), *members("ml/g", 2, role="w")):
        pool.set_member(one)
    made = plan(pool)
    assert places(made) == {"g-m-0": "n1", "g-w-0": "n2"}
    assert only_wait(made).reason.best_domain == "a/a2"


def test_two_kinds_of_extras_do_not_wait_for_each_other() -> None:
    """1. Big extras fit nowhere. 2. Small ones, behind them by rank, are seated; the big ones get the reason."""
    pool = pool_of("a/a1: n1=4")
    pool.set_gang(Gang("ml/g", 1))
    pool.set_member(member("first", shape(1), "ml/g", rank=0))
    for rank in (1, 2):
        pool.set_member(member(f"big-{rank}", shape(8), "ml/g", rank=rank))
    for rank in (3, 4):
        pool.set_member(member(f"small-{rank}", shape(1), "ml/g", rank=rank))
    made = plan(pool)
    assert set(places(made)) == {"first", "small-3", "small-4"}
    reason = only_wait(made).reason
    assert reason.message.startswith("0 of 1 members fit in the pool; nvidia.com/gpu asked 8, best 1 (n1 has 1)")


def test_gated_extras_wait_behind_their_gate_only() -> None:
    pool = pool_of("a/a1: n1=8")
    submit(pool, "g", 2)
    pool.set_member(member("g-2", gang="ml/g", rank=2, gates=("example.com/hold",)))
    made = plan(pool)
    assert len(made.seats) == 2
    assert only_wait(made).reason.code == "gated"
