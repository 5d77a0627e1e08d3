"""When nothing changes nothing is written but the Lease; and the rights of the accounts are those that are used.

Both are read off the audit log of a cluster where one job runs, and a job, a gang of Kubernetes, of scheduler-plugins
and of KAI, and a single pod wait for room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gangpool.manifests.rbac import LEASES, RIGHTS
from tests.cluster.audit import AuditLog, Request
from tests.cluster.client import Api
from tests.cluster.plane import ControlPlane
from tests.live.replicas import ACCOUNT, installed, pod, replica, scheduler, until
from tests.live.stage import KAI, NATIVE, PLUGINS, in_group
from tests.live.test_report_cluster import crd

LEASE_S = 6
TOO_MANY = 9
"""Cards; a node has 8."""
N_WAITING = 9
"""Four gangs of two, and a single pod."""
QUIET_RENEWALS = 4
"""So many renewals (8 s) without another write, and as many again, are idle."""
SEEN = {
    "jobs.batch.volcano.sh/finalizers": "only clusters that guard owner references ask for it",
    "pods get": "only after a bind whose answer was lost",
    "pods/eviction create": "only for a gang that came about by half",
    "pods delete": "the jobs controller deletes what a Job has too many",
    "leases.coordination.k8s.io create": "only where there is no Lease yet",
    "events patch": "only when the same is said again after 30 s",
}
"""Rights that this story does not need, and what does."""


def job(name: str, replicas: int, cards: int) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": cards}}}
    task = {"name": "w", "replicas": replicas, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"minAvailable": replicas, "tasks": [task]},
    }


async def gang(api: Api, name: str, version: str) -> None:
    """A PodGroup of two pods that find no room."""
    minimum = {"schedulingPolicy": {"gang": {"minCount": 2}}} if version == NATIVE else {"minMember": 2}
    meta = {"name": name, "namespace": "ml"}
    await api.create({"apiVersion": version, "kind": "PodGroup", "metadata": meta, "spec": minimum})
    for i in range(2):
        member = pod(f"{name}-{i}", TOO_MANY)
        if version == NATIVE:
            member["spec"]["schedulingGroup"] = {"podGroupName": name}
        else:
            member["metadata"] |= in_group(version, name)
        await api.create(member)


async def fill(api: Api) -> None:
    """One job has room and is bound; then come those that have none, so that what is said of them is said once."""

    async def runs() -> bool:
        pods = await api.items("/api/v1/namespaces/ml/pods", labelSelector="volcano.sh/job-name=runs")
        return sum(bool(found["spec"].get("nodeName")) for found in pods) == 2

    await api.create(job("runs", 2, 8))
    await until("the job runs", runs)
    await api.create(job("waits", 2, TOO_MANY))
    await gang(api, "native", NATIVE)
    await gang(api, "plugins", PLUGINS)
    await gang(api, "kai", KAI)
    await api.create(pod("single", TOO_MANY))


@contextmanager
def running(plane: ControlPlane, folder: Path, lease_s: int) -> Iterator[None]:
    """The cluster, and both processes."""

    async def prepare() -> None:
        async with plane.api() as api:
            for version in (PLUGINS, KAI):
                await api.create(crd(version))
            await installed(api, 2)

    async def begin() -> None:
        async with plane.api() as api:
            await fill(api)

    asyncio.run(prepare())
    with replica(plane, folder, "jobs-controller", "jobs"), scheduler(plane, folder, "one", lease_s):
        asyncio.run(begin())
        yield


def ours(audit: AuditLog) -> list[Request]:
    return [request for request in audit.requests() if request.user.startswith(ACCOUNT)]


def is_lease(request: Request) -> bool:
    return request.is_write and request.resource == "leases.coordination.k8s.io"


def since_last_word(audit: AuditLog) -> list[Request]:
    """Writes of the Lease since the last write of anything else."""
    written = [request for request in ours(audit) if request.is_write]
    last = max((i for i, request in enumerate(written) if not is_lease(request)), default=-1)
    return written[last + 1 :]


async def until_idle(audit: AuditLog, n_waiting: int, n_renewals: int) -> int:
    """Wait until all that waits says so, and then for renewals without another word; writes so far."""

    async def idle() -> bool:
        told = {r.name for r in ours(audit) if r.is_write and r.resource == "pods/status" and r.status < 300}
        return len(told) >= n_waiting and len(since_last_word(audit)) >= n_renewals

    await until("idle", idle, 90.0)
    return len([request for request in ours(audit) if request.is_write])


def judge_idle(plane: ControlPlane, folder: Path, lease_s: int, renewals: Callable[[AuditLog], int]) -> None:
    async def story() -> None:
        audit = plane.audit()
        n_before = await until_idle(audit, N_WAITING, QUIET_RENEWALS)
        wanted = renewals(audit)

        async def passed() -> bool:
            return len([r for r in ours(audit) if r.is_write][n_before:]) >= wanted

        await until("more renewals", passed, 120.0)
        after = [f"{r.verb} {r.resource} {r.name}" for r in ours(audit) if r.is_write][n_before:]
        assert set(after) == {"update leases.coordination.k8s.io gangpool-scheduler"}
        dry = [r for r in ours(audit) if r.is_dry_run and r.at_s >= since_last_word(audit)[0].at_s]
        assert dry == []  # nor is anything asked for that would be a write

    with running(plane, folder, lease_s):
        asyncio.run(story())


@pytest.mark.cluster(controllers=True)
@pytest.mark.timeout(180)
def test_idle_cluster_sees_the_lease_only_and_every_right_is_used(control_plane: ControlPlane, tmp_path: Path) -> None:
    judge_idle(control_plane, tmp_path, LEASE_S, lambda audit: QUIET_RENEWALS)
    judge_rights(control_plane.audit())


@pytest.mark.long
@pytest.mark.cluster(controllers=True)
@pytest.mark.timeout(300)
def test_a_minute_of_idle_sees_the_lease_only(control_plane: ControlPlane, tmp_path: Path) -> None:
    """With the Lease of production: 12 renewals."""
    judge_idle(control_plane, tmp_path, 15, lambda audit: 12)


def judge_rights(audit: AuditLog) -> None:
    """No request was refused for lack of a right, and there is no right that nothing needs."""
    requests = ours(audit)
    assert [f"{r.user} {r.verb} {r.resource}" for r in requests if r.status in (401, 403)] == []
    for process in ("scheduler", "jobs-controller"):
        asked = [r for r in requests if r.user == f"{ACCOUNT}{process}"]
        used = {f"{r.resource} {r.verb}" for r in asked}
        used |= {f"{r.resource} watch" for r in asked if r.verb == "list" and r.status == 404}  # not served here
        granted = set(rights(process))
        unused = {right for right in granted - used if not any(right.startswith(known) for known in SEEN)}
        assert unused == set(), process
        assert used - granted == set(), process


def rights(process: str) -> Iterator[str]:
    """`RESOURCE VERB` as the audit log names them."""
    for rule in (*RIGHTS[process], *(LEASES if process == "scheduler" else ())):
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                name, _, below = resource.partition("/")
                full = name + (f".{group}" if group else "") + (f"/{below}" if below else "")
                yield from (f"{full} {verb}" for verb in rule["verbs"])
