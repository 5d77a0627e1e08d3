"""What keeps a unit from being planned at all: gates, missing objects, members that do not exist."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core.model import Gang, Member, Reason, Role
from gangpool.core.pool import Unit
from gangpool.core.ready import is_free, minimum_of, missing_by_role, role_counts, why_held_back, why_not_ready
from tests.core.build import member

GONE = Reason("claim-missing", "claim x does not exist")


def unit(gang: Gang | None, *members: Member) -> Unit:
    made = Unit("ml/g", gang)
    for one in members:
        (made.seated if one.node else made.waiting)[one.uid] = one
    return made


def gang(minimum: int, *roles: tuple[str, int], **more: Any) -> Gang:
    return Gang("ml/g", minimum, tuple(Role(name, n) for name, n in roles), **more)


def pods(n: int, role: str = "", **more: Any) -> list[Member]:
    kind = "run" if more.get("node") else "held" if more.get("gates") or more.get("blocked") else "wait"
    return [member(f"{role}{kind}{k}", gang="ml/g", role=role, rank=k, **more) for k in range(n)]


GATED: dict[str, Any] = {"gates": ("a.io/x",)}
RUN: dict[str, Any] = {"node": "n1"}


def test_nothing_but_room_holds_a_free_member() -> None:
    assert is_free(member("p"))
    assert not is_free(member("p", gates=("x",)))
    assert not is_free(member("p", blocked=GONE))
    assert role_counts([*pods(2, "w"), *pods(1, "m")]) == {"w": 2, "m": 1}


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (unit(gang(2), *pods(2)), None),
        (unit(gang(2), *pods(3)), None),
        (unit(gang(2), *pods(1)), "members-missing"),
        (unit(gang(2), *pods(1), *pods(1, **GATED)), "gated"),
        (unit(gang(2), *pods(2), *pods(1, **GATED)), None),
        (unit(gang(3), *pods(1), *pods(1, **GATED)), "members-missing"),
        (unit(gang(2), *pods(1), *pods(1, **RUN)), None),
        (unit(gang(2), *pods(2, **RUN), *pods(1)), None),
        (unit(gang(2), *pods(2, **RUN), *pods(1, **GATED)), "gated"),
        (unit(gang(3), *pods(2, **RUN), *pods(1, blocked=GONE)), "claim-missing"),
        (unit(gang(0), *pods(1)), None),
        (unit(gang(0), *pods(1, **GATED)), "gated"),
        (unit(gang(2, blocked=GONE), *pods(2)), "claim-missing"),
        (unit(None, *pods(1)), None),
        (unit(None, *pods(1, **GATED)), "gated"),
        (unit(None, *pods(1, blocked=GONE)), "claim-missing"),
    ],
)
def test_a_unit_waits_for_a_reason(made: Unit, code: str | None) -> None:
    found = why_not_ready(made)
    assert (found and found.code) == code


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (unit(gang(2, ("m", 1), ("w", 1)), *pods(1, "m"), *pods(1, "w")), None),
        (unit(gang(2, ("m", 1), ("w", 1)), *pods(2, "w")), "members-missing"),
        (unit(gang(2, ("m", 1), ("w", 1)), *pods(2, "w"), *pods(1, "m", **GATED)), "gated"),
        (unit(gang(2, ("m", 1), ("w", 1)), *pods(1, "w"), *pods(1, "m", **RUN)), None),
        (unit(gang(1, ("m", 1), ("w", 2)), *pods(1, "m"), *pods(1, "w")), "members-missing"),
        (unit(gang(2, ("m", 1), ("w", 1)), *pods(1, "w"), *pods(2, "w", **RUN)), "members-missing"),
    ],
)
def test_every_role_must_be_able_to_reach_its_minimum(made: Unit, code: str | None) -> None:
    found = why_not_ready(made)
    assert (found and found.code) == code


def test_members_that_are_missing_are_counted_by_role() -> None:
    found = why_not_ready(unit(gang(4, ("m", 1), ("w", 3)), *pods(1, "m"), *pods(1, "w")))
    assert found == Reason(
        "members-missing",
        "2 of 4 members exist; role w needs 2 more",
        {"needed": 4, "best": 2, "unit": "members"},
        next_step="the gang is planned as soon as its members are created; see its controller",
    )
    found = why_not_ready(unit(gang(4), *pods(1), *pods(1, **RUN)))
    assert found is not None
    assert found.message == "2 of 4 members exist"


def test_gates_are_counted_with_their_names() -> None:
    held = [*pods(2, **GATED), member("y", gang="ml/g", rank=7, gates=("b.io/y", "a.io/x"))]
    assert why_held_back([*held, *pods(1)], 4) == Reason(
        "gated",
        "3 of 4 members wait behind gate a.io/x; 1 of 4 members wait behind gate b.io/y",
        {"needed": 4, "best": 1, "unit": "members"},
        next_step="whoever set the gate must remove it; gangpool never does",
    )
    assert why_held_back(pods(3), 3) is None
    assert why_held_back([], 0) is None


def test_a_missing_object_comes_before_gates_and_the_lowest_rank_first() -> None:
    other = Reason("claim-unbound", "claim y is not bound")
    held = [member("c", rank=2, blocked=other), member("b", rank=1, blocked=GONE), member("a", rank=0, gates=("x",))]
    assert why_held_back(held, 3) is GONE


def test_optional_roles_do_not_hold_up_the_start_until_they_exist() -> None:
    """An MPI launcher that is created when the workers run."""
    optional = gang(3, ("launcher", 1), ("worker", 2), optional_roles=("launcher",))
    workers = unit(optional, *pods(2, "worker"))
    assert minimum_of(workers, optional) == 2
    assert missing_by_role(workers, optional) == {"worker": 2}
    assert why_not_ready(workers) is None
    both = unit(optional, *pods(2, "worker"), *pods(1, "launcher"))
    assert minimum_of(both, optional) == 3
    assert missing_by_role(both, optional) == {"launcher": 1, "worker": 2}
    late = unit(optional, *pods(2, "worker", **RUN), *pods(1, "launcher"))
    assert missing_by_role(late, optional) == {"launcher": 1}
    alone = gang(1, ("launcher", 1), optional_roles=("launcher",))
    assert minimum_of(unit(alone), alone) == 1
    plain = gang(3, ("launcher", 1), ("worker", 2))
    assert minimum_of(unit(plain, *pods(2, "worker")), plain) == 3


def test_roles_that_have_their_minimum_lack_nothing() -> None:
    made = unit(gang(3, ("m", 1), ("w", 0), ("x", 2)), *pods(1, "m", **RUN), *pods(1, "x", **RUN))
    assert made.gang is not None
    assert missing_by_role(made, made.gang) == {"x": 1}
