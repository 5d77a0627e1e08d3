"""Amounts as people write them: CPU in cores, bytes with a binary suffix where that is exact. For reasons."""

from __future__ import annotations

BYTES = ("memory", "ephemeral-storage")


def amount_text(resource: str, amount: int) -> str:
    """`8`, `500m`, `64Gi`.

    >>> amount_text("cpu", 8000), amount_text("cpu", 1500), amount_text("memory", 64 << 30), amount_text("pods", 3)
    ('8', '1500m', '64Gi', '3')
    """
    if resource == "cpu":
        return f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"
    if resource in BYTES or resource.startswith("hugepages-"):
        for suffix, size in (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
            if amount >= size and amount % size == 0:
                return f"{amount // size}{suffix}"
    return str(amount)


def unit_numbers(resource: str, needed: int, best: int) -> dict[str, int | str]:
    """Numbers of a reason in one unit: CPU in cores where both are whole, else in milli-CPU.

    >>> unit_numbers("cpu", 8000, 4000), unit_numbers("cpu", 8000, 1500)["unit"]
    ({'needed': 8, 'best': 4, 'unit': 'cpu'}, 'milli-cpu')
    """
    if resource != "cpu":
        return {"needed": needed, "best": best, "unit": resource}
    if needed % 1000 or best % 1000:
        return {"needed": needed, "best": best, "unit": "milli-cpu"}
    return {"needed": needed // 1000, "best": best // 1000, "unit": "cpu"}
