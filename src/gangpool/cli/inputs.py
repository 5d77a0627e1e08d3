"""What the flags of read commands name, read: pool, configuration, values. Imported when a command runs.

Every failure is an `InputError` that names the file, or a usage error that names the flag.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from gangpool.files import InputError, PoolDump, read_objects, read_pool
from gangpool.files.manifests import documents_of
from gangpool.files.sources import read_bytes, shown
from gangpool.intake import World, load
from gangpool.intake.answer import WarningEntry
from gangpool.intake.config import Config
from gangpool.intake.failure import IntakeError
from gangpool.intake.load import PoolItem
from gangpool.objects.pod import Pod
from gangpool.sim.shape import ShapeError, is_shape, nodes, read_shape

NO_CLUSTER = "the live cluster needs the API client, which comes with a later version; give --pool"


def pool_items(pool: str | None) -> Iterator[PoolItem]:
    """Objects of a dump or a shape, pods last. A path that exists wins over a shape of the same text."""
    if pool is None:
        raise click.UsageError(NO_CLUSTER)
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


def read_config(path: str | None) -> Config:
    """The configuration of a file; the defaults without one."""
    if path is None:
        return Config()
    objects = read_objects(path)
    if len(objects) != 1:
        raise InputError(path, "", f"holds {len(objects)} objects, and a configuration is one")
    try:
        return msgspec.convert(objects[0].object, Config)
    except msgspec.ValidationError as error:
        raise InputError(path, "", f"is no configuration: {error}") from None


def read_value(path: str) -> Any:
    """The one JSON or YAML value of a file or stdin."""
    values = [document.value for document in documents_of(path, read_bytes(path, None))]
    if len(values) != 1:
        raise InputError(shown(path), "", f"holds {len(values)} documents, and one is needed")
    return values[0]


def read_world(pool: str | None, config: Config, *, with_pods: bool) -> World:
    """The pool as the scheduler would see it. Without pods nothing is booked and a large dump is quick to read."""
    items: Iterable[PoolItem] = pool_items(pool)
    if not with_pods:
        items = (item for item in items if not isinstance(item, Pod))
    with naming(pool):
        return load(items, config)


@contextmanager
def naming(pool: str | None) -> Iterator[None]:
    """An object that cannot be taken in becomes an InputError; one without a file came from the pool."""
    try:
        yield
    except IntakeError as error:
        file = error.file or shown(pool or "")
        raise InputError(file, error.subject, f"{error.field}: {error.message}") from None


def doubts(world: World, pool: str) -> list[WarningEntry]:
    """What of the pool could not be used."""
    return [WarningEntry(shown(pool), n.object, n.field, n.code, n.message) for n in world.notes]
