"""Kinds, selectors, filters and tags that nobody needs are forgotten, and nobody notices: plans stay the same."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core import ledger as ledger_module
from gangpool.core.model import HOSTNAME, Plan, Reason
from tests.core.build import RACK, either, foreign, member, node, plan, pool_of, seated, shape, spread, submit, term
from tests.core.history import PORT, History
from tests.core.invariants import deep_faults, plan_faults, state_faults

EVENTS = 150


class Uniform(History):
    """Members of a gang keep equal labels. Where they differ, members are planned apart while some selector asks for
    these labels, also one of a job that has ended, until the sweep."""

    def change_labels(self) -> None:
        """Nothing."""


def told(made: Plan | None) -> object:
    """A plan as people see it. A search that ended without a proof is not tried again before room grows, so whether
    there is a proof may depend on when it was asked."""
    if made is None:
        return None
    seats = [(seat.member.uid, seat.node, seat.cards, seat.ports) for seat in made.seats]
    return seats, [(wait.gang, [m.uid for m in wait.members], *gist(wait.reason)) for wait in made.waits]


def gist(reason: Reason) -> tuple[str, object, object, str | None]:
    """Code, numbers and domain, without whether it is proved."""
    code = "cannot-fit" if reason.code == "not-found" else reason.code
    return code, reason.numbers.get("needed"), reason.numbers.get("best"), reason.best_domain


@pytest.mark.parametrize("number", range(5))
def test_a_pool_that_is_swept_all_the_time_plans_like_one_that_never_is(number: int, seed: int) -> None:
    swept, kept = Uniform(f"{seed} sweep {number}"), Uniform(f"{seed} sweep {number}")
    for step in range(EVENTS):
        swept.pool.ledger.sweep()
        one, other = swept.step(), kept.step()
        assert told(one) == told(other), f"step {step}, after {swept.log[-6:]}"
        faults = [*state_faults(swept), *deep_faults(swept), *(plan_faults(swept, one) if one is not None else ())]
        assert not faults, f"step {step}, after {swept.log[-6:]}: {faults[:3]}"


def test_what_ended_jobs_brought_is_forgotten() -> None:
    """Jobs that repel themselves, each with its own selector, port, spread and node selector, come and go."""
    pool = pool_of("a/a1: n1=8 n2=8\nb/b1: n3=8")
    for number in range(30):
        name = f"g{number}"
        rules: dict[str, Any] = {
            "anti_affinity": (term(HOSTNAME, f"app={name}"),),
            "spread": (spread(RACK, f"app={name}"),),
            "host_ports": (("", "TCP", 20_000 + number),),
            "node_selectors": (either(f"never!={name}"),),
        }
        submit(pool, name, 2, shape(1, **rules))
        assert len(plan(pool).seats) == 2
        for uid in list(pool.units[f"ml/{name}"].seated):
            pool.drop_member(uid)
        pool.drop_gang(f"ml/{name}")
    before = pool.ledger.weight
    pool.ledger.sweep()
    assert pool.ledger.terms.n_counters == 0
    assert pool.ledger.weight == 0 < before
    assert pool.ledger.terms.asked == set()
    submit(pool, "g", 8, shape(1, host_ports=PORT))
    assert len(plan(pool).seats) == 0
    submit(pool, "h", 3, shape(1, host_ports=PORT))
    assert len(plan(pool).seats) == 3


def test_what_running_members_ask_stays() -> None:
    """A running member keeps others away by a rule that nobody else has."""
    pool = pool_of("a/a1: n1=8\nb/b1: n2=8")
    pool.set_member(foreign("f", "n1", shape(1, anti_affinity=(term(RACK, "app=x"),))))
    pool.ledger.sweep()
    pool.set_member(member("p", labels="app=x"))
    assert seated(pool)["p"] == "n2"


def test_a_selector_that_comes_again_counts_whoever_is_there() -> None:
    pool = pool_of("a/a1: n1=8\nb/b1: n2=8")
    away = shape(1, anti_affinity=(term(RACK, "kind=web"),))
    pool.set_member(member("first", away))
    plan(pool)
    pool.drop_member("first")
    pool.ledger.sweep()
    pool.set_member(foreign("f", "n2", shape(0), labels="kind=web"))
    pool.set_member(member("second", away))
    assert seated(pool)["second"] == "n1"


def test_sweeps_come_when_as_much_again_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "SWEEP_BYTES", 10 * ledger_module.KIND_BYTES)
    pool = pool_of("a/a1: n1=8 n2=8 n3=8 n4=8")
    weights = []
    for number in range(40):
        pool.set_member(member(f"p{number}", shape(0, cpu=number + 1)))
        plan(pool)
        pool.drop_member(f"p{number}")
        weights.append(pool.ledger.weight // ledger_module.KIND_BYTES)
    assert max(weights) == 10
    assert weights.count(10) == 4


def test_a_filter_made_anew_is_not_taken_for_the_old_one() -> None:
    """The tally of a shape follows the nodes although its filter was forgotten between two looks."""
    pool = pool_of("a/a1: n1=8")
    what = shape(8, node_selectors=(either("board=h100"),))
    pool.set_member(member("p", what))
    assert not plan(pool).seats
    pool.ledger.sweep()
    pool.set_node(node("n1", 8, labels={"board": "h100"}))
    assert [seat.node for seat in plan(pool).seats] == ["n1"]


def test_what_waits_is_not_forgotten_and_made_again_by_each_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many kinds wait, more than a sweep is due for: swept once, then left until as much again has come."""
    monkeypatch.setattr(ledger_module, "SWEEP_BYTES", 10 * ledger_module.KIND_BYTES)
    pool = pool_of("a/a1: n1=8")
    for number in range(30):
        pool.set_member(member(f"p{number}", shape(9, cpu=number + 1)))
    made = [pool.ledger._n_kinds for _ in range(6) if not plan(pool).seats]
    assert made[-1] == made[-4]
    assert made[-1] <= 2 * 30
