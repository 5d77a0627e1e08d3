"""The complete search: finds what trials miss, proves what nobody finds, ends within its budget, leaves no trace."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core import search as search_module
from gangpool.core.ask import Ask, Part, Refusal, Seating, Tie
from gangpool.core.descent import Spot
from gangpool.core.gang import Planner
from gangpool.core.model import HOSTNAME, Shape
from gangpool.core.pool import Pool
from gangpool.core.search import Group, first_of_each, groups_of, key_of, tie
from tests.core.build import LEVELS, RACK, ZONE, either, kind, pool_of, shape, spread, term


class Bench:
    """A pool and a search over it. Mutable: the ledger."""

    def __init__(self, world: str) -> None:
        self.pool: Pool = pool_of(world)
        self.ledger = self.pool.ledger
        self.planner = Planner(self.ledger)
        self.tree = self.pool.forest.tree(LEVELS)

    def part(self, n: int, what: Shape | None = None, labels: str = "", **more: Any) -> Part:
        kind(self.ledger, what or shape(), labels)  # a selector may come up with the shape itself
        return Part(kind(self.ledger, what or shape(), labels), n, **more)

    def name(self, i: int) -> str:
        facts = self.ledger.facts[i]
        assert facts is not None
        return facts.name

    def search(self, *parts: Part, tried: int = 0, **more: Any) -> list[list[str]] | Refusal:
        ask = Ask(parts, self.tree, **more)
        before = [vec.view.tolist() for vec in self.ledger.free.values()]
        mark = self.ledger.mark()
        answer = self.planner.search.run(ask, self.planner._bounding_rooms(ask), tried)
        names: list[list[str]] = []
        if isinstance(answer, Seating):
            names = [[self.name(i) for i in nodes] for nodes, _ in answer.parts]
            assert len(self.ledger.journal) == sum(len(found) for found in names)
            assert all(counts.tolist() == [1] * len(nodes) for nodes, counts in answer.parts)
            self.ledger.rollback(mark)
        assert [vec.view.tolist() for vec in self.ledger.free.values()] == before
        return names if isinstance(answer, Seating) else answer


def proved(answer: object) -> bool:
    assert isinstance(answer, Refusal)
    return answer.is_proved


def test_the_only_way_is_found() -> None:
    bench = Bench("a/a1: n1=5 n2=4")
    found = bench.search(bench.part(2, shape(2)), bench.part(1, shape(5)))
    assert found == [["n2", "n2"], ["n1"]]


def test_what_no_way_seats_is_proved() -> None:
    bench = Bench("a/a1: n1=5 n2=5")
    answer = bench.search(bench.part(2, shape(3)), bench.part(1, shape(4)), tried=7)
    assert proved(answer)
    assert isinstance(answer, Refusal)
    assert answer.budget > 7


def test_the_budget_ends_it_without_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "WORK", 0)
    monkeypatch.setattr(search_module, "LEAST_STATES", 3)
    bench = Bench("a/a1: n1=5 n2=5 n3=5 n4=5")
    answer = bench.search(bench.part(4, shape(3)), bench.part(4, shape(3, cpu=2)), tried=2)
    assert not proved(answer)
    assert isinstance(answer, Refusal)
    assert answer.budget == 5
    assert bench.search(bench.part(2, shape(3))) == [["n1", "n2"]]


def test_the_budget_shrinks_with_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node looks are what costs."""
    monkeypatch.setattr(search_module, "WORK", 320)
    monkeypatch.setattr(search_module, "LEAST_STATES", 5)
    for n, budget in ((4, 20), (16, 20), (32, 10), (64, 5), (65, 5)):
        bench = Bench("a/a1: " + " ".join(f"n{i}=5" for i in range(n)))
        answer = bench.search(bench.part(n + 1, shape(3)), bench.part(1, shape(3, cpu=2)))
        assert isinstance(answer, Refusal)
        assert (answer.is_proved, answer.budget <= budget) in ((True, True), (False, True))
        assert bench.planner.search._budget == budget


def test_only_domains_of_the_limit_that_could_hold_every_part_tightest_first() -> None:
    bench = Bench("a/a1: n1=2\na/a2: n2=9\nb/b1: n3=5\n-/-: n4=9")
    parts = (bench.part(2, shape(2)), bench.part(1, shape(1)))
    assert bench.search(*parts, limit=2) == [["n3", "n3"], ["n3"]]
    assert bench.search(*parts, limit=2, pin=Spot(1, 0)) == [["n2", "n2"], ["n2"]]
    assert bench.search(*parts, limit=0, pin=Spot(2, 1)) == [["n2", "n2"], ["n2"]]
    assert proved(bench.search(*parts, limit=1, pin=Spot(2, 0)))
    assert bench.search(*parts, limit=0) == [["n1", "n3"], ["n3"]]


def test_parts_with_a_pin_stay_there() -> None:
    bench = Bench("a/a1: n1=8\nb/b1: n2=2")
    assert bench.search(bench.part(2, shape(1), pin=Spot(2, 1)), bench.part(1, shape(2))) == [["n2", "n2"], ["n1"]]
    assert proved(bench.search(bench.part(3, shape(1), pin=Spot(2, 1)), bench.part(1, shape(2))))


def test_a_part_with_a_level_shares_one_real_domain() -> None:
    bench = Bench("a/a1: n1=2\na/a2: n2=3\na/-: n3=8")
    other = bench.part(1, shape(1, cpu=2))
    assert bench.search(bench.part(3, level=2), other) == [["n2"] * 3, ["n1"]]
    assert proved(bench.search(bench.part(4, level=2), other))
    assert isinstance(bench.search(bench.part(4, level=1), other), list)


