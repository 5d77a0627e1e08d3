"""What a control plane promises to the tests that use it, asked of a real one."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.cluster.client import Object, Refused, run
from tests.cluster.commands import Settings
from tests.cluster.plane import ControlPlane, PlaneFailed

PATIENCE_S = 60.0
GROUPS = "scheduling.k8s.io/v1beta1"


def pod(name: str, namespace: str = "default", **spec: Any) -> Object:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def group(name: str, namespace: str = "default", **spec: Any) -> Object:
    metadata = {"name": name, "namespace": namespace}
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}, **spec}
    return {"apiVersion": GROUPS, "kind": "PodGroup", "metadata": metadata, "spec": spec}


def node(name: str, **labels: str) -> Object:
    status = {
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "Test", "message": ""}],
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


async def until(done: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that another process does."""
    async with asyncio.timeout(PATIENCE_S):
        while not await done():
            await asyncio.sleep(0.05)


def test_serves_native_gangs(shared_control_plane: ControlPlane) -> None:
    async def work() -> None:
        async with shared_control_plane.api() as api:
            space = await api.namespace("native")
            topology = {"topology": [{"key": "example.org/leaf"}]}
            made = await api.create(group("gang", space, schedulingConstraints=topology))
            assert made["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}
            assert made["spec"]["schedulingConstraints"] == topology
            member = await api.create(pod("a", space, schedulingGroup={"podGroupName": "gang"}))
            assert member["spec"]["schedulingGroup"] == {"podGroupName": "gang"}
            condition = {"type": "Seen", "status": "True", "reason": "Test", "message": ""}
            change = {"status": {"conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
            await api.patch(made, change, "/status")
            assert (await api.get(made))["status"]["conditions"][0]["type"] == "Seen"

    run(work())


def test_rbac_refuses_until_it_is_told_otherwise(shared_control_plane: ControlPlane) -> None:
    plane, robot = shared_control_plane, "system:serviceaccount:rbac:robot"
    refused = plane.kubectl("get", "pods", "-n", "rbac", user=robot)
    assert refused.returncode == 1
    assert f'User "{robot}" cannot list resource "pods"' in refused.stderr
    for what in (
        ("role", "reads", "--verb=list", "--resource=pods"),
        ("rolebinding", "may", "--role=reads", "--serviceaccount=rbac:robot"),
    ):
        assert plane.kubectl("create", *what, "-n", "rbac").returncode == 0

    async def work() -> None:
        async with plane.api() as admin, plane.api_of(await admin.token("rbac", "robot")) as api:

            async def may_list() -> bool:
                return (await api.request("GET", "/api/v1/namespaces/rbac/pods")).is_ok

            await until(may_list)  # the server's own informer sees the binding a moment later
            assert (await api.request("GET", "/api/v1/namespaces/default/pods")).status == 403

    run(work())


def test_a_token_without_its_account_is_nobody(shared_control_plane: ControlPlane) -> None:
    async def work() -> None:
        async with shared_control_plane.api() as api:
            space = await api.namespace("gone")
            await api.account(space, "short")
            token = await api.token(space, "short")
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "short", "namespace": space}}
            await api.delete(account)
        # Not used before: the server remembers for 10 s whom it let in.
        for unknown in (token, "junk"):
            async with shared_control_plane.api_of(unknown) as api:
                assert (await api.request("GET", "/api/v1/pods")).status == 401

    run(work())


def test_certificates_name_users_and_groups(shared_control_plane: ControlPlane) -> None:
    async def who(user: str, *groups: str) -> Any:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}
        async with shared_control_plane.api(user, groups) as api:
            return (await api.create(review))["status"]["userInfo"]

    alice, admin = run(who("alice", "dev")), run(who("admin"))
    assert (alice["username"], alice["groups"]) == ("alice", ["dev", "system:authenticated"])
    assert "system:masters" in admin["groups"]


def test_the_audit_log_has_the_request(shared_control_plane: ControlPlane) -> None:
    async def work() -> None:
        async with shared_control_plane.api() as admin:
            space = await admin.namespace("audited")
            tokens = [await admin.token(space, "default") for _ in range(2)]
            for number, token in enumerate(tokens):
                async with shared_control_plane.api_of(token) as api:
                    with pytest.raises(Refused, match="403"):
                        await api.create(pod(f"p{number}", space))
            await admin.create(pod("mine", space))

    run(work())
    pods = [r for r in shared_control_plane.audit().requests() if (r.namespace, r.resource) == ("audited", "pods")]
    assert [(r.verb, r.status) for r in pods] == [("create", 403), ("create", 403), ("create", 201)]
    assert len({r.token for r in pods[:2]} - {""}) == 2  # two tokens of one account
    assert [r.user for r in pods] == ["system:serviceaccount:audited:default"] * 2 + ["admin"]
    assert pods[2].body["metadata"]["name"] == "mine"


