"""Tallies: room per node and domain, kept up by replay, with the twin of broken nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gangpool.core import tally as tally_module
from gangpool.core.kind import Kind
from gangpool.core.ledger import Claim, Ledger
from gangpool.core.model import Shape
from gangpool.core.pool import Pool
from gangpool.core.tally import SCALAR_LIMIT, Tallies, Tally, sums_by_domain
from gangpool.core.topology import Tree
from tests.core.build import LEVELS, ZONE, either, kind, node, pool_of, shape, taint

WORLD = "b/b1: n1=8 n2=8\na/a1: n3=4\n-/-: n4=2"


def of(pool: Pool, what: Shape) -> tuple[Ledger, Tree, Tally]:
    ledger = pool.ledger
    return ledger, pool.forest.tree(LEVELS), Tally(ledger, kind(ledger, what))


def rows(tally: Tally, tree: Tree) -> tuple[list[list[int]], list[list[int]]]:
    sums = tally.sums(tree)
    return [v.view.tolist() for v in sums.room], [v.view.tolist() for v in sums.broken]


def hold(ledger: Ledger, uid: str, i: int, what: Shape) -> None:
    found, tag = ledger.kind(what, "ml", ())
    ledger.hold(Claim(uid, i, found, tag))


def test_room_and_sums_of_a_fresh_tally() -> None:
    ledger, tree, tally = of(pool_of(WORLD), shape(2))
    assert tally.fit.view[:5].tolist() == [4, 4, 2, 1, 0]
    assert tally.twin.view[:5].tolist() == [0, 0, 0, 0, 0]
    assert rows(tally, tree) == ([[11], [2, 8, 1], [2, 8, 1]], [[0], [0, 0, 0], [0, 0, 0]])
    assert len(tally.fit.view) == ledger.capacity


def test_filters_count() -> None:
    pool = pool_of(WORLD)
    pool.set_node(node("n5", taints=(taint("k:NoSchedule"),)))
    _, _, tally = of(pool, shape(2, node_selectors=(either("zone!=b"),)))
    assert tally.fit.view[:5].tolist() == [0, 0, 2, 1, 0]


def test_a_touched_node_moves_its_domains_at_every_level() -> None:
    ledger, tree, tally = of(pool_of(WORLD), shape(2))
    rows(tally, tree)
    hold(ledger, "p", 0, shape(3))
    tally.sync()
    assert rows(tally, tree) == ([[9], [2, 6, 1], [2, 6, 1]], [[2], [0, 2, 0], [0, 2, 0]])
    hold(ledger, "q", 0, shape(5))
    tally.sync()
    assert rows(tally, tree) == ([[7], [2, 4, 1], [2, 4, 1]], [[0], [0, 0, 0], [0, 0, 0]])
    ledger.release("p")
    ledger.release("q")
    tally.sync()
    assert rows(tally, tree) == ([[11], [2, 8, 1], [2, 8, 1]], [[0], [0, 0, 0], [0, 0, 0]])


def test_a_node_breaks_without_losing_room_for_the_kind() -> None:
    """A member that needs no card has as much room as before, but the node is broken now: only the twin moves."""
    ledger, tree, tally = of(pool_of("a/a1: n1=8"), shape(0))
    before = rows(tally, tree)[0][0][0]
    hold(ledger, "p", 0, Shape((("nvidia.com/gpu", 1),)))
    tally.sync()
    assert rows(tally, tree) == ([[before]] * 3, [[before]] * 3)


@pytest.mark.parametrize("n", [1, SCALAR_LIMIT, SCALAR_LIMIT + 1, 39, 41])
def test_few_and_many_touched_nodes_give_the_same(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one, vectorised (a node may come twice), or a full pass: all equal a tally made anew."""
    ways: list[str] = []

    def watched(name: str) -> Any:
        inner = getattr(Tally, name)

        def call(self: Tally, *args: Any) -> None:
            ways.append(name)
            inner(self, *args)

        return call

    for name in ("_update_one", "_update_many", "rebuild"):
        monkeypatch.setattr(Tally, name, watched(name))
    pool = pool_of("\n".join(f"z{i % 3}/r{i}: n{i}={8 if i % 5 else 0}" for i in range(40)))
    ledger, tree, tally = of(pool, shape(0, node_selectors=(either("zone!=z1"),)))
    before = [list(tally.fit.at), list(tally.twin.at), *rows(tally, tree)]
    ways.clear()
    one = kind(ledger, shape(1))
    mark = ledger.mark()
    for step in range(n):
        ledger.claim(step * 7 % 38, one)
    tally.sync()
    expected = "_update_one" if n <= SCALAR_LIMIT else "_update_many" if n <= 40 else "rebuild"
    assert set(ways) == {expected}
    fresh = Tally(ledger, tally.kind)
    assert rows(tally, tree) == rows(fresh, tree)
    assert tally.fit.view.tolist() == fresh.fit.view.tolist()
    assert tally.twin.view.tolist() == fresh.twin.view.tolist()
    ledger.rollback(mark)
    tally.sync()
    assert [list(tally.fit.at), list(tally.twin.at), *rows(tally, tree)] == before


