"""What the flags of read commands name, read: pool, configuration, values. Imported when a command runs.

Every failure is an `InputError` that names the file, or a usage error that names the flag.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click
from msgspec.structs import replace

from gangpool.cli.options import Source
from gangpool.files import InputError, Located, PoolDump, read_pool
from gangpool.files.config import read_config as read_config
from gangpool.files.manifests import documents_of
from gangpool.files.sources import read_bytes, shown
from gangpool.intake import World, load
from gangpool.intake.answer import WarningEntry
from gangpool.intake.config import Config
from gangpool.intake.failure import IntakeError
from gangpool.intake.load import PoolItem
from gangpool.intake.place import POOL
from gangpool.intake.store import CLUSTER_WIDE, kind_of
from gangpool.objects.pod import Pod
from gangpool.sim.shape import BOARDS, ShapeError, is_shape, nodes, read_shape


def pool_items(source: Source, *, with_pods: bool = True) -> Iterator[PoolItem]:
    """Objects of the live cluster (read when the first is asked for), a dump or a shape, pods last. A path that
    exists wins over a shape of the same text. Without pods a large pool is quick to read."""
    if source.pool is None:
        return _of_cluster(source, with_pods)
    found = _of_files(source.pool)
    return found if with_pods else (item for item in found if not isinstance(item, Pod))


def _of_cluster(source: Source, with_pods: bool) -> Iterator[PoolItem]:
    from gangpool.cli import cluster  # its imports take longer than a small dump

    yield from cluster.read(source, with_pods=with_pods).items()


def _of_files(pool: str) -> Iterator[PoolItem]:
    if pool in BOARDS and not os.path.exists(pool):
        raise click.BadParameter(f"{pool!r} needs a number of nodes, such as {pool}:1280", param_hint="--pool")
    if pool == "-" or os.path.exists(pool) or not is_shape(pool):
        return _dumped(read_pool(pool))
    try:
        return nodes(read_shape(pool))
    except ShapeError as error:
        raise click.BadParameter(str(error), param_hint="--pool") from None


def _dumped(dump: PoolDump) -> Iterator[PoolItem]:
    yield from (node for _, node in dump.nodes)
    yield from dump.others
    yield from (pod for _, pod in dump.pods())


def read_value(path: str) -> Any:
    """The one JSON or YAML value of a file or stdin."""
    values = [document.value for document in documents_of(path, read_bytes(path, None))]
    if len(values) != 1:
        raise InputError(shown(path), "", f"holds {len(values)} documents, and one is needed")
    return values[0]


def namespace_of(source: Source) -> str | None:
    """The namespace of what names none: as given, else that of the context of a live cluster; None for `default`."""
    if source.namespace is not None or source.pool is not None:
        return source.namespace
    from gangpool.cli import cluster

    return cluster.access_of(source).namespace


def in_namespace(objects: list[Located], namespace: str | None) -> list[Located]:
    """Objects that name no namespace, in this one; kinds without namespaces as they are."""
    if not namespace:
        return objects
    return [_put_in(found, namespace) for found in objects]


def _put_in(found: Located, namespace: str) -> Located:
    metadata = found.object.get("metadata")
    named = {} if metadata is None else metadata
    if kind_of(found.object) in CLUSTER_WIDE or not isinstance(named, Mapping) or named.get("namespace"):
        return found
    return replace(found, object={**found.object, "metadata": {**named, "namespace": namespace}})


def read_world(source: Source, config: Config, *, with_pods: bool) -> World:
    """The pool as the scheduler would see it. Without pods nothing is booked."""
    items = pool_items(source, with_pods=with_pods)
    with naming(source):
        return load(items, config)


@contextmanager
def naming(source: Source) -> Iterator[None]:
    """An object that cannot be taken in becomes an InputError; one without a file came from the pool."""
    try:
        yield
    except IntakeError as error:
        file = error.file or _name_of(source)
        raise InputError(file, error.subject, f"{error.field}: {error.message}") from None


def doubts(world: World, source: Source) -> list[WarningEntry]:
    """What of the pool could not be used."""
    return [WarningEntry(_name_of(source), n.object, n.field, n.code, n.message) for n in world.notes]


def named(warnings: Iterable[WarningEntry], source: Source) -> tuple[WarningEntry, ...]:
    """The pool in warnings about its objects as people know it."""
    return tuple(replace(one, file=_name_of(source)) if one.file == POOL else one for one in warnings)


def _name_of(source: Source) -> str:
    return "the cluster" if source.pool is None else shown(source.pool)
