"""gangpool places a gang if and only if there is a place: judged by exhaustive search on small pools.

What waits is asked again beside everything that was placed, so that a sequence of gangs is judged one by one on the
state after the others. `cannot-fit` must be true. `not-found` is honest but a miss where a place exists, and never
more than a tiny share. A world that fails is printed reduced, with its seed.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from tests.judged.judging import missed, plan
from tests.judged.reduce import reduced, story
from tests.oracle.brute import feasible
from tests.oracle.rules_gang import members_of
from tests.oracle.worlds import PLAIN, Knobs, random_world

Json = dict[str, Any]

ONE_GANG = Knobs(n_gangs=1, n_singles=0)
EQUALS = Knobs(roles=False, blocks=False)
MIXED = Knobs(blocks=False, spread=False, affinity=False)
NOT_FOUND_SHARE = 0.002
"""Of all that waits in these small worlds; each is counted, and still may not be a miss."""


def judge(seeds: range, knobs: Knobs, nodes: tuple[int, int] = (1, 8)) -> Counter[str]:
    """Plan a world per seed; the first with a miss or a wrong reason fails, reduced."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        rng = Random(seed)
        world = random_world(rng, rng.randint(*nodes), knobs)
        outcome = plan(world)
        faults = missed(outcome)
        if faults:
            small = reduced(world, lambda w: missed(plan(w)))
            pytest.fail(f"seed {seed}: {faults}\n{missed(plan(small))}\n{story(small)}")
        seen += outcome.tally
    assert seen["not-found"] <= NOT_FOUND_SHARE * seen["cannot-fit"] + 1, f"not-found too often: {seen}"
    assert seen["unknown"] <= 0.01 * seen["cannot-fit"] + 1, f"the search judged too little: {seen}"
    return seen


def one_gang(seeds: range) -> Counter[str]:
    """Worlds with one gang: placed exactly where the search finds a place in the world as it was."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        rng = Random(seed)
        world = random_world(rng, rng.randint(1, 8), ONE_GANG)
        found = feasible(world, "ml/g0")
        if found == "unknown" or found == {}:
            continue
        outcome = plan(world)
        is_placed = any(pod in outcome.seats for pod in members_of(world["gangs"][0]))
        assert is_placed == (found is not None), f"seed {seed}: {found}\n{outcome.answer.pending}\n{story(world)}"
        seen["placed" if is_placed else "refused"] += 1
    return seen


def test_one_gang_is_placed_exactly_where_it_fits(seed: int) -> None:
    seen = one_gang(range(seed, seed + 500))
    assert min(seen["placed"], seen["refused"]) > 100


def test_sequences_with_all_rules(seed: int) -> None:
    seen = judge(range(seed, seed + 600), Knobs())
    assert seen["cannot-fit"] > 500
    assert seen["best"] > 200
    assert seen["extra"] > 20


def test_gangs_of_equals_are_counted_exactly(seed: int) -> None:
    seen = judge(range(seed, seed + 300), EQUALS)
    assert seen["best"] > 200


def test_mixed_gangs(seed: int) -> None:
    judge(range(seed, seed + 300), MIXED)


def test_plain_gangs_on_crowded_pools(seed: int) -> None:
    judge(range(seed, seed + 200), PLAIN, (2, 4))


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_one_gang_in_many_worlds(seed: int) -> None:
    one_gang(range(seed, seed + 10_000))


@pytest.mark.long
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("knobs", [Knobs(), EQUALS, MIXED, PLAIN], ids=["all", "equals", "mixed", "plain"])
def test_sequences_in_many_worlds(knobs: Knobs, seed: int, record_property: Any) -> None:
    seen = judge(range(seed, seed + 10_000), knobs)
    record_property("judged", dict(seen))
