"""Pods of a DaemonSet, booked one a node."""

from __future__ import annotations

from typing import Any

from gangpool.core.cycle import Cycle
from gangpool.intake.daemons import book
from gangpool.intake.given import Given
from gangpool.intake.place import place
from tests.intake.build import CONFIG, NOW, Json, ask, given, jobset, node, obj, pod, reason, template, where, world


def daemon(name: str = "d", cards: int = 0, **more: Any) -> Json:
    return obj("apps/v1", "DaemonSet", name, spec={"template": template(cards, **more)})


def pool(n: int = 3, cpu: str = "2") -> list[Json]:
    return [node(f"n{i}", room={"cpu": cpu}) for i in range(n)]


def test_every_node_that_lets_it_has_one_in_the_order_of_the_pool() -> None:
    assert where(ask(pool(), daemon())) == {"d-0": "n0", "d-1": "n1", "d-2": "n2"}


def test_what_it_holds_is_in_the_books_of_its_node() -> None:
    answer = ask(pool(), daemon(cards=2))
    assert [(e.node, e.cards) for e in answer.placed] == [("n0", (0, 1)), ("n1", (0, 1)), ("n2", (0, 1))]
    assert answer.pool.cards_free_after == 18
    assert where(ask(pool(), daemon(cards=2), pod("p", 7))) == {"d-0": "n0", "d-1": "n1", "d-2": "n2"}


def test_a_node_without_room_keeps_its_pod_waiting_and_says_why() -> None:
    full = pod("x", 0, limits={"cpu": "2"}, nodeName="n1")
    answer = ask([*pool(), full], daemon(limits={"cpu": "1"}))
    assert where(answer) == {"d-0": "n0", "d-2": "n2"}
    assert reason(answer, "d-1").message.startswith("0 of 1 members fit in the pool; cpu asked 1, best 0")


def test_two_daemonsets_share_the_nodes_as_far_as_there_is_room() -> None:
    answer = ask(pool(1, "3"), daemon("a", limits={"cpu": "2"}), daemon("b", limits={"cpu": "2"}))
    assert where(answer) == {"a-0": "n0"}
    assert reason(answer, "b-0").code == "cannot-fit"


def test_a_host_port_is_there_once_on_each_node() -> None:
    port = [{"name": "main", "ports": [{"hostPort": 80}], "resources": {}}]
    first, second = daemon("a"), daemon("b")
    for one in (first, second):
        one["spec"]["template"]["spec"]["containers"] = port
    answer = ask(pool(2), first, second)
    assert where(answer) == {"a-0": "n0", "a-1": "n1"}
    assert "host port" in reason(answer, "b-0").message


def test_rules_between_its_own_pods_hold() -> None:
    """One a rack, although every node would take one."""
    racks = [node(f"n{i}", labels={"rack": f"r{i // 2}"}) for i in range(4)]
    term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "d"}}}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    answer = ask(racks, daemon(labels={"app": "d"}, affinity=rule))
    assert sorted(where(answer).values()) == ["n0", "n2"]
    assert sum(len(entry.pods) for entry in answer.pending) == 2


def test_a_pool_without_nodes_has_none() -> None:
    answer = ask([], daemon())
    assert (answer.placed, answer.pending) == ((), ())


def test_it_is_not_of_ours_for_those_who_want_a_rack_for_themselves() -> None:
    """DaemonSet pods run everywhere: `exclusive-topology` keeps pods of ours apart, not those."""
    exclusive: Json = {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}}
    racks = [node("n0", labels={"rack": "r0"})]
    answer = ask(racks, daemon(), jobset("js", {"w": (1, 1)}, **exclusive))
    assert set(where(answer)) == {"d-0", "js-w-0-0"}


def test_the_books_are_right_afterwards() -> None:
    found = world(*pool())
    objects = Given(given(daemon(cards=1)))
    objects.enter_context(found)
    (one,) = objects.daemons(found)
    seats = book(found.pool, Cycle(found.pool), one)
    assert [seat.node for seat in seats] == ["n0", "n1", "n2"]
    assert not list(found.pool.faults())
    assert not found.pool.waiting()


def test_doubts_of_its_template_are_told() -> None:
    items = given(daemon(priorityClassName="high"))
    answer = place(pool(1), items, NOW, CONFIG)
    assert [(w.object, w.field) for w in answer.warnings] == [
        ("DaemonSet/ml/d", "spec.template.spec.priorityClassName")
    ]