def test_nothing_touched_nothing_done() -> None:
    ledger, _, tally = of(pool_of(WORLD), shape(2))
    cursor = tally.cursor
    tally.sync()
    assert tally.cursor == cursor == ledger.cut + len(ledger.touched)


def test_a_look_inside_a_trial_is_undone_with_it() -> None:
    """1. A trial claims. 2. The tally looks. 3. The trial is rolled back: the log must not be cut behind its back."""
    ledger, tree, tally = of(pool_of(WORLD), shape(2))
    before = rows(tally, tree)
    mark = ledger.mark()
    ledger.claim(0, kind(ledger, shape(8)))
    tally.sync()
    assert rows(tally, tree)[0][0] == [7]
    ledger.rollback(mark)
    tally.sync()
    assert rows(tally, tree) == before


@pytest.mark.parametrize("change", ["capacity", "filter", "cut"])
def test_what_calls_for_a_full_pass(change: str) -> None:
    pool = pool_of(WORLD)
    ledger, _, tally = of(pool, shape(2, node_selectors=(either("zone!=c"),)))
    if change == "capacity":
        ledger.reserve(500)
        hold(ledger, "p", 0, shape(8))
    elif change == "filter":
        facts = ledger.facts[0]
        assert facts is not None
        ledger.set_node(replace(facts, labels={ZONE: "c"}))
    else:
        hold(ledger, "p", 0, shape(8))
        ledger.cut += 1000
        ledger.looked()
    tally.sync()
    assert tally.fit.view[:4].tolist() == [0, 4, 2, 1]
    assert len(tally.fit.view) == ledger.capacity


def test_other_nodes_make_other_trees_and_sums() -> None:
    pool = pool_of(WORLD)
    ledger, tree, tally = of(pool, shape(2))
    tally.sums(tree)
    pool.set_node(node("n5", 8, labels={ZONE: "c", "rack": "c1"}))
    tally.sync()
    assert rows(tally, pool.forest.tree(LEVELS))[0] == [[15], [2, 8, 4, 1], [2, 8, 4, 1]]
    pool.drop_node("n1")
    tally.sync()
    assert rows(tally, pool.forest.tree(LEVELS))[0] == [[11], [2, 4, 4, 1], [2, 4, 4, 1]]
    assert ledger.node_version == tally._node_version


def test_sums_of_several_trees_are_kept_and_move_together() -> None:
    pool = pool_of(WORLD)
    ledger, tree, tally = of(pool, shape(2))
    flat = pool.forest.tree(())
    both = (tally.sums(tree), tally.sums(flat))
    hold(ledger, "p", 2, shape(4))
    tally.sync()
    assert tally.sums(tree) is both[0]
    assert tally.sums(flat) is both[1]
    assert rows(tally, flat) == ([[9]], [[0]])
    others = [Tree((), [()] * 4, 4) for _ in range(4)]
    for other in others:
        tally.sums(other)
    assert len(tally._sums) == 4
    assert tally.sums(tree) is not both[0]
    assert rows(tally, tree)[0] == [[9], [0, 8, 1], [0, 8, 1]]


def test_sums_by_domain_of_any_order() -> None:
    values = np.array([1, 2, 4, 8], dtype=np.int64)
    shuffled = Tree(("k",), [("b",), ("a",), ("b",), ("c",)], 4)
    assert sums_by_domain(shuffled, 1, values).tolist() == [2, 5, 8]
    assert sums_by_domain(shuffled, 0, values).tolist() == [15]
    straight = Tree(("k",), [("a",), ("a",), ("b",)], 3)
    assert sums_by_domain(straight, 1, values).tolist() == [3, 4]
    assert sums_by_domain(Tree(("k",), [], 0), 1, values).tolist() == []
    assert sums_by_domain(Tree(("k",), [], 0), 0, values).tolist() == [0]


def test_the_least_recently_used_tally_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally_module, "KEPT", 2)
    ledger = pool_of(WORLD).ledger
    kinds: list[Kind] = [kind(ledger, shape(n)) for n in (1, 2, 3)]
    tallies = Tallies(ledger)
    first, second = tallies.of(kinds[0]), tallies.of(kinds[1])
    assert tallies.of(kinds[0]) is first
    third = tallies.of(kinds[2])
    assert tallies.all() == [first, third]
    assert tallies.of(kinds[1]) is not second


def test_tallies_are_up_to_date_when_they_are_asked_for() -> None:
    ledger = pool_of(WORLD).ledger
    tallies = Tallies(ledger)
    one = kind(ledger, shape(2))
    assert tallies.of(one).fit.at[0] == 4
    hold(ledger, "p", 0, shape(8))
    assert tallies.of(one).fit.at[0] == 0
