"""The `gangpool` command: finds the sub-command, and is the one place where failures become messages and exit codes.

Sub-commands are imported when they are asked for, and import what they need when they run, so that help and
completion answer at once. No traceback reaches a user unless GANGPOOL_DEBUG=1 asks for it.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Sequence
from copy import copy
from importlib import import_module
from typing import Any, NoReturn

import click

from gangpool.cli.exits import Exit, Stopped

NAME = "gangpool"
PLUGIN = "kubectl gangpool"
"""What people type before the name of a sub-command."""
COMMANDS = (
    "place",
    "explain",
    "jobs",
    "nodes",
    "tree",
    "quantity",
    "demo",
    "completion",
    "scheduler",
    "jobs-controller",
    "manifests",
)
"""In the order of the help page; each is the `command` of the module `gangpool.cli.NAME`."""


_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What only a write meets: commands read everything else, and stdout is all that they write."""


class LateGroup(click.Group):
    """A group that imports a sub-command only when its name is given, or all of them for the list of the help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"gangpool.cli.{cmd_name.replace(chr(45), chr(95))}").command
        assert isinstance(command, click.Command)
        return called_so(command, ctx.find_root().info_name or NAME)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the sub-command. A reader that went away ends it without a word; what it finds wrong in its usage
        is told under its name."""
        try:
            code = super().invoke(ctx)
            if sys.stdout is not None:  # closed by whoever started us: nothing to say, nobody to hear it
                sys.stdout.flush()
        except click.UsageError as error:
            name = ctx.invoked_subcommand
            if error.ctx is None and name is not None:
                error.ctx = click.Context(self.get_command(ctx, name) or self, info_name=name, parent=ctx)
            raise
        except BrokenPipeError:
            _drop_output()
            raise click.exceptions.Exit(Exit.BROKEN_PIPE) from None
        return code


def called_so(command: click.Command, name: str) -> click.Command:
    """The command with examples that can be typed as they stand, where the program goes by another name."""
    if name == NAME or not command.help:
        return command
    renamed = copy(command)
    renamed.help = re.sub(rf"(?<![\w./-]){NAME} (?=[a-z])", f"{name} ", command.help)
    return renamed


def _print_version(ctx: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    if not asked:
        return
    from importlib import metadata

    try:
        version = metadata.version("gangpool")
    except metadata.PackageNotFoundError:
        version = "(not installed)"
    click.echo(f"gangpool {version}")
    ctx.exit()


@click.group(cls=LateGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """One GPU pool for Kubernetes in which no card waits.

    \b
    Exit codes: 0 ok, 1 error, 2 wrong usage or unreadable input,
    3 the answer is "no", 4 time-out, 5 not permitted.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> NoReturn:
    """Entry point of the command and of `python -m gangpool`."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str], name: str = NAME) -> int:
    """Run one command line; the exit code. Every failure ends as at most two lines on stderr. `name`: what was typed
    before the arguments."""
    _accept_any_text()
    try:
        code = cli.main(list(arguments), prog_name=name, standalone_mode=False)
    except click.exceptions.Abort:
        return Exit.INTERRUPTED
    except Exception as error:
        lines, failed = explain(error)
        if failed == Exit.ERROR and os.environ.get("GANGPOOL_DEBUG") == "1":
            raise
        for line in lines:
            click.echo(line, err=True)
        return failed
    return code if isinstance(code, int) else Exit.OK


def explain(error: Exception) -> tuple[list[str], Exit]:
    """Lines for a person and the exit code: what is wrong, then what to do."""
    from gangpool.cli.table import plain
    from gangpool.files import InputError

    if isinstance(error, InputError):
        return [plain(f"gangpool: {error}")], Exit.USAGE
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "gangpool"
        message = re.sub(r"\s*\n\s*", " ", error.format_message())
        return [plain(f"{path}: {message}"), f"See '{path} --help'."], Exit.USAGE
    if isinstance(error, click.ClickException):
        code = error.exit if isinstance(error, Stopped) else Exit.ERROR
        return [plain(f"gangpool: {error.format_message()}")], code
    if isinstance(error, OSError) and error.errno in _CANNOT_WRITE:
        return [plain(f"gangpool: the answer cannot be written: {error.strerror}")], Exit.ERROR
    name = type(error).__name__
    return [plain(f"gangpool: internal error: {name}: {error} (GANGPOOL_DEBUG=1 shows where)")], Exit.ERROR


def _accept_any_text() -> None:
    """Names that the terminal's encoding lacks are shown escaped instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Point stdout at nothing, or the interpreter complains when it flushes at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
