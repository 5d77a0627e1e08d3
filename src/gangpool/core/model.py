"""The words of the core as values: what a node, a shape, a member, a gang and a decision are.

Everything that enters the core is one of these structs; edges build them, nobody changes them.
Kubernetes field names end at `gangpool.objects` and `gangpool.intake`; from here on our glossary counts.

Units: CPU in milli-CPU, memory and storage in bytes, every other resource in whole units.
Times are seconds since the epoch, as arguments; the core has no clock.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Pairs = tuple[tuple[str, str], ...]

NAME_FIELD = "field:metadata.name"
"""Key of a requirement on the node's name (`matchFields`); no label key can contain a colon."""

HOSTNAME = "kubernetes.io/hostname"
CARD = "nvidia.com/gpu"
PODS = "pods"
"""Every member asks for one unit of this resource: the kubelet's limit of pods per node."""

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]


class Requirement(Struct, frozen=True, gc=False):
    """One test of one label: key, operator, values (empty for Exists and DoesNotExist; one integer for Gt and Lt)."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


Selector = tuple[Requirement, ...] | None
"""All requirements hold. `()` matches everything, None matches nothing (an absent label selector)."""

NodeSelector = tuple[tuple[Requirement, ...], ...]
"""Any of the terms holds; inside a term all requirements. An empty term matches no node. `()` as a whole
means "no restriction" where it is optional."""

Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class Taint(Struct, frozen=True, gc=False):
    """A node's taint. Cordon and not-ready conditions arrive as the taints that Kubernetes writes for them."""

    key: str
    value: str
    effect: Effect

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Toleration(Struct, frozen=True, gc=False):
    """`key` empty: every key. `operator` Exists ignores the value. `effect` empty: every effect."""

    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: str = ""


class Term(Struct, frozen=True, gc=False):
    """One inter-pod rule: which pods (selector, namespaces), and over which node label (`key`).

    `namespaces` are names (the pod's own where the manifest names none); `namespace_selector` adds the
    namespaces whose labels match (`()`: all, None: none)."""

    key: str
    selector: Selector
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector = None


class Spread(Struct, frozen=True, gc=False):
    """topologySpreadConstraints: at most `max_skew` between a domain of `key` and the emptiest eligible one."""

    key: str
    max_skew: int
    selector: Selector
    namespace: str
    hard: bool = True
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False
    wished: bool = False
    """A preference that is tried as a rule (`soft`): other constraints do not ask its key of a node."""


