"""When the API server accepted what: read from its audit log, which tells all schedulers by the same clock.

Called by the workloads. Nothing is watched by the bench itself, which would cost both the server and this machine time.
The policy here logs creations of pods and Bindings alone, without bodies.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "omitManagedFields": True,
    "rules": [
        {"level": "Metadata", "verbs": ["create"], "resources": [{"group": "", "resources": ["pods", "pods/binding"]}]},
        {"level": "None"},
    ],
}
LOOK_S = 0.1


class Stuck(Exception):
    """What was waited for did not come about in time."""


class _Subject(Struct):
    name: str = ""
    subresource: str = ""


class _Code(Struct):
    code: int = 0


class _Line(Struct):
    requestURI: str
    stageTimestamp: str
    objectRef: _Subject = msgspec.field(default_factory=_Subject)
    responseStatus: _Code = msgspec.field(default_factory=_Code)


_line = msgspec.json.Decoder(_Line).decode


class Clock:
    """Mutable reader of one audit log. `created` and `bound`: seconds since the epoch by name of the pod."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._at = 0
        self.created: dict[str, float] = {}
        self.bound: dict[str, float] = {}

    def read(self) -> None:
        """Take in the lines that have come since."""
        with self._log.open("rb") as file:
            file.seek(self._at)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._at += len(whole)
        for text in whole.splitlines():
            line = _line(text)
            if line.responseStatus.code == 201 and "dryRun" not in line.requestURI:
                times = self.bound if line.objectRef.subresource == "binding" else self.created
                times[line.objectRef.name] = datetime.fromisoformat(line.stageTimestamp).timestamp()

    def rate(self) -> float:
        """Binds a second from the first to the last."""
        times = self.bound.values()
        return (len(times) - 1) / (max(times) - min(times))
