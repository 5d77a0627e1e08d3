"""The exhaustive search against a plainer one without any cutting, and on pools with known answers."""

from __future__ import annotations

from copy import deepcopy
from itertools import combinations, product
from random import Random
from typing import Any

import pytest

from tests.oracle.brute import best_count, feasible
from tests.oracle.checker import check, check_view
from tests.oracle.rules_gang import RANK_LABEL, members_of, path, roles_of
from tests.oracle.view import View
from tests.oracle.world_parts import (
    CARD,
    HOSTNAME,
    RACK,
    ZONE,
    affinity,
    gang,
    node,
    pod,
    selector,
    spread,
    term,
    world,
)
from tests.oracle.worlds import PLAIN, Knobs, random_world

Json = dict[str, Any]


def waiting(view: View, one: Json) -> list[str]:
    """Members without a node and without a gate, in the order of their ranks."""
    pods = [p for p in members_of(one) if p not in view.running and not view.pods[p]["spec"].get("schedulingGates")]
    return sorted(pods, key=lambda p: int(view.pod_labels[p].get(RANK_LABEL, 0)))


def is_feasible(here: Json, one: Json) -> bool:
    """By trying everything: every choice of members, every node for each."""
    view = View(here)
    running = {p for p in members_of(one) if p in view.running}
    lacks = [max(least - len(running & set(pods)), 0) for pods, least in roles_of(one).values()]
    count = max(one["minimum"] - len(running), sum(lacks), 0)
    return count == 0 or any(
        not check_view(view, dict(zip(chosen, nodes, strict=True)))
        for chosen in combinations(waiting(view, one), count)
        for nodes in product(view.nodes, repeat=count)
    )


def most(here: Json, one: Json, keys: list[str]) -> int:
    """By trying everything, with the gang's own rules taken away: the most members that fit into one domain."""
    view = View({**here, "gangs": []})
    pods = waiting(view, one)
    domains = {path(labels, keys) for labels in view.labels.values()} - {None}
    homes = [[n for n, labels in view.labels.items() if path(labels, keys) == domain] for domain in domains]
    fits = [
        count
        for nodes in homes
        for count in range(len(pods) + 1)
        if any(not check_view(view, dict(zip(pods, seats, strict=False))) for seats in product(nodes, repeat=count))
    ]
    return max(fits, default=0)


def equal_nodes(here: Json) -> Json:
    """The same world, its nodes made equal and without foreign pods, so that mirror images abound."""
    first = here["nodes"][0]
    nodes = [deepcopy(first) for _ in here["nodes"]]
    for made, was in zip(nodes, here["nodes"], strict=True):
        made["metadata"]["name"] = made["metadata"]["labels"][HOSTNAME] = was["metadata"]["name"]
    return {**here, "nodes": nodes, "pods": [p for p in here["pods"] if not p["metadata"]["name"].startswith("run-")]}


SMALL = Knobs(n_gangs=2, max_members=4, n_singles=0)
NO_ROLES = Knobs(n_gangs=1, max_members=3, n_singles=0, roles=False, running_members=False)


@pytest.mark.parametrize("part", range(4))
def test_agrees_with_a_plainer_search(part: int, seed: int, is_long: bool) -> None:
    n_found = n_none = 0
    for i in range(500 if is_long else 60):
        rng = Random(f"{seed}-{part}-{i}")
        here = random_world(rng, rng.randint(2, 4), SMALL)
        for seen in (here, equal_nodes(here)):
            for one in seen["gangs"]:
                found = feasible(seen, one["key"])
                assert (found is not None) == is_feasible(seen, one), (part, i, one["key"])
                n_found, n_none = n_found + (found is not None), n_none + (found is None)
    assert min(n_found, n_none) > 10  # worlds of both kinds, or the test says little


@pytest.mark.parametrize("keys", [[], [ZONE], [ZONE, RACK], [HOSTNAME]], ids=["pool", "zone", "rack", "node"])
def test_best_count_agrees_with_a_plainer_search(keys: list[str], seed: int, is_long: bool) -> None:
    for i in range(200 if is_long else 20):
        here = random_world(Random(f"{seed}-{i}"), 3, NO_ROLES)
        for seen in (here, equal_nodes(here)):
            assert best_count(seen, "ml/g0", keys) == most(seen, seen["gangs"][0], keys), i


def pool(**cards: int) -> list[Json]:
    """Nodes by name, with so many cards; the first two letters of the name are zone and rack."""
    return [node(n, {ZONE: n[0], RACK: n[:2]}, {CARD: str(c)}) for n, c in cards.items()]


def of(n: int, cards: int = 1, minimum: int | None = None, **more: Any) -> tuple[list[Json], Json]:
    """A gang `ml/g` of n equal members, and their spec."""
    one = gang("ml/g", [f"g-{i}" for i in range(n)], minimum, **{k: v for k, v in more.items() if k == "required"})
    rules = {k: v for k, v in more.items() if k != "required"}
    return [pod(f"g-{i}", {CARD: str(cards)}, {"app": "g"}, **rules) for i in range(n)], one


