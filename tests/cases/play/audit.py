"""What the product did to the API server, from the audit log: who wrote what, and when.

Each process of the product has a token of its own, whose id the API server notes with every request; so
a bind or an eviction can be laid at the door of one replica without trusting what the product says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True)
class Request:
    """One finished request of the product."""

    at: float  # unix time
    verb: str
    resource: str  # "pods", "pods/binding", "leases.coordination.k8s.io"
    namespace: str
    name: str
    token: str  # id of the token: which process
    status: int
    body: Any
    user_agent: str
    dry_run: bool = False

    @property
    def ok(self) -> bool:
        return self.status < 300

    @property
    def is_write(self) -> bool:
        return self.verb in WRITES and not self.dry_run


def _parse(line: str) -> Request | None:
    e = json.loads(line)
    ref = e.get("objectRef") or {}
    resource = ref.get("resource", "")
    if ref.get("apiGroup"):
        resource += "." + ref["apiGroup"]
    if ref.get("subresource"):
        resource += "/" + ref["subresource"]
    extra = (e.get("user") or {}).get("extra") or {}
    token = (extra.get("authentication.kubernetes.io/credential-id") or [""])[0].removeprefix("JTI=")
    at = datetime.fromisoformat(e["requestReceivedTimestamp"]).timestamp()
    return Request(
        at,
        e["verb"],
        resource,
        ref.get("namespace", ""),
        ref.get("name", ""),
        token,
        int((e.get("responseStatus") or {}).get("code", 0)),
        e.get("requestObject"),
        e.get("userAgent", ""),
        "dryRun=All" in e.get("requestURI", ""),
    )


class Audit:
    """Reads on from where it stopped; keeps all requests of the case in order."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset, self._rest = path, 0, b""
        self._requests: list[Request] = []

    def requests(self) -> list[Request]:
        """Everything until now. The API server writes the line before it answers."""
        if self._path.exists():
            with self._path.open("rb") as f:
                f.seek(self._offset)
                chunk = f.read()
            self._offset += len(chunk)
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._requests += [r for line in lines if line and (r := _parse(line.decode()))]
        return self._requests

    def binds(self) -> list[Request]:
        """Binding writes, refused ones included, dry runs not."""
        return [
            r
            for r in self.requests()
            if not r.dry_run and r.verb == "create" and r.resource in ("pods/binding", "bindings")
        ]

    def removals(self) -> list[Request]:
        """Accepted deletes and evictions of single pods."""
        kinds = (("delete", "pods"), ("create", "pods/eviction"))
        return [r for r in self.requests() if r.ok and not r.dry_run and (r.verb, r.resource) in kinds]
