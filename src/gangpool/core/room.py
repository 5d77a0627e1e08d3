"""Room of a kind right now: how many members fit, per node and per domain, inter-pod rules included.

Kinds without rules read their tally; kinds with rules get one numpy pass per rule over the counters. Everything
the planner asks about a kind goes through here; the explanation asks the same masks which rule said no.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gangpool.core.kind import Kind, SpreadRule
from gangpool.core.ledger import Ledger
from gangpool.core.ranking import ranks
from gangpool.core.tally import Tally, sums_by_domain
from gangpool.core.terms import Match
from gangpool.core.topology import Tree
from gangpool.core.vec import Bools, Ints


class Room:
    """`fit` members per slot, `broken` the same on broken nodes only; `sums(level)` and `broken_sums(level)` over
    the domains of `tree`. `tally`: where the room is a tally's and nothing else. Read-only, true until the ledger
    moves."""

    __slots__ = ("_broken_sums", "_sums", "broken", "fit", "kind", "tally", "tree")

    def __init__(self, tree: Tree, kind: Kind, fit: Ints, broken: Ints) -> None:
        self.tree = tree
        self.kind = kind
        self.fit = fit
        self.broken = broken
        self.tally: Tally | None = None
        self._sums: list[Ints | None] = [None] * (tree.depth + 1)
        self._broken_sums: list[Ints | None] = [None] * (tree.depth + 1)

    def sums(self, level: int) -> Ints:
        found = self._sums[level]
        if found is None:
            found = self._sums[level] = sums_by_domain(self.tree, level, self.fit)
        return found

    def broken_sums(self, level: int) -> Ints:
        found = self._broken_sums[level]
        if found is None:
            found = self._broken_sums[level] = sums_by_domain(self.tree, level, self.broken)
        return found

    def ranking(self, n: int) -> Ints:
        """Ranks of the domains of the deepest level for `n` members, nodes counted."""
        if self.tally is not None:
            return self.tally.ranking(self.tree, n)
        level = self.tree.depth
        one, two = (sums_by_domain(self.tree, level, (self.broken >= k).astype(np.int64)) for k in (n, -(-n // 2)))
        return ranks(n, self.broken_sums(level), self.sums(level), one, two)


def room(
    ledger: Ledger, tree: Tree, tally: Tally, own: frozenset[Match] = frozenset(), kind: Kind | None = None
) -> Room:
    """The room of a kind over a tree, by its tally (None: the tally's own kind). `own`: counters that the gang's own
    members will move; rules that they could come to satisfy are left out, which makes the room an upper bound for the
    gang."""
    kind = kind or tally.kind
    if kind.is_plain():
        result = Room(tree, kind, tally.fit.view, tally.twin.view)
        result.tally = tally
        sums = tally.sums(tree)
        for level in range(tree.depth + 1):
            result._sums[level] = sums.room[level].view
            result._broken_sums[level] = sums.broken[level].view
        return result
    fit = np.where(rules_mask(ledger, kind, own), tally.fit.view, 0)
    if kind.one_per_node:
        np.minimum(fit, 1, out=fit)
    return Room(tree, kind, fit, np.where(tally.twin.view > 0, fit, 0))


def within(base: Room, mask: Bools) -> Room:
    """The same room, only on the nodes of a mask."""
    return Room(base.tree, base.kind, np.where(mask, base.fit, 0), np.where(mask, base.broken, 0))


def rules_mask(ledger: Ledger, kind: Kind, own: frozenset[Match] = frozenset()) -> Bools:
    """Nodes that no inter-pod rule forbids to the next member of this kind. O(nodes x rules)."""
    allowed = np.ones(ledger.capacity, dtype=np.bool_)
    for _, mask in rules(ledger, kind, own):
        allowed &= mask
    return allowed


def rules(ledger: Ledger, kind: Kind, own: frozenset[Match] = frozenset()) -> Iterator[tuple[str, Bools]]:
    """(cause, nodes allowed) for each inter-pod rule that touches the kind; causes are words for the reason."""
    for match, column in kind.repels:
        if match.total:
            yield "anti-affinity", ~(match.by_value(column) > 0)[column.of.view]
    for match in kind.matches:
        for carry in match.carries:
            if carry.total:
                yield "anti-affinity of running pods", ~(carry.by_value(carry.column) > 0)[carry.column.of.view]
    for attract in kind.attracts:
        ids = attract.column.of.view
        if attract.match in own or attract.is_fresh():
            yield "affinity", ids >= 0
        else:
            yield "affinity", (attract.match.by_value(attract.column) > 0)[ids]
    for rule in kind.spreads:
        if rule.match in own:
            yield "topology spread", rule.column.of.view >= 0
        else:
            yield "topology spread", spread_mask(ledger, kind, rule)
    for use in kind.clashes:
        if use.total:
            yield "host port", use.of.view == 0


def spread_mask(ledger: Ledger, kind: Kind, spread: SpreadRule) -> Bools:
    """Nodes where one more member keeps the skew. Domains are the values on nodes that have every key of the
    kind's hard constraints and pass the policies; fewer of them than `min_domains` make the minimum 0."""
    rule, ids = spread.rule, spread.column.of.view
    eligible = eligible_for(ledger, kind, spread)
    n = len(spread.column.values)
    where = np.nonzero(eligible)[0]
    present = np.zeros(n + 1, dtype=np.bool_)
    present[ids[where]] = True
    counts: Ints = np.bincount(ids[where], weights=spread.match.of.view[where], minlength=n + 1).astype(np.int64)
    if not present.any():
        return present[ids]
    least = int(counts[present].min()) if int(present.sum()) >= rule.min_domains else 0
    allowed = present & (counts + (1 if spread.self_match else 0) - least <= rule.max_skew)
    allowed[n] = False
    result: Bools = allowed[ids]
    return result


def eligible_for(ledger: Ledger, kind: Kind, spread: SpreadRule) -> Bools:
    """Nodes that count as part of a domain for a spread constraint: by the pod's own selectors, not by its volumes,
    and with the keys of all its hard constraints."""
    shape, rule = kind.shape, spread.rule
    mask = ledger.columns.filter(
        shape.node_selectors if rule.honor_affinity else (),
        shape.tolerations if rule.honor_taints else None,
    ).mask.copy()
    for other in kind.spreads:
        if other.rule.wished and other is not spread:
            continue
        mask &= other.column.of.view >= 0
    return mask
