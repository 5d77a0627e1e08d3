"""What keeps a gang from being planned at all: contradictions, gates, missing claims, members that do not exist.

Called by `cycle` before anything is looked at; every reason carries its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gangpool.core.model import Gang, Member, Reason
from gangpool.core.pool import Unit


def is_free(member: Member) -> bool:
    """Nothing but room keeps this member from a node."""
    return not member.gates and member.blocked is None


def free_of(members: Iterable[Member]) -> list[Member]:
    """The free ones; `is_free` written out, because a gang may have thousands."""
    return [member for member in members if not member.gates and member.blocked is None]


def role_counts(members: Iterable[Member]) -> Counter[str]:
    """How many of these members each role has."""
    return Counter(member.role for member in members)


def minimum_of(unit: Unit, gang: Gang) -> int:
    """The gang's minimum, less members of optional roles that do not exist (their start comes later)."""
    if not gang.optional_roles:
        return gang.minimum
    roles = role_counts((*unit.waiting.values(), *unit.seated.values()))
    absent = sum(role.minimum for role in gang.roles if role.name in gang.optional_roles and not roles[role.name])
    return max(gang.minimum - absent, 1)


def missing_by_role(unit: Unit, gang: Gang) -> dict[str, int]:
    """Per role, how many members it still lacks to its minimum."""
    if not any(role.minimum for role in gang.roles):  # nearly every gang: nothing has to be counted
        return {}
    seated = role_counts(unit.seated.values())
    present = seated + role_counts(unit.waiting.values())
    return {
        role.name: role.minimum - seated[role.name]
        for role in gang.roles
        if role.minimum > seated[role.name] and not (role.name in gang.optional_roles and not present[role.name])
    }


def why_not_ready(unit: Unit) -> Reason | None:
    """A reason why nothing of this unit can be seated now, None if some of it may."""
    gang = unit.gang
    if gang is None:
        return why_held_back(unit.waiting.values(), 1)
    if gang.blocked is not None:
        return gang.blocked
    free = free_of(unit.waiting.values())
    lacking = max(0, minimum_of(unit, gang) - len(unit.seated))
    by_role = missing_by_role(unit, gang)
    have = role_counts(free) if by_role else Counter()
    if len(free) >= max(lacking, 1) and all(have[role] >= n for role, n in by_role.items()):
        return None
    held = [member for member in unit.waiting.values() if not is_free(member)]
    exist = len(unit.seated) + len(unit.waiting)
    held_by_role = role_counts(held) if by_role else Counter()
    enough = exist >= gang.minimum and all(have[r] + held_by_role[r] >= n for r, n in by_role.items())
    if held and (enough or exist >= gang.minimum):
        return why_held_back(held, exist)
    return _members_missing(unit, gang, by_role)


def why_held_back(members: Iterable[Member], total: int) -> Reason | None:
    """Gates and missing objects of these members, the most frequent cause first; None if none is held back."""
    held = [member for member in members if not is_free(member)]
    for member in sorted(held, key=lambda m: (m.rank, m.name)):
        if member.blocked is not None:
            return member.blocked
    if not held:
        return None
    gates = Counter(gate for member in held for gate in member.gates)
    parts = [f"{n} of {total} members wait behind gate {gate}" for gate, n in sorted(gates.items())]
    return Reason(
        "gated",
        "; ".join(parts),
        {"needed": total, "best": total - len(held), "unit": "members"},
        next_step="whoever set the gate must remove it; gangpool never does",
    )


def _members_missing(unit: Unit, gang: Gang, by_role: dict[str, int]) -> Reason:
    exist = len(unit.seated) + len(unit.waiting)
    have = role_counts(unit.waiting.values())
    short = [f"role {role} needs {n - have[role]} more" for role, n in sorted(by_role.items()) if n > have[role]]
    return Reason(
        "members-missing",
        f"{exist} of {gang.minimum} members exist" + "".join(f"; {text}" for text in short),
        {"needed": gang.minimum, "best": exist, "unit": "members"},
        next_step="the gang is planned as soon as its members are created; see its controller",
    )
