"""`kubectl gangpool …`: the same commands as a plugin of kubectl, and completion for them.

kubectl runs `kubectl-gangpool` with what follows the name, and for completion `kubectl_complete-gangpool` with the
words so far. Both are entry points of the package.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from gangpool.cli.main import PLUGIN, cli, run

_NO_FILES, _FILES = 4, 0
"""kubectl's directives: what was printed is all there is, or file names may follow as well."""


def main() -> NoReturn:
    """Entry point `kubectl-gangpool`."""
    sys.exit(run(sys.argv[1:], PLUGIN))


def complete() -> NoReturn:
    """Entry point `kubectl_complete-gangpool`."""
    for line in completions(sys.argv[1:]):
        print(line)
    sys.exit(0)


def completions(words: Sequence[str]) -> Iterator[str]:
    """A line per candidate for the last word, with what it means behind a tab; the last line is the directive."""
    from click.shell_completion import ShellComplete

    *before, last = words or [""]
    found = ShellComplete(cli, {}, PLUGIN, "").get_completions(list(before), last)
    for item in found:
        if item.type == "plain":
            yield f"{item.value}\t{item.help}" if item.help else str(item.value)
    yield f":{_FILES if any(item.type in ('file', 'dir') for item in found) else _NO_FILES}"
