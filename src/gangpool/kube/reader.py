"""Connections of a command that a person waits for: each request has the time that was asked for, and no more.

Used by the read commands of the CLI. Where a process of ours goes on trying, a person wants to be told.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from gangpool.kube.kubeconfig import Access
from gangpool.kube.transport import CALL_LIMIT_S, Answer, Request, Transport


class TimedOut(Exception):
    """A request had no answer in its time. It is not tried again."""


class Reader(Transport):
    """Transport with a limit per request (0: none), on behalf of whom `acting_as` names (user, then groups)."""

    def __init__(self, access: Access, limit_s: float = CALL_LIMIT_S, acting_as: tuple[str, ...] = ()) -> None:
        super().__init__(access, user_agent="gangpool-cli")
        self._limit_s = limit_s
        self._session.headers.extend(
            [("Impersonate-User" if i == 0 else "Impersonate-Group", name) for i, name in enumerate(acting_as)]
        )

    async def call(self, request: Request) -> Answer:
        """One request, one answer."""
        try:
            async with asyncio.timeout(self._limit_s or None):
                return await super().call(replace(request, limit_s=0.0))
        except TimeoutError:
            raise TimedOut(f"{request.method} {request.path}: no answer within {self._limit_s:g} s") from None
