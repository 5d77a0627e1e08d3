"""`gangpool completion SHELL`: the script that teaches a shell our commands, flags and file names."""

from __future__ import annotations

import click

from gangpool.cli.exits import Exit


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print a completion script for bash, zsh or fish.

    \b
    bash:  source <(gangpool completion bash)
    zsh:   source <(gangpool completion zsh)
    fish:  gangpool completion fish | source
    """
    from click.shell_completion import get_completion_class

    from gangpool.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "gangpool", "_GANGPOOL_COMPLETE").source())
    return Exit.OK