# The worked example of the KAI topology documentation: zone a holds 5 cards, zone b 6.
KAI = pool(a10=1, a11=1, a20=1, a30=1, a40=1, b10=1, b11=1, b20=1, b21=1, b30=1, b31=1)
# The best-fit example of Kueue's topology-aware scheduling: one rack of nodes with 3, 3, 2 and 1 free cards.
RACK_OF_9 = pool(a10=3, a11=3, a12=2, a13=1)
OWN = selector(app="g")


@pytest.mark.parametrize(
    ("nodes", "asked", "fits", "best"),
    [
        (KAI, of(5, required=[ZONE]), True, 5),
        (KAI, of(6, required=[ZONE]), True, 6),
        (KAI, of(7, required=[ZONE]), False, 6),
        (KAI, of(7, minimum=6, required=[ZONE]), True, 6),
        (KAI, of(7), True, 6),
        (RACK_OF_9, of(9, required=[ZONE, RACK]), True, 9),
        (RACK_OF_9, of(10, required=[ZONE, RACK]), False, 9),
        (RACK_OF_9, of(4, cards=2), False, 3),
        (RACK_OF_9, of(4, affinity=affinity(apart=[term(HOSTNAME, OWN)])), True, 4),
        (RACK_OF_9, of(5, affinity=affinity(apart=[term(HOSTNAME, OWN)])), False, 4),
        (RACK_OF_9, of(6, topologySpreadConstraints=[spread(HOSTNAME, OWN)]), True, 6),
        (RACK_OF_9, of(8, topologySpreadConstraints=[spread(HOSTNAME, OWN)]), False, 7),
        (pool(a10=2, b10=2), of(4, affinity=affinity(near=[term(ZONE, OWN)])), False, 2),
    ],
)
def test_known_pools(nodes: list[Json], asked: tuple[list[Json], Json], fits: bool, best: int) -> None:
    pods, one = asked
    here = world(nodes, pods, [one])
    found = feasible(here, "ml/g")
    assert (found is not None) is fits
    assert best_count(here, "ml/g", [ZONE]) == best
    if isinstance(found, dict):
        assert len(found) == one["minimum"]
        assert check(here, found) == []


def test_a_mixed_gang_may_have_to_choose_its_members() -> None:
    """Two large and two small members, three are the minimum, one large at least: only one large one fits."""
    pods = [pod(f"big-{i}", {CARD: "3"}) for i in "01"] + [pod(f"small-{i}", {CARD: "1"}) for i in "01"]
    roles = {
        "big": {"members": ["big-0", "big-1"], "minimum": 1},
        "small": {"members": ["small-0", "small-1"], "minimum": 0},
    }
    one = gang("ml/g", [p["metadata"]["name"] for p in pods], 3, roles=roles)
    assert sorted(feasible(world(pool(a10=3, a11=2), pods, [one]), "ml/g") or ()) == [
        "ml/big-0",
        "ml/small-0",
        "ml/small-1",
    ]
    roles["big"]["minimum"] = 2
    assert feasible(world(pool(a10=3, a11=2), pods, [one]), "ml/g") is None


def test_a_lost_member_returns_to_its_rack() -> None:
    pods, one = of(3, required=[ZONE, RACK])
    pods[0]["spec"]["nodeName"] = pods[1]["spec"]["nodeName"] = "b10"
    nodes = pool(a10=8, b10=2, b11=1)
    assert feasible(world(nodes, pods, [one]), "ml/g") == {"ml/g-2": "b11"}
    pods[2]["spec"]["nodeName"] = "b11"
    assert feasible(world(nodes, pods, [one]), "ml/g") == {}


@pytest.mark.parametrize(
    "rules",
    [
        {"nodeSelector": {HOSTNAME: "a11"}},
        {"affinity": affinity(on=[{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a11"]}]}])},
    ],
    ids=["hostname", "name"],
)
def test_equal_nodes_are_not_equal_to_a_pod_that_names_one(rules: Json) -> None:
    pods, one = of(2, **rules)
    found = feasible(world(pool(a10=8, a11=8, a12=8), pods, [one]), "ml/g")
    assert found == {"ml/g-0": "a11", "ml/g-1": "a11"}


def test_a_search_that_ends_early_says_so() -> None:
    pods, one = of(6, topologySpreadConstraints=[{**spread(HOSTNAME, OWN), "minDomains": 9}])
    here = world(pool(a10=8, a20=8, b10=8, b20=8), pods, [one])
    assert feasible(here, "ml/g", limit=5) == "unknown"
    assert best_count(here, "ml/g", [], limit=5) == "unknown"
    assert feasible(here, "ml/g") is None


def test_plain_worlds_have_nothing_but_room() -> None:
    here = random_world(Random(1), 8, PLAIN)
    assert all(set(p["spec"]) <= {"schedulerName", "containers", "nodeName"} for p in here["pods"])
