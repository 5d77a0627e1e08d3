"""An object that cannot be taken in, told in one message: file, object, field, cause. Exit code 2 at the CLI."""

from __future__ import annotations


class IntakeError(Exception):
    """`file` as the user named it ("" if unknown), `subject` as Kind/namespace/name, `field` its path."""

    def __init__(self, file: str, subject: str, field: str, message: str) -> None:
        super().__init__(": ".join(part for part in (file, subject, field, message) if part))
        self.file = file
        self.subject = subject
        self.field = field
        self.message = message
