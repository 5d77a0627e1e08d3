"""The one error of this package: an input that cannot be read, told in one message."""

from __future__ import annotations


class InputError(Exception):
    """`file` as the user named it, `place` in it ("" for the whole file), `cause` in plain words."""

    def __init__(self, file: str, place: str, cause: str) -> None:
        super().__init__(": ".join(part for part in (file, place, cause) if part))
        self.file = file
        self.place = place
        self.cause = cause
