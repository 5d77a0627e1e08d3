"""Somebody's hands on a cluster: random changes of nodes, gangs and pods, and the wait until controllers are done.

Called by `rounds`. Every change goes through the API server; what is chosen depends on the seed and on what this
object has made, never on what a controller or the scheduler did meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from tests.agree.objects import TIGHT, TIGHT_PODS, Unit, gang, short, single, thing
from tests.cluster.client import Api, Refused
from tests.oracle.world_gangs import chance
from tests.oracle.world_parts import CARD, RACK, ZONE, pod
from tests.oracle.worlds import Knobs, random_world

Json = dict[str, Any]

PATIENCE_S = 30.0
NODES = Knobs(n_gangs=0, n_singles=0, running=False)


class Hands:
    """Mutable: what is there, as far as these hands made it. `told`: a line for each change."""

    def __init__(self, api: Api, rng: Random, name: str) -> None:
        self._api = api
        self._rng = rng
        self._name = name
        self._n = 0
        self._has_short = False
        self.nodes: dict[str, Json] = {}
        self.gone_nodes: dict[str, Json] = {}
        self.units: dict[str, Unit] = {}
        self.told: list[str] = []

    def n_nodes(self) -> int:
        return self._rng.randint(4, 12)

    def n_changes(self) -> int:
        return self._rng.randint(1, 5)

    async def build(self, n_nodes: int) -> None:
        """The nodes of a new world, in an order that is not that of their names."""
        nodes = random_world(self._rng, n_nodes, NODES)["nodes"]
        self._rng.shuffle(nodes)
        for node in nodes:
            await self._add_node(node)

    async def change(self, n: int) -> None:
        """Some changes, then wait until all pods are there that controllers make."""
        for _ in range(n):
            change = self._rng.choice(self._changes())
            try:
                await change()
            except Refused as refused:
                if refused.answer.status not in (404, 409):  # gone meanwhile, or changed by a controller
                    raise
                self.told.append(f"refused: {refused}")
        await self.settle()

    def _changes(self) -> list[Callable[[], Awaitable[None]]]:
        found: list[Callable[[], Awaitable[None]]] = [self._gang, self._gang, self._gang, self._gang, self._gang]
        found += [self._single, self._single, self._short, self._foreign, self._cordon, self._ready, self._taint]
        found += [self._relabel, self._resize, self._node_goes, self._namespace]
        if self.units:
            found += [self._drop, self._drop, self._drop, self._drop, self._drop, self._drop]
            found += [self._lose_pod, self._lose_pod, self._open_gate, self._change_minimum, self._finish]
        return found

    def _say(self, text: str) -> None:
        self.told.append(text)

    # ---- workloads

    def _next(self, kind: str) -> str:
        self._n += 1
        return f"{kind}{self._n}"

    def _pods_made(self) -> list[Json]:
        """Pods that rules of others may be about."""
        return [it for unit in self.units.values() for it in unit.things if it["kind"] == "Pod"]

    async def _gang(self) -> None:
        await self._make(gang(self._rng, self._next("g"), self._pods_made()))

    async def _single(self) -> None:
        await self._make(single(self._rng, self._next("s"), self._pods_made()))

    async def _foreign(self) -> None:
        """Another scheduler has put a pod on a node."""
        if self.nodes:
            where = self._rng.choice(sorted(self.nodes))
            asks = {"cpu": "1", "memory": "1Gi"}
            if self.nodes[where]["status"]["allocatable"].get(CARD):
                asks[CARD] = "1"
            name = self._next("f")
            made = pod(name, asks, {"app": name, "team": "red"}, where, "ops", schedulerName="default-scheduler")
            made["metadata"].pop("uid")
            await self._make(Unit(name, [made], 1))

    async def _short(self) -> None:
        """Once: what a quota counts lags behind what is deleted."""
        if not self._has_short:
            self._has_short = True
            await self._make(short(self._rng, self._next("q")))

    async def _make(self, unit: Unit) -> None:
        kinds = ", ".join(sorted({f"{it['apiVersion']} {it['kind']}" for it in unit.things}))
        self._say(f"{unit.name}: {kinds}, {unit.n_pods} pods")
        self.units[unit.name] = unit
        for it in unit.things:
            await self._api.create(it)

    async def _drop(self) -> None:
        unit = self.units.pop(self._rng.choice(sorted(self.units)))
        self._say(f"drop {unit.name}")
        for it in unit.things:
            if it["kind"] != "Pod":
                await self._forget(it)
        for it in await self._pods_of(unit.name):
            await self._forget(it)

    async def _forget(self, it: Json) -> None:
        try:
            await self._api.delete(it)
        except Refused as refused:
            if refused.answer.status != 404:
                raise

    async def _pods_of(self, name: str) -> list[Json]:
        pods = await self._api.items("/api/v1/pods", labelSelector=f"app={name}")
        return sorted(({"apiVersion": "v1", "kind": "Pod", **it} for it in pods), key=lambda it: it["metadata"]["name"])

    async def _any_pod(self) -> tuple[Unit, Json] | None:
        unit = self.units[self._rng.choice(sorted(self.units))]
        number = self._rng.randrange(1000)
        if unit.things[0]["metadata"].get("namespace") == TIGHT:  # its controller would wait long before it tries again
            return None
        pods = await self._pods_of(unit.name)
        return (unit, pods[number % len(pods)]) if pods else None

    async def _lose_pod(self) -> None:
        """One pod is deleted; where a controller made it, it makes it again."""
        found = await self._any_pod()
        if found is None:
            return
        unit, it = found
        self._say(f"delete {it['metadata']['name']}")
        await self._forget(it)
        if not unit.is_remade:
            unit.n_pods -= 1

    async def _finish(self) -> None:
        """One bound bare pod is being deleted and stays (no kubelet ends it), or has succeeded."""
        found = await self._any_pod()
        if found is None or found[0].is_remade or not found[1]["spec"].get("nodeName"):
            return
        it = found[1]
        if chance(self._rng, 50):
            self._say(f"finish {it['metadata']['name']}")
            await self._api.patch(it, {"status": {"phase": "Succeeded"}}, "/status")
        else:
            self._say(f"terminate {it['metadata']['name']}")
            await self._api.need("DELETE", await self._api.path(it), gracePeriodSeconds="3600")

    async def _open_gate(self) -> None:
        found = await self._any_pod()
        if found is not None and found[1]["spec"].get("schedulingGates"):
            self._say(f"open {found[1]['metadata']['name']}")
            await self._api.patch(found[1], {"spec": {"schedulingGates": None}})

    async def _change_minimum(self) -> None:
        """Of a gang of which nothing runs: a running one would be undone after a while, which no dry run tells."""
        unit = self.units[self._rng.choice(sorted(self.units))]
        n = self._rng.randint(1, max(unit.n_pods, 1))
        if unit.group is None or "minMember" not in unit.group["spec"]:
            return
        if not any(it["spec"].get("nodeName") for it in await self._pods_of(unit.name)):
            self._say(f"minimum of {unit.name}: {n}")
            await self._api.patch(unit.group, {"spec": {"minMember": n}})

    # ---- nodes

    async def _add_node(self, node: Json) -> None:
        self.nodes[node["metadata"]["name"]] = node
        await self._api.create({**node, "metadata": dict(node["metadata"])})
        status = {**node["status"], "capacity": node["status"]["allocatable"]}
        await self._api.patch(node, {"status": status}, "/status")

    def _any_node(self) -> Json:
        return self.nodes[self._rng.choice(sorted(self.nodes))]

    async def _cordon(self) -> None:
        node = self._any_node()
        node["spec"]["unschedulable"] = not node["spec"].get("unschedulable")
        self._say(f"{node['metadata']['name']} unschedulable: {node['spec']['unschedulable']}")
        await self._api.patch(node, {"spec": {"unschedulable": node["spec"]["unschedulable"]}})

    async def _ready(self) -> None:
        node = self._any_node()
        status = "True" if node["status"]["conditions"][0]["status"] != "True" else self._rng.choice("FU")
        status = {"F": "False", "U": "Unknown"}.get(status, status)
        node["status"]["conditions"] = [{"type": "Ready", "status": status}]
        self._say(f"{node['metadata']['name']} ready: {status}")
        await self._api.patch(node, {"status": {"conditions": node["status"]["conditions"]}}, "/status")

    async def _taint(self) -> None:
        node = self._any_node()
        taint = {"key": "dedicated", "value": self._rng.choice(["ml", "ops"]), "effect": "NoSchedule"}
        node["spec"]["taints"] = [] if node["spec"].get("taints") else [taint]
        self._say(f"{node['metadata']['name']} taints: {node['spec']['taints']}")
        await self._api.patch(node, {"spec": {"taints": node["spec"]["taints"] or None}})

    async def _relabel(self) -> None:
        node = self._any_node()
        zone = self._rng.choice("ab")
        labels = {ZONE: zone, RACK: f"{zone}{self._rng.choice('123')}", "board": self._rng.choice(["h100", "a100"])}
        node["metadata"]["labels"] |= labels
        self._say(f"{node['metadata']['name']} labels: {labels}")
        await self._api.patch(node, {"metadata": {"labels": labels}})

    async def _resize(self) -> None:
        """A card is lost, or all come back."""
        node = self._any_node()
        room = node["status"]["allocatable"]
        room[CARD] = self._rng.choice(["8", "8", "7", "4", "0"])
        self._say(f"{node['metadata']['name']} cards: {room[CARD]}")
        await self._api.patch(node, {"status": {"allocatable": {CARD: room[CARD]}}}, "/status")

    async def _node_goes(self) -> None:
        """A node is deleted; or one that went is there again under its name."""
        if self.gone_nodes:
            node = self.gone_nodes.pop(min(self.gone_nodes))
            self._say(f"{node['metadata']['name']} comes back")
            await self._add_node(node)
        elif len(self.nodes) > 1:
            node = self.nodes.pop(self._rng.choice(sorted(self.nodes)))
            self.gone_nodes[node["metadata"]["name"]] = node
            self._say(f"{node['metadata']['name']} goes")
            await self._api.delete(node)

    async def _namespace(self) -> None:
        name, team = self._rng.choice(["ml", "ops"]), self._rng.choice(["red", "blue"])
        self._say(f"namespace {name}: {team}")
        await self._api.patch(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
            {"metadata": {"labels": {"team": team}}},
        )

    # ---- rest

    async def settle(self) -> None:
        """Wait until every unit has its pods and those of dropped units are gone, and claims are bound."""
        end = time.monotonic() + PATIENCE_S
        while lacking := await self._lacking():
            if time.monotonic() > end:
                raise AssertionError(f"controllers are not done: {lacking}; changes: {self.told}")
            await asyncio.sleep(0.05)

    async def _lacking(self) -> list[str]:
        found: dict[str, int] = {}
        lacking: list[str] = []
        for it in await self._api.items("/api/v1/pods"):
            name = (it["metadata"].get("labels") or {}).get("app", "")
            if "deletionTimestamp" in it["metadata"] and it["metadata"].get("finalizers"):
                lacking.append(f"{it['metadata']['name']} is to go")  # its controller takes note of it first
            found[name] = found.get(name, 0) + 1
            if name not in self.units:  # its owner is gone: collected some time, and no kubelet ends it
                await self._forget({"apiVersion": "v1", "kind": "Pod", **it})
        lacking += [f"{n} pods of {name}" for name, n in found.items() if name not in self.units]
        for name, unit in self.units.items():
            if found.get(name, 0) != unit.n_pods:
                lacking.append(f"{name} has {found.get(name, 0)} of {unit.n_pods}")
        for claim in await self._api.items("/api/v1/persistentvolumeclaims"):
            if claim["spec"].get("volumeName") and claim["status"].get("phase") != "Bound":
                lacking.append(f"claim {claim['metadata']['name']}")
        return lacking

    async def clear(self) -> None:
        """Nothing of this world stays."""
        for unit in list(self.units.values()):
            del self.units[unit.name]
            for it in unit.things:
                await self._forget(it)
        for node in self.nodes.values():
            await self._forget(node)
        self.nodes.clear()
        await self.settle()


def context() -> list[Json]:
    """What every world has: so that no kind is empty of which the scheduler knows that it is served."""
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "zonal"},
        "provisioner": "none.example",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    size = {"storage": "1Gi"}
    claim = {"accessModes": ["ReadWriteMany"], "storageClassName": "zonal", "resources": {"requests": size}}
    volume = {**claim, "capacity": size, "hostPath": {"path": "/none"}}
    del volume["resources"]
    classes: list[Json] = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in (("low", -10), ("high", 1000))
    ]
    spare = thing("v1 PersistentVolumeClaim", "spare", claim)
    other = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "spare"}, "spec": volume}
    quota = thing("v1 ResourceQuota", "few", {"hard": {"pods": str(TIGHT_PODS)}}, namespace=TIGHT)
    return [storage, *classes, spare, other, quota]
