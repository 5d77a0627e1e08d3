"""Long vectors are shared out by numpy, short ones by Python: the answers must be the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gangpool.core.descent import share, share_many
from gangpool.core.tally import distinct


@given(st.lists(st.integers(0, 6), min_size=1, max_size=9).filter(any), st.data())
def test_both_ways_to_share_agree(rooms: list[int], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, sum(rooms)))
    positions, counts = share_many(np.array(rooms, dtype=np.int64), n)
    assert list(zip(positions.tolist(), counts.tolist(), strict=True)) == share(rooms, n)


@given(st.lists(st.integers(0, 20)))
def test_touched_slots_once_each(slots: list[int]) -> None:
    assert distinct(slots).tolist() == sorted(set(slots))
