"""Names of steps and checks, and the functions behind them.

A step:  ``async def f(ctx, value, step) -> object``: does the thing; what it returns becomes ``ctx.last``.
A check: ``async def f(ctx, value) -> str | None``: None when it holds, else what was seen instead, in one line.
Checks are polled until ``within`` ends and must then stay true for ``hold``; a check that only looks at
``ctx.last`` is called once. A name that is not registered here fails the case before it starts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

StepFn = Callable[..., Awaitable[Any]]
CheckFn = Callable[..., Awaitable[str | None]]
STEPS: dict[str, StepFn] = {}
CHECKS: dict[str, CheckFn] = {}


def step(name: str) -> Callable[[StepFn], StepFn]:
    """Register the function that performs step ``name``."""

    def put(fn: StepFn) -> StepFn:
        if name in STEPS:
            raise ValueError(f"step {name} is registered twice")
        STEPS[name] = fn
        return fn

    return put


def check(name: str) -> Callable[[CheckFn], CheckFn]:
    """Register the function that judges check ``name``."""

    def put(fn: CheckFn) -> CheckFn:
        if name in CHECKS:
            raise ValueError(f"check {name} is registered twice")
        CHECKS[name] = fn
        return fn

    return put
