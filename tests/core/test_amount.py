"""Amounts in words."""

from __future__ import annotations

import pytest

from gangpool.core.amount import amount_text, unit_numbers


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 8000, "8"),
        ("cpu", 1500, "1500m"),
        ("cpu", 1, "1m"),
        ("cpu", 0, "0"),
        ("memory", 3 << 40, "3Ti"),
        ("memory", 1 << 40, "1Ti"),
        ("memory", 64 << 30, "64Gi"),
        ("memory", 1536 << 20, "1536Mi"),
        ("memory", 5 << 10, "5Ki"),
        ("memory", 1023, "1023"),
        ("memory", 1025, "1025"),
        ("memory", 0, "0"),
        ("ephemeral-storage", 1 << 30, "1Gi"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        ("nvidia.com/gpu", 1 << 10, "1024"),
        ("pods", 110, "110"),
    ],
)
def test_amounts(resource: str, amount: int, text: str) -> None:
    assert amount_text(resource, amount) == text


@pytest.mark.parametrize(
    ("resource", "needed", "best", "numbers"),
    [
        ("cpu", 8000, 4000, (8, 4, "cpu")),
        ("cpu", 8000, 1500, (8000, 1500, "milli-cpu")),
        ("cpu", 500, 4000, (500, 4000, "milli-cpu")),
        ("memory", 2048, 1024, (2048, 1024, "memory")),
    ],
)
def test_numbers_have_one_unit(resource: str, needed: int, best: int, numbers: tuple[int, int, str]) -> None:
    assert tuple(unit_numbers(resource, needed, best).values()) == numbers