def test_blocks_share_theirs_and_the_rest_has_its_own() -> None:
    bench = Bench("a/a1: n1=3\na/a2: n2=3\nb/b1: n3=1")
    other = bench.part(1, shape(1, cpu=2))
    blocks: dict[str, Any] = {"block_size": 2, "block_level": 2}
    assert bench.search(bench.part(5, **blocks), other) == [["n1", "n1", "n2", "n2", "n1"], ["n2"]]
    assert proved(bench.search(bench.part(6, **blocks), other))
    assert proved(bench.search(bench.part(5, **blocks, level=1), bench.part(3, shape(1, cpu=2))))
    assert bench.search(bench.part(4, **blocks, level=1), other) == [["n1", "n1", "n2", "n2"], ["n1"]]


def test_tied_parts_share_a_domain() -> None:
    bench = Bench("a/a1: n1=2 n2=1\na/a2: n3=2 n4=2")
    one, two = bench.part(2, shape(1), ties=(Tie(2, 0),)), bench.part(1, shape(2), ties=(Tie(2, 0),))
    assert bench.search(one, two) in ([["n3", "n3"], ["n4"]], [["n4", "n4"], ["n3"]])
    assert proved(bench.search(bench.part(2, shape(1), ties=(Tie(2, 0),)), bench.part(2, shape(2), ties=(Tie(2, 0),))))
    apart = bench.part(2, shape(2), ties=(Tie(2, 1),))
    found = bench.search(bench.part(2, ties=(Tie(2, 0),)), apart)
    assert isinstance(found, list)
    assert (sorted(found[0]), sorted(found[1])) in ((["n1", "n2"], ["n3", "n4"]), (["n1", "n1"], ["n3", "n4"]))


def test_order_matters_where_members_need_each_other() -> None:
    """The web pod needs the store beside it; the store comes second by its place in the ask."""
    bench = Bench("a/a1: n1=1\na/a2: n2=2")
    web = bench.part(1, shape(1, affinity=(term(RACK, "app=store"),)), "app=web")
    store = bench.part(1, shape(1, cpu=2), "app=store")
    assert bench.search(web, store) == [["n2"], ["n2"]]


def test_spread_is_found_step_by_step() -> None:
    bench = Bench("a/a1: n1=2\nb/b1: n2=3")
    even = shape(spread=(spread(ZONE, "app=x"),))
    assert isinstance(bench.search(bench.part(5, even, "app=x")), list)
    assert proved(bench.search(bench.part(6, even, "app=x")))
    uneven = Bench("a/a1: n1=1\nb/b1: n2=4")
    assert proved(uneven.search(uneven.part(4, even, "app=x")))


def test_blocks_of_different_size_are_different_states() -> None:
    """1. A block of two and a rest of one, spread over hosts. 2. One member on n1 as part of the block is not the
    same as the rest on n1: pruning the one for the other would lose the only placement."""
    bench = Bench("a/a1: n1=1 n2=1\na/a2: n3=1")
    even = shape(spread=(spread(HOSTNAME, "app=x"),))
    found = bench.search(bench.part(3, even, "app=x", block_size=2, block_level=2))
    assert isinstance(found, list)
    assert sorted(found[0][:2]) == ["n1", "n2"]
    assert found[0][2] == "n3"


def groups(*parts: Part) -> list[Group]:
    made = [g for number, part in enumerate(parts) for g in groups_of(number, part, Spot(1, 0))]
    tie(Ask(parts, Bench("a/a1: n1=1").tree), made)
    return made


def test_groups_of_a_part() -> None:
    bench = Bench("a/a1: n1=1")
    (plain,) = groups(bench.part(3, level=2))
    assert (plain.left, plain.size, plain.level, plain.inside, plain.ties) == (3, 3, 2, Spot(1, 0), [])
    (pinned,) = groups(bench.part(3, pin=Spot(2, 0)))
    assert pinned.inside == Spot(2, 0)
    made = groups(bench.part(5, block_size=2, block_level=2, level=1))
    assert [(g.size, g.level) for g in made] == [(2, 2), (2, 2), (1, 2)]
    assert [g.ties for g in made] == [[(1, made)]] * 3
    assert [g.size for g in groups(bench.part(4, block_size=2, block_level=1))] == [2, 2]
    tied = groups(bench.part(1, ties=(Tie(1, 0),)), bench.part(1), bench.part(2, ties=(Tie(1, 0), Tie(2, 1))))
    assert [g.ties for g in tied] == [[(1, [tied[0], tied[2]])], [], [(1, [tied[0], tied[2]]), (2, [tied[2]])]]


def test_fresh_groups_of_one_part_are_alike() -> None:
    bench = Bench("a/a1: n1=1")
    made = groups(bench.part(7, block_size=2, block_level=2), bench.part(2, block_size=2, block_level=2))
    assert first_of_each(made) == [made[0], made[3], made[4]]
    made[1].taken.append(0)
    made[1].left -= 1
    assert first_of_each(made) == [made[0], made[1], made[3], made[4]]
    assert key_of(made) == ((0, 1, ()), (0, 2, ()), (0, 2, ()), (0, 2, (0,)), (1, 2, ()))


def test_filters_count_in_the_search() -> None:
    bench = Bench("a/a1: n1=4\na/a2: n2=4")
    only = bench.part(2, shape(1, node_selectors=(either("rack=a2"),)))
    found = bench.search(bench.part(2, shape(2)), only)
    assert isinstance(found, list)
    assert found[1] == ["n2", "n2"]
    assert proved(bench.search(bench.part(5, shape(1, node_selectors=(either("rack=a2"),))), bench.part(1, shape(2))))
