"""What a dialect is: how one family of workload objects speaks about gangs.

One module per family; `workloads.registry` lists them. Callers: intake (live and dumps), `place -f`, `check`,
the simulator. Everything here is pure: objects are decoded JSON/YAML (`dict`), nothing is read or written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from gangpool.core.model import Block, Level, Role
from gangpool.objects.pod import Pod

Object = Mapping[str, Any]
"""A Kubernetes object as decoded from YAML or JSON."""


class WorkloadError(Exception):
    """An object cannot be read: `field` holds what its kind does not allow there. Nothing else leaves a dialect."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message


class Finding(Struct, frozen=True):
    """A mistake or doubt in an object, named in plain words. `object` is `Kind/namespace/name`, `field` a path
    such as `spec.tasks[0].template.spec.affinity`, `code` an id such as `minmember-in-job`."""

    object: str
    field: str
    code: str
    message: str


class PodSpecOf(Struct, frozen=True):
    """One pod as its controller would name and label it. `pod` is a whole v1 Pod object (dict).
    `template_path` is the field path of its template in the owner (`spec.tasks[0].template`)."""

    pod: dict[str, Any]
    role: str
    rank: int
    template_path: str


class GangOf(Struct, frozen=True):
    """A gang as an object describes it. `key` is `namespace/name`.

    `minimum` None: all members (`total`). `total`: how many members there are when all exist, None: unknown.
    A role in `optional_roles` comes later: what `minimum` counts of it is its Role's minimum, so that many members
    need room but need not exist for the rest to start.
    `blocks`: (role name or "" for all, block). `error`: the object contradicts itself: the gang waits with
    code `invalid-object` and this text."""

    key: str
    minimum: int | None
    total: int | None = None
    roles: tuple[Role, ...] = ()
    required: Level | None = None
    preferred: tuple[Level, ...] = ()
    blocks: tuple[tuple[str, Block], ...] = ()
    role_levels: tuple[tuple[str, Level], ...] = ()
    optional_roles: tuple[str, ...] = ()
    queue: str = ""
    priority_class: str = ""
    suspended: bool = False
    error: str = ""
    exclusive: str = ""
    """Node label of `exclusive-topology`: each group has a domain of it for itself. A group is a block whose
    level is this label; members without such a block are one group together."""


class Expansion(Struct, frozen=True):
    """What an object brings: its gangs, its pods as the controller makes them, findings about it.
    A pod's gang is the key in `members[i][0]`, or "" for pods placed one by one. `claims`: the
    PersistentVolumeClaims that the controller makes from volumeClaimTemplates, whole objects."""

    gangs: tuple[GangOf, ...] = ()
    members: tuple[tuple[str, PodSpecOf], ...] = ()
    findings: tuple[Finding, ...] = ()
    claims: tuple[dict[str, Any], ...] = ()


class PodLink(Struct, frozen=True):
    """Which gang a pod says it belongs to. `key` is `namespace/name`. `source` names the dialect; several may
    claim a pod, the order of `registry` decides. `total`: the count the pod itself writes, if any.
    `minimum`: the minimum the pod itself writes, if any. `rank` orders the members
    of a role (roles come in the order of the gang); the numbers may have gaps, because a pod does not know how
    many the others are. `defined_by`: API group, kind
    and name of the object that tells the rest (see `registry.resolve`). `certain` False: only that object can
    say whether its pods are a gang; without it they are single pods."""

    key: str
    source: str
    role: str = ""
    rank: int = 0
    total: int | None = None
    minimum: int | None = None
    defined_by: tuple[str, str, str] = ("", "", "")
    certain: bool = True


class Dialect(Protocol):
    """One family. `kinds`: (API group, kind) it reads; the version is not looked at."""

    name: str
    kinds: tuple[tuple[str, str], ...]
    marks: tuple[str, ...]
    """Labels and annotations by which it knows its pods; `link` is asked only about pods with one of them."""

    def gangs(self, obj: Object, context: Context) -> tuple[GangOf, ...]:
        """The gangs of one object, without making its pods."""
        ...

    def gang(self, obj: Object, key: str, context: Context) -> GangOf | None:
        """The gang of this key, if the object defines it."""
        ...

    def expand(self, obj: Object, context: Context) -> Expansion:
        """Gangs, pods and findings of one object, as its controller would make them now."""
        ...

    def templates(self, obj: Object) -> Iterable[tuple[str, Object]]:
        """(field path, pod template) of every template in the object."""
        ...

    def link(self, pod: Pod) -> PodLink | None:
        """The gang that this pod names by labels, annotations, fields or owner references; None: none."""
        ...


class Context(Protocol):
    """What an object may ask of the others in the input: look-ups by kind, namespace, name."""

    def get(self, group: str, kind: str, namespace: str, name: str) -> Object | None: ...

    def any_of(self, group: str, kind: str) -> bool:
        """True when the input holds at least one object of this kind."""
        ...

    def all_of(self, group: str, kind: str) -> Iterable[Object]: ...
