"""The live world: reflectors feed every change of the cluster into one `World`, and what we have decided but not yet
seen confirmed is kept beside it.

Owner of the world in the scheduler process. One rule of its own: a pod that we have seated (`assumed`) stays seated
while the server's answer is on its way, whatever older picture a watch still brings.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from gangpool.core.model import Member
from gangpool.intake.config import Config
from gangpool.intake.store import name_of
from gangpool.intake.world import World
from gangpool.kube.client import Client
from gangpool.kube.reflector import Reflector, renew_on_silence
from gangpool.live.course import FAILED, RUNNING, SUCCEEDED, Course
from gangpool.live.resources import NODES, PODS, RESOURCES, Resource
from gangpool.objects.faults import ObjectError
from gangpool.objects.node import Node
from gangpool.objects.pod import Metadata, Pod, PodSpec, PodStatus
from gangpool.serve.metrics import Histogram
from gangpool.workloads import registry
from gangpool.workloads.base import WorkloadError

log = logging.getLogger("gangpool.live")

_pod = msgspec.json.Decoder(Pod).decode
_node = msgspec.json.Decoder(Node).decode
_object = msgspec.json.Decoder(dict[str, Any]).decode


WAITS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0, 3600.0)
TURNS = frozenset({RUNNING, SUCCEEDED, FAILED})
COMPLETE = frozenset(
    {
        ("", "PersistentVolumeClaim"),
        ("", "PersistentVolume"),
        ("storage.k8s.io", "StorageClass"),
        ("scheduling.k8s.io", "PriorityClass"),
    }
)
"""Kinds that every cluster serves: one that is referred to and not there is missing."""


NOTES_MOST = 10_000
"""Doubts about objects that are remembered; the oldest are forgotten."""


class Follower:
    """Keeps `world` equal to the cluster. `changed` is set whenever something arrived."""

    def __init__(self, client: Client, config: Config) -> None:
        self._client = client
        self.world = World(config)
        self.world.store.complete = COMPLETE
        self.world.notes_most = NOTES_MOST
        self.changed = asyncio.Event()
        self._ours = frozenset(config.schedulerNames)
        self.pods: dict[str, Pod] = {}
        """Pods by uid as last seen; of those that are not ours only who and where they are."""
        self.assumed: dict[str, str] = {}
        """Node of pods that we have seated and the server has not shown there yet, by uid."""
        self.course = Course()
        self.waited = Histogram(WAITS_S)
        """From when we saw a pod wait to when we saw its node."""
        self._waits_since: dict[str, float] = {}
        self.on_bound: Callable[[Pod], None] = lambda pod: None
        self.on_gone: Callable[[Pod], None] = lambda pod: None
        self.pod_reflector: Reflector[Pod] = Reflector(client, PODS, _pod, PodSink(self))
        node_reflector: Reflector[Node] = Reflector(client, NODES, _node, NodeSink(self))
        self.reflectors: dict[str, Reflector[Any]] = {"pods": self.pod_reflector, "nodes": node_reflector}
        for resource in RESOURCES:
            for version, path in zip(resource.versions, resource.paths(), strict=True):
                sink = ObjectSink(self, resource, version)
                self.reflectors[path] = Reflector(client, path, _object, sink)

    def start(self, group: asyncio.TaskGroup) -> None:
        """Follow everything, in tasks of this group."""
        for path, reflector in self.reflectors.items():
            group.create_task(reflector.run(), name=f"follow {path}")
        group.create_task(renew_on_silence(self._client, self.reflectors.values()), name="renew on silence")

    async def synced(self) -> None:
        """Every kind has been listed once, or is not served."""
        await asyncio.gather(*(reflector.synced.wait() for reflector in self.reflectors.values()))

    async def serve(self, names: Iterable[str]) -> None:
        """Pods with these schedulerNames are ours from now on: all pods are read again."""
        self._ours = frozenset(names)
        self.world.serve(names)
        await self.pod_reflector.again()

    def unlisted(self) -> list[str]:
        """Paths of the lists that have not come in yet."""
        return [path for path, reflector in self.reflectors.items() if not reflector.synced.is_set()]

    def n_events(self) -> int:
        """Events of all watches that have come in so far."""
        return sum(reflector.n_events for reflector in self.reflectors.values())

    def touch(self) -> None:
        """Something has changed: plan again."""
        self.changed.set()

    # ---- pods

    def take_pod(self, pod: Pod) -> None:
        """A pod as the server shows it now."""
        uid, is_expected = pod.metadata.uid, False
        if uid in self.assumed:
            if not pod.spec.nodeName and pod.status.phase not in ("Succeeded", "Failed"):
                self.pods[uid] = pod
                return
            is_expected = self.assumed.pop(uid) == pod.spec.nodeName
        before = self.pods.get(uid)
        ours = pod.spec.schedulerName in self._ours
        self.pods[uid] = pod if ours else outline(pod)
        known = self.world.pool.member(uid)
        self.enter(pod)
        if pod.spec.nodeName and (before is None or not before.spec.nodeName):
            self.on_bound(pod)
        if ours:
            self._clock(pod)
        if ours and pod.status.phase in TURNS and (before is None or before.status.phase != pod.status.phase):
            self._turned(pod, known)
        # A condition or a label of no concern is no reason to plan, nor is a seat of ours that came about.
        if self.world.pool.member(uid) != known or not (is_expected or self.world.groups.is_settled):
            self.touch()

    def _clock(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        if pod.spec.nodeName:
            since = self._waits_since.pop(uid, None)
            if since is not None:
                self.waited.observe(time.monotonic() - since)
        elif not pod.spec.schedulingGates:
            self._waits_since.setdefault(uid, time.monotonic())

    def _turned(self, pod: Pod, before: Member | None) -> None:
        """A pod of ours runs, or has finished and is in the world no more."""
        uid = pod.metadata.uid
        if pod.status.phase == RUNNING:
            member = self.world.pool.member(uid)
            if before is not None and member is not None and member.gang:
                self.course.runs(uid, member.gang)
            return
        gang = before.gang if before is not None else gang_named_by(pod)
        if gang:
            self.course.finished(uid, gang, pod.status.phase)

    def enter(self, pod: Pod) -> None:
        """Into the world; what cannot be read is logged and holds nothing."""
        try:
            self.world.pod(pod)
        except (ObjectError, WorkloadError) as error:
            log.warning("pod-unreadable namespace=%s pod=%s error=%s", pod.metadata.namespace, pod.metadata.name, error)
            self.world.pod_gone(pod.metadata.uid)

    def drop_pod(self, pod: Pod) -> None:
        """A pod is gone."""
        uid = pod.metadata.uid
        self.assumed.pop(uid, None)
        self.pods.pop(uid, None)
        self.world.pod_gone(uid)
        self.course.gone(uid)
        self._waits_since.pop(uid, None)
        self.on_gone(pod)
        self.touch()

    def unseat(self, uid: str) -> None:
        """A seat of ours did not come about: the pod waits again, as the server last showed it."""
        self.assumed.pop(uid, None)
        pod = self.pods.get(uid)
        self.world.pod_gone(uid)
        if pod is not None:
            self.enter(pod)
        self.touch()


def gang_named_by(pod: Pod) -> str:
    """Key of the gang of a pod that had finished before we saw it; "" for none."""
    try:
        link, _ = registry.link(pod)
    except (ObjectError, WorkloadError):
        return ""
    return link.key if link is not None else ""


def outline(pod: Pod) -> Pod:
    """Name, place and phase of a pod: of 140,000 running ones the rest would take 300 MiB."""
    meta = pod.metadata
    return Pod(
        Metadata(name=meta.name, namespace=meta.namespace, uid=meta.uid),
        PodSpec(nodeName=pod.spec.nodeName),
        PodStatus(phase=pod.status.phase),
    )


class PodSink:
    """Pods into the follower, page by page."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._listed: set[str] = set()

    def begin(self) -> None:
        """A list begins."""
        self._listed.clear()

    def page(self, objects: list[Pod]) -> None:
        """Some of its pods: of 140,000 the whole list would take half a GiB more."""
        for pod in objects:
            self._listed.add(pod.metadata.uid)
            self._follower.take_pod(pod)

    def replace(self, objects: list[Pod]) -> None:
        """The list is complete; pods that are not in it are gone."""
        self.page(objects)
        for uid, pod in list(self._follower.pods.items()):
            if uid not in self._listed:
                self._follower.drop_pod(pod)
        self._listed.clear()
        self._follower.touch()

    def change(self, obj: Pod) -> None:
        """Added or modified."""
        self._follower.take_pod(obj)

    def gone(self, obj: Pod) -> None:
        """Deleted."""
        self._follower.drop_pod(obj)


