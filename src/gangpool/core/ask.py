"""What the planner is asked and what it answers: parts of a gang, seatings, refusals. Values only."""

from __future__ import annotations

from msgspec import Struct

from gangpool.core.descent import Spot
from gangpool.core.kind import Kind
from gangpool.core.topology import Tree
from gangpool.core.vec import Ints


class Tie(Struct, frozen=True, order=True):
    """All parts with a tie of this number share one domain of this depth."""

    level: int
    number: int


class Part(Struct, frozen=True):
    """`n` members of one kind. `level`: they share one domain of this depth (0: none asked). `block_size` and
    `block_level`: blocks of so many share a domain of this depth (size 0: none). `pin`: they go there and nowhere
    else. `near`: slot of a running member whose domain they return to if there is room, -1: none. `ties`: domains
    that they share with other parts, widest first. `last_role`: the role of its last member, which a reason names
    when it has no place; "" in gangs without roles."""

    kind: Kind
    n: int
    level: int = 0
    block_size: int = 0
    block_level: int = 0
    pin: Spot = Spot(0, 0)
    near: int = -1
    ties: tuple[Tie, ...] = ()
    last_role: str = ""


class Ask(Struct, frozen=True):
    """Parts that are seated together or not at all, inside one domain of depth `limit` of `tree` (0: anywhere).

    `needed` is the gang's minimum, `running` how many members have a node already, `name` what a reason calls it.
    `pin`: running members hold the gang to this domain."""

    parts: tuple[Part, ...]
    tree: Tree
    limit: int = 0
    pin: Spot = Spot(0, 0)
    needed: int = 1
    running: int = 0
    name: str = ""
    is_single: bool = False


class Seating(Struct, frozen=True):
    """Per part, in the order of the ask: (slots, members on each), in the order of ranks."""

    parts: tuple[tuple[Ints, Ints], ...]


class Refusal(Struct, frozen=True):
    """No place. `is_proved`: by a bound or a complete search; else the search ended after `budget` steps."""

    ask: Ask
    is_proved: bool
    budget: int = 0
