"""Reasons: the best domain and count, what is short there, who is left out, in the words that people read."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gangpool.core.cycle import Cycle
from gangpool.core.model import HOSTNAME, Block, Gang, Member, Reason, Role, Shape
from gangpool.core.pool import Pool
from gangpool.core.terms import TERMINATING
from tests.core.build import (
    RACK,
    ZONE,
    either,
    foreign,
    level,
    member,
    members,
    node,
    only_wait,
    plan,
    pool_of,
    selector,
    shape,
    spread,
    submit,
    taint,
    term,
)

WORLD = "a/a1: n1=8-2 n2=8-7\na/a2: n3=4\nb/b1: n4=8-6"


def why(pool: Pool) -> Reason:
    return only_wait(plan(pool)).reason


def why_single(pool: Pool, what: Shape, **more: Any) -> Reason:
    pool.set_member(member("p", what, **more))
    return why(pool)


def test_a_gang_that_is_short_by_one() -> None:
    pool = pool_of(WORLD)
    submit(pool, "g", 14)
    assert why(pool) == Reason(
        "cannot-fit",
        "13 of 14 members fit in the pool; nvidia.com/gpu asked 1, best 6",
        {"needed": 14, "best": 13, "unit": "members"},
        None,
        "wait for room, lower the minimum, or add nodes",
    )


def test_the_best_domain_of_the_required_level_and_the_next_ones() -> None:
    pool = pool_of(WORLD + "\nc/c1: n5=3\nc/c2: n6=2\nd/d1: n7=1")
    submit(pool, "g", 10, required=level(RACK))
    reason = why(pool)
    assert reason.message == (
        "7 of 10 members fit in rack a/a1; nvidia.com/gpu asked 1, best 6; "
        "next best: a/a2 4 of 10, c/c1 3 of 10, b/b1 2 of 10"
    )
    assert (reason.best_domain, reason.numbers) == ("a/a1", {"needed": 10, "best": 7, "unit": "members"})
    assert reason.next_step == "wait for room in one domain, lower the minimum, or allow a wider level"
    submit(pool, "h", 12, required=level(ZONE))
    assert [w.reason.best_domain for w in plan(pool).waits] == ["a/a1", "a"]


def test_domains_that_take_nobody_are_not_listed() -> None:
    pool = pool_of("a/a1: n1=2\nb/b1: n2=0")
    submit(pool, "g", 3, required=level(RACK))
    assert why(pool).message == "2 of 3 members fit in rack a/a1; nvidia.com/gpu asked 1, best 2"
    pool = pool_of("a/a1: n1=0\nb/b1: n2=0")
    submit(pool, "g", 1, required=level(RACK))
    assert why(pool).message == ("0 of 1 members fit in rack a/a1; nvidia.com/gpu asked 1, best 0, no node has any")


def test_a_single_pod_reads_what_it_lacks() -> None:
    reason = why_single(pool_of(WORLD), shape(8))
    assert reason.message == "0 of 1 members fit in the pool; nvidia.com/gpu asked 8, best 6 (n1 has 6)"
    assert reason.numbers == {"needed": 8, "best": 6, "unit": "nvidia.com/gpu"}
    assert reason.next_step == "wait until something ends, ask for less, or add a node that has it"
    reason = why_single(pool_of(WORLD), shape(9))
    assert reason.message.endswith("asked 9, best 6 (n1 has 6), the largest node has 8")
    reason = why_single(pool_of(WORLD), shape(1, cpu=65, gib=600))
    assert reason.message == (
        "0 of 1 members fit in the pool; cpu asked 65, best 64 (n1 has 64), the largest node has 64; "
        "memory asked 600Gi, best 512Gi (n1 has 512Gi), the largest node has 512Gi"
    )
    assert reason.numbers == {"needed": 65, "best": 64, "unit": "cpu"}
    reason = why_single(pool_of(WORLD), shape(1, room={"example.com/x": 2}))
    assert reason.message.endswith("; example.com/x asked 2, best 0, no node has any")


def test_what_terminating_pods_hold_comes_back() -> None:
    """1. A pod is being deleted and still holds its cards. 2. The reason says how many, on the nodes that could take
    the member; 3. no more once the pod is gone, or keeps its node after all."""
    pool = pool_of("a/a1: n1=8\nb/b1: n2=8")
    going = foreign("going", "n1", shape(6), labels=f"{TERMINATING}=true")
    pool.set_member(going)
    pool.set_member(foreign("elsewhere", "n2", shape(3), labels=f"{TERMINATING}=true"))
    pool.set_member(foreign("stays", "n1", shape(2)))
    reason = why_single(pool, shape(8, node_selectors=(either(f"{ZONE}=a"),)))
    assert "nvidia.com/gpu asked 8, best 0, 6 held by terminating pods; nodes left out" in reason.message
    pool.drop_member("going")
    assert "terminating" not in why(pool).message
    pool.set_member(going)
    pool.set_member(replace(going, labels=()))
    assert "terminating" not in why(pool).message


def test_resources_that_are_free_on_different_nodes() -> None:
    """No node has all of it, but each resource is free somewhere: what the node with the scarcest lacks is named."""
    for most_cpu in (8, 64):
        pool = Pool()
        for name, cards, cpu in (("n1", 8, 1), ("n2", 0, most_cpu), ("n3", 8, 1)):
            pool.set_node(node(name, cards, cpu=cpu))
        message = why_single(pool, shape(4, cpu=8)).message
        assert message.startswith("0 of 1 members fit in the pool; nvidia.com/gpu asked 4")
        assert "cpu" not in message


def test_a_pool_without_nodes() -> None:
    assert why_single(Pool(), shape(1)).message == "0 of 1 members fit in the pool; the pool has no nodes"


def test_over_committed_nodes_have_nothing() -> None:
    pool = pool_of("a/a1: n1=8-8")
    pool.set_node(replace(node("n1", 4), labels={ZONE: "a", RACK: "a1"}))
    assert "nvidia.com/gpu asked 1, best 0" in why_single(pool, shape(1)).message
    assert "the largest node has 4" in why_single(pool, shape(5)).message


def test_nodes_left_out_with_the_cause_and_count() -> None:
    pool = pool_of(WORLD)
    board = {"board": "h100"}
    kubernetes = "node.kubernetes.io"
    taints = {
        "c1": f"{kubernetes}/unschedulable:NoSchedule",
        "c2": f"{kubernetes}/unschedulable:NoSchedule",
        "r": f"{kubernetes}/not-ready:NoSchedule",
        "u": f"{kubernetes}/unreachable:NoExecute",
        "t": "team=red:NoSchedule",
    }
    for name, text in taints.items():
        pool.set_node(node(name, labels=board, taints=(taint(text),)))
    pool.set_node(node("soft", 0, labels=board, taints=(taint("s:PreferNoSchedule"),), notes=("a card is sick",)))
    reason = why_single(pool, shape(8, node_selectors=(either("board=h100"),)))
    assert reason.message == (
        "0 of 1 members fit in the pool; nvidia.com/gpu asked 8, best 0, no node has any; nodes left out: "
        "4 do not match board=h100, 2 cordoned, 1 a card is sick, 1 not ready, 1 unreachable, "
        "1 with taint team=red:NoSchedule"
    )


def test_many_causes_are_counted_beyond_six() -> None:
    pool = pool_of("a/a1: n1=0")
    for k in range(8):
        pool.set_node(node(f"t{k}", taints=(taint(f"k{k}:NoSchedule"),)))
    message = why_single(pool, shape(1)).message
    assert message.count("with taint") == 6
    assert message.endswith("1 with taint k5:NoSchedule, and 2 more causes")


def test_rules_of_other_pods_are_causes() -> None:
    pool = pool_of("a/a1: n1=8 n2=8\nb/b1: n3=8")
    pool.set_member(foreign("f", "n1", shape(0, host_ports=(("", "TCP", 80),)), labels="app=x"))
    rules: dict[str, Any] = {"anti_affinity": (term(ZONE, "app=x"),), "host_ports": (("", "TCP", 80),)}
    reason = why_single(pool, shape(9, **rules))
    assert reason.message == (
        "0 of 1 members fit in the pool; nvidia.com/gpu asked 9, best 8 (n3 has 8), the largest node has 8; "
        "nodes left out: 2 excluded by anti-affinity, 1 excluded by host port"
    )
    reason = why_single(pool, shape(1, affinity=(term(ZONE, "app=none"),)))
    assert reason.message.endswith("members fit in the pool; nodes left out: 3 excluded by affinity")


def test_a_node_is_left_out_for_its_first_cause_only() -> None:
    """Selector before taint before rule."""
    pool = pool_of("a/a1: n1=8")
    pool.set_member(foreign("f", "n1", shape(0), labels="app=x"))
    pool.set_node(node("n2", labels={ZONE: "a", "board": "h100"}, taints=(taint("k:NoSchedule"),)))
    pool.set_node(node("n3", labels={ZONE: "a", "board": "h100"}))
    rules: dict[str, Any] = {"node_selectors": (either("board"),), "anti_affinity": (term(ZONE, "app=x"),)}
    reason = why_single(pool, shape(1, **rules))
    assert reason.message == (
        "0 of 1 members fit in the pool; nodes left out: "
        "1 do not match board, 1 excluded by anti-affinity, 1 with taint k:NoSchedule"
    )


def test_parts_that_share_a_domain_are_counted_in_one() -> None:
    """1. Blocks of three of a master and two workers share a rack. 2. The roomiest rack for the master holds one
    worker beside it, and that counts, not the worker that fits elsewhere."""
    pool = roles_pool(
        "a/a1: n1=5\na/a2: n2=3", ("m", 1, shape(4)), ("w", 2, shape(1)), blocks=(("", Block(3, level(RACK))),)
    )
    reason = why(pool)
    assert (reason.code, reason.numbers["best"]) == ("cannot-fit", 2)


def test_what_volumes_ask_of_a_node_is_a_selector_too() -> None:
    message = why_single(pool_of(WORLD), shape(1, held_to=(either("zone=c"),))).message
    assert "4 do not match zone=c" in message


def roles_pool(world: str, *groups: tuple[str, int, Shape], **gang: Any) -> Pool:
    pool = pool_of(world)
    roles = tuple(Role(role, n) for role, n, _ in groups)
    pool.set_gang(Gang("ml/g", sum(n for _, n, _ in groups), roles, **gang))
    for role, n, what in groups:
        for one in members("ml/g", n, what, role=role, labels=f"role={role}"):
            pool.set_member(one)
    return pool


def test_the_role_that_has_no_place_is_named() -> None:
    reason = why(roles_pool("a/a1: n1=8\nb/b1: n2=4", ("m", 1, shape(2)), ("w", 2, shape(8))))
    assert reason.message.startswith(
        "2 of 3 members fit in the pool; role w has no place; nvidia.com/gpu asked 8, best 8"
    )
    assert reason.code == "cannot-fit"
    reason = why(roles_pool("a/a1: n1=8", ("m", 1, shape(8)), ("w", 2, shape(1))))
    assert reason.message.startswith(
        "1 of 3 members fit in the pool; role w has no place; nvidia.com/gpu asked 1, best"
    )


def test_a_gang_of_one_role_names_none() -> None:
    reason = why(roles_pool("a/a1: n1=1", ("w", 2, shape(1))))
    assert reason.message == "1 of 2 members fit in the pool; nvidia.com/gpu asked 1, best 1"


def test_running_members_above_one_roles_minimum_do_not_make_up_for_another() -> None:
    """1. Five workers run, the gang's minimum is three. 2. Its only master is lost and has no place. 3. The reason
    must not say that three of three fit."""
    pool = pool_of("a/a1: n1=8-5")
    pool.set_gang(Gang("ml/g", 3, (Role("m", 1), Role("w", 0))))
    for one in members("ml/g", 5, shape(0), role="w"):
        pool.set_member(replace(one, node="n1"))
    pool.set_member(member("m", shape(4), "ml/g", role="m"))
    reason = why(pool)
    assert reason.numbers == {"needed": 3, "best": 2, "unit": "members"}
    assert reason.message.startswith("2 of 3 members fit in the pool; role m has no place; nvidia.com/gpu asked 4")


def test_running_members_count_and_hold_the_domain() -> None:
    pool = pool_of("a/a1: n1=3\nb/b1: n2=8")
    pool.set_gang(Gang("ml/g", 5, required=level(RACK)))
    for one in members("ml/g", 5):
        pool.set_member(replace(one, node="n1") if one.rank < 2 else one)
    reason = why(pool)
    assert (reason.best_domain, reason.numbers["best"]) == ("a/a1", 3)
    assert "next best" not in reason.message


def test_coupled_members_are_counted_as_they_would_be_seated() -> None:
    pool = pool_of("a/a1: n1=8\nb/b1: n2=1")
    submit(pool, "g", 6, shape(spread=(spread(ZONE, "app=x"),)), labels="app=x")
    reason = why(pool)
    assert (reason.code, reason.numbers["best"]) == ("cannot-fit", 3)
    assert "1 excluded by topology spread" in reason.message


def test_single_members_of_anti_affinity_fill_one_node_each() -> None:
    pool = pool_of("a/a1: n1=8 n2=8")
    submit(pool, "g", 3, shape(anti_affinity=(term(HOSTNAME, "app=x"),)), labels="app=x")
    reason = why(pool)
    assert reason.numbers["best"] == 2
    assert reason.message.startswith("2 of 3 members fit in the pool; nodes left out: 2 excluded by anti-affinity")


def test_a_search_without_an_answer_says_what_it_tried() -> None:
    """Twelve nodes with odd rooms, two kinds that fill them nearly: no bound says no, and the search is cut."""
    world = "\n".join(f"a/r{k}: n{k}=7" for k in range(12))
    reason = why(roles_pool(world, ("m", 12, shape(4)), ("w", 8, shape(2)), ("x", 4, shape(5))))
    if reason.code == "not-found":
        assert reason.message.startswith(f"no placement found in {reason.numbers['budget']} steps, and no proof")
        assert int(reason.numbers["budget"]) > 0
    else:
        assert reason.code == "cannot-fit"


def test_reasons_of_one_cycle_describe_one_state() -> None:
    """What is seated after a refusal counts for its reason, and equal asks share one."""
    pool = pool_of("a/a1: n1=4")
    submit(pool, "big", 6, priority=1)
    submit(pool, "also", 6, priority=1)
    submit(pool, "small", 3)
    made = Cycle(pool).run()
    assert len(made.seats) == 3
    assert [w.reason.numbers["best"] for w in made.waits] == [1, 1]
    assert made.waits[0].reason is made.waits[1].reason


def test_what_a_reason_tried_is_undone() -> None:
    pool = pool_of(WORLD)
    one: Member = member("p", shape(9), labels="app=x")
    pool.set_member(one)
    pool.set_member(foreign("f", "n1", shape(1, anti_affinity=(term(ZONE, "a=1", by_label=selector("x")),))))
    submit(pool, "g", 20)
    before = pool.ledger.resource("nvidia.com/gpu").view.tolist()
    Cycle(pool).run()
    assert pool.ledger.resource("nvidia.com/gpu").view.tolist() == before
    assert pool.ledger.journal == []


@pytest.mark.parametrize("what", [shape(1), shape(1, spread=(spread(HOSTNAME, "app=g"),))])
@pytest.mark.parametrize("as_block", [False, True])
@pytest.mark.parametrize("n_masters", [1, 2])
def test_a_level_that_no_node_of_the_domain_has(what: Shape, as_block: bool, n_masters: int) -> None:
    """1. A running master holds its gang to zone b, whose nodes know no rack. 2. The workers must share a rack: none
    of them has a place there, however much is free."""
    pool = pool_of("a/a1: n1=4\nb/-: n2=4 n3=4")
    of_role: dict[str, Any] = {"role_levels": (("w", level(RACK)),)}
    if as_block:
        of_role = {"blocks": (("w", Block(3, level(RACK))),)}
    roles = (Role("m", n_masters), Role("w", 3))
    pool.set_gang(Gang("ml/g", n_masters + 3, roles, required=level(ZONE), **of_role))
    pool.set_member(member("m-0", gang="ml/g", role="m", node="n2"))
    for one in (*members("ml/g", n_masters, role="m")[1:], *members("ml/g", 3, what, role="w", labels="app=g")):
        pool.set_member(one)
    reason = why(pool)
    assert (reason.code, reason.best_domain) == ("cannot-fit", "b")
    assert reason.message == (
        f"{n_masters} of {n_masters + 3} members fit in zone b; role w has no place; "
        "no node of zone b has the level rack"
    )


@pytest.mark.parametrize("what", [shape(1), shape(1, spread=(spread(HOSTNAME, "app=g"),))])
@pytest.mark.parametrize("cards", [0, 1])
def test_nodes_outside_a_level_are_never_its_best_domain(what: Shape, cards: int) -> None:
    pool = pool_of(f"a/-: n1=8\na/a1: n2={cards}\n-/-: n3=8")
    submit(pool, "g", 2, what, required=level(RACK), labels="app=g")
    reason = why(pool)
    assert (reason.best_domain, reason.numbers["best"]) == ("a/a1", cards)


def test_only_whole_blocks_count_for_a_domain() -> None:
    """Of racks with five and three cards whole blocks of two take four and two."""
    pool = pool_of("a/a1: n1=5\na/a2: n2=3\nb/b1: n3=2")
    submit(pool, "g", 6, required=level(RACK), blocks=(("", Block(2, level(RACK))),))
    assert why(pool).message.startswith("4 of 6 members fit in rack a/a1; ")
    assert why(pool).message.endswith("; next best: a/a2 2 of 6, b/b1 2 of 6")


def test_running_members_of_a_block_outside_the_gangs_domain() -> None:
    """Nodes were labelled anew: most members hold the gang to zone a, the second block began in zone b."""
    pool = pool_of("a/a1: n1=4\nb/b1: n2=4")
    pool.set_gang(Gang("ml/g", 0, required=level(ZONE), blocks=(("", Block(2, level(RACK))),)))
    for rank, where in enumerate(("n1", "n1", "n2")):
        pool.set_member(member(f"g-{rank}", gang="ml/g", rank=rank, node=where))
    pool.set_member(member("g-3", gang="ml/g", rank=3))
    reason = why(pool)
    assert (reason.code, reason.best_domain) == ("cannot-fit", "a")
    assert reason.numbers == {"needed": 1, "best": 0, "unit": "members"}
    assert reason.message == (
        "0 of 1 members have a place: running members hold the gang to zone a, and the others to rack b/b1, which is "
        "not inside it"
    )