class NodeSink:
    """Nodes into the world."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._known: set[str] = set()

    def replace(self, objects: list[Node]) -> None:
        """A full list."""
        listed = {node.metadata.name for node in objects}
        for name in self._known - listed:
            self._follower.world.node_gone(name)
        self._known = listed
        for node in objects:
            self._enter(node)

    def change(self, obj: Node) -> None:
        """Added or modified."""
        self._known.add(obj.metadata.name)
        self._enter(obj)

    def gone(self, obj: Node) -> None:
        """Deleted."""
        self._known.discard(obj.metadata.name)
        self._follower.world.node_gone(obj.metadata.name)
        self._follower.touch()

    def _enter(self, node: Node) -> None:
        before = self._follower.world.pool.ledger.version
        self._follower.world.node(node)
        if self._follower.world.pool.ledger.version != before:  # heartbeats change nothing
            self._follower.touch()


class ObjectSink:
    """Objects of one kind into the world; list items carry no kind, so it is written in."""

    def __init__(self, follower: Follower, resource: Resource, version: str) -> None:
        self._follower = follower
        self._kind = resource.kind
        self._api_version = f"{resource.group}/{version}" if resource.group else version
        self._known: dict[tuple[str, str], Mapping[str, Any]] = {}

    def replace(self, objects: list[dict[str, Any]]) -> None:
        """A full list. An empty one is no news: several versions of a kind are asked for, one is served."""
        listed = {name_of(obj) for obj in objects}
        for name in list(self._known):
            if name not in listed:
                self._follower.world.object_gone(self._known.pop(name))
                self._follower.touch()
        for obj in objects:
            self.change(obj)

    def change(self, obj: dict[str, Any]) -> None:
        """Added or modified."""
        typed = {**obj, "apiVersion": self._api_version, "kind": self._kind}
        self._known[name_of(obj)] = typed
        try:
            self._follower.world.object(typed)
        except WorkloadError as error:
            log.warning("object-unreadable kind=%s name=%s error=%s", self._kind, name_of(obj), error)
        self._follower.touch()

    def gone(self, obj: dict[str, Any]) -> None:
        """Deleted."""
        known = self._known.pop(name_of(obj), None)
        if known is not None:
            self._follower.world.object_gone(known)
            self._follower.touch()
