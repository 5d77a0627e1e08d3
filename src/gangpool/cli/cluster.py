"""The live cluster for read commands: one reading of it, with what goes wrong in words for a person.

Called by `inputs`; imported when a command runs. Writes nothing to the cluster. On a terminal a reading that takes
long shows how far it is.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

import click

from gangpool.cli.exits import Exit, Stopped
from gangpool.cli.options import Source
from gangpool.kube.client import ApiError, Client
from gangpool.kube.kubeconfig import Access, AccessError, load
from gangpool.kube.reader import Reader, TimedOut
from gangpool.kube.transport import Unreachable

if TYPE_CHECKING:
    from gangpool.live.snapshot import Snapshot

QUIET_S = 1.0
"""A reading that is done by then shows nothing."""
SHOWN_EVERY_S = 0.2


def access_of(source: Source) -> Access:
    """Server, identity and namespace, as kubectl finds them."""
    try:
        return load(source.kubeconfig, source.context, cluster=source.cluster, user=source.user)
    except AccessError as error:
        raise Stopped(f"no live cluster to read: {error} (--pool reads a dump or a shape)", Exit.USAGE) from None


def read(source: Source, *, with_pods: bool) -> Snapshot:
    """The cluster now."""
    access = access_of(source)
    found: list[Snapshot] = []
    try:
        asyncio.run(_read(access, source, with_pods, found))
    except ApiError as error:
        raise refusal(access, error) from None
    except TimedOut as error:
        raise Stopped(f"{access.server}: {error}; --request-timeout sets how long", Exit.TIMEOUT) from None
    except Unreachable as error:
        raise Stopped(f"no answer from the API server {access.server}: {error}", Exit.ERROR) from None
    return found[0]


def refusal(access: Access, error: ApiError) -> Stopped:
    """What the server did not want to do, and what to do about it."""
    words = error.message or error.reason or "no reason given"
    if error.status == 403:
        todo = "the role gangpool-reader of `gangpool manifests rbac` has all rights for it"
        return Stopped(f"not permitted: {words}; {todo}", Exit.FORBIDDEN)
    if error.status == 401:
        return Stopped(f"{access.server} does not know who you are (401 {words}); log in again", Exit.FORBIDDEN)
    if error.status == 404:  # every API server has the paths that are asked first
        return Stopped(f"{access.server} answers 404 ({words}); is it a Kubernetes API server?", Exit.ERROR)
    return Stopped(f"{access.server}: {error.status} {words}", Exit.ERROR)


async def _read(access: Access, source: Source, with_pods: bool, found: list[Snapshot]) -> None:
    """Into `found`: of what a main coroutine returns `asyncio.run` makes a text, for a message that nobody sees."""
    from gangpool.live import snapshot

    who = (source.as_user, *source.as_group) if source.as_user else ()
    transport = Reader(access, source.request_timeout, who)
    progress = Progress()
    try:
        found.append(await snapshot.read(Client(transport), with_pods=with_pods, tell=progress.tell))
    finally:
        progress.end()
        await transport.close()


class Progress:
    """A line on a terminal that is written anew and gone at the end. Mutable."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._next = time.monotonic() + QUIET_S
        self._counts: dict[str, int] = {}
        self._length = 0

    def tell(self, resource: str, n: int) -> None:
        """So many objects of a resource are here."""
        self._counts[resource] = n
        if self._is_shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + SHOWN_EVERY_S
            largest = sorted(self._counts.items(), key=lambda entry: -entry[1])[:2]
            self._write("reading the cluster: " + ", ".join(f"{count:,} {name}" for name, count in largest))

    def end(self) -> None:
        """Take the line away."""
        if self._length:
            self._write("")
            click.echo("\r", nl=False, err=True)

    def _write(self, text: str) -> None:
        click.echo("\r" + text.ljust(self._length), nl=False, err=True)
        self._length = len(text)
