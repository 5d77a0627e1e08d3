"""One line for what forty watches say at once: a filter of the log of long-running commands.

When a token has run out every watch is refused, and again at each try. The first lines of a kind are shown, the
others of the same period are counted, and the next line that is shown says how many there were.
"""

from __future__ import annotations

import logging

PERIOD_S = 10.0
SHOWN = 3
"""Lines of one kind that are shown in a period."""
KEPT = 1000
"""Kinds that are remembered; there are some dozens."""


class Fold(logging.Filter):
    """Warnings of one kind have the same logger and template. All else is shown: errors, decisions. Mutable."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[str, str], tuple[float, int]] = {}
        """When the period began, and how many lines it has."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Show it? The end of a shown line says what came before it unseen."""
        if record.levelno != logging.WARNING:
            return True
        kind = (record.name, str(record.msg))
        began, n = self._kinds.get(kind, (record.created, 0))
        if record.created - began < PERIOD_S:
            self._kinds[kind] = (began, n + 1)
            return n < SHOWN
        if len(self._kinds) >= KEPT:
            self._kinds.clear()
        self._kinds[kind] = (record.created, 1)
        if n > SHOWN:
            record.msg = f"{record.msg} unseen={n - SHOWN}"
        return True
