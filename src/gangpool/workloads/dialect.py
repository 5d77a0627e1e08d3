"""What all dialects share: an object is read once; gangs, pods and templates come from the reading.

Each family derives from `Reader` and is listed in `registry`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from gangpool.core.model import Role
from gangpool.objects.pod import OwnerReference, Pod
from gangpool.workloads import templates
from gangpool.workloads.base import Context, Expansion, GangOf, Object, PodLink
from gangpool.workloads.templates import Reading

ROLE_STRIDE = 1 << 20
"""Between the ranks of two roles or child jobs of a pod that tells only its place in its own one; more than a
role can have members."""


class Reader:
    """A dialect. Derived classes give `name` and `kinds` and override what their kinds have."""

    name: str = ""
    kinds: tuple[tuple[str, str], ...] = ()
    marks: tuple[str, ...] = ()

    def read(self, obj: Object, context: Context) -> Reading:
        """The object as gangs and sets of pods not yet made."""
        raise NotImplementedError

    def gangs(self, obj: Object, context: Context) -> tuple[GangOf, ...]:
        """The gangs of one object, without making its pods."""
        return self.read(obj, context).gangs

    def gang(self, obj: Object, key: str, context: Context) -> GangOf | None:
        """The gang of this key, if the object defines it. A replica of a Workload's pod group has the group's key
        and its own behind it."""
        fitting = [g for g in self.gangs(obj, context) if key == g.key or key.startswith(f"{g.key}-")]
        best = max(fitting, key=lambda g: len(g.key), default=None)
        return None if best is None else msgspec.structs.replace(best, key=key)

    def expand(self, obj: Object, context: Context) -> Expansion:
        """Gangs, pods and findings of one object, as its controller would make them now."""
        return templates.expand(self.read(obj, context))

    def templates(self, obj: Object) -> Iterable[tuple[str, Object]]:
        """(field path, pod template) of every template in the object."""
        return ()

    def link(self, pod: Pod) -> PodLink | None:
        """The gang that this pod names; None: none."""
        return None

    def made(self, group: str, link: PodLink) -> bool:
        """Did this kind's controller make the PodGroup of this name for the gang of `link`?"""
        return False


def with_later(counted: Sequence[tuple[Role, int]], minimum: int | None, later: Sequence[str]) -> tuple[Role, ...]:
    """Roles of which some come later (`counted`: role and its members). What the others cannot bring towards the
    minimum is the minimum of the later ones, so that a start without them is possible."""
    short = 0 if minimum is None else minimum - sum(n for role, n in counted if role.name not in later)
    short -= sum(role.minimum for role, _ in counted if role.name in later)
    roles = []
    for role, n in counted:
        more = min(max(short, 0), n - role.minimum) if role.name in later else 0
        short -= more
        roles.append(Role(role.name, role.minimum + more) if more > 0 else role)
    return tuple(roles)


def controller_of(pod: Pod) -> OwnerReference | None:
    """The owner reference that controls the pod."""
    return next((o for o in pod.metadata.ownerReferences or () if o.controller), None)


def label(pod: Pod, key: str) -> str:
    """A label, "" when absent."""
    return (pod.metadata.labels or {}).get(key, "")


def annotation(pod: Pod, key: str) -> str:
    """An annotation, "" when absent."""
    return (pod.metadata.annotations or {}).get(key, "")


def place(written: str) -> int:
    """A rank from a label; 0 when it is no number."""
    return int(written) if written.isascii() and written.isdigit() and len(written) <= 9 else 0


def ordinal(name: str) -> int:
    """The number at the end of a pod's name (`worker-3`): the rank of a bare pod; 0 when there is none."""
    return place(name.rpartition("-")[2])
