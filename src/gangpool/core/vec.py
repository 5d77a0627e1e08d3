"""One integer per node slot, read one by one by Python and many at once by numpy, on the same memory.

Reading one element of an `array` costs 19 ns, of a numpy array 30, writing 60 against 87 (measured, see
docs/performance.md); a mirror of one in the other would drift. Owners: ledger, terms, tallies.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]


class Vec:
    """`at[i]` for one, `view` (read-only) for many, `write` for bulk writes by the owner. Zero at birth."""

    __slots__ = ("at", "view", "write")

    def __init__(self, capacity: int) -> None:
        self._bind(array("q", bytes(8 * capacity)))

    def _bind(self, values: array[int]) -> None:
        self.at = values
        self.write: Ints = np.frombuffer(values, dtype=np.int64)
        self.view: Ints = self.write.view()
        self.view.flags.writeable = False

    def grow(self, capacity: int) -> None:
        """More slots, zero; a viewed array cannot grow, so the memory is new and old views go stale."""
        self._bind(self.at + array("q", bytes(8 * (capacity - len(self.at)))))
