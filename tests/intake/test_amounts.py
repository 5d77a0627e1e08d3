"""Ledger amounts back as text."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from gangpool.intake.amounts import amount_text


@given(st.integers(-(10**15), 10**15))
def test_cpu_is_thousandths_exactly_and_without_idle_zeros(milli: int) -> None:
    text = amount_text("cpu", milli)
    assert Decimal(text) * 1000 == milli
    assert "." not in text or not text.endswith("0")


def test_everything_else_is_whole_units() -> None:
    assert amount_text("memory", 1 << 60) == "1152921504606846976"
    assert amount_text("nvidia.com/gpu", -2) == "-2"
