"""A kind: one shape together with the counters that its members move, compiled against one ledger.

Members of one template are of one kind, however many they are; everything that is planned is planned per kind.
Made by the ledger, read by tally, room and the planner.
"""

from __future__ import annotations

from collections.abc import Iterator

from gangpool.core.columns import Column
from gangpool.core.model import CARD, HOSTNAME, Shape, Spread
from gangpool.core.terms import Carry, Counter, Match, PortUse, Tag, Terms
from gangpool.core.vec import Vec


class Attract:
    """A required affinity: a node's value of `column` must hold a member that `match` counts."""

    __slots__ = ("column", "match", "self_match")

    def __init__(self, match: Match, column: Column, self_match: bool) -> None:
        self.match = match
        self.column = column
        self.self_match = self_match

    def is_fresh(self) -> bool:
        """Nobody matches yet (those on nodes without the label do not count) and the pod matches itself: it may be
        the first, anywhere with the label."""
        return self.self_match and not (self.match.total and self.match.by_value(self.column).any())


class SpreadRule:
    """A hard topology spread constraint with its counter and column."""

    __slots__ = ("column", "match", "rule", "self_match")

    def __init__(self, rule: Spread, match: Match, column: Column, self_match: bool) -> None:
        self.rule = rule
        self.match = match
        self.column = column
        self.self_match = self_match


class Kind:
    """`asks`: (free column, amount). `moves`: counters that a claim moves. `one_per_node`: two members of this
    kind never share a node. `coupled`: the place of one member changes where the next may go, beyond that."""

    __slots__ = (
        "_terms",
        "asks",
        "attracts",
        "coupled",
        "matches",
        "moves",
        "n_cards",
        "number",
        "one_per_node",
        "repels",
        "self_repels",
        "shape",
        "spreads",
    )

    def __init__(self, number: int, shape: Shape, asks: list[tuple[Vec, int]], tag: Tag, terms: Terms) -> None:
        self.number = number
        self.shape = shape
        self.asks = asks
        self.n_cards = dict(shape.requests).get(CARD, 0)
        self.matches = tag.matches
        own_ports = terms.ports(shape)
        self._terms = terms
        repels: list[tuple[Match, Column]] = []
        carries: list[Carry] = []
        for term in shape.anti_affinity:
            match, column, carry = terms.anti(term)
            repels.append((match, column))
            carries.append(carry)
        self.repels = repels
        self.self_repels: list[Column] = [column for match, column in repels if match in tag.matches]
        self.attracts = [Attract(m, c, m in tag.matches) for m, c in map(terms.term, shape.affinity)]
        self.spreads: list[SpreadRule] = []
        for rule in shape.spread:
            if rule.hard:
                match, column = terms.spread(rule.selector, rule.namespace), terms._columns.column(rule.key)
                self.spreads.append(SpreadRule(rule, match, column, match in tag.matches))
        self.moves: tuple[Counter, ...] = (*tag.matches, *dict.fromkeys(carries), *dict.fromkeys(own_ports))
        by_host = [c for c in self.self_repels if c.key == HOSTNAME]
        self.one_per_node = bool(own_ports or by_host)
        self.coupled = (
            len(by_host) < len(self.self_repels)
            or any(a.self_match for a in self.attracts)
            or any(s.self_match for s in self.spreads)
        )

    def reads(self) -> Iterator[Match]:
        """The counters that its rules look at."""
        yield from (match for match, _ in self.repels)
        yield from (attract.match for attract in self.attracts)
        yield from (spread.match for spread in self.spreads)

    @property
    def clashes(self) -> tuple[PortUse, ...]:
        """Host ports that must be free on the node of a member."""
        return self._terms.clashes(self.shape) if self.shape.host_ports else ()

    def is_plain(self) -> bool:
        """No inter-pod rule touches this kind now: its room is its tally."""
        return not (
            self.repels
            or self.attracts
            or self.spreads
            or self.clashes
            or any(c.total for m in self.matches for c in m.carries)
        )


def register(shape: Shape, terms: Terms) -> None:
    """Intern the selectors of a shape, so that tags know them before a kind is compiled."""
    for term in shape.anti_affinity:
        terms.anti(term)
    for term in shape.affinity:
        terms.term(term)
    for rule in shape.spread:
        terms.spread(rule.selector, rule.namespace)
