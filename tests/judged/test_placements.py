"""Every placement that gangpool makes is one that the Kubernetes documentation allows: judged by the oracle.

Random worlds, each rule alone with plain cards and all rules together, small pools and larger ones. A world that
fails is printed reduced, with the seed that makes it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from random import Random

import pytest

from tests.judged.judging import objections, plan
from tests.judged.reduce import reduced, story
from tests.oracle.worlds import PLAIN, Knobs, random_world

ALONE = [f.name for f in fields(Knobs) if f.type == "bool"]
NEEDS = {"running_repel": "running", "leaving": "running", "loose_roles": "roles"}
"""Rules that only show together with another one."""
LARGE = Knobs(n_gangs=12, max_members=12, n_singles=10)


def alone(rule: str) -> Knobs:
    """One rule on plain worlds."""
    return replace(PLAIN, n_singles=2, **{rule: True, NEEDS.get(rule, rule): True})


def judge(seeds: range, knobs: Knobs, nodes: tuple[int, int]) -> Counter[str]:
    """Plan a world per seed; the first that draws an objection fails, reduced."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        rng = Random(seed)
        world = random_world(rng, rng.randint(*nodes), knobs)
        outcome = plan(world)
        faults = objections(outcome)
        if faults:
            small = reduced(world, lambda w: objections(plan(w))) if len(world["nodes"]) <= 12 else world
            pytest.fail(f"seed {seed}: {faults}\n{objections(plan(small))}\n{story(small)}")
        seen += outcome.tally
    return seen


@pytest.mark.parametrize("rule", ALONE)
def test_each_rule_alone(rule: str, seed: int) -> None:
    seen = judge(range(seed, seed + 40), alone(rule), (1, 8))
    assert seen["placed"] > 50


def test_all_rules_together(seed: int) -> None:
    seen = judge(range(seed, seed + 500), Knobs(), (1, 8))
    assert seen["placed"] > 500
    assert seen["waiting"] > 500


def test_larger_pools(seed: int) -> None:
    seen = judge(range(seed, seed + 12), LARGE, (20, 40))
    assert seen["placed"] > 200


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("rule", ALONE)
def test_each_rule_alone_in_a_thousand_worlds(rule: str, seed: int) -> None:
    judge(range(seed, seed + 1000), alone(rule), (1, 8))


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_all_rules_together_in_many_worlds(seed: int) -> None:
    judge(range(seed, seed + 10_000), Knobs(), (1, 8))


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_larger_pools_in_many_worlds(seed: int) -> None:
    judge(range(seed, seed + 300), LARGE, (20, 40))
