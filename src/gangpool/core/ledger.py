"""The ledger: what exists and who holds it. The only writers of the books are `claim` and `release`.

One integer per resource and node is the truth; counters of inter-pod rules move with it. A trial is a mark in
the journal: `rollback(mark)` applies the inverses backwards. Never a copy of the world. Called by `pool` (events)
and by the planner (trials); tallies follow through the log of touched nodes.

Length: nodes, kinds and claims are moved by one owner, so that a rollback can undo all of it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gangpool.core.columns import Columns, Filter
from gangpool.core.kind import Kind, register
from gangpool.core.model import CARD, NodeFacts, Pairs, Shape
from gangpool.core.terms import TERMINATING, Match, Tag, Terms
from gangpool.core.vec import Bools, Ints, Vec

SWEEP_BYTES = 64 << 20
"""Kinds and counters may weigh so much, or twice what the last sweep left, before the next sweep."""
KIND_BYTES = 2_000
"""A kind with its shape, roughly."""
TOUCHED_LIMIT = 200_000
"""The log of touched nodes is cut at this length; tallies that had not read it are built anew."""


class Claim(Struct, gc=False):
    """What a placed member holds. `cards`: bit mask of whole cards; `ports`: names of RDMA ports."""

    uid: str
    node: int
    kind: Kind
    tag: Tag
    cards: int = 0
    ports: tuple[str, ...] = ()


class Ledger:
    """Books of one pool. Node slots are numbers; a slot is used again after its node is gone."""

    def __init__(self, capacity: int = 64) -> None:
        self.capacity = capacity
        self.columns = Columns(capacity)
        self.terms = Terms(self.columns, self._recount)
        self.facts: list[NodeFacts | None] = []
        self.slot: dict[str, int] = {}
        self._spare: list[int] = []
        self._noted: set[int] = set()
        self.free: dict[str, Vec] = {}
        self.total: dict[str, Vec] = {}
        self.claims: dict[str, Claim] = {}
        self.leaving: dict[str, Claim] = {}
        """Claims of pods that are being deleted."""
        self.on_node: list[set[str]] = []
        self.free_cards = self.resource(CARD)
        self.all_cards = self.total[CARD]
        self.touched: list[int] = []
        self.cut = 0
        """How many entries of the log were dropped: position p of the log is `touched[p - cut]`."""
        self._looked = 0
        self.journal: list[tuple[int, Kind, int] | tuple[Ints, Kind, Ints]] = []
        self._kind_of: dict[tuple[Shape, tuple[Match, ...]], Kind] = {}
        self._kind_at: dict[tuple[int, tuple[Match, ...]], Kind] = {}
        """The same by the id of the interned shape."""
        self._shapes: dict[Shape, Shape] = {}
        self._n_kinds = 0
        """Kinds made so far: their numbers are never used again."""
        self._left = 0
        """Weight of what was there at the first look after the last sweep, in bytes; 0: nobody has looked."""
        self.version = 0
        """Moves with every change of nodes, claims or rules that outlasts a trial."""
        self.grow_version = 0
        """Moves when room may have grown: what was refused before may fit now."""
        self.node_version = 0
        """Moves when a node comes, goes or changes labels: trees are built anew."""

    # ---- nodes

    @property
    def n_slots(self) -> int:
        return len(self.facts)

    def alive(self) -> Iterable[tuple[int, NodeFacts]]:
        return ((i, facts) for i, facts in enumerate(self.facts) if facts is not None)

    def resource(self, name: str) -> Vec:
        """The free column of a resource; made on first use (all nodes have 0 of it)."""
        vec = self.free.get(name)
        if vec is None:
            vec = self.free[name] = Vec(self.capacity)
            self.total[name] = Vec(self.capacity)
        return vec

    def set_node(self, facts: NodeFacts) -> int:
        """Add or replace a node; what is claimed on it stays claimed. Returns its slot. O(resources)."""
        i = self.slot.get(facts.name, -1)
        old = None
        if i < 0:
            i = self._new_slot()
            self.slot[facts.name] = i
        else:
            old = self.facts[i]
            if old == facts:
                return i
        self.facts[i] = facts
        if facts.notes:
            self._noted.add(i)
        else:
            self._noted.discard(i)
        for name in facts.allocatable:
            self.resource(name)
        for name, total in self.total.items():
            change = facts.allocatable.get(name, 0) - total.at[i]
            if change:
                total.at[i] += change
                self.free[name].at[i] += change
        if old is None or old.labels != facts.labels:
            self.node_version += 1
        self.columns.put(i, facts)
        self._touch(i)
        self._grew()
        return i

    def drop_node(self, name: str) -> list[str]:
        """A node is gone: its claims are released; returns the uids that had them."""
        i = self.slot.pop(name)
        lost = sorted(self.on_node[i])
        for uid in lost:
            self.release(uid)
        for resource, total in self.total.items():
            self.free[resource].at[i] -= total.at[i]
            total.at[i] = 0
        self.facts[i] = None
        self.columns.put(i, None)
        self._spare.append(i)
        self._touch(i)
        self._grew()
        self.node_version += 1
        return lost

    def _new_slot(self) -> int:
        if self._spare:
            return self._spare.pop()
        if len(self.facts) == self.capacity:
            self.reserve(2 * self.capacity)
        self.facts.append(None)
        self.on_node.append(set())
        return len(self.facts) - 1

    def reserve(self, capacity: int) -> None:
        """Room for so many nodes. All memory is new: tallies notice by `capacity`."""
        if capacity <= self.capacity:
            return
        self.capacity = capacity
        for vec in (*self.free.values(), *self.total.values()):
            vec.grow(capacity)
        self.columns.grow(capacity)
        self.terms.grow(capacity)

    # ---- kinds

    def kind(self, shape: Shape, namespace: str, labels: Pairs) -> tuple[Kind, Tag]:
        """The kind of members with this shape in this namespace with these labels, and their tag. Not inside a trial
        when the shape is new: a selector that is new counts the registered claims only."""
        tag = self.terms.tag(namespace, labels)
        # Interned shapes are kept, so their ids are theirs alone; hashing a shape costs more than all else here.
        found = self._kind_at.get((id(shape), tag.matches))
        if found is None:
            shape = self._shapes.setdefault(shape, shape)
            register(shape, self.terms)
            key = (shape, tag.matches)
            found = self._kind_of.get(key)
            if found is None:
                found = self._make(shape, [(self.resource(name), amount) for name, amount in shape.requests], tag)
            self._kind_at[id(shape), tag.matches] = found
        return found, tag

    def kind_only(self, shape: Shape, namespace: str, labels: Pairs) -> Kind:
        """The kind of members that wait: they need no tag, which is most of the cost of a new one."""
        found = self._kind_at.get((id(shape), self.terms.matches_of(namespace, labels)))
        return self.kind(shape, namespace, labels)[0] if found is None else found

    def kind_sized(self, kind: Kind, requests: tuple[tuple[str, int], ...]) -> Kind:
        """The kind with other amounts and the same rules; nothing is ever claimed for it."""
        shape = replace(kind.shape, requests=requests)
        key = (shape, kind.matches)
        found = self._kind_of.get(key)
        if found is None:
            tag = Tag("", ())
            tag.matches = kind.matches
            found = self._make(shape, [(self.resource(name), amount) for name, amount in requests], tag)
        return found

    def _make(self, shape: Shape, asks: list[tuple[Vec, int]], tag: Tag) -> Kind:
        found = self._kind_of[shape, tag.matches] = Kind(self._n_kinds, shape, asks, tag, self.terms)
        self._n_kinds += 1
        return found

    def _recount(self, match: Match, tags: set[Tag]) -> None:
        """A new selector: members that are already there join its counter, their claims change kind. O(claims), if
        any claim has one of the tags: selectors mostly come with the first of their members."""
        if not any(tag.n_claims for tag in tags):
            return
        for claim in self.claims.values():
            if claim.tag in tags:
                match.move(claim.node, 1)
                claim.kind = self._rekind(claim)

    def _rekind(self, claim: Claim) -> Kind:
        found = self._kind_of.get((claim.kind.shape, claim.tag.matches))
        return self._make(claim.kind.shape, claim.kind.asks, claim.tag) if found is None else found

    @property
    def weight(self) -> int:
        """What kinds and counters take, in bytes, roughly."""
        return KIND_BYTES * len(self._kind_of) + 8 * self.capacity * self.terms.n_counters

    def sweep(self, *, if_due: bool = False) -> None:
        """Forget kinds, selectors, filters and tags that no claim needs: every job may bring its own, and a process
        that lives must not keep them. Those of waiting members come again when they are planned. O(claims + kinds)."""
        if if_due:
            self._left = self._left or self.weight  # the first look after a sweep: what waits has come again
            if self.weight < max(SWEEP_BYTES, 2 * self._left):
                return
        assert not self.journal
        kinds = {claim.kind for claim in self.claims.values()}
        read = {match for kind in kinds for match in kind.reads()}
        changed = self.terms.sweep(read, {counter for kind in kinds for counter in kind.moves})
        if changed:
            for claim in self.claims.values():
                if claim.tag in changed:
                    claim.kind = self._rekind(claim)
            kinds = {claim.kind for claim in self.claims.values()}
        self._kind_of = {(kind.shape, kind.matches): kind for kind in kinds}
        self._kind_at.clear()
        self._shapes = {kind.shape: kind.shape for kind in kinds}
        self.columns.sweep()
        self._left = 0

    def set_namespace(self, name: str, labels: dict[str, str] | None) -> None:
        """Labels of a namespace: selectors that ask for them count anew. O(claims) when something changes."""
        changed = set(self.terms.set_namespace(name, labels))
        if not changed:
            return
        affected = [c for c in self.claims.values() if c.tag in changed]
        for claim in affected:
            for counter in claim.tag.matches:
                counter.move(claim.node, -1)
        for tag in changed:
            self.terms.retag(tag)
        for claim in affected:
            for counter in claim.tag.matches:
                counter.move(claim.node, 1)
            claim.kind = self._rekind(claim)
        self._grew()

    # ---- claims

    def claim(self, i: int, kind: Kind, k: int = 1) -> None:
        """`k` members of a kind take their share of node `i`; undone by `rollback`. O(resources + counters)."""
        for vec, amount in kind.asks:
            vec.at[i] -= amount * k
        for counter in kind.moves:
            counter.move(i, k)
        self.touched.append(i)
        self.journal.append((i, kind, k))

    def claim_run(self, nodes: Ints, kind: Kind, counts: Ints) -> None:
        """The same for many different nodes at once; one record in the journal."""
        self._move_run(nodes, kind, counts, -1)
        self.journal.append((nodes, kind, counts))

    def _move_run(self, nodes: Ints, kind: Kind, counts: Ints, sign: int) -> None:
        for vec, amount in kind.asks:
            vec.write[nodes] += sign * amount * counts
        n = int(counts.sum())
        for counter in kind.moves:
            counter.of.write[nodes] -= sign * counts
            counter.total -= sign * n
            counter.version += 1
        self.touched.extend(nodes.tolist())

    def mark(self) -> tuple[int, int]:
        """Where a trial begins."""
        return len(self.journal), self.cut + len(self.touched)

    def rollback(self, mark: tuple[int, int]) -> None:
        """Undo everything since the mark, newest first. Nodes are touched again only if a tally has looked in
        between; truncating the log in that case would leave its tally wrong."""
        at, touched = mark
        journal = self.journal
        while len(journal) > at:
            nodes, kind, counts = journal.pop()
            if isinstance(nodes, int):
                assert isinstance(counts, int)
                for vec, amount in kind.asks:
                    vec.at[nodes] += amount * counts
                for counter in kind.moves:
                    counter.move(nodes, -counts)
                self.touched.append(nodes)
            else:
                assert not isinstance(counts, int)
                self._move_run(nodes, kind, counts, 1)
        if self._looked <= touched and self.cut <= touched:
            del self.touched[touched - self.cut :]

    def looked(self) -> int:
        """A tally has read the log to its end: returns the position to remember."""
        self._looked = self.cut + len(self.touched)
        return self._looked

    def keep(self, mark: tuple[int, int]) -> None:
        """A trial is accepted: its claims stay. The caller registers who holds them."""
        del self.journal[mark[0] :]
        self.version += 1
        if not self.journal and len(self.touched) > TOUCHED_LIMIT:
            half = len(self.touched) // 2
            del self.touched[:half]
            self.cut += half

    def register(self, claim: Claim) -> None:
        """Write down who holds what was claimed."""
        self.claims[claim.uid] = claim
        claim.tag.n_claims += 1
        self.on_node[claim.node].add(claim.uid)

    def hold(self, claim: Claim) -> None:
        """Claim and register at once: a member that an event says is on a node."""
        at = self.mark()
        self.claim(claim.node, claim.kind)
        self.register(claim)
        self.keep(at)
        if (TERMINATING, "true") in claim.tag.labels:
            self.leaving[claim.uid] = claim

    def release(self, uid: str) -> Claim:
        """A member no longer holds anything: the books are moved back."""
        claim = self.claims.pop(uid)
        self.leaving.pop(uid, None)
        claim.tag.n_claims -= 1
        if not claim.tag.n_claims:
            self.terms.forget(claim.tag)
        i = claim.node
        self.on_node[i].discard(uid)
        for vec, amount in claim.kind.asks:
            vec.at[i] += amount
        for counter in claim.kind.moves:
            counter.move(i, -1)
        self._touch(i)
        self._grew()
        return claim

    def _grew(self) -> None:
        self.version += 1
        self.grow_version += 1

    def _touch(self, i: int) -> None:
        self.touched.append(i)

    # ---- what the planner reads

    def filter_of(self, shape: Shape) -> Filter:
        """Nodes that selectors and taints let this shape onto, up to date."""
        return self.columns.filter(shape.node_selectors + shape.held_to, shape.tolerations, shape.avoid_soft_taints)

    def notes(self, here: Bools) -> dict[str, int]:
        """What nodes say about themselves that keeps members away (`NodeFacts.notes`), with counts."""
        counts: dict[str, int] = {}
        for i in self._noted:
            facts = self.facts[i]
            if facts is not None and here[i]:
                for note in facts.notes:
                    counts[note] = counts.get(note, 0) + 1
        return counts

    def is_broken(self, i: int) -> bool:
        """A node with a card in use, or without cards: no whole node is spoiled by using it."""
        free, total = self.free_cards.at[i], self.all_cards.at[i]
        return free != total or not total

    def broken(self, index: Ints | None = None) -> Bools:
        """The same for all slots, or those of `index`."""
        free, total = self.free_cards.view, self.all_cards.view
        if index is not None:
            free, total = free[index], total[index]
        mask: Bools = (free != total) | (total == 0)
        return mask

    def room_on(self, i: int, kind: Kind) -> int:
        """How many members of this kind the free resources of node `i` hold, filters aside. The scalar twin of
        `room_on_all`."""
        least = 1 << 31
        for vec, amount in kind.asks:
            n = vec.at[i] // amount
            if n < least:
                least = n
        return least if least > 0 else 0

    def room_on_all(self, kind: Kind, index: Ints | None = None) -> Ints:
        """The same for all slots, or those of `index`."""
        least: Ints | int = 1 << 31
        for vec, amount in kind.asks:
            values = vec.view if index is None else vec.view[index]
            least = np.minimum(least, values if amount == 1 else values // amount)
        if isinstance(least, int):  # asks for nothing
            return np.full(self.capacity if index is None else len(index), least, dtype=np.int64)
        return np.maximum(least, 0, out=least)
