"""HTTP to one API server: a fixed set of kept connections, who we are, and the server's wish to slow down.

Used by `client`. Promises: a request either has an answer or raises `Unreachable`; a 429 makes all later requests
wait as long as the server asks; a 401 is tried once more with a renewed token.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any
from urllib.request import getproxies

import aiohttp
from aiohttp.connector import AddrInfoType
from msgspec import Struct

from gangpool.kube.credentials import Credentials
from gangpool.kube.kubeconfig import Access, AccessError

CONNECTIONS = 32
"""Bindings in flight; more made no difference on two cores (reference figures: 1,300-2,050 binds/s)."""
CALL_LIMIT_S = 30.0
RETRY_AFTER_LEAST_S = 0.1
RETRY_AFTER_MOST_S = 30.0
EVICTION = "/eviction"
"""Here 429 means a disruption budget, not that the server wants quiet."""
SILENT_S = 1.0
"""A request that its caller gives up after so long, or later, had no answer in time."""
_KEEPALIVE = [
    (getattr(socket, name), value)
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 25_000))
    if hasattr(socket, name)  # not everywhere
]


class Unreachable(Exception):
    """No answer: refused, reset, timed out. Whether a write was done is not known."""


class Withheld(Unreachable):
    """Not sent: when its turn came it was not ours to write any more."""


class Request(Struct, frozen=True):
    """One request; `limit_s` from the first byte sent to the last received."""

    method: str
    path: str
    params: Mapping[str, str] | None = None
    body: bytes | None = None
    content_type: str = "application/json"
    limit_s: float = CALL_LIMIT_S


class Answer(Struct, frozen=True):
    """Status and body of one answer."""

    status: int
    body: bytes


class Silence(Struct):
    """`n`: requests to one server, over whatever connections, that had no answer in time."""

    n: int = 0


class Transport:
    """Connections to one server, and their owner; `close` ends them. Where one of them goes dead without a word, the
    others are given up too: what comes next has new ones. `silence` is shared with `another`."""

    def __init__(self, access: Access, connections: int = CONNECTIONS, user_agent: str = "gangpool") -> None:
        self._access = access
        self._connections = connections
        self.silence = Silence()
        self._given_up: dict[asyncio.Task[None], aiohttp.ClientSession] = {}
        self._user_agent = user_agent
        self._credentials = Credentials(access)
        self._turns = asyncio.Semaphore(connections)  # so that a request waits here and not behind `may_write`
        self.may_write: Callable[[], bool] = lambda: True
        """Asked right before each write is sent (not before dry runs); what is refused is `Withheld`."""
        headers = {"User-Agent": user_agent, "Accept": "application/json", "Accept-Encoding": "identity"}
        self._session = self._opened(connections, headers, 1 << 20)
        self._watches = self._opened(0, headers, 1 << 22)
        self._quiet_until = 0.0
        self.n_throttled = 0
        self.n_errors = 0
        self.n_refused: Counter[int] = Counter()
        """Answers of 400 and above, by status."""

    def _opened(self, connections: int, headers: Mapping[str, str], bufsize: int) -> aiohttp.ClientSession:
        access = self._access
        tls = access.tls if access.tls is not None else True
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, ssl=tls, socket_factory=_socket),
            headers=headers,
            trust_env=access.proxy is None
            and bool(getproxies()),  # with it, each request looks for a netrc in a thread
            read_bufsize=bufsize,
        )

    async def close(self) -> None:
        """End all connections."""
        for task, session in list(self._given_up.items()):
            task.cancel()
            await session.close()
        await self._session.close()
        await self._watches.close()

    def another(self, connections: int) -> Transport:
        """To the same server, with connections of its own; for another event loop, in which it is to be called."""
        other = Transport(self._access, connections, self._user_agent)
        other.silence = self.silence
        return other

    async def call(self, request: Request) -> Answer:
        """One request, one answer."""
        headers = await self._headers(request.path)
        answer = await self._once(request, headers)
        if answer.status == 401 and self._credentials.refused(headers):
            answer = await self._once(request, await self._headers(request.path))
        return answer

    async def _headers(self, path: str) -> dict[str, str]:
        """Who we are. A token that cannot be had now may be had later."""
        try:
            return await self._credentials.headers()
        except AccessError as error:
            self.n_errors += 1
            raise Unreachable(f"{path}: {error}") from None

    async def _once(self, request: Request, headers: dict[str, str]) -> Answer:
        wait_s = self._quiet_until - time.monotonic()
        if wait_s > 0:
            await asyncio.sleep(wait_s)
        if request.body is not None:
            headers = {**headers, "Content-Type": request.content_type}
        async with self._turns:
            return await self._send(request, headers)

    async def _send(self, request: Request, headers: dict[str, str]) -> Answer:
        is_write = request.method != "GET" and "dryRun" not in (request.params or ())
        if is_write and not self.may_write():
            raise Withheld(f"{request.method} {request.path}: not sent, this replica leads no more")
        session, sent = self._session, time.monotonic()
        try:
            async with session.request(
                request.method,
                self._access.server + request.path,
                params=request.params,
                data=request.body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=request.limit_s),
                **self._extras(),
            ) as response:
                content = await response.read()
                if response.status >= 400:
                    self.n_refused[response.status] += 1
                if response.status == 429 and not request.path.endswith(EVICTION):
                    self._slow_down(response.headers.get("Retry-After"))
                return Answer(response.status, content)
        except asyncio.CancelledError:  # the caller's own limit, as a rule
            if time.monotonic() - sent >= SILENT_S:
                self._went_silent(session)
            raise
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            self.n_errors += 1
            if isinstance(error, TimeoutError):
                self._went_silent(session)
            raise Unreachable(f"{request.method} {request.path}: {words(error)}") from None

    def _went_silent(self, session: aiohttp.ClientSession) -> None:
        """No answer in time: the server is slow, or the way to it is dead, and then so are all kept connections."""
        self.silence.n += 1
        if session is self._session:
            self._session = self._opened(self._connections, session.headers, 1 << 20)
            task = asyncio.create_task(_closed_later(session))
            self._given_up[task] = session
            task.add_done_callback(self._given_up.pop)

    def _extras(self) -> dict[str, Any]:
        extras: dict[str, Any] = {}
        if self._access.proxy:
            extras["proxy"] = self._access.proxy
        if self._access.server_name:
            extras["server_hostname"] = self._access.server_name
        return extras

    def _slow_down(self, retry_after: str | None) -> None:
        self.n_throttled += 1
        try:
            seconds = float(retry_after or 1)
        except ValueError:
            seconds = 1.0
        seconds = min(max(seconds, RETRY_AFTER_LEAST_S), RETRY_AFTER_MOST_S)
        self._quiet_until = max(self._quiet_until, time.monotonic() + seconds)

    async def open(self, path: str, params: Mapping[str, str], quiet_s: float) -> aiohttp.ClientResponse:
        """A stream; `quiet_s` without a byte ends it. The caller closes it."""
        headers = await self._headers(path)
        response = await self._open(path, params, quiet_s, headers)
        if response.status == 401 and self._credentials.refused(headers):
            response.close()
            response = await self._open(path, params, quiet_s, await self._headers(path))
        return response

    async def _open(
        self, path: str, params: Mapping[str, str], quiet_s: float, headers: dict[str, str]
    ) -> aiohttp.ClientResponse:
        try:
            return await self._watches.get(
                self._access.server + path,
                params=params,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CALL_LIMIT_S, sock_read=quiet_s),
                **self._extras(),
            )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            self.n_errors += 1
            raise Unreachable(f"watch {path}: {words(error)}") from None


async def _closed_later(session: aiohttp.ClientSession) -> None:
    """When what is under way in it has come to its end."""
    await asyncio.sleep(CALL_LIMIT_S)
    await session.close()


def _socket(address: AddrInfoType) -> socket.socket:
    """A socket whose far end is asked for a sign of life: a dead one is found within half a minute, also by a watch
    that is silent for good reasons."""
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    for option, value in _KEEPALIVE:
        made.setsockopt(socket.IPPROTO_TCP, option, value)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return made


def words(error: BaseException) -> str:
    """What an exception says; some say nothing but their name."""
    return str(error) or type(error).__name__
