"""Dry run and live agree: what `place` says of a dump is what the scheduler then does, pod by pod, word by word.

The scheduler is stopped (SIGSTOP), the cluster changes, the dry run is asked, the scheduler goes on (SIGCONT). The
first plan of the scheduler sees everything that happened while it stood still, as the dry run did (see
`gangpool.live.gather`). Not comparable, and not in these worlds: binds that the server refuses (the dry run asks
nobody), and kinds of which a cluster has no object at all (a dump cannot say that there are none).
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gangpool.manifests import crds, fence, rbac
from tests.agree.hands import context
from tests.agree.objects import TIGHT, crd
from tests.agree.rounds import LEVELS, SPACE, Site, World, hands_of, running
from tests.cluster.client import Api
from tests.cluster.plane import ControlPlane

RESTART_EACH = 8
"""Rounds between two restarts of the scheduler."""


async def installed(api: Api) -> None:
    """What an administrator applies before the first start, and what all worlds share."""
    for name in (SPACE, "ml", "ops", TIGHT):
        await api.namespace(name)
    plugins = crd("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups")
    for it in (*crds(), *rbac(), *fence(), plugins):
        await api.create(it)
    await served(api)
    for it in context():
        await api.create(it)


async def served(api: Api) -> None:
    """Wait until the new kinds can be listed."""
    for path in ("batch.volcano.sh/v1alpha1/jobs", "scheduling.volcano.sh/v1beta1/podgroups"):
        while not (await api.request("GET", f"/apis/{path}")).is_ok:
            await asyncio.sleep(0.05)
    while not (await api.request("GET", "/apis/scheduling.x-k8s.io/v1alpha1/podgroups")).is_ok:
        await asyncio.sleep(0.05)


async def play(plane: ControlPlane, folder: Path, seed: str, n_rounds: int, *, is_exact: bool) -> World:
    """One world of some rounds, and then the words on its pods."""
    config = None
    if sum(seed.encode()) % 2:
        config = folder / "config.yaml"
        config.write_text(f"apiVersion: gangpool.io/v1\nkind: Config\n{LEVELS}\n", encoding="utf-8")
    flags = () if config is None else ("--config", str(config))
    async with plane.api() as api:
        hands = hands_of(api, seed)
        try:
            await hands.build(hands.n_nodes())
            with running(plane, folder, "scheduler", "--identity", "one", *flags) as scheduler:
                world = World(api, hands, scheduler, Site(folder, config, plane.kubeconfig()))
                await world.begin()
                for number in range(1, n_rounds + 1):
                    await world.round(hands.n_changes())
                    if number % RESTART_EACH == 0:
                        await world.restart()
                await world.words(is_exact=is_exact)
        finally:
            await hands.clear()
    return world


def agree(plane: ControlPlane, folder: Path, seeds: list[str], n_rounds: int, *, is_exact: bool) -> tuple[int, int]:
    """Worlds one after another on one control plane; how many pods were seated, and units waited. A world that fails
    does not end the others."""

    async def install() -> None:
        async with plane.api() as api:
            await installed(api)

    asyncio.run(install())
    n_seats, n_waits, failures = 0, 0, []
    with running(plane, folder, "jobs-controller"):
        for seed in seeds:
            home = folder / f"world-{seed}"
            home.mkdir()
            try:
                world = asyncio.run(play(plane, home, seed, n_rounds, is_exact=is_exact))
            except AssertionError as error:
                failures.append(f"== world {seed}\n{error}")
                print(failures[-1])
                continue
            print(f"world {seed}: {world.n_rounds} rounds, {world.n_seats} seats, {world.n_waits} waits")
            n_seats += world.n_seats
            n_waits += world.n_waits
    assert not failures, "\n".join(failures)
    return n_seats, n_waits


@pytest.mark.cluster(controllers=True)
@pytest.mark.timeout(240)
def test_five_rounds(control_plane: ControlPlane, tmp_path: Path, seed: int) -> None:
    n_seats, n_waits = agree(control_plane, tmp_path, [f"{seed}"], 5, is_exact=False)
    assert n_seats + n_waits, "nothing was placed and nothing waited: the rounds have shown nothing"


@pytest.mark.long
@pytest.mark.cluster(controllers=True)
@pytest.mark.timeout(2400)
def test_two_hundred_rounds(control_plane: ControlPlane, tmp_path: Path, seed: int) -> None:
    n_seats, n_waits = agree(control_plane, tmp_path, [f"{seed}-{i}" for i in range(10)], 20, is_exact=True)
    assert n_seats > 100 and n_waits > 100, "too little happened for the rounds to show anything"
