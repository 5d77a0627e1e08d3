"""What is said of a gang, and by whom, also when no member of it is left in the world. For `explain` and `jobs`."""

from __future__ import annotations

from msgspec import Struct

from gangpool.intake.forecast import Stand
from gangpool.intake.store import Object
from gangpool.intake.world import World
from gangpool.objects.pod import Pod
from gangpool.workloads import registry
from gangpool.workloads.base import GangOf, WorkloadError


class Told(Struct, frozen=True):
    """A gang's key, what is said of it, and by which object."""

    key: str
    said: GangOf | None
    obj: Object | None

    @property
    def minimum(self) -> int | None:
        """Members that start together; None where nobody says."""
        return None if self.said is None else self.said.total if self.said.minimum is None else self.said.minimum


def told_of(world: World, stand: Stand) -> Told | None:
    """Of a gang with members; None: it is a single pod."""
    if stand.gang is None:
        return None
    told = world.groups.about(stand.key)
    return Told(stand.key, None, None) if told is None else Told(stand.key, told[1], told[0].obj)


def told_by(world: World, pod: Pod) -> Told | None:
    """Of the gang that a finished pod was in; None: it was in none."""
    link, _ = registry.link(pod)
    if link is None:
        return None
    group, kind, name = link.defined_by
    namespace = pod.metadata.namespace
    try:
        said, _ = registry.resolve(link, namespace, world.store)
    except WorkloadError:
        said = None
    obj = world.store.get(group, kind, namespace, name) if kind else None
    return None if said is None else Told(link.key, said, obj)
