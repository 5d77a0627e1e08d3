"""Fill a world from a pool's objects: nodes first, then everything that pods refer to, then pods.

Called by `place`, `nodes`, `tree` and the simulator. Pods are kept as they come, so that a dump of 140,000 of them
can be read one by one. Objects of a running cluster come as the same stream, with `Live` at its beginning.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from gangpool.intake.config import Config
from gangpool.intake.failure import IntakeError
from gangpool.intake.store import Key, Store, kind_of, subject_of
from gangpool.intake.world import Note, World
from gangpool.objects.faults import ObjectError
from gangpool.objects.located import Located
from gangpool.objects.node import Node
from gangpool.objects.pod import Pod
from gangpool.objects.typed import as_node, as_pod
from gangpool.workloads import fields
from gangpool.workloads.base import WorkloadError

UNREADABLE = "unreadable"


class Live(Struct, frozen=True):
    """What follows comes from a running cluster. `complete`: kinds of which it holds every object, be it none. What
    cannot be read becomes a note and is left out, as the live scheduler leaves it out. `notes`: what the reading met.
    """

    complete: frozenset[Key] = frozenset()
    notes: tuple[Note, ...] = ()


PoolItem = Node | Pod | Located | Mapping[str, Any] | Live
"""One object of a pool: a struct, or decoded JSON or YAML with or without the place it was read from."""

Skip = Callable[[Pod, Store], bool]
POD, NODE = ("", "Pod"), ("", "Node")
FEW = 1000
"""So many pods wait until all else is there; behind so many of a reader that gives pods last nothing else comes."""


def load(objects: Iterable[PoolItem], config: Config, skip: Skip | None = None) -> World:
    """A world of these objects. `skip`: pods to leave out. Raises IntakeError for what cannot be read."""
    world = World(config)
    pods: list[Pod | Located | Mapping[str, Any]] = []
    stream = iter(objects)
    is_live = False
    for item in stream:
        if isinstance(item, Live):
            is_live = True
            world.store.complete = item.complete
            world.notes.update(dict.fromkeys(item.notes))
        elif isinstance(item, Node) or _kind(item) != POD:
            _enter(world, item, skip, is_live)
        else:
            pods.append(item)
            if len(pods) > FEW and isinstance(item, Pod):
                break
    world.settle()
    for item in itertools.chain(pods, stream):
        if not isinstance(item, Live):
            _enter(world, item, skip, is_live)
    world.settle()
    return world


def _enter(world: World, item: Node | Pod | Located | Mapping[str, Any], skip: Skip | None, is_live: bool) -> None:
    try:
        if isinstance(item, Node) or _kind(item) != POD:
            put(world, item)
        else:
            _put_pod(world, item, skip)
    except IntakeError as error:
        if not is_live:
            raise
        world.note(error.subject, error.field, UNREADABLE, f"{error.message}; it is left out")


def put(world: World, item: Node | Pod | Located | Mapping[str, Any]) -> None:
    """Anything but a pod."""
    if isinstance(item, Node):
        with reading("", {"kind": "Node", "metadata": {"name": item.metadata.name}}):
            world.node(item)
        return
    assert not isinstance(item, Pod)
    file, obj = plain(item)
    with reading(file, obj):
        if kind_of(obj) == NODE:
            world.node(as_node(obj))
        else:
            world.object(obj)


def _put_pod(world: World, item: Pod | Located | Mapping[str, Any], skip: Skip | None) -> None:
    file = ""
    obj: Mapping[str, Any] = {}
    try:
        if isinstance(item, Pod):
            pod = item
        else:
            file, obj = plain(item)
            pod = as_pod(obj)
        if skip is None or not skip(pod, world.store):
            world.pod(pod)
    except (ObjectError, WorkloadError) as error:
        if isinstance(item, Pod):
            meta = item.metadata
            obj = {"kind": "Pod", "metadata": {"namespace": meta.namespace, "name": meta.name}}
        raise IntakeError(file, subject_of(obj), error.field, error.message) from None


def plain(item: Located | Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """(file, object)."""
    return (item.file, item.object) if isinstance(item, Located) else ("", item)


def _kind(item: Pod | Located | Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(item, Pod):
        return POD
    return kind_of(item.object if isinstance(item, Located) else item)


@contextmanager
def reading(file: str, obj: Mapping[str, Any], base: str = "") -> Iterator[None]:
    """Turns what is wrong with an object into one error that names file, object and field. `base`: path of the
    template that a pod is made from."""
    try:
        yield
    except (ObjectError, WorkloadError) as error:
        raise IntakeError(file, subject_of(obj), fields.join(base, error.field), error.message) from None
