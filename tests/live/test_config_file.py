"""The configuration file of a running process: every way in which it changes, and what is made of it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from gangpool.files import InputError
from gangpool.intake.config import Config, GpuMemConfig, TopologyConfig
from gangpool.kube.client import Client
from gangpool.kube.lease import Leadership
from gangpool.live.config_file import ConfigFile
from gangpool.live.resources import PODS
from gangpool.live.scheduler import Scheduler
from tests.kube.standin import in_loop, json_of, served

HEAD = "apiVersion: gangpool.io/v1\nkind: Config\n"
TWO = f"{HEAD}schedulerNames: [gangpool, volcano]\n"
THREE = f"{HEAD}schedulerNames: [gangpool, volcano, kai]\n"
BAD = f"{HEAD}schedulerNme: x\n"
QUICK_S = 0.01


class Applied:
    """Who goes by the file; `refused` are the keys that need a restart."""

    def __init__(self, refused: tuple[str, ...] = ()) -> None:
        self.refused = refused
        self.configs: list[Config] = []

    async def __call__(self, config: Config) -> tuple[str, ...]:
        self.configs.append(config)
        return self.refused

    @property
    def names(self) -> list[tuple[str, ...]]:
        return [config.schedulerNames for config in self.configs]


@asynccontextmanager
async def followed(path: Path, apply: Applied, look_s: float = QUICK_S) -> AsyncIterator[ConfigFile]:
    file = ConfigFile(str(path), look_s)
    task = asyncio.create_task(file.follow(apply))
    try:
        yield file
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(QUICK_S)


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


def written(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(text)
    return path


@in_loop
async def _replaced(folder: Path) -> None:
    path, applied = written(folder, HEAD), Applied()
    async with followed(path, applied) as file:
        assert file.config == Config()
        path.write_text(TWO)
        await until(lambda: len(applied.configs) == 1)
        new = folder / "new"
        new.write_text(THREE)
        os.utime(new, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
        new.rename(path)
        await until(lambda: len(applied.configs) == 2)
        assert applied.names == [("gangpool", "volcano"), ("gangpool", "volcano", "kai")]
        assert file.config == applied.configs[-1]
        assert dict(file.n_read) == {"applied": 2}


def test_file_that_is_rewritten_or_replaced(tmp_path: Path) -> None:
    _replaced(tmp_path)


def test_config_map(tmp_path: Path) -> None:
    """As the kubelet does it: config.yaml -> ..data/config.yaml, ..data -> a folder, and ..data is swapped."""

    @in_loop
    async def story() -> None:
        for name, text in (("one", HEAD), ("two", TWO)):
            (tmp_path / name).mkdir()
            written(tmp_path / name, text)
        (tmp_path / "..data").symlink_to("one")
        path = tmp_path / "config.yaml"
        path.symlink_to("..data/config.yaml")
        applied = Applied()
        async with followed(path, applied):
            (tmp_path / "..tmp").symlink_to("two")
            (tmp_path / "..tmp").rename(tmp_path / "..data")
            await until(lambda: bool(applied.configs))
            assert applied.names == [("gangpool", "volcano")]

    story()


def test_bad_file_is_told_once_and_the_last_good_one_holds(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """1. A bad file, touched again and again: one complaint. 2. Another fault: another one. 3. No file at all. 4. The
    old words again: nothing to apply, and all is well. 5. A new one is applied."""

    @in_loop
    async def story() -> None:
        path, applied = written(tmp_path, TWO), Applied()
        async with followed(path, applied) as file:
            path.write_text(BAD)
            await until(lambda: file.n_read["bad"] == 1)
            for _ in range(3):
                n = file.n_read["bad"]
                file.ask()
                await until(lambda n=n: file.n_read["bad"] > n)  # type: ignore[misc]
            assert len(complaints(caplog)) == 1
            assert f"{path}: schedulerNme: unknown key; did you mean schedulerNames?" in complaints(caplog)[0]
            assert not file.is_valid
            n = file.n_read["bad"]
            path.write_text("{")
            await until(lambda: file.n_read["bad"] > n)
            assert len(complaints(caplog)) == 2
            path.unlink()
            await until(lambda: len(complaints(caplog)) == 3)
            assert file.config.schedulerNames == ("gangpool", "volcano")
            assert applied.configs == []
            path.write_text(TWO)
            await until(lambda: file.is_valid)
            assert applied.configs == []
            path.write_text(THREE)
            await until(lambda: bool(applied.configs))

    story()


def test_what_needs_a_restart_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    @in_loop
    async def story() -> None:
        path, applied = written(tmp_path, HEAD), Applied(("topology.levels", "gpuMem.unit"))
        async with followed(path, applied) as file:
            path.write_text(TWO)
            await until(lambda: bool(file.needs_restart))
            assert file.needs_restart == ("gpuMem.unit", "topology.levels")
            assert f"config-needs-restart file={path} keys=gpuMem.unit,topology.levels" in complaints(caplog)
            applied.refused = ()
            path.write_text(HEAD)
            await until(lambda: not file.needs_restart)
            assert dict(file.n_read) == {"restart": 1, "applied": 1}

    story()


def test_asked_for_it_is_read_at_once(tmp_path: Path) -> None:
    """SIGHUP; without it the next look is an hour away."""

    @in_loop
    async def story() -> None:
        path, applied = written(tmp_path, HEAD), Applied()
        async with followed(path, applied, look_s=3600.0) as file:
            path.write_text(TWO)
            file.ask()
            await until(lambda: bool(applied.configs))

    story()


def test_bad_file_at_the_start_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="schedulerNme: unknown key; did you mean schedulerNames"):
        ConfigFile(str(written(tmp_path, BAD)))
    with pytest.raises(InputError, match="No such file"):
        ConfigFile(str(tmp_path / "none.yaml"))


@in_loop
async def test_without_a_file_the_defaults_hold() -> None:
    file = ConfigFile(None)
    assert file.config == Config()
    await file.follow(Applied())


# ---- what the scheduler makes of it


def scheduler_of(client: Client) -> Scheduler:
    return Scheduler(client, Config(), Leadership(client, "ns", "lease", "a"))


def waiting(scheduler: Scheduler) -> set[str]:
    scheduler.follower.world.settle()
    return {unit.key for unit in scheduler.follower.world.pool.waiting()}


@in_loop
async def test_other_scheduler_names_are_applied_by_a_new_list_of_the_pods() -> None:
    """1. A pod of ours waits, one of another scheduler is nobody's. 2. That scheduler's pods become ours, and ours are
    left to others."""
    pods = [
        {
            "metadata": {"name": name, "namespace": "ml", "uid": f"uid-{name}", "resourceVersion": "1"},
            "spec": {"schedulerName": scheduler, "containers": []},
        }
        for name, scheduler in (("a", "gangpool"), ("b", "volcano"))
    ]
    async with served() as (api, client):
        api.on("GET", PODS, json_of({"metadata": {"resourceVersion": "5"}, "items": pods}))
        scheduler = scheduler_of(client)
        follow = asyncio.create_task(scheduler.follower.pod_reflector.run())
        await scheduler.follower.pod_reflector.synced.wait()
        assert waiting(scheduler) == {"pod:uid-a"}
        assert await scheduler.reconfigure(Config(schedulerNames=("volcano",))) == ()
        assert waiting(scheduler) == {"pod:uid-b"}
        assert api.count("GET", PODS) == 2
        follow.cancel()


@in_loop
async def test_what_the_books_were_read_by_needs_a_restart() -> None:
    async with served() as (api, client):
        scheduler = scheduler_of(client)
        wanted = Config(topology=TopologyConfig(("leaf",)), gpuMem=GpuMemConfig("MiB"))
        assert await scheduler.reconfigure(wanted) == ("topology.levels", "gpuMem.unit")
        assert scheduler.config == Config()
        assert api.asked == []
        assert await scheduler.reconfigure(Config()) == ()
