"""Node labels and taints as columns of small integers, and the masks that selectors make of them.

A requirement is evaluated once per distinct value, never once per node; the mask of a filter is one numpy
look-up per requirement. Masks follow changes of nodes by replaying a log. Called by ledger, tally and terms.
"""

from __future__ import annotations

import numpy as np

from gangpool.core.match import holds, untolerated
from gangpool.core.model import NAME_FIELD, NodeFacts, NodeSelector, Requirement, Taint, Toleration
from gangpool.core.vec import Bools, Ints, Vec

FilterKey = tuple[tuple[NodeSelector, ...], tuple[Toleration, ...] | None, bool]
LOG_LIMIT = 100_000
"""Entries of the log of changed nodes; then filters are made anew."""
REPLAY_LIMIT = 512
"""Above so many changed nodes a full pass is cheaper than a gather."""


class Column:
    """Values of one label key over the nodes: `of.at[i]` is a value id, -1 where the node lacks the label."""

    def __init__(self, key: str, capacity: int) -> None:
        self.key = key
        self.values: list[str] = []
        self.ids: dict[str, int] = {}
        self.of = Vec(capacity)
        self.of.write[:] = -1
        self.version = 0

    def put(self, i: int, facts: NodeFacts | None) -> None:
        """Node slot `i` now is `facts` (None: empty)."""
        value = None
        if facts is not None:
            value = facts.name if self.key == NAME_FIELD else facts.labels.get(self.key)
        number = -1 if value is None else self.ids.get(value, -2)
        if number == -2:
            assert value is not None
            number = self.ids[value] = len(self.values)
            self.values.append(value)
        if self.of.at[i] != number:
            self.of.at[i] = number
            self.version += 1

    def test(self, requirement: Requirement) -> Bools:
        """Per value id whether it meets the requirement; the last entry stands for "no label" (index -1)."""
        table = np.zeros(len(self.values) + 1, dtype=np.bool_)
        if requirement.operator == "In":  # O(values asked), a column of host names has as many values as nodes
            for value in requirement.values:
                number = self.ids.get(value)
                if number is not None:
                    table[number] = True
            return table
        for number, value in enumerate(self.values):
            table[number] = holds(requirement, value)
        table[-1] = holds(requirement, None)
        return table


class Filter:
    """Which nodes a set of selectors and tolerations lets in; `mask` is kept up by `Columns`. `version` is of no other
    mask, also not of a filter with this key that was made anew."""

    __slots__ = ("cursor", "key", "mask", "version")

    def __init__(self, key: FilterKey, mask: Bools, cursor: int, version: int) -> None:
        self.key = key
        self.mask = mask
        self.cursor = cursor
        self.version = version


class Columns:
    """All columns, the taint sets of the nodes, and the interned filters. The only writer is the ledger."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.nodes: list[NodeFacts | None] = []
        self.taint_sets: list[tuple[Taint, ...]] = [()]
        self._taint_ids: dict[tuple[Taint, ...], int] = {(): 0}
        self._has_soft_taints = False
        self._taints = Vec(capacity)
        self._alive = np.zeros(capacity, dtype=np.bool_)
        self._columns: dict[str, Column] = {}
        self._filters: dict[FilterKey, Filter] = {}
        self._n_masks = 0
        self.log: list[int] = []
        """Slots whose labels or taints changed, in order; filters remember how far they have read."""

    def put(self, i: int, facts: NodeFacts | None) -> None:
        """Node slot `i` now is `facts` (None: gone). O(asked label keys)."""
        while len(self.nodes) <= i:
            self.nodes.append(None)
        self.nodes[i] = facts
        self._alive[i] = facts is not None
        taints = () if facts is None else facts.taints
        if taints not in self._taint_ids:
            self._taint_ids[taints] = len(self.taint_sets)
            self.taint_sets.append(taints)
            self._has_soft_taints |= any(taint.effect == "PreferNoSchedule" for taint in taints)
        self._taints.at[i] = self._taint_ids[taints]
        for column in self._columns.values():
            column.put(i, facts)
        if len(self.log) >= LOG_LIMIT:
            self.sweep()
        self.log.append(i)

    def grow(self, capacity: int) -> None:
        self.capacity = capacity
        self._taints.grow(capacity)
        alive = np.zeros(capacity, dtype=np.bool_)
        alive[: len(self._alive)] = self._alive
        self._alive = alive
        for column in self._columns.values():
            old = len(column.of.at)
            column.of.grow(capacity)
            column.of.write[old:] = -1
        self._filters.clear()

    def column(self, key: str) -> Column:
        """The column of a label key; made on first use, O(nodes)."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = Column(key, self.capacity)
            for i, facts in enumerate(self.nodes):
                column.put(i, facts)
        return column

    def filter(
        self,
        selectors: tuple[NodeSelector, ...],
        tolerations: tuple[Toleration, ...] | None,
        soft_too: bool = False,
    ) -> Filter:
        """The filter of these selectors and tolerations (None: taints are ignored), up to date. `soft_too`:
        PreferNoSchedule keeps away as well."""
        key = (selectors, tolerations, soft_too)
        found = self._filters.get(key)
        if found is None:
            mask = self._evaluate(key, None)
            found = self._filters[key] = Filter(key, mask, len(self.log), self._next_version())
        elif found.cursor != len(self.log):
            self._sync(found)
        return found

    def _sync(self, found: Filter) -> None:
        changed = self.log[found.cursor :]
        if len(changed) > REPLAY_LIMIT:
            mask = self._evaluate(found.key, None)
            if not np.array_equal(mask, found.mask):
                found.version = self._next_version()
            found.mask = mask
        else:
            index = np.array(changed, dtype=np.int64)
            now = self._evaluate(found.key, index)
            if not np.array_equal(found.mask[index], now):
                found.mask[index] = now
                found.version = self._next_version()
        found.cursor = len(self.log)

    def _next_version(self) -> int:
        self._n_masks += 1
        return self._n_masks

    def sweep(self) -> None:
        """Forget all filters; those in use are made again, O(nodes) each."""
        self._filters.clear()
        self.log.clear()

    def _evaluate(self, key: FilterKey, index: np.ndarray[tuple[int], np.dtype[np.int64]] | None) -> Bools:
        """The rule itself, for all slots (index None) or for some. O(requirements) numpy passes."""
        selectors, tolerations, soft_too = key
        result: Bools = self._alive.copy() if index is None else self._alive[index]
        for selector in selectors:
            if not selector:
                continue
            anyof = np.zeros(len(result), dtype=np.bool_)
            for term in selector:
                if not term:
                    continue
                allof = np.ones(len(result), dtype=np.bool_)
                for requirement in term:
                    column = self.column(requirement.key)
                    ids = column.of.view if index is None else column.of.view[index]
                    allof &= column.test(requirement)[ids]
                anyof |= allof
            result &= anyof
        if tolerations is not None and len(self.taint_sets) > 1:
            lets = np.array([untolerated(tolerations, taints, soft_too) is None for taints in self.taint_sets])
            ids = self._taints.view if index is None else self._taints.view[index]
            result &= lets[ids]
        return result

    def has_soft_taints(self) -> bool:
        """Some taint set that a node has or had holds a PreferNoSchedule taint."""
        return self._has_soft_taints

    def taint_ids(self) -> Ints:
        """Per slot the number of its taint set in `taint_sets`."""
        return self._taints.view

    def taints_of(self, i: int) -> tuple[Taint, ...]:
        return self.taint_sets[self._taints.at[i]]
