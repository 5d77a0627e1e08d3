"""Exit codes of every command, as the machine interface promises them. Commands return one of these."""

from __future__ import annotations

from enum import IntEnum

import click


class Exit(IntEnum):
    """What a script learns without reading a word."""

    OK = 0
    ERROR = 1
    """Something went wrong."""
    USAGE = 2
    """Wrong usage, or an input that cannot be read."""
    NO = 3
    """The answer is "no": nothing placed, a text refused, a check failed."""
    TIMEOUT = 4
    FORBIDDEN = 5
    INTERRUPTED = 130
    """Ctrl-C; what a shell reports for SIGINT."""
    BROKEN_PIPE = 141
    """The reader went away (`| head`); what a shell reports for SIGPIPE."""


class Stopped(click.ClickException):
    """A command that cannot go on, in one sentence, with its exit code."""

    def __init__(self, message: str, exit_code: Exit) -> None:
        super().__init__(message)
        self.exit = exit_code
