"""One memory, two ways to read it."""

from __future__ import annotations

import pytest

from gangpool.core.vec import Vec


def test_all_three_faces_are_one_memory() -> None:
    vec = Vec(3)
    assert vec.view.tolist() == [0, 0, 0]
    vec.at[1] = 7
    vec.write[2] = -5
    assert vec.view.tolist() == list(vec.at) == vec.write.tolist() == [0, 7, -5]


def test_readers_cannot_write() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Vec(2).view[0] = 1


def test_growing_keeps_the_values_and_adds_zeros() -> None:
    vec = Vec(2)
    vec.at[1] = 1 << 60
    vec.grow(5)
    assert vec.view.tolist() == [0, 1 << 60, 0, 0, 0]
    vec.write[4] = 3
    assert (vec.at[4], len(vec.at)) == (3, 5)
    with pytest.raises(ValueError, match="read-only"):
        vec.view[0] = 1
