"""A plan follows from what is there, never from the order in which it came: else a dump, a restart and the live
scheduler would each place differently."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gangpool.core.cycle import Cycle
from gangpool.core.model import Plan
from gangpool.intake.config import Config
from gangpool.intake.world import World
from gangpool.objects.typed import as_node, as_pod
from tests.oracle.world_parts import node, pod
from tests.oracle.worlds import Knobs, world_as_dump, worlds

KNOBS = Knobs(n_gangs=5, n_singles=4)


def told(plan: Plan) -> dict[str, Any]:
    """Everything that a plan says."""
    seats = sorted((s.member.uid, s.node, s.cards, s.ports, s.rank or 0) for s in plan.seats)
    waits = sorted((w.gang, [m.uid for m in w.members], str(w.reason)) for w in plan.waits)
    return {"seats": seats, "waits": waits}


def planned(objects: list[dict[str, Any]], spare: int = 0) -> dict[str, Any]:
    """The plan after these objects came in this order; `spare` nodes were there before and went."""
    found = World(Config())
    for i in range(spare):
        found.node(as_node(node(f"old-{i}", {"topology.kubernetes.io/zone": "b"})))
    for i in range(spare):
        found.node_gone(f"old-{i}")
    for one in objects:
        if one["kind"] == "Node":
            found.node(as_node(one))
        elif one["kind"] == "Pod":
            found.pod(as_pod(one))
        else:
            found.object(one)
    found.settle()
    return told(Cycle(found.pool).run())


@given(worlds(max_nodes=8, knobs=KNOBS), st.integers(0, 2**32), st.integers(0, 3))
def test_the_order_of_arrival_changes_nothing(world: dict[str, Any], seed: int, spare: int) -> None:
    objects = world_as_dump(world)["items"]
    shuffled = list(objects)
    Random(seed).shuffle(shuffled)
    assert planned(shuffled, spare) == planned(objects)


def test_of_equal_nodes_the_reason_names_the_first_by_name() -> None:
    """1. n5 and n6 have one card each, n5 came last. 2. What is nearest to fitting is the same node as in a dump."""
    nodes = [node(name, room={"nvidia.com/gpu": "1"}) for name in ("n5", "n6")]
    asks = {"nvidia.com/gpu": "8"}
    waiting = [pod("big", asks)]
    assert planned([*nodes[::-1], *waiting]) == planned([*nodes, *waiting])
    assert "(n5 has 1)" in planned([*nodes[::-1], *waiting])["waits"][0][2]
