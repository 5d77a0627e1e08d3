"""Fill a world from a pool's objects: nodes first, then everything that pods refer to, then pods.

Called by `place`, `nodes`, `tree` and the simulator. Pods are kept as they come, so that a dump of 140,000 of them
can be read one by one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gangpool.intake.config import Config
from gangpool.intake.failure import IntakeError
from gangpool.intake.store import kind_of
from gangpool.intake.world import World, subject_of
from gangpool.objects.faults import ObjectError
from gangpool.objects.located import Located
from gangpool.objects.node import Node
from gangpool.objects.pod import Pod
from gangpool.objects.typed import as_node, as_pod
from gangpool.workloads.base import WorkloadError

PoolItem = Node | Pod | Located | Mapping[str, Any]
"""One object of a pool: a struct, or decoded JSON or YAML with or without the place it was read from."""

Skip = Callable[[Pod], bool]


def load(objects: Iterable[PoolItem], config: Config, skip: Skip | None = None) -> World:
    """A world of these objects. `skip`: pods to leave out. Raises IntakeError for what cannot be read.

    Pods wait until all else is there; a reader that gives pods last costs no memory for that."""
    world = World(config)
    pods: list[Pod | Located | Mapping[str, Any]] = []
    stream = iter(objects)
    for item in stream:
        if isinstance(item, Pod) or _kind(item) == ("", "Pod"):
            pods.append(item)  # type: ignore[arg-type]
            if len(pods) > 1000 and isinstance(item, Pod):
                break
        else:
            put(world, item)
    world.settle()
    for item in itertools.chain(pods, stream):
        if isinstance(item, Pod) or _kind(item) == ("", "Pod"):
            put_pod(world, item, skip)
        else:
            put(world, item)
    world.settle()
    return world


def put(world: World, item: PoolItem) -> None:
    """Anything but a pod."""
    if isinstance(item, Node):
        world.node(item)
        return
    assert not isinstance(item, Pod)
    file, obj = plain(item)
    with reading(file, obj):
        if kind_of(obj) == ("", "Node"):
            world.node(as_node(obj))
        else:
            world.object(obj)


def put_pod(world: World, item: PoolItem, skip: Skip | None) -> None:
    """One pod of the pool."""
    if isinstance(item, Pod):
        file, obj, pod = "", {"kind": "Pod"}, item
        about: Mapping[str, Any] = {
            "kind": "Pod",
            "metadata": {"namespace": pod.metadata.namespace, "name": pod.metadata.name},
        }
        with reading(file, about):
            if skip is None or not skip(pod):
                world.pod(pod)
        return
    assert not isinstance(item, Node)
    file, obj = plain(item)  # type: ignore[assignment]
    with reading(file, obj):
        pod = as_pod(obj)
        if skip is None or not skip(pod):
            world.pod(pod)


def plain(item: Located | Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """(file, object)."""
    return (item.file, item.object) if isinstance(item, Located) else ("", item)


def _kind(item: PoolItem) -> tuple[str, str]:
    if isinstance(item, Node | Pod):
        return "", ""
    return kind_of(item.object if isinstance(item, Located) else item)


@contextmanager
def reading(file: str, obj: Mapping[str, Any]) -> Iterator[None]:
    """Turns what is wrong with an object into one error that names file, object and field."""
    try:
        yield
    except (ObjectError, WorkloadError) as error:
        raise IntakeError(file, subject_of(obj), error.field, error.message) from None
