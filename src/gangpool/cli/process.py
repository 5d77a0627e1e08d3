"""What all long-running commands share: logs to stderr, an address to listen on, an end on SIGTERM or Ctrl-C, a word
on SIGHUP.

Imports what it needs when it runs: the help of these commands must answer at once.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import click

from gangpool.cli.exits import Exit, Stopped

LISTEN = ("0.0.0.0", 8080)  # noqa: S104 - probes and Prometheus come from outside the pod
PORT_MOST = 65535

Command = TypeVar("Command", bound=Callable[..., Any])


def log_to_stderr() -> None:
    """Events with keys, one line each; GANGPOOL_LOG sets the level. Floods are folded, but in debug."""
    import logging

    from gangpool.cli.fold import Fold

    name = os.environ.get("GANGPOOL_LOG", "INFO").upper()
    level = logging.getLevelNamesMapping().get(name)
    if level is None:
        raise click.UsageError(f"GANGPOOL_LOG={name} is no level; it may be debug, info, warning or error")
    handler = logging.StreamHandler()
    if level > logging.DEBUG:
        handler.addFilter(Fold())
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s %(message)s", handlers=[handler])


def read_address(_ctx: click.Context | None, _parameter: click.Parameter | None, text: str) -> tuple[str, int]:
    """HOST:PORT of --listen; an IPv6 host in brackets.

    >>> read_address(None, None, "[::1]:0")
    ('::1', 0)
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > PORT_MOST:
        raise click.BadParameter(f"{text!r} is no HOST:PORT, such as 127.0.0.1:8080")
    return host.removeprefix("[").removesuffix("]"), int(port)


def access_options(function: Command) -> Command:
    """--kubeconfig and --context."""
    function = click.option("--context", metavar="NAME", help="Context of the kubeconfig to use.")(function)
    return click.option(
        "--kubeconfig",
        type=click.Path(),
        metavar="FILE",
        help="Kubeconfig; default: KUBECONFIG, else ~/.kube/config, else the account of the pod.",
    )(function)


def listen_option(function: Command) -> Command:
    """--listen."""
    return click.option(
        "--listen",
        metavar="HOST:PORT",
        default=f"{LISTEN[0]}:{LISTEN[1]}",
        show_default=True,
        callback=read_address,
        help="Health and metrics.",
    )(function)


def run_until_told(work: Coroutine[Any, Any, None], on_hangup: Callable[[], None] = lambda: None) -> None:
    """Run until it ends by itself, or SIGTERM or SIGINT asks for the end: then it is cancelled, once, and may clean
    up. SIGHUP calls `on_hangup`."""
    import asyncio
    import signal

    async def main() -> None:
        task = asyncio.create_task(work)
        loop = asyncio.get_running_loop()
        ends: list[int] = []

        def end(number: int) -> None:
            if not ends:  # who asks twice would else break off the cleaning up
                task.cancel()
            ends.append(number)

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end, number)
        loop.add_signal_handler(signal.SIGHUP, on_hangup)
        await _finished(task)

    asyncio.run(main())


async def _finished(task: Awaitable[None]) -> None:
    """Wait for it; what a user can mend is said as such, and of a group of errors the first."""
    import asyncio
    import contextlib

    from gangpool.kube.kubeconfig import AccessError

    try:
        with contextlib.suppress(asyncio.CancelledError):
            await task
    except AccessError as error:
        raise Stopped(str(error), Exit.USAGE) from None
    except OSError as error:
        raise click.ClickException(str(error)) from None
    except BaseExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None


def collect_rarely() -> None:
    """A process that lives long keeps nearly all that it makes at its start, and later makes few cycles: looking for
    them every 700 objects costs a tenth of its time."""
    import gc

    gc.set_threshold(50_000, 20, 50)


def freeze() -> None:
    """What is there now stays: garbage collection need not walk it again and again (stalls of 30-40 ms on a pool of
    140,000 pods)."""
    import gc

    gc.collect(1)  # what is young; a whole collection would be such a stall itself
    gc.freeze()
