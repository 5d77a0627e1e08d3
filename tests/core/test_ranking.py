"""The order of domains: the scalar rule, the vector rule, ranks that are kept up, and what the order says."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gangpool.core.ranking import MOST, NO, Ranking, rank, ranks
from gangpool.core.tally import Tally
from gangpool.core.topology import Forest
from tests.core.build import RACK, ZONE, kind, ledger_of, shape

small = st.integers(0, 9)


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@given(st.integers(1, 9), st.lists(st.tuples(small, small, st.integers(0, 2), st.integers(0, 3)), min_size=1))
def test_one_by_one_and_many_at_once_agree(n: int, rows: list[tuple[int, int, int, int]]) -> None:
    domains = [(broken, broken + whole, one, two) for broken, whole, one, two in rows]
    expected = [rank(n, *domain) for domain in domains]
    assert ranks(n, *(ints(list(column)) for column in zip(*domains, strict=True))).tolist() == expected


def test_the_order() -> None:
    first = [
        rank(4, 5, 5, 1, 2),  # one broken node holds all
        rank(4, 6, 6, 1, 2),
        rank(4, 6, 7, 1, 2),
        rank(4, 4, 4, 0, 2),  # two hold half each
        rank(4, 4, 4, 0, 1),  # broken nodes hold all
        rank(4, 3, 4, 0, 1),  # whole nodes have to be broken
        rank(4, 0, 5, 0, 0),
        rank(4, 3, 3, 0, 1),
    ]
    assert first == sorted(first)
    assert len(set(first)) == len(first)
    assert first[-1] == NO


def test_rooms_beyond_every_pool_stay_in_their_tier() -> None:
    assert rank(1, 1 << 40, 1 << 41, 0, 0) < rank(1, 0, 1, 0, 0) < rank(1, 0, 1 << 41, 0, 0) < NO
    assert rank(1, MOST, MOST, 1, 1) == rank(1, MOST + 5, MOST + 5, 1, 1)
    assert ranks(1, ints([1 << 40]), ints([1 << 41])).tolist() == [rank(1, 1 << 40, 1 << 41, 0, 0)]


moves = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=8)


@given(st.integers(1, 5), moves, moves)
def test_ranks_follow_the_nodes_one_by_one_and_many_at_once(
    n: int, one_by_one: list[tuple[int, int]], at_once: list[tuple[int, int]]
) -> None:
    domain_of = ints([0, 0, 0, 1, 1, 1])
    twin = ints([0] * 6)
    kept = Ranking(n, 2)

    def sums() -> np.ndarray:
        return np.bincount(domain_of, weights=twin, minlength=2).astype(np.int64)

    for i, now in one_by_one:
        then, twin[i] = int(twin[i]), now
        d = int(domain_of[i])
        kept.move_one(d, then, now, int(sums()[d]), int(sums()[d]) + 1)
    index = ints(sorted({i for i, _ in at_once}))
    before = twin[index].copy()
    for i, now in at_once:
        twin[i] = now
    kept.move_many(domain_of[index], before, twin[index], sums(), sums() + 1)
    touched = {int(domain_of[i]) for i, _ in [*one_by_one, *at_once]}
    for d in touched:
        nodes = twin[domain_of == d]
        expected = rank(n, int(nodes.sum()), int(sums()[d]) + 1, int((nodes >= n).sum()), int((2 * nodes >= n).sum()))
        assert kept.of.at[d] == expected


def test_a_tally_keeps_ranks_for_a_few_sizes_only() -> None:
    ledger = ledger_of("a/a1: n1=8-1 n2=8\na/a2: n3=8-4")
    tree = Forest(ledger).tree((ZONE, RACK))
    tally = Tally(ledger, kind(ledger, shape()))
    for n in range(1, 9):
        tally.ranking(tree, n)
    assert len(tally.sums(tree).rankings) == 4
    assert tally.ranking(tree, 4).tolist() == [rank(4, 7, 15, 1, 1), rank(4, 4, 4, 1, 1)]
