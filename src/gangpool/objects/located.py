"""An object of the input with the place it was read from, so that a warning can name file and place.

Made by `gangpool.files` and by pool shapes, used by intake.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Located(Struct, frozen=True):
    """`document` counts from 1 within the file, `line` is the line on which the document begins; `item` is the
    object's index in a List (None: the document is the object itself). `object` is read-only."""

    file: str
    object: dict[str, Any]
    document: int = 1
    line: int = 1
    item: int | None = None

    @property
    def place(self) -> str:
        """Where in the file, in words."""
        where = f"document {self.document} (line {self.line})"
        return where if self.item is None else f"{where}, items[{self.item}]"
