"""The reader of the audit log on lines as the server writes them; test_plane has it on real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cluster.audit import AuditLog

BIND: dict[str, Any] = {
    "kind": "Event",
    "stage": "ResponseComplete",
    "requestURI": "/api/v1/namespaces/ml/pods/a-0/binding",
    "verb": "create",
    "user": {
        "username": "system:serviceaccount:gp:sched",
        "extra": {"authentication.kubernetes.io/credential-id": ["JTI=1-2"]},
    },
    "userAgent": "gangpool/1",
    "objectRef": {"resource": "pods", "namespace": "ml", "name": "a-0", "apiVersion": "v1", "subresource": "binding"},
    "responseStatus": {"metadata": {}, "code": 201},
    "requestObject": {"target": {"name": "n1"}},
    "stageTimestamp": "2026-11-30T22:00:00.250000Z",
}
WATCH: dict[str, Any] = {
    "stage": "ResponseStarted",
    "requestURI": "/apis/coordination.k8s.io/v1/leases?watch=1",
    "verb": "watch",
    "user": {"username": "admin"},
    "objectRef": {"resource": "leases", "apiGroup": "coordination.k8s.io"},
    "stageTimestamp": "2026-11-30T22:00:01Z",
}


def test_a_write_and_a_watch(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    dry = {**BIND, "requestURI": f"{BIND['requestURI']}?dryRun=All"}
    log.write_text("".join(json.dumps(line) + "\n" for line in (BIND, WATCH, dry)), encoding="utf-8")
    bind, watch, dry_bind = AuditLog(log).requests()
    assert (bind.verb, bind.resource, bind.namespace, bind.name) == ("create", "pods/binding", "ml", "a-0")
    assert (bind.user, bind.token, bind.agent) == ("system:serviceaccount:gp:sched", "1-2", "gangpool/1")
    assert (bind.status, bind.body, bind.at_s) == (201, {"target": {"name": "n1"}}, 1796076000.25)
    assert bind.is_write and not bind.is_open and not bind.is_dry_run
    assert (watch.resource, watch.token, watch.is_open, watch.is_write) == (
        "leases.coordination.k8s.io", "", True, False,
    )  # fmt: skip
    assert dry_bind.is_dry_run and not dry_bind.is_write


def test_reads_on_and_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    reader = AuditLog(log)
    assert reader.requests() == []  # not there yet
    line = json.dumps(BIND).encode() + b"\n"
    with log.open("ab", buffering=0) as file:
        file.write(line + line[:40])
        assert len(reader.requests()) == 1
        assert len(reader.requests()) == 1
        file.write(line[40:])
    assert [request.name for request in reader.requests()] == ["a-0", "a-0"]
