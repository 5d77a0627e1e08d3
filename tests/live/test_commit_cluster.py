"""Dry runs before binds, judged from the audit log of a real API server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.client import Api
from tests.cluster.plane import ControlPlane
from tests.live.replicas import installed, pod, scheduler, until_bound

N_GANGS, SIZE = 30, 3
GROUPS = "scheduling.k8s.io/v1beta1"


async def gang(api: Api, name: str, cards: int) -> None:
    meta = {"name": name, "namespace": "ml"}
    spec = {"schedulingPolicy": {"gang": {"minCount": SIZE}}}
    await api.create({"apiVersion": GROUPS, "kind": "PodGroup", "metadata": meta, "spec": spec})
    for i in range(SIZE):
        await api.create(member(f"{name}-{i}", name, cards))


def member(name: str, group: str, cards: int) -> dict[str, Any]:
    found = pod(name, cards)
    found["spec"]["schedulingGroup"] = {"podGroupName": group}
    return found


@pytest.mark.timeout(120)
def test_template_is_tried_dry_once_for_all_its_gangs(control_plane: ControlPlane, tmp_path: Path) -> None:
    """1. Thirty gangs of one template wait. 2. The scheduler starts: one dry-run bind, then all are bound. 3. A gang of
    another template comes: one more."""

    async def prepare() -> None:
        async with control_plane.api() as api:
            await installed(api, 30)
            for i in range(N_GANGS):
                await gang(api, f"a{i}", 1)

    async def first() -> None:
        async with control_plane.api() as api:
            for i in range(N_GANGS):
                for j in range(SIZE):
                    await until_bound(api, f"a{i}-{j}")

    async def second() -> None:
        async with control_plane.api() as api:
            await gang(api, "b", 2)
            for j in range(SIZE):
                await until_bound(api, f"b-{j}")

    def tried() -> list[str]:
        found = control_plane.audit().requests()
        return [r.name for r in found if r.resource == "pods/binding" and r.is_dry_run and r.namespace == "ml"]

    asyncio.run(prepare())
    with scheduler(control_plane, tmp_path, "one", 15):
        asyncio.run(first())
        assert len(tried()) == 1
        asyncio.run(second())
        assert len(tried()) == 2
        assert tried()[1].startswith("b-")