class Shape(Struct, frozen=True):
    """What one member asks for; equal for all members of one template, interned by the ledger.

    `requests`: sorted (resource, amount) with amount > 0, `pods` included; the kubelet's books (largest of
    running sum and init peaks, overhead added). `node_selectors`: nodeSelector, required node affinity and nodeName,
    each a NodeSelector of its own, all of which must hold. `preferred`: (weight, requirements).
    `soft_terms`: (weight, term), negative for anti-affinity. `host_ports`: (host IP, protocol, port)."""

    requests: tuple[tuple[str, int], ...]
    node_selectors: tuple[NodeSelector, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    preferred: tuple[tuple[int, tuple[Requirement, ...]], ...] = ()
    affinity: tuple[Term, ...] = ()
    anti_affinity: tuple[Term, ...] = ()
    soft_terms: tuple[tuple[int, Term], ...] = ()
    spread: tuple[Spread, ...] = ()
    host_ports: tuple[tuple[str, str, int], ...] = ()
    held_to: tuple[NodeSelector, ...] = ()
    """More selectors that must hold, but not the pod's own (volumes; preferences while they are tried): a spread
    counts the domains that they leave out."""
    avoid_soft_taints: bool = False
    """PreferNoSchedule taints keep away too: set by the core while it tries preferences, never by an edge."""


class Card(Struct, frozen=True, gc=False):
    """One physical GPU as the node's annotation tells it. `memory_mib` and `numa` None where unknown."""

    index: int
    uuid: str = ""
    memory_mib: int | None = None
    numa: int | None = None
    switch: str | None = None
    healthy: bool = True
    reason: str | None = None


class Port(Struct, frozen=True, gc=False):
    """One RDMA port of a node."""

    device: str
    numa: int | None = None
    switch: str | None = None
    rail: int | None = None
    healthy: bool = True


class NodeFacts(Struct, frozen=True):
    """What the ledger must know of a node. `cards` empty: cards 0…n-1 by allocatable, nothing known of them."""

    name: str
    allocatable: dict[str, int]
    labels: dict[str, str]
    taints: tuple[Taint, ...] = ()
    cards: tuple[Card, ...] = ()
    ports: tuple[Port, ...] = ()
    nvswitch: bool = False
    notes: tuple[str, ...] = ()
    """Why some of what the node has is not offered, in words for reasons."""


class Level(Struct, frozen=True, gc=False):
    """A level of the fabric, as a workload names it: a node label `key`, or a `tier` (1 is the nearest), or a
    `tier_name` of HyperNodes; `topology` names the Topology object that the key belongs to, if one is named."""

    key: str = ""
    tier: int = 0
    tier_name: str = ""
    topology: str = ""


class Block(Struct, frozen=True, gc=False):
    """A gang's members in blocks of `size` (by rank, from rank `first` on), each inside one domain of `level`."""

    size: int
    level: Level
    first: int = 0


class Role(Struct, frozen=True, gc=False):
    """Members of a gang with the same task. `minimum` of this role must be placed for the gang to start."""

    name: str
    minimum: int = 0


class Reason(Struct, frozen=True):
    """Why something is not placed. `code` is one of `reasons.CODES`. `numbers` holds `needed`, `best`, `unit`
    wherever they make sense."""

    code: str
    message: str
    numbers: dict[str, int | str] = {}
    best_domain: str | None = None
    next_step: str = ""
    starts_at: str | None = None


class Gang(Struct, frozen=True):
    """Members that start together or not at all. `key` is `namespace/name`. `minimum` counts members of all
    roles; each role has its minimum besides. `required` and `preferred`: levels for the whole gang.
    `subgroups`: constraints for the members of one role only (role name to its required level).
    `blocked`: a reason that keeps the gang from starting whatever the room (contradictory objects, suspended)."""

    key: str
    minimum: int
    roles: tuple[Role, ...] = ()
    required: Level | None = None
    preferred: tuple[Level, ...] = ()
    blocks: tuple[tuple[str, Block], ...] = ()
    """(role name or "" for all members, block)"""
    role_levels: tuple[tuple[str, Level], ...] = ()
    """(role, required level): the members of this role share one domain of the level."""
    queue: str = ""
    priority: int = 0
    created: float = 0.0
    blocked: Reason | None = None
    optional_roles: tuple[str, ...] = ()
    """Roles whose members do not hold up the start: room is kept for them (an MPI launcher that comes later)."""


class Member(Struct, frozen=True, gc=False):
    """One pod. `uid` is unique in the pool and stable. `gang` is a gang's key, or "" for a single pod.

    `node` empty: pending. `cards` and `ports` as the hand-over annotation says (None: not told, the ledger
    chooses the lowest free). `ours`: a pod that we place; others only hold room once they have a node.
    `gates`: names of scheduling gates; a gated member holds nothing and cannot be placed.
    `blocked`: why this pod can't be placed whatever the room (a missing claim)."""

    uid: str
    namespace: str
    name: str
    shape: Shape
    labels: Pairs = ()
    gang: str = ""
    role: str = ""
    rank: int = 0
    node: str = ""
    cards: tuple[int, ...] | None = None
    ports: tuple[str, ...] | None = None
    ours: bool = True
    priority: int = 0
    created: float = 0.0
    gates: tuple[str, ...] = ()
    blocked: Reason | None = None


class Seat(Struct, frozen=True, gc=False):
    """A decision: this member goes to this node. `cards`: bit mask of whole cards; `rank`: its place in the gang
    as the order of members says, None for a single pod."""

    member: Member
    node: str
    cards: int = 0
    ports: tuple[str, ...] = ()
    rank: int | None = None


class Wait(Struct, frozen=True):
    """A decision: these members stay pending, for this reason. `gang` empty for a single pod."""

    gang: str
    members: tuple[Member, ...]
    reason: Reason


class Plan(Struct, frozen=True):
    """What one cycle decided, before anything is written."""

    seats: tuple[Seat, ...]
    waits: tuple[Wait, ...]
