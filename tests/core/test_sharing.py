"""Members that share a domain as parts of an ask: whole blocks by sums, everything else pinned or tied."""

from __future__ import annotations

from gangpool.core.ask import Part, Tie
from gangpool.core.model import Block, Gang, Member, Role, Shape
from gangpool.core.needs import Needs, needs_of
from tests.core.build import RACK, ZONE, level, member, pool_of, shape

SMALL, BIG = shape(1), shape(2)
WORLD = "a/a1: n1=8\na/a2: n2=8\nb/b1: n3=8"


def parts(*members: Member, **rules: object) -> dict[str, Part]:
    """Member names of each part of a gang `ml/g`, with the part."""
    pool = pool_of(WORLD)
    names = list(dict.fromkeys(one.role for one in members))
    roles = tuple(Role(name) for name in names) if len(names) > 1 else ()
    pool.set_gang(Gang("ml/g", len(members), roles=roles, **rules))  # type: ignore[arg-type]
    for one in members:
        pool.set_member(one)
    needs = needs_of(pool, pool.units["ml/g"])
    assert isinstance(needs, Needs)
    return {" ".join(one.name for one in batch.members): batch.part for batch in needs.batches}


def one(name: str, rank: int, what: Shape = SMALL, role: str = "", node: str = "") -> Member:
    return member(name, what, "ml/g", rank=rank, role=role, node=node)


def some(*ranks: int) -> list[Member]:
    return [one(f"m{rank}", rank) for rank in ranks]


PAIRS = (("", Block(2, level(RACK))),)


def test_whole_blocks_are_one_part_and_a_smaller_one_comes_last() -> None:
    (found,) = parts(*some(0, 1, 2, 3), blocks=PAIRS).values()
    assert (found.n, found.block_size, found.block_level, found.level, found.ties) == (4, 2, 2, 0, ())
    assert list(parts(*some(0, 1, 2, 3, 4), blocks=PAIRS)) == ["m0 m1 m2 m3 m4"]
    # Rank 1 does not exist: ranks 2 and 3 are a block, rank 0 is one of its own.
    assert list(parts(*some(0, 2, 3), blocks=PAIRS)) == ["m2 m3 m0"]


def test_several_smaller_blocks_have_a_level_of_their_own() -> None:
    found = parts(*some(0, 2, 4, 5), blocks=PAIRS)
    assert {names: (part.block_size, part.level) for names, part in found.items()} == {"m4 m5 m2": (2, 0), "m0": (0, 2)}


def test_members_of_a_block_that_differ_are_tied() -> None:
    found = parts(one("m0", 0, BIG), *some(1, 2, 3), blocks=PAIRS)
    assert {names: part.ties for names, part in found.items()} == {
        "m0": (Tie(2, 0),),
        "m1": (Tie(2, 0),),
        "m2 m3": (),
    }


def test_a_block_of_the_whole_gang_counts_over_its_roles() -> None:
    """Ranks count within a role here: the master and the first worker are block 0."""
    members = [one("m", 0, BIG, "master"), *(one(f"w{rank}", rank, SMALL, "worker") for rank in range(3))]
    found = parts(*members, blocks=PAIRS)
    assert set(found) == {"m", "w0", "w1 w2"}
    assert found["m"].ties == found["w0"].ties != ()


def test_a_block_of_a_role_counts_from_its_first_rank() -> None:
    """Ranks count over the gang here: the leader is 0, workers begin at 1, their first block is 1 and 2."""
    members = [one("l", 0, SMALL, "leader"), *(one(f"w{rank}", rank, SMALL, "worker") for rank in range(1, 6))]
    found = parts(*members, blocks=(("worker", Block(2, level(RACK), first=1)),))
    assert list(found) == ["l", "w1 w2 w3 w4 w5"]
    # From rank 0 on, rank 1 is what is left of the first block.
    assert list(parts(*members, blocks=(("worker", Block(2, level(RACK))),))) == ["l", "w2 w3 w4 w5 w1"]


def test_blocks_within_blocks() -> None:
    """Pairs share a rack, fours a zone: the pairs of each four are one part with a level."""
    twice = (("", Block(4, level(ZONE))), ("", Block(2, level(RACK))))
    found = parts(*some(*range(8)), blocks=twice)
    assert {names: (part.level, part.block_size, part.block_level) for names, part in found.items()} == {
        "m0 m1 m2 m3": (1, 2, 2),
        "m4 m5 m6 m7": (1, 2, 2),
    }


def test_a_role_with_a_level_is_tied_where_its_members_differ() -> None:
    members = [one("m", 0, SMALL, "m"), one("w0", 0, BIG, "w"), one("w1", 1, SMALL, "w")]
    found = parts(*members, role_levels=(("w", level(ZONE)),))
    assert {names: (part.level, part.ties) for names, part in found.items()} == {
        "m": (0, ()),
        "w0": (0, (Tie(1, 0),)),
        "w1": (0, (Tie(1, 0),)),
    }
    alike = [one("m", 0, SMALL, "m"), *(one(f"w{rank}", rank, SMALL, "w") for rank in range(2))]
    found = parts(*alike, role_levels=(("w", level(ZONE)),))
    assert [(part.level, part.ties) for part in found.values()] == [(0, ()), (1, ())]


def test_members_that_run_pin_their_block_and_no_other() -> None:
    found = parts(one("m0", 0, node="n3"), *some(1, 2, 3), blocks=PAIRS)
    assert {names: (part.pin.level, part.block_size) for names, part in found.items()} == {
        "m1": (2, 0),
        "m2 m3": (0, 2),
    }
    assert found["m1"].near >= 0 > found["m2 m3"].near
