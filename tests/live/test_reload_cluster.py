"""A scheduler process and its configuration file: told by SIGHUP and by the file alone, seen from outside."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tests.cluster.plane import ControlPlane
from tests.live.replicas import Replica, installed, pod, replica, until, until_bound

HEAD = "apiVersion: gangpool.io/v1\nkind: Config\n"


async def metric(one: Replica, name: str, value: float) -> None:
    async def is_so() -> bool:
        try:
            return (await one.metrics()).get(name) == value
        except OSError:  # it does not listen yet
            return False

    await until(f"{name} {value:g}", is_so)


@pytest.mark.timeout(180)
def test_running_scheduler_follows_its_file(control_plane: ControlPlane, tmp_path: Path) -> None:
    """1. A bad file, and SIGHUP: told in log and metrics, and pods are bound as before. 2. A change that needs a
    restart is told. 3. Another schedulerName: a pod that waited for it is bound, without a restart."""
    path = tmp_path / "config.yaml"
    path.write_text(HEAD)

    async def prepare() -> None:
        async with control_plane.api() as api:
            await installed(api, 1)
            other = pod("other")
            other["spec"]["schedulerName"] = "volcano"
            await api.create(other)

    async def story(one: Replica) -> None:
        async with control_plane.api() as api:
            await metric(one, "gangpool_ready", 1)
            path.write_text(f"{HEAD}schedulerNme: [volcano]\n")
            one.send(signal.SIGHUP)
            await metric(one, "gangpool_config_valid", 0)
            assert "schedulerNme: unknown key; did you mean schedulerNames?" in one.log.read_text()
            await api.create(pod("ours"))
            await until_bound(api, "ours")
            path.write_text(f"{HEAD}gpuMem: {{unit: MiB}}\n")
            await metric(one, "gangpool_config_restart_needed", 1)
            assert "config-needs-restart" in one.log.read_text()
            path.write_text(f"{HEAD}schedulerNames: [gangpool, volcano]\n")
            await until_bound(api, "other")
            await metric(one, "gangpool_config_restart_needed", 0)
            await metric(one, "gangpool_config_valid", 1)
            assert (await one.metrics())["gangpool_leader_terms_total"] == 1

    asyncio.run(prepare())
    with replica(control_plane, tmp_path, "scheduler", "one", "--identity", "one", "--config", str(path)) as one:
        asyncio.run(story(one))


@pytest.mark.timeout(120)
def test_scheduler_without_a_server_is_alive_and_says_what_it_waits_for(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    """1. The API server stands still: the process lives, is not ready, and ends within 5 s when asked. 2. The server
    goes on: another one gets ready."""

    async def waiting(one: Replica) -> None:
        async def not_ready() -> bool:
            try:
                return await one.get("/readyz") != (0, "")
            except OSError:
                return False

        await until("it listens", not_ready)
        status, text = await one.get("/readyz")
        assert (status, text.startswith("not ready: listing ")) == (503, True)
        assert "pods" in text
        assert (await one.get("/healthz"))[0] == 200
        assert (await one.metrics())["gangpool_ready"] == 0

    async def prepare() -> None:
        async with control_plane.api() as api:
            await installed(api, 1)

    asyncio.run(prepare())
    begin = replica(control_plane, tmp_path, "scheduler", "one", "--identity", "one")
    control_plane.apiserver.freeze()
    try:
        with begin as one:
            asyncio.run(waiting(one))
    finally:
        control_plane.apiserver.thaw()
    with replica(control_plane, tmp_path, "scheduler", "two", "--identity", "two") as two:
        asyncio.run(metric(two, "gangpool_ready", 1))
