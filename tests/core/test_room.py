"""Room under inter-pod rules: affinity, anti-affinity of both directions, spread, host ports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gangpool.core.model import HOSTNAME, Spread, Toleration
from gangpool.core.pool import Pool
from gangpool.core.room import eligible_for, room, rules, rules_mask, spread_mask, within
from gangpool.core.tally import Tally
from tests.core.build import LEVELS, RACK, ZONE, either, foreign, kind, node, pool_of, shape, spread, taint, term

WORLD = """
a/a1: n1=8 n2=8
a/a2: n3=8
b/b1: n4=8
-/-: n5=8
"""
N = 5


def running(*where: str, labels: str = "app=x", **rules_: Any) -> Pool:
    pool = pool_of(WORLD)
    for k, name in enumerate(where):
        pool.set_member(foreign(f"run-{k}", name, shape(0, **rules_), labels=labels))
    return pool


def allowed(pool: Pool, labels: str = "", own: bool = False, **rules_: Any) -> list[str]:
    ledger = pool.ledger
    one = kind(ledger, shape(**rules_), labels)
    mask = rules_mask(ledger, one, frozenset(one.matches) if own else frozenset())
    return [facts.name for i, facts in ledger.alive() if mask[i]]


ALL = ["n1", "n2", "n3", "n4", "n5"]


def test_anti_affinity_keeps_out_of_domains_with_a_match() -> None:
    pool = running("n1")
    assert allowed(pool, anti_affinity=(term(HOSTNAME, "app=x"),)) == ["n2", "n3", "n4", "n5"]
    assert allowed(pool, anti_affinity=(term(ZONE, "app=x"),)) == ["n4", "n5"]
    assert allowed(pool, anti_affinity=(term(ZONE, "app=y"),)) == ALL
    assert allowed(pool, anti_affinity=(term(ZONE, "app=x", "ops"),)) == ALL


def test_a_match_on_a_node_without_the_label_keeps_nobody_out() -> None:
    assert allowed(running("n5"), anti_affinity=(term(ZONE, "app=x"),)) == ALL
    assert allowed(running("n5", labels="app=y", anti_affinity=(term(ZONE, "app=x"),)), "app=x") == ALL


def test_running_pods_keep_out_those_that_they_repel() -> None:
    pool = running("n4", labels="app=y", anti_affinity=(term(ZONE, "app=x"),))
    assert allowed(pool, "app=x") == ["n1", "n2", "n3", "n5"]
    assert allowed(pool, "app=z") == ALL
    pool.drop_member("run-0")
    assert allowed(pool, "app=x") == ALL


def test_affinity_goes_where_a_match_is() -> None:
    pool = running("n1", "n5")
    assert allowed(pool, affinity=(term(ZONE, "app=x"),)) == ["n1", "n2", "n3"]
    assert allowed(pool, affinity=(term(HOSTNAME, "app=x"),)) == ["n1", "n5"]
    assert allowed(pool, affinity=(term(ZONE, "app=x"), term(RACK, "app=x"))) == ["n1", "n2"]
    assert allowed(pool, affinity=(term(ZONE, "app=y"),)) == []


def test_the_first_of_its_kind_may_go_anywhere_with_the_label() -> None:
    pool = pool_of(WORLD)
    assert allowed(pool, "app=x", affinity=(term(ZONE, "app=x"),)) == ["n1", "n2", "n3", "n4"]
    assert allowed(pool, "app=y", affinity=(term(ZONE, "app=x"),)) == []
    assert allowed(running("n4"), "app=x", affinity=(term(ZONE, "app=x"),)) == ["n4"]
    assert allowed(running("n5"), "app=x", affinity=(term(ZONE, "app=x"),)) == ["n1", "n2", "n3", "n4"]


def test_what_the_gang_itself_may_satisfy_is_left_out_of_the_bound() -> None:
    pool = running("n4")
    assert allowed(pool, "app=x", own=True, affinity=(term(ZONE, "app=x"),)) == ["n1", "n2", "n3", "n4"]
    assert allowed(pool, "app=x", own=True, spread=(spread(RACK, "app=x"),)) == ["n1", "n2", "n3", "n4"]
    assert allowed(pool, "app=x", own=True, anti_affinity=(term(ZONE, "app=x"),)) == ["n1", "n2", "n3", "n5"]


@pytest.mark.parametrize(
    ("where", "rule", "labels", "expected"),
    [
        ("", spread(ZONE, "app=x"), "app=x", ["n1", "n2", "n3", "n4"]),
        ("n1", spread(ZONE, "app=x"), "app=x", ["n4"]),
        ("n1", spread(ZONE, "app=x", 2), "app=x", ["n1", "n2", "n3", "n4"]),
        ("n1 n2", spread(ZONE, "app=x", 2), "app=x", ["n4"]),
        ("n1", spread(ZONE, "app=x"), "app=y", ["n1", "n2", "n3", "n4"]),
        ("n1 n2", spread(ZONE, "app=x"), "app=y", ["n4"]),
        ("n1 n4", spread(ZONE, "app=x", min_domains=2), "app=x", ["n1", "n2", "n3", "n4"]),
        ("n1 n4", spread(ZONE, "app=x", min_domains=3), "app=x", []),
        ("n1 n4", spread(ZONE, "app=x", 2, min_domains=3), "app=x", ["n1", "n2", "n3", "n4"]),
        ("n5", spread(ZONE, "app=x"), "app=x", ["n1", "n2", "n3", "n4"]),
        ("n1", spread(HOSTNAME, "app=x"), "app=x", ["n2", "n3", "n4", "n5"]),
        ("n1", spread("none", "app=x"), "app=x", []),
    ],
)
def test_spread_keeps_the_skew(where: str, rule: Spread, labels: str, expected: list[str]) -> None:
    assert allowed(running(*where.split()), labels, spread=(rule,)) == expected


def eligible(pool: Pool, rule: Spread, **rules_: Any) -> list[str]:
    one = kind(pool.ledger, shape(spread=(rule, *rules_.pop("others", ())), **rules_))
    mask = eligible_for(pool.ledger, one, one.spreads[0])
    return [facts.name for i, facts in pool.ledger.alive() if mask[i]]


def test_which_nodes_count_for_a_spread() -> None:
    pool = pool_of(WORLD)
    pool.set_node(node("n6", labels={ZONE: "c"}, taints=(taint("k:NoSchedule"),)))
    zone = spread(ZONE, "app=x")
    only_a = (either("zone=a"),)
    assert eligible(pool, zone) == ["n1", "n2", "n3", "n4", "n6"]
    assert eligible(pool, zone, node_selectors=only_a) == ["n1", "n2", "n3"]
    assert eligible(pool, zone, held_to=only_a) == ["n1", "n2", "n3", "n4", "n6"]
    assert eligible(pool, spread(ZONE, "app=x", honor_affinity=False), node_selectors=only_a) == eligible(pool, zone)
    tainted = spread(ZONE, "app=x", honor_taints=True)
    assert eligible(pool, tainted) == ["n1", "n2", "n3", "n4"]
    assert eligible(pool, tainted, tolerations=(Toleration("", "Exists"),)) == eligible(pool, zone)
    assert eligible(pool, zone, others=(spread(RACK, "app=x"),)) == ["n1", "n2", "n3", "n4"]
    assert eligible(pool, zone, others=(spread(RACK, "app=x", wished=True),)) == eligible(pool, zone)
    assert eligible(pool, spread(RACK, "app=x", wished=True), others=(zone,)) == ["n1", "n2", "n3", "n4"]


def test_pods_on_nodes_that_do_not_count_are_not_counted() -> None:
    pool = running("n3")
    one: dict[str, Any] = {"spread": (spread(ZONE, "app=x"),)}
    assert allowed(pool, "app=x", **one) == ["n4"]
    assert allowed(pool, "app=x", **one, node_selectors=(either("rack!=a2"),)) == ["n1", "n2", "n3", "n4"]


def test_host_ports_in_use() -> None:
    pool = running("n1", host_ports=(("", "TCP", 80),))
    assert allowed(pool, host_ports=(("10.0.0.1", "TCP", 80),)) == ["n2", "n3", "n4", "n5"]
    assert allowed(pool, host_ports=(("", "UDP", 80), ("", "TCP", 81))) == ALL


def test_each_rule_says_its_cause() -> None:
    pool = running("n1", labels="app=x", anti_affinity=(term(ZONE, "app=y"),), host_ports=(("", "TCP", 80),))
    rules_: dict[str, Any] = {
        "anti_affinity": (term(HOSTNAME, "app=x"),),
        "affinity": (term(ZONE, "app=x"),),
        "spread": (spread(ZONE, "app=x"),),
        "host_ports": (("", "TCP", 80),),
    }
    one = kind(pool.ledger, shape(**rules_), "app=y")
    assert [cause for cause, _ in rules(pool.ledger, one)] == [
        "anti-affinity",
        "anti-affinity of running pods",
        "affinity",
        "topology spread",
        "host port",
    ]
    assert list(rules(pool.ledger, kind(pool.ledger, shape(), "app=z"))) == []


def test_a_spread_without_any_eligible_node_allows_none() -> None:
    pool = pool_of(WORLD)
    one = kind(pool.ledger, shape(spread=(spread("none", "app=x"),)))
    mask = spread_mask(pool.ledger, one, one.spreads[0])
    assert len(mask) == pool.ledger.capacity
    assert not mask.any()


def room_of(pool: Pool, labels: str = "", **rules_: Any) -> Any:
    ledger = pool.ledger
    return room(ledger, pool.forest.tree(LEVELS), Tally(ledger, kind(ledger, shape(**rules_), labels)))


def test_a_plain_kind_reads_its_tally() -> None:
    pool = pool_of("a/a1: n1=8 n2=8-2\nb/b1: n3=8")
    base = room_of(pool)
    assert base.fit[:3].tolist() == [8, 6, 8]
    assert base.broken[:3].tolist() == [0, 6, 0]
    assert [base.sums(level).tolist() for level in range(3)] == [[22], [14, 8], [14, 8]]
    assert [base.broken_sums(level).tolist() for level in range(3)] == [[6], [6, 0], [6, 0]]


def test_a_kind_with_rules_has_less() -> None:
    pool = pool_of("a/a1: n1=8 n2=8-2\nb/b1: n3=8-1")
    pool.set_member(foreign("x", "n3", shape(0), labels="app=x"))
    base = room_of(pool, anti_affinity=(term(ZONE, "app=x"),))
    assert base.fit[:3].tolist() == [8, 6, 0]
    assert base.broken[:3].tolist() == [0, 6, 0]
    assert [base.sums(level).tolist() for level in range(3)] == [[14], [14, 0], [14, 0]]
    assert [base.broken_sums(level).tolist() for level in range(3)] == [[6], [6, 0], [6, 0]]
    one_each = room_of(pool, "app=x", anti_affinity=(term(HOSTNAME, "app=x"),))
    assert one_each.fit[:3].tolist() == [1, 1, 0]
    assert one_each.broken[:3].tolist() == [0, 1, 0]


def test_within_a_mask() -> None:
    pool = pool_of("a/a1: n1=8 n2=8-2")
    mask = np.zeros(pool.ledger.capacity, dtype=np.bool_)
    mask[1] = True
    base = within(room_of(pool), mask)
    assert (base.fit[:2].tolist(), base.broken[:2].tolist()) == ([0, 6], [0, 6])
    assert (base.sums(0).tolist(), base.broken_sums(0).tolist()) == ([6], [6])
