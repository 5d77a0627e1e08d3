"""Writes docs/reference/cli.md: the help of every command, as the commands print it.

`python -m scripts.gen_cli_docs` writes the page; with `--check` it fails where the page differs from the commands.
`scripts.reference` and a test call `page`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gangpool.cli.main import cli

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/cli.md"
WRITTEN_BY = "<!-- Written by `python -m scripts.gen_cli_docs`; change the commands that it comes from. -->"
WIDTH = 100


def page() -> str:
    """The text of the page."""
    parent = _context(cli, "gangpool", None)
    parts = [WRITTEN_BY, "# Command line", "", *_block(parent)]
    for name in cli.list_commands(parent):
        command = cli.get_command(parent, name)
        assert command is not None
        parts += [f"## gangpool {name}", "", *_block(_context(command, name, parent))]
    return "\n".join(parts)


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH)


def _block(context: click.Context) -> list[str]:
    context.help_option_names = ["-h", "--help"]
    return ["```text", *(line.rstrip() for line in context.get_help().splitlines()), "```", ""]


def main(argv: list[str]) -> int:
    """Write the page, or check it."""
    text = page()
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if "--check" in argv:
        if old != text:
            print("docs/reference/cli.md is not what the commands say: run `python -m scripts.gen_cli_docs`")
        return int(old != text)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
