"""Machine-readable answers on stdout: JSON and YAML, always UTF-8, whatever the terminal's encoding is."""

from __future__ import annotations

import click
from msgspec import Struct


def emit_json(answer: Struct) -> None:
    """Indented JSON, fields in the order of the struct."""
    import msgspec.json

    click.echo(msgspec.json.format(msgspec.json.encode(answer), indent=2))


def emit_yaml(answer: Struct) -> None:
    """The same document as YAML."""
    import msgspec.yaml

    click.echo(msgspec.yaml.encode(answer), nl=False)
