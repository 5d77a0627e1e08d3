"""Whole histories of a pool, judged after each event (`invariants`). The seed and the events so far are shown on
failure; GANGPOOL_LONG=1 runs a thousand of them."""

from __future__ import annotations

import pytest

from tests.core.history import History
from tests.core.invariants import deep_faults, plan_faults, state_faults

EVENTS = 300


def check(seed: str) -> None:
    history = History(seed)
    for step in range(EVENTS):
        plan = history.step()
        faults = list(state_faults(history))
        if plan is not None:
            faults += plan_faults(history, plan)
        if step % 10 == 0:
            faults += deep_faults(history)
        assert not faults, f"seed {seed!r}, step {step}, after {history.log[-8:]}: {faults[:5]}"


@pytest.mark.parametrize("number", range(40))
def test_invariants_hold_after_every_event(number: int, seed: int) -> None:
    check(f"{seed} {number}")


@pytest.mark.long
@pytest.mark.parametrize("number", range(40, 1000))
def test_invariants_hold_in_a_thousand_histories(number: int, seed: int) -> None:
    check(f"{seed} {number}")
