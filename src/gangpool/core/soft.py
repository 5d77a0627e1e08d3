"""Preferences as rules that are tried first and dropped one by one, lightest first: a preference never keeps a
member waiting, and it needs no second way to place. Called by `cycle` for shapes that have preferences."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from gangpool.core.match import matches
from gangpool.core.model import Pairs, Requirement, Shape, Spread, Term

MOST_TRIES = 6
"""Preferences beyond so many (the lightest) are not tried one by one but dropped together."""


def variants(shape: Shape, labels: Pairs, with_taints: bool) -> tuple[Shape, ...]:
    """Strictest first, the shape itself last. `with_taints`: some node has a PreferNoSchedule taint.

    A preferred affinity of members for their own kind is left out: gangs are packed anyway."""
    own = dict(labels)
    wishes = [Wish(weight, node=terms) for weight, terms in shape.preferred if terms]
    for weight, term in shape.soft_terms:
        if weight < 0:
            wishes.append(Wish(-weight, apart=term))
        elif not matches(term.selector, own):
            wishes.append(Wish(weight, near=term))
    wishes += [Wish(1, spread=replace(rule, hard=True, wished=True)) for rule in shape.spread if not rule.hard]
    if with_taints:
        wishes.append(Wish(0, taints=True))
    if not wishes:
        return (shape,)
    wishes.sort(key=lambda wish: -wish.weight)
    wishes = wishes[:MOST_TRIES]
    found = [_with(shape, wishes[:k]) for k in range(len(wishes), 0, -1)]
    return (*found, shape)


class Wish(Struct, frozen=True):
    """One preference with its weight; exactly one of the others is set."""

    weight: int
    node: tuple[Requirement, ...] = ()
    near: Term | None = None
    apart: Term | None = None
    spread: Spread | None = None
    taints: bool = False


def _with(shape: Shape, wishes: list[Wish]) -> Shape:
    return replace(
        shape,
        held_to=(*shape.held_to, *((w.node,) for w in wishes if w.node)),
        affinity=(*shape.affinity, *(w.near for w in wishes if w.near)),
        anti_affinity=(*shape.anti_affinity, *(w.apart for w in wishes if w.apart)),
        spread=(*(rule for rule in shape.spread if rule.hard), *(w.spread for w in wishes if w.spread)),
        avoid_soft_taints=any(w.taints for w in wishes),
    )
