"""One reading of a running cluster, as the stream of objects that a dump of it would be.

Called by the read commands through `cli.inputs`. Lists and nothing else. Takes in what the live scheduler follows, so
that a dry run judges the same world, and the few kinds that only a manifest refers to. A kind that is not served is
absent; one that may not be read is left out with a note. Without nodes or pods there is no answer: `ApiError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from gangpool.intake.load import UNREADABLE, Live, PoolItem
from gangpool.intake.store import Key
from gangpool.intake.world import Note
from gangpool.kube.client import ApiError, Client
from gangpool.live.follow import COMPLETE
from gangpool.live.resources import NODES, PODS, RESOURCES, Resource
from gangpool.objects.node import Node
from gangpool.objects.pod import Pod

NOT_PERMITTED = "not-permitted"
NOT_LISTED = "not-listed"
LISTS_MAX = 3
"""So often a list is begun: its pages belong to one moment of the server, which does not keep it for ever."""

REFERRED: tuple[Resource, ...] = (
    Resource("node.k8s.io", "RuntimeClass", "runtimeclasses", ("v1",)),
    Resource("apps", "ReplicaSet", "replicasets", ("v1",)),
    Resource("trainer.kubeflow.org", "ClusterTrainingRuntime", "clustertrainingruntimes", ("v1alpha1",)),
    Resource("trainer.kubeflow.org", "TrainingRuntime", "trainingruntimes", ("v1alpha1",)),
)
"""Kinds that only manifests refer to: what the API server would fill in for their pods, and whose pods those are."""

Kind = TypeVar("Kind")
Tell = Callable[[str, int], None]
"""Told after each page: the resource, and how many objects of it there are so far."""

_pod = msgspec.json.Decoder(Pod).decode
_node = msgspec.json.Decoder(Node).decode
_object = msgspec.json.Decoder(dict[str, Any]).decode


class _Version(Struct):
    version: str = ""


class _Group(Struct):
    name: str = ""
    versions: list[_Version] = []


class _Groups(Struct):
    groups: list[_Group] = []


class _Served(Struct):
    name: str = ""


class _ServedList(Struct):
    resources: list[_Served] = []


class _Name(Struct):
    name: str = ""
    namespace: str = ""


class _Named(Struct):
    metadata: _Name = msgspec.field(default_factory=_Name)


class Snapshot(Struct):
    """Mutable while it is read."""

    nodes: list[Node] = []
    objects: list[dict[str, Any]] = []
    pods: list[Pod] = []
    complete: set[Key] = set()
    notes: list[Note] = []

    def items(self) -> Iterator[PoolItem]:
        """As `intake.load` takes them: pods last. Once: each pod is let go as soon as it is taken, for 140,000 of them
        need as much room as the world that they become."""
        yield Live(frozenset(self.complete), tuple(self.notes))
        yield from self.nodes
        yield from self.objects
        self.pods.reverse()
        while self.pods:
            yield self.pods.pop()


async def read(client: Client, *, with_pods: bool, tell: Tell = lambda resource, n: None) -> Snapshot:
    """The cluster now. Raises ApiError, Unreachable, TimedOut."""
    reader = _Reading(client, tell)
    reader.groups = await _groups(client)
    reader.snapshot.nodes = await reader.all_of(NODES, "nodes", _node)
    lists = [reader.resource(resource) for resource in (*RESOURCES, *REFERRED)]
    pods, *others = await asyncio.gather(reader.pods() if with_pods else _none(), *lists)
    reader.snapshot.pods = pods
    for objects in others:
        reader.snapshot.objects += objects
    reader.snapshot.notes.sort(key=lambda note: note.object)
    return reader.snapshot


async def _none() -> list[Any]:
    return []


async def _groups(client: Client) -> frozenset[str] | None:
    """Group versions that are served, `v1` for the core; None where the server does not say. The first request of a
    command: a server that is not there is told at once, without trying again."""
    try:
        found = msgspec.json.decode(await client.send("GET", "/apis"), type=_Groups)
    except (ApiError, msgspec.MsgspecError) as error:
        if isinstance(error, ApiError) and error.status == 401:
            raise
        return None
    return frozenset({"v1"}) | {f"{group.name}/{one.version}" for group in found.groups for one in group.versions}


class _Reading:
    """Mutable: the snapshot that it fills, and what is served."""

    def __init__(self, client: Client, tell: Tell) -> None:
        self.snapshot = Snapshot()
        self.groups: frozenset[str] | None = None
        self._client = client
        self._tell = tell

    async def pods(self) -> list[Pod]:
        """All pods."""
        return await self.all_of(PODS, "pods", _pod)

    async def resource(self, resource: Resource) -> list[dict[str, Any]]:
        """All objects of a kind in the first version that is served; none where it is not served or may not be read."""
        name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        for version, path in zip(resource.versions, resource.paths(), strict=True):
            api_version = f"{resource.group}/{version}" if resource.group else version
            if self.groups is not None and api_version not in self.groups:
                continue
            try:
                objects = await self.all_of(path, name, _object)
            except ApiError as error:
                if error.status == 404 or (error.status == 403 and not await self._is_served(resource, path)):
                    continue
                code = NOT_PERMITTED if error.status == 403 else NOT_LISTED
                self._note(name, code, f"is left out: {error.message or error.reason}")
                return []
            key = (resource.group, resource.kind)
            if key in COMPLETE:
                self.snapshot.complete.add(key)
            return [{**obj, "apiVersion": api_version, "kind": resource.kind} for obj in objects]
        return []

    async def _is_served(self, resource: Resource, path: str) -> bool:
        """Rights are judged before the server looks whether it has a kind at all."""
        try:
            body = await self._client.get(path.removesuffix(f"/{resource.plural}"))
            return resource.plural in {one.name for one in msgspec.json.decode(body, type=_ServedList).resources}
        except (ApiError, msgspec.MsgspecError):
            return True

    async def all_of(self, path: str, name: str, decode: Callable[[msgspec.Raw], Kind]) -> list[Kind]:
        """A whole list. Anew where the server has forgotten the moment that its pages belong to."""
        for n_left in reversed(range(LISTS_MAX)):
            objects: list[Kind] = []
            try:
                async for page in self._client.pages(path):
                    objects += [obj for item in page.items or () if (obj := self._decoded(name, decode, item))]
                    self._tell(name, len(objects))
                return objects
            except ApiError as error:
                if error.status != 410 or not n_left:
                    raise
        raise AssertionError("unreachable")

    def _decoded(self, name: str, decode: Callable[[msgspec.Raw], Kind], item: msgspec.Raw) -> Kind | None:
        try:
            return decode(item)
        except msgspec.MsgspecError as error:
            self._note(f"{name}/{_name_of(item)}", UNREADABLE, f"is left out: {error}")
            return None

    def _note(self, name: str, code: str, message: str) -> None:
        self.snapshot.notes.append(Note(name, "", code, message))


def _name_of(item: msgspec.Raw) -> str:
    try:
        found = msgspec.json.decode(item, type=_Named).metadata
    except msgspec.MsgspecError:
        return "(without a name)"
    return f"{found.namespace}/{found.name}" if found.namespace else found.name