def test_a_watch_tells_what_happens(shared_control_plane: ControlPlane) -> None:
    async def work() -> None:
        async with shared_control_plane.api() as api:
            space = await api.namespace("watched")
            pods = f"/api/v1/namespaces/{space}/pods"
            start = (await api.need("GET", pods))["metadata"]["resourceVersion"]
            await api.create(pod("a", space))
            await api.delete(pod("a", space))
            events = []
            async for kind, thing in api.watch(pods, resourceVersion=start):
                events.append((kind, thing["metadata"]["name"]))
                if kind == "DELETED":
                    break
            assert events[0] == ("ADDED", "a") and events[-1] == ("DELETED", "a")
            assert await api.items(pods) == []

    run(work())


def test_controllers_make_the_pods_of_a_job(shared_control_plane: ControlPlane) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "jobs"},
        "spec": {"completionMode": "Indexed", "completions": 3, "parallelism": 3, "template": template},
    }

    async def work() -> None:
        async with shared_control_plane.api() as api:
            space = await api.namespace("jobs")
            await api.create(job)

            async def has_all() -> bool:
                return len(await api.items(f"/api/v1/namespaces/{space}/pods")) == 3

            await until(has_all)

    run(work())


def test_unknown_kinds_are_told(shared_control_plane: ControlPlane) -> None:
    async def work() -> None:
        async with shared_control_plane.api() as api:
            with pytest.raises(Refused, match="find Gadget of v1: 404"):
                await api.create({"apiVersion": "v1", "kind": "Gadget", "metadata": {"name": "a"}})

    run(work())


def test_two_planes_at_once_know_nothing_of_each_other(
    control_plane: ControlPlane, shared_control_plane: ControlPlane
) -> None:
    assert control_plane.kubectl("create", "configmap", "mine").returncode == 0
    assert control_plane.kubectl("get", "configmap", "mine").returncode == 0
    assert shared_control_plane.kubectl("get", "configmap", "mine").returncode == 1
    assert set(control_plane.site.ports).isdisjoint(shared_control_plane.site.ports)
    stranger = ["--server", shared_control_plane.site.url]
    assert "certificate" in control_plane.kubectl("get", "pods", *stranger).stderr


def test_objects_outlive_the_processes(control_plane: ControlPlane) -> None:
    """1. A pod is created. 2. etcd is killed and started. 3. The API server too. 4. The pod is there."""

    async def work() -> None:
        async with control_plane.api() as api:
            made = await api.create(pod("a"))
            for child in (control_plane.etcd, control_plane.apiserver):
                pid = child.pid
                child.restart()
                await control_plane.until_ready()
                assert child.pid != pid
            assert (await api.get(made))["metadata"]["uid"] == made["metadata"]["uid"]

    run(work())


def test_a_frozen_server_answers_again(control_plane: ControlPlane) -> None:
    async def work() -> None:
        async with control_plane.api() as api:
            control_plane.apiserver.freeze()
            asking = asyncio.create_task(api.request("GET", "/readyz"))
            done, _ = await asyncio.wait({asking}, timeout=0.2)
            assert not done
            control_plane.apiserver.thaw()
            assert (await asking).is_ok

    run(work())


@pytest.mark.cluster(scheduler=True)
def test_kube_scheduler_binds_a_native_gang_within_one_domain(control_plane: ControlPlane) -> None:
    """Of three leaves, one has room for both members; the peer that bench compares with has to find it."""

    async def work() -> None:
        async with control_plane.api() as api:
            for name, leaf in (("a", "1"), ("b", "2"), ("c", "3"), ("d", "3")):
                made = node(name, **{"example.org/leaf": leaf})
                await api.create(made)
                await api.patch(made, {"status": made["status"]}, "/status")
            await api.create(group("gang", schedulingConstraints={"topology": [{"key": "example.org/leaf"}]}))
            whole = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "3"}}}]
            for name in ("x", "y"):
                await api.create(pod(name, schedulingGroup={"podGroupName": "gang"}, containers=whole))

            async def is_bound() -> bool:
                pods = await api.items("/api/v1/namespaces/default/pods")
                return {each["spec"].get("nodeName") for each in pods} == {"c", "d"}

            await until(is_bound)

    run(work())


def test_a_plane_that_cannot_start_says_why() -> None:
    began = time.monotonic()
    with (
        pytest.raises(PlaneFailed, match=r"kube-apiserver ended with status 1:(.|\n)*no-such-flag"),
        ControlPlane(Settings(apiserver_flags=("--no-such-flag",))) as plane,
    ):
        raise AssertionError(f"it serves at {plane.site.url}")
    assert time.monotonic() - began < PATIENCE_S


def test_inside_a_loop_the_other_form_is_asked_for() -> None:
    async def work() -> None:
        plane = ControlPlane()
        with pytest.raises(RuntimeError, match="use `async with"):
            plane.__enter__()
        plane.stop()
        async with ControlPlane() as plane:
            # This asks the server from a thread, for which the loop waits.
            config = json.loads(plane.kubeconfig("system:serviceaccount:a:b").read_text(encoding="utf-8"))
            assert config["users"][0]["user"]["token"].count(".") == 2
        assert not plane.folder.exists()
        assert not plane.apiserver.is_running

    run(work())
