"""Rounds of the agreement test: the scheduler stands still, the cluster changes, `place` is asked, it goes on.

Called by `test_agreement`. A round ends when the live scheduler has done what the dry run said; where it does not, the
round's folder holds the dump, and the failure tells the seed, the changes and what differs.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from tests.agree.forecast import Outcome, differences, dump, forecast, outcome, served_kinds, versions, waiting
from tests.agree.hands import Hands
from tests.cluster.child import Child
from tests.cluster.client import Api
from tests.cluster.plane import ControlPlane
from tests.cluster.ports import free_ports

Json = dict[str, Any]

SPACE = "gangpool-system"
START_S = 60.0
"""A Lease that nobody released runs out after 15 s."""
REST_S = 10.0
LIVE_EACH = 3
"""So often `place` reads the cluster itself."""
STOP_S = 5.0
WORDS_S = 60.0
"""A text is renewed when its numbers have stood for 30 s; 20 writes a second."""
LEVELS = "topology: {levels: [topology.kubernetes.io/zone, topology.kubernetes.io/rack]}"


@contextmanager
def running(plane: ControlPlane, folder: Path, kind: str, *flags: str) -> Iterator[tuple[Child, str]]:
    """A process of the product with the rights of its account, and the URL that it serves."""
    config = plane.kubeconfig(f"system:serviceaccount:{SPACE}:gangpool-{kind}")
    listen = f"127.0.0.1:{free_ports(1)[0]}"
    command = [sys.executable, "-m", "gangpool", kind, "--kubeconfig", str(config), "--listen", listen, *flags]
    child = Child(kind, command, folder / f"{kind}.log")
    child.start()
    try:
        yield child, f"http://{listen}"
    finally:
        child.stop(STOP_S)


@dataclass(frozen=True)
class Site:
    """Files of one world: where its dumps lie, the scheduler's configuration, an administrator's way in."""

    folder: Path
    config: Path | None
    kubeconfig: Path


class World:
    """One world and the scheduler that looks after it. Mutable: counts rounds."""

    def __init__(self, api: Api, hands: Hands, scheduler: tuple[Child, str], site: Site) -> None:
        self._api, self._hands = api, hands
        self._folder, self._config, self._kubeconfig = site.folder, site.config, site.kubeconfig
        self._child, self._url = scheduler
        self._served: dict[str, str] = {}
        self._last: Outcome = Outcome()
        self.n_rounds = 0
        self.n_seats = 0
        self.n_waits = 0

    async def begin(self) -> None:
        """Wait until the scheduler leads and plans."""
        self._served = await served_kinds(self._api)
        end = time.monotonic() + START_S
        while not await self._leads():
            assert time.monotonic() < end, self._child.tail()
            await asyncio.sleep(0.05)

    async def _leads(self) -> bool:
        try:
            async with aiohttp.ClientSession() as session, session.get(f"{self._url}/metrics") as answer:
                return "\ngangpool_leader 1" in await answer.text()
        except aiohttp.ClientError:
            return False

    async def state(self) -> Json:
        """The scheduler's own picture."""
        async with aiohttp.ClientSession() as session, session.get(f"{self._url}/state") as answer:
            return dict(await answer.json())

    async def round(self, n_changes: int) -> None:
        """One round; AssertionError where dry run and live differ."""
        self.n_rounds += 1
        self._hands.told.append(f"-- round {self.n_rounds}")
        self._child.freeze()
        try:
            await self._hands.change(n_changes)
            world, dry = await self._asked()
        finally:
            self._child.thaw()
        asked = waiting(world)
        found = await self._until_equal(lambda pods, state: differences(dry, outcome(pods, state, asked)), REST_S)
        self.n_seats += len(dry.seats)
        self.n_waits += len(dry.waits)
        self._last = dry
        if found:
            self._fail(world, found)

    async def _asked(self) -> tuple[Json, Outcome]:
        """A dump of one moment, and the dry run on it."""
        world = await dump(self._api, self._served)
        while True:
            source = self._kubeconfig if self.n_rounds % LIVE_EACH == 0 else None
            dry = await asyncio.to_thread(forecast, world, self._folder, self._config, source)
            again = await dump(self._api, self._served)
            if versions(again) == versions(world):
                return world, dry
            world = again

    async def _until_equal(self, compare: Callable[[list[Json], Json], list[str]], patience_s: float) -> list[str]:
        """What differs after the time given; empty as soon as nothing does."""
        end = time.monotonic() + patience_s
        while True:
            state = await self.state()
            found = compare(await self._api.items("/api/v1/pods"), state)
            if not found or time.monotonic() > end:
                return found
            await asyncio.sleep(0.05)

    async def restart(self) -> None:
        """A scheduler that starts anew on the same cluster places nothing more, and gives the same reasons."""
        self._hands.told.append("-- restart")
        self._child.stop(STOP_S)
        self._child.start()
        await self.begin()
        dry = Outcome({}, self._last.waits)
        found = await self._until_equal(lambda _, state: differences(dry, outcome([], state, [])), REST_S)
        if found:
            self._fail(await dump(self._api, self._served), found)

    async def words(self, *, is_exact: bool) -> None:
        """In the end every waiting pod carries the reason of the last dry run; without `is_exact` its code, which is
        there at once, while a text waits until its numbers stand still."""
        wanted = {pod: text_of(reason) for pods, reason in self._last.waits.items() for pod in pods}

        def compare(pods: list[Json], _: Json) -> list[str]:
            said = {(it["metadata"]["namespace"], it["metadata"]["name"]): _said(it) for it in pods}
            found = []
            for pod, text in wanted.items():
                have = said.get(pod, "")
                if have != text if is_exact else have.partition(":")[0] != text.partition(":")[0]:
                    found.append(f"{'/'.join(pod)}: dry {text!r}, its condition {have!r}")
            return found

        if found := await self._until_equal(compare, WORDS_S):
            raise AssertionError("\n".join([*self._hands.told, *found]))

    def _fail(self, world: Json, found: list[str]) -> None:
        kept = self._folder / f"round-{self.n_rounds}.json"
        kept.write_text(json.dumps(world), encoding="utf-8")
        changes = "\n".join(self._hands.told)
        raise AssertionError(f"{kept}\n{changes}\n" + "\n".join(found))


def text_of(reason: Json) -> str:
    """The words of a condition."""
    return f"{reason['code']}: {reason['message']}" + (f"; {reason['next_step']}" if reason["next_step"] else "")


def _said(pod: Json) -> str:
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", ""))
    return ""


def hands_of(api: Api, seed: str) -> Hands:
    """Hands whose choices follow from the seed."""
    return Hands(api, Random(seed), seed)
