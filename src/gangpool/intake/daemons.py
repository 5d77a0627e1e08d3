"""The pods of a DaemonSet: one on each node that lets it, booked there before anything else of `-f` is planned.

There is nothing to choose, so they are not planned one by one: one look at the room of all nodes says where they fit.
Those that do not fit, or that have rules about each other, are left to the cycle, each held to its node.
Called by `place`.
"""

from __future__ import annotations

from msgspec.structs import replace

from gangpool.core.cycle import Cycle
from gangpool.core.model import NAME_FIELD, Member, Requirement, Seat
from gangpool.core.pool import Pool


def book(pool: Pool, cycle: Cycle, template: Member) -> list[Seat]:
    """Seats of the pods made after this one; those without room are left waiting. O(nodes)."""
    ledger = pool.ledger
    mask = ledger.filter_of(template.shape).mask
    kind = ledger.kind_only(template.shape, template.namespace, template.labels)
    fit = cycle.planner.room(kind, pool.forest.tree(pool.forest.default_keys())).fit.tolist()
    stem = template.name.rpartition("-")[0] or template.name
    seats: list[Seat] = []
    number = 0
    for i, facts in ledger.alive():
        if not mask[i]:
            continue
        member = replace(template, uid=f"{template.uid}@{facts.name}", name=f"{stem}-{number}", rank=number)
        number += 1
        if kind.coupled or fit[i] < 1:  # the place of one may forbid the next: the cycle looks at each
            pool.set_member(_held_to(member, facts.name))
            continue
        pool.set_member(member)
        mark = ledger.mark()
        ledger.claim(i, kind)
        ledger.keep(mark)
        seats += pool.settle(pool.units[f"pod:{member.uid}"], kind, (member,), (i,))
    return seats


def _held_to(member: Member, node: str) -> Member:
    """The member with the node affinity that the DaemonSet's controller writes."""
    only = ((Requirement(NAME_FIELD, "In", (node,)),),)
    return replace(member, shape=replace(member.shape, held_to=(*member.shape.held_to, only)))
