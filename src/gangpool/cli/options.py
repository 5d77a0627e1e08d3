"""Flags that several read commands share: the pool, the configuration, the time, the output format."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def pool_options(function: Command) -> Command:
    """--pool, --context, --kubeconfig."""
    for option in (
        click.option("--kubeconfig", type=click.Path(), metavar="FILE", help="Path of the kubeconfig file."),
        click.option("--context", metavar="NAME", help="Context of the kubeconfig to use."),
        click.option(
            "--pool",
            type=click.Path(),
            metavar="FILE|DIR|SHAPE",
            help="A dump (`kubectl get nodes,pods -A -o json`), a folder of them, - for stdin, or a shape such as "
            "h100:1280. Without it: the live cluster (in a later version).",
        ),
    ):
        function = option(function)
    return function


def output_option(*formats: str) -> Callable[[Command], Command]:
    """-o with these formats; the first is the default."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="How to print the answer.",
    )


def config_option(function: Command) -> Command:
    """--config."""
    return click.option("--config", type=click.Path(), metavar="FILE", help="Configuration file.")(function)


def read_time(_ctx: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
    """Seconds since the epoch of an RFC 3339 time with its zone."""
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise click.BadParameter(f"{text!r} is no time with a zone, such as 2026-08-01T12:00:00Z")
    return time.timestamp()
