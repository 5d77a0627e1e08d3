"""What was asked of a control plane, by whom and with what answer: its audit log, read on from where one stopped.

Called by tests that judge a process from outside. The server appends the line before it answers, so a request that has
been answered is there. Each service account token has an id of its own in the log, which tells replicas apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_TOKEN = "authentication.kubernetes.io/credential-id"


class _User(msgspec.Struct):
    username: str = ""
    extra: dict[str, list[str]] = {}


class _Reference(msgspec.Struct):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    apiGroup: str = ""
    subresource: str = ""


class _Status(msgspec.Struct):
    code: int = 0


class _Entry(msgspec.Struct):
    stage: str
    verb: str
    requestURI: str
    stageTimestamp: datetime
    user: _User = msgspec.field(default_factory=_User)
    objectRef: _Reference = msgspec.field(default_factory=_Reference)
    responseStatus: _Status = msgspec.field(default_factory=_Status)
    userAgent: str = ""
    requestObject: Any = None


@dataclass(frozen=True)
class Request:
    """One line of the log: a finished request, or a watch that begins (`is_open`) or ends."""

    at_s: float  # Unix time at which the server was done with it, or the watch began
    verb: str
    resource: str  # "pods", "pods/binding", "leases.coordination.k8s.io"; "" for other paths
    namespace: str
    name: str
    user: str
    token: str  # id of the token; "" for other credentials
    status: int
    body: Any  # of writes
    agent: str
    is_dry_run: bool
    is_open: bool

    @property
    def is_write(self) -> bool:
        """Whether it was meant to change something, accepted or not."""
        return self.verb in WRITES and not self.is_dry_run


class AuditLog:
    """Reads on at every call and keeps what it read; mutable owner of a position in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._requests: list[Request] = []

    def requests(self) -> list[Request]:
        """Everything until now, in the order of the log. Cost: what is new."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._offset += len(whole)
            self._requests += [_request(_DECODER.decode(line)) for line in whole.splitlines()]
        return self._requests


_DECODER = msgspec.json.Decoder(_Entry)


def _request(entry: _Entry) -> Request:
    of = entry.objectRef
    resource = (
        of.resource + (f".{of.apiGroup}" if of.apiGroup else "") + (f"/{of.subresource}" if of.subresource else "")
    )
    return Request(
        at_s=entry.stageTimestamp.timestamp(),
        verb=entry.verb,
        resource=resource,
        namespace=of.namespace,
        name=of.name,
        user=entry.user.username,
        token="".join(entry.user.extra.get(_TOKEN, [])[:1]).removeprefix("JTI="),
        status=entry.responseStatus.code,
        body=entry.requestObject,
        agent=entry.userAgent,
        is_dry_run="dryRun=All" in entry.requestURI,
        is_open=entry.stage == "ResponseStarted",
    )
