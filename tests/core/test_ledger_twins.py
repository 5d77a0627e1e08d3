"""What reads one node and what reads many give the same: rooms, broken nodes; `share` has its twin in test_descent."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gangpool.core.ledger import Ledger
from gangpool.core.model import CARD, Shape
from tests.core.build import kind, node

AMOUNTS = st.integers(0, 9)
NODES = st.lists(st.fixed_dictionaries({CARD: AMOUNTS, "cpu": AMOUNTS, "pods": AMOUNTS}), min_size=1, max_size=6)
ASKS = st.dictionaries(st.sampled_from([CARD, "cpu", "pods", "other"]), st.integers(1, 4), max_size=4)


@given(NODES, ASKS, ASKS, st.lists(st.integers(0, 9), max_size=8))
def test_room_and_brokenness(
    rooms: list[dict[str, int]], asks: dict[str, int], held: dict[str, int], claims: list[int]
) -> None:
    """Over-committed nodes too: claims are made without asking."""
    ledger = Ledger(capacity=4)
    for i, room in enumerate(rooms):
        ledger.set_node(node(f"n{i}", 0, cpu=0, gib=0, pods=0, room=room))
    holder, wanted = (kind(ledger, Shape(tuple(sorted(what.items())))) for what in (held, asks))
    for i in claims:
        ledger.claim(i % len(rooms), holder)
    many = ledger.room_on_all(wanted)
    assert len(many) == ledger.capacity
    assert many.min() >= 0
    for i in range(len(rooms)):
        one = ledger.room_on(i, wanted)
        assert many[i] == one
        free = {name: vec.at[i] for name, vec in ledger.free.items()}
        assert one == max(0, min((free[name] // amount for name, amount in asks.items()), default=1 << 31))
        assert ledger.broken()[i] == ledger.is_broken(i)
    index = np.array([i % len(rooms) for i in claims], dtype=np.int64)
    assert ledger.room_on_all(wanted, index).tolist() == [many[i] for i in index]
