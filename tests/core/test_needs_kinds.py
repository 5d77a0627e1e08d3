"""Kinds of a batch know every counter that its members move, also those that came up while the batch was made."""

from __future__ import annotations

from gangpool.core.model import HOSTNAME, Gang, Role
from tests.core.build import member, places, plan, pool_of, seated, shape, term


def test_a_role_is_kept_off_the_members_that_were_looked_at_before_it() -> None:
    """1. The worker's kind is made: no selector asks for it. 2. The master's shape brings the selector
    role=worker. 3. Both are seated in one trial; the worker must count for the master's anti-affinity."""
    pool = pool_of("a/a1: n1=8 n2=8")
    apart = shape(anti_affinity=(term(HOSTNAME, "role=worker"),))
    pool.set_gang(Gang("ml/g", 2, roles=(Role("worker", 1), Role("master", 1))))
    pool.set_member(member("w", shape(), "ml/g", role="worker", labels="role=worker"))
    pool.set_member(member("m", apart, "ml/g", role="master", labels="role=master"))
    assert set(seated(pool).values()) == {"n1", "n2"}


def test_a_preference_against_its_own_kind_counts_from_the_first_member() -> None:
    """1. The kind of two single pods is made; their preference to stay apart brings a selector that matches them.
    2. Both are seated. 3. Both go: every counter is at zero again."""
    pool = pool_of("a/a1: n1=8 n2=8")
    apart = shape(soft_terms=((-5, term(HOSTNAME, "app=x")),))
    for uid in "pq":
        pool.set_member(member(uid, apart, labels="app=x"))
    assert set(places(plan(pool)).values()) == {"n1", "n2"}
    assert sorted(counter.total for counter in pool.ledger.terms.counters()) == [0, 2]
    for uid in "pq":
        pool.drop_member(uid)
    assert all(counter.total == 0 for counter in pool.ledger.terms.counters())
