"""What can be wrong with an object, as values: the field and plain words.

Raised and returned by the other modules of `gangpool.objects`; intake adds file and object name and shows them.
"""

from __future__ import annotations

from msgspec import Struct


class ObjectError(ValueError):
    """An object asks for something impossible, whatever the room. `field` is its path, `message` says why."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class Doubt(Struct, frozen=True):
    """Something in an object that could not be used; the rest of the object counts."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"
