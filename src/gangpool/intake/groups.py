"""Which pods are a gang, and what its object says: members are brought together here and given to the pool.

`World` hands in pods and tells when objects have changed; `settle` then gives the pool each gang that changed and its
members with what the gang adds to them: dense ranks, and the rule of `exclusive-topology`. A pod of which only its
owner could say that it is in a gang is kept as a candidate until that owner comes.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from gangpool.core.model import Member
from gangpool.core.pool import Pool
from gangpool.intake import ranks
from gangpool.intake.gangs import gang_from
from gangpool.intake.members import GROUP, OURS, Place, exclusive
from gangpool.intake.ranks import AS_LINKED, Ranks
from gangpool.intake.references import Origin, doubts
from gangpool.intake.store import Object, Store, subject_of
from gangpool.objects.pod import Pod
from gangpool.workloads import levels, registry
from gangpool.workloads.base import Finding, GangOf, PodLink, WorkloadError
from gangpool.workloads.findings import NOT_A_NUMBER
from gangpool.workloads.levels import Asks

Note = Callable[[str, str, str, str], None]


class Told(Struct, frozen=True):
    """What a manifest says of a gang; `starts`: first rank of each role."""

    gang: GangOf
    owner: Object
    starts: tuple[tuple[str, int], ...] = ()


class Group(Struct):
    """Candidates for one gang, mutable. `members` as their pods say, by uid; `own_rank`: uids whose rank is what the
    pod carries; `moved`: uids that came or changed since the last settle; `link`: what the pods say together."""

    link: PodLink | None = None
    members: dict[str, Member] = field(default_factory=dict)
    own_rank: set[str] = field(default_factory=set)
    moved: dict[str, None] = field(default_factory=dict)
    asks: dict[str, Asks] = field(default_factory=dict)
    settled: tuple[GangOf | None, Ranks] | None = None


class Groups:
    """All gangs of one pool. Mutable; owned by `World`."""

    def __init__(self, pool: Pool, store: Store, note: Note) -> None:
        self._pool = pool
        self._store = store
        self._note = note
        self._groups: dict[str, Group] = {}
        self._key_of: dict[str, str] = {}
        self._told: dict[str, Told] = {}
        self._stale: dict[str, None] = {}
        self._tables: dict[str, tuple[Object, dict[str, Ranks]]] = {}

    # ---- what happens

    def tell(self, found: GangOf, owner: Object, starts: tuple[tuple[str, int], ...]) -> None:
        """A manifest describes a gang."""
        self._told[found.key] = Told(found, owner, starts)
        self._stale[found.key] = None

    def object_changed(self, name: str) -> None:
        """An object of this name came, changed or went: it may define gangs. O(gangs)."""
        self._stale.update((key, None) for key, g in self._groups.items() if g.link and g.link.defined_by[2] == name)

    def reference_changed(self, name: str) -> None:
        """A queue or PriorityClass of this name came, changed or went; "": the first or last of its kind."""
        for key, group in self._groups.items():
            said = group.settled[0] if group.settled else None
            if said is not None and (not name or name in (said.queue, said.priority_class)):
                self._stale[key] = None

    def place_of(self, pod: Pod, place: Place) -> Place:
        """Gang, role and rank of a pod of ours: as its owner's manifest says, else by the pod's own word."""
        if place.gang is not None and (not place.gang or place.gang in self._told):
            return place
        link, findings = registry.link(pod)
        self._findings(findings)
        if link is None:
            return replace(place, gang="")
        group = self._groups.setdefault(link.key, Group())
        joined = link if group.link is None else _joined(group.link, link)
        if joined != group.link:
            group.link = joined
            self._stale[link.key] = None
        self._hear_levels(pod, group, link)
        return replace(place, gang=link.key, role=place.role or link.role, rank=place.rank or link.rank)

    @property
    def is_settled(self) -> bool:
        """Nothing has changed since the last `settle`."""
        return not self._stale

    def put(self, member: Member, *, has_own_rank: bool) -> bool:
        """A candidate is there or has changed; False: it names no gang, and the pool may have it at once."""
        old = self._key_of.get(member.uid, "")
        if old and old != member.gang:
            self.drop(member.uid)
        if not member.gang:
            return False
        group = self._groups.setdefault(member.gang, Group())
        if group.members.get(member.uid) == member and has_own_rank == (member.uid in group.own_rank):
            return True
        self._key_of[member.uid] = member.gang
        group.members[member.uid] = member
        group.moved[member.uid] = None
        if has_own_rank:
            group.own_rank.add(member.uid)
        self._stale[member.gang] = None
        return True

    def drop(self, uid: str) -> None:
        """A candidate is gone."""
        key = self._key_of.pop(uid, "")
        if key:
            group = self._groups[key]
            del group.members[uid]
            group.moved.pop(uid, None)
            group.own_rank.discard(uid)
            self._stale[key] = None

    def _hear_levels(self, pod: Pod, group: Group, link: PodLink) -> None:
        """Keep what a pod says of levels: its group has no template that could say it."""
        annotations = pod.metadata.annotations
        if not annotations or not levels.is_marked(annotations):
            return
        try:
            asks = levels.of_template(dict(annotations), "")
        except WorkloadError as mistake:
            about = f"Pod/{pod.metadata.namespace}/{pod.metadata.name}"
            self._note(about, mistake.field, NOT_A_NUMBER, mistake.message)
            return
        if asks.any() and group.asks.get(link.role) != asks:
            group.asks[link.role] = asks
            self._stale[link.key] = None

    def _findings(self, findings: tuple[Finding, ...]) -> None:
        for finding in findings:
            self._note(finding.object, finding.field, finding.code, finding.message)

    def about(self, key: str) -> tuple[Origin, GangOf | None] | None:
        """Who tells of a gang, and what it says; None where no pod names it."""
        group = self._groups.get(key)
        return None if group is None else (self._origin(key, group), group.settled[0] if group.settled else None)

    # ---- bringing the pool up to date

    def settle(self) -> None:
        """Give the pool what has changed. O(gangs that changed; all their members where the gang itself did)."""
        stale, self._stale = self._stale, {}
        for key in stale:
            group = self._groups.get(key)
            if group is None:
                continue
            if group.members:
                self._settle(key, group)
            else:
                self._tables.pop(self._origin(key, group).subject, None)
                del self._groups[key]
                self._pool.drop_gang(key)

    def _settle(self, key: str, group: Group) -> None:
        origin = self._origin(key, group)
        said, table = self._said(key, group, origin)
        uids = list(group.moved) if group.settled == (said, table) else list(group.members)
        group.settled = (said, table)
        group.moved = {}
        if said is None:
            for uid in uids:
                self._pool.set_member(replace(group.members[uid], gang="", rank=0))
            return
        self._pool.set_gang(gang_from(said, list(group.members.values()), self._store, origin))
        for doubt in doubts(said, origin, self._store):
            self._note(origin.subject, *doubt)
        for uid in uids:
            self._pool.set_member(_final(group.members[uid], said, table if uid in group.own_rank else AS_LINKED))

    def _origin(self, key: str, group: Group) -> Origin:
        """The object that tells of the gang."""
        obj = self._defining(group.link, key) if group.link else None
        if obj is None and key in self._told:
            obj = self._told[key].owner
        if obj is not None:
            return Origin(subject_of(obj), obj)
        namespace, _, name = key.partition("/")
        _, kind, owner = group.link.defined_by if group.link else ("", "", "")
        return Origin(f"{kind}/{namespace}/{owner}" if kind else f"gang/{namespace}/{name}")

    def _defining(self, link: PodLink, key: str) -> Object | None:
        """The object that a link names, if it is there."""
        group, kind, name = link.defined_by
        return self._store.get(group, kind, key.partition("/")[0], name) if kind else None

    def _said(self, key: str, group: Group, origin: Origin) -> tuple[GangOf | None, Ranks]:
        """The gang as its object says it, else as its pods do; and the ranks of its pods. None: it is no gang."""
        told, link = self._told.get(key), group.link
        if told is not None and (link is None or self._defining(link, key) is None):
            return _with_starts(told.gang, told.starts), AS_LINKED
        if link is None:
            return None, AS_LINKED
        try:
            found, findings = registry.resolve(link, key.partition("/")[0], self._store)
            table = self._table(key, group, origin)
        except WorkloadError as mistake:
            text = f"{origin.subject}: {mistake.field}: {mistake.message}"
            return GangOf(key=key, minimum=None, error=text), AS_LINKED
        self._findings(findings)
        if found is None:
            return None, AS_LINKED
        found, notes = levels.of_pods(found, group.asks)
        about = next(iter(group.members.values()))
        for note in notes:
            self._note(f"Pod/{about.namespace}/{about.name}", *note)
        return _with_starts(found, table.starts()), table

    def _table(self, key: str, group: Group, origin: Origin) -> Ranks:
        """Ranks of the gang's pods; made once per object. Raises WorkloadError."""
        if origin.obj is None:
            linked = ((group.members[uid].role, group.members[uid].rank) for uid in group.own_rank)
            return ranks.by_word(linked)
        known = self._tables.get(origin.subject)
        if known is None or known[0] is not origin.obj:
            known = self._tables[origin.subject] = (origin.obj, ranks.tables_of(origin.obj, self._store))
        return known[1].get(key, AS_LINKED)


def _joined(first: PodLink, other: PodLink) -> PodLink:
    """What several pods say of one gang: counts that only some of them write count for all."""
    if first.total is not None and first.minimum is not None and first.certain:
        return first
    return replace(
        first,
        total=other.total if first.total is None else first.total,
        minimum=other.minimum if first.minimum is None else first.minimum,
        certain=first.certain or other.certain,
    )


def _with_starts(said: GangOf, starts: tuple[tuple[str, int], ...]) -> GangOf:
    """Blocks of a role begin at the role's first rank."""
    first = dict(starts)
    blocks = tuple((role, replace(b, first=first[role]) if role in first else b) for role, b in said.blocks)
    return said if blocks == said.blocks else replace(said, blocks=blocks)


def _final(member: Member, said: GangOf, table: Ranks) -> Member:
    """A member with what its gang adds."""
    rank = table.of(member.role, member.rank)
    if rank != member.rank:
        member = replace(member, rank=rank)
    if not said.exclusive or not any(key == OURS for key, _ in member.labels):
        return member
    shape, group = exclusive(member, said)
    return replace(member, shape=shape, labels=tuple(sorted((*member.labels, (GROUP, group)))))
