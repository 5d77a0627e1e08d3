"""What is said reaches the objects of a real API server, and is not said twice.

Volcano's and scheduler-plugins' PodGroups are CRDs here that accept anything and have a status subresource.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from gangpool.intake.config import Config
from gangpool.kube.client import Client
from gangpool.kube.kubeconfig import load
from gangpool.kube.lease import Leadership
from gangpool.kube.transport import Transport
from gangpool.live.scheduler import Scheduler
from tests.cluster.client import Api
from tests.cluster.plane import ControlPlane
from tests.live.stage import NATIVE, PLUGINS, VOLCANO, group_of, in_group

GROUPS = {"v": VOLCANO, "p": PLUGINS, "n": NATIVE}


def crd(dialect: str) -> dict[str, Any]:
    """PodGroup of another project."""
    group, _, version = dialect.partition("/")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"podgroups.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup", "listKind": "PodGroupList"},
            "versions": [{**served, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def member(name: str, cpu: str, **more: Any) -> dict[str, Any]:
    """A pod; `more` as `in_group` says it."""
    spec: dict[str, Any] = {"schedulerName": "gangpool", "terminationGracePeriodSeconds": 0}
    spec["containers"] = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}]
    if "group" in more:
        spec["schedulingGroup"] = {"podGroupName": more.pop("group")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", **more}, "spec": spec}


async def fill(api: Api, cpu: str) -> None:
    """One gang of two in each dialect, and a single pod, whose pods ask for so much each."""
    for name, dialect in GROUPS.items():
        group = group_of(dialect, name, 2)
        group["metadata"] = {"name": name, "namespace": "default"}
        await api.create(group)
        for i in range(2):
            await api.create(member(f"{name}-{i}", cpu, **in_group(dialect, name)))
    await api.create(member("single", cpu))


@asynccontextmanager
async def scheduler_at(plane: ControlPlane, user: str) -> AsyncIterator[Scheduler]:
    """A scheduler in this loop, under this user's name in the audit log."""
    transport = Transport(load(str(plane.kubeconfig(user, ("system:masters",)))), user_agent="gangpool-scheduler")
    client = Client(transport)
    scheduler = Scheduler(client, Config(), Leadership(client, "default", "gangpool-scheduler", user))
    task = asyncio.create_task(scheduler.run())
    try:
        yield scheduler
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await transport.close()


async def until_quiet(scheduler: Scheduler) -> None:
    """Some plans long nothing is queued: what was to be said has been said."""
    n_quiet = 0
    while n_quiet < 4:  # one plan a second when nothing happens, so the 2 s of new gangs are over
        n_plans = sum(scheduler.meters.plan.counts)
        while sum(scheduler.meters.plan.counts) == n_plans:
            await asyncio.sleep(0.05)
        n_quiet = 0 if scheduler.reporter.notices.n_queued else n_quiet + 1


async def condition(api: Api, pod: str) -> tuple[str, str, str]:
    """(status, reason, message) of PodScheduled."""
    found = await api.need("GET", f"/api/v1/namespaces/default/pods/{pod}")
    (said,) = (c for c in found["status"]["conditions"] if c["type"] == "PodScheduled")
    return said["status"], said.get("reason", ""), said.get("message", "")


async def status(api: Api, name: str) -> dict[str, Any]:
    """Status of a gang's PodGroup, times left out."""
    path = f"/apis/{GROUPS[name]}/namespaces/default/podgroups/{name}"
    found = dict((await api.need("GET", path))["status"])
    for said in found.get("conditions", ()):
        del said["lastTransitionTime"]
    return found


async def events(api: Api) -> dict[str, tuple[str, int]]:
    """(message, count) by `Kind/name reason`."""
    items = (await api.need("GET", "/api/v1/namespaces/default/events"))["items"]
    return {
        f"{e['involvedObject']['kind']}/{e['involvedObject']['name']} {e['reason']}": (e["message"], e["count"])
        for e in items
    }


def writes(plane: ControlPlane, user: str) -> list[str]:
    """What a user wrote, Leases left out."""
    return [
        f"{request.verb} {request.resource} {request.name}"
        for request in plane.audit().requests()
        if request.is_write and request.user == user and "leases" not in request.resource
    ]


FULL = (
    "cannot-fit: 0 of 2 members fit in the pool; cpu asked 8, best 4 (n1 has 4), the largest node has 4; "
    "wait for room, lower the minimum, or add nodes"
)


@pytest.mark.timeout(180)
def test_words_reach_the_objects_once(control_plane: ControlPlane) -> None:
    """1. Gangs of each dialect have no room: pods, groups and events say so. 2. The next replica finds all said and
    writes nothing. 3. Room comes: the groups run."""

    async def story() -> None:
        async with control_plane.api() as api:
            for dialect in (VOLCANO, PLUGINS):
                await api.create(crd(dialect))
            node = await api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
            await api.patch(node, {"status": room("4")}, "/status")
            await fill(api, "8")
            async with scheduler_at(control_plane, "one") as scheduler:
                await until_quiet(scheduler)
            await check_waiting(api)
            assert len(writes(control_plane, "one")) == 7 + 3 + 7  # conditions, statuses, events

            async with scheduler_at(control_plane, "two") as scheduler:
                await until_quiet(scheduler)
                assert scheduler.leadership.is_held()
                assert writes(control_plane, "two") == []
                await api.patch(node, {"status": room("100")}, "/status")
                await until_quiet(scheduler)
            await check_running(api)
            said = [write for write in writes(control_plane, "two") if "binding" not in write]
            assert len(said) == 2 + 4  # statuses (bound and not begun is Scheduling still), events about what was bound

    asyncio.run(story())


def room(cpu: str) -> dict[str, Any]:
    """A node's status."""
    amounts = {"cpu": cpu, "memory": "4Gi", "pods": "20"}
    return {"capacity": amounts, "allocatable": amounts}


async def check_waiting(api: Api) -> None:
    for name in GROUPS:
        for i in range(2):
            assert await condition(api, f"{name}-{i}") == ("False", "Unschedulable", FULL)
    assert await status(api, "p") == {"phase": "Scheduling"}
    said = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": FULL}
    assert await status(api, "v") == {"phase": "Inqueue", "conditions": [said]}
    said = {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable", "message": FULL}
    assert await status(api, "n") == {"conditions": [said]}
    found = await events(api)
    subjects = {f"{kind}/{name}" for name in GROUPS for kind, name in (("PodGroup", name), ("Pod", f"{name}-0"))}
    assert set(found) == {f"{subject} FailedScheduling" for subject in {*subjects, "Pod/single"}}
    assert found["PodGroup/v FailedScheduling"] == (FULL, 1)


async def check_running(api: Api) -> None:
    assert (await condition(api, "n-1"))[0] == "True"
    assert await status(api, "p") == {"phase": "Scheduling"}
    said = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled"}
    assert await status(api, "n") == {"conditions": [{**said, "message": "2 members have nodes"}]}
    volcano = await status(api, "v")
    assert volcano["phase"] == "Running"
    assert [(c["type"], c["status"]) for c in volcano["conditions"]] == [
        ("Unschedulable", "False"),
        ("Scheduled", "True"),
    ]
    found = await events(api)
    assert found["PodGroup/v Scheduled"] == ("2 members bound to n1", 1)
    assert found["Pod/single Scheduled"] == ("bound to n1", 1)
