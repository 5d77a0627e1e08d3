"""Flags that several read commands share: the pool, the configuration, the time, the output format."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar, cast

import click
from msgspec import Struct

Command = TypeVar("Command", bound=Callable[..., Any])

REQUEST_TIMEOUT_S = 30.0
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|ms|s|m|h)")
_UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class Source(Struct, frozen=True):
    """Where the pool is read from: `pool` as given, or, where that is None, the live cluster that the rest names."""

    pool: str | None = None
    context: str | None = None
    kubeconfig: str | None = None
    cluster: str = ""
    user: str = ""
    namespace: str | None = None
    """As given; None: that of the context. `inputs.namespace_of` answers with either."""
    request_timeout: float = REQUEST_TIMEOUT_S
    """Seconds per request, 0: no limit."""
    as_user: str = ""
    as_group: tuple[str, ...] = ()

    @property
    def is_live(self) -> bool:
        """Is it a running cluster?"""
        return self.pool is None


def read_duration(_ctx: click.Context, _parameter: click.Parameter, text: str) -> float:
    """Seconds of a duration as kubectl takes it: `30s`, `1m30s`; a bare number is seconds."""
    if re.fullmatch(r"[0-9]+", text):
        return float(text)
    parts = _DURATION.findall(text)
    if not parts or "".join(parts) != text:
        raise click.BadParameter(f"{text!r} is no duration, such as 30s or 2m")
    return sum(float(part.rstrip("nuµmsh")) * _UNITS_S[part.lstrip("0123456789.")] for part in parts)


_POOL_OPTIONS = (
    click.option(
        "--pool",
        type=click.Path(),
        metavar="FILE|DIR|SHAPE",
        help="A dump (`kubectl get nodes,pods -A -o json`), a folder of them, - for stdin, or a shape such as "
        "h100:1280 or h100:64,leaf=8,label=team:a. Without it: the live cluster, read only.",
    ),
    click.option("--context", metavar="NAME", help="Context of the kubeconfig to use."),
    click.option("--kubeconfig", type=click.Path(), metavar="FILE", help="Path of the kubeconfig file."),
    click.option("--cluster", metavar="NAME", default="", help="Cluster of the kubeconfig to use."),
    click.option("--user", metavar="NAME", default="", help="User of the kubeconfig to use."),
    click.option("-n", "--namespace", metavar="NAME", help="Namespace of what has none; default: that of the context."),
    click.option(
        "--request-timeout",
        metavar="TIME",
        default="30s",
        show_default=True,
        callback=read_duration,
        help="Wait so long for one answer of the server (1s, 2m; 0: without end).",
    ),
    click.option("--as", "as_user", metavar="USER", default="", help="Read on behalf of this user."),
    click.option("--as-group", multiple=True, metavar="GROUP", help="And of this group; may be given several times."),
)


def pool_options(function: Command) -> Command:
    """--pool, and kubectl's flags for the live cluster. The command gets them as one argument, `source`."""

    @wraps(function)
    def with_source(**options: Any) -> Any:
        source = Source(**{name: options.pop(name) for name in Source.__struct_fields__})
        if (source.as_group and not source.as_user) or not all(source.as_group):
            raise click.UsageError("--as-group needs --as")
        return function(**options, source=source)

    command: Any = with_source
    for option in reversed(_POOL_OPTIONS):
        command = option(command)
    return cast("Command", command)


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
