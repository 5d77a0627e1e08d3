"""The pool's state between cycles: members, gangs, levels, and the ledger that they hold. Events come in here.

Edges and `intake` call the setters; `cycle` reads the waiting units and settles what it decided. Mutable owner of
everything in the core; no I/O, no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from gangpool.core.cards import choose_cards, choose_ports, indexes_of, mask_of, whole_mask
from gangpool.core.kind import Kind
from gangpool.core.ledger import Claim, Ledger
from gangpool.core.model import CARD, Gang, Member, NodeFacts, Seat
from gangpool.core.terms import Tag
from gangpool.core.topology import Forest, HyperNode

PORT_PREFIXES = ("rdma/", "vpc.amazonaws.com/efa")
"""Resources that stand for RDMA ports (CONTRACT, `gangpool webhook`)."""


class Unit:
    """What is planned as one: a gang, or a single pod (then `gang` is None). `waiting` and `seated` are its
    members without and with a node, by uid."""

    __slots__ = ("gang", "key", "seated", "waiting")

    def __init__(self, key: str, gang: Gang | None) -> None:
        self.key = key
        self.gang = gang
        self.waiting: dict[str, Member] = {}
        self.seated: dict[str, Member] = {}

    def order(self) -> tuple[bool, int, float, int, str]:
        """Queue order: gangs that rest below their minimum, then priority, then age, then name; single pods of one
        owner by their index."""
        if self.gang is not None:
            is_partly = 0 < len(self.seated) < self.gang.minimum
            return not is_partly, -self.gang.priority, self.gang.created, 0, self.key
        member = next(iter(self.waiting.values()))
        return True, -member.priority, member.created, member.rank, f"{member.namespace}/{member.name}"


class Pool:
    """Nodes, members and gangs of one pool."""

    def __init__(self, levels: tuple[str, ...] | None = None, capacity: int = 64) -> None:
        self.ledger = Ledger(capacity)
        self.forest = Forest(self.ledger, levels)
        self.units: dict[str, Unit] = {}
        self._waiting: dict[str, Unit] = {}
        self._unit_of: dict[str, Unit] = {}
        self._member_of: dict[str, Member] = {}
        self._on_unknown_node: dict[str, dict[str, Member]] = {}
        self._free_masks: dict[int, int] = {}
        self._guessed: dict[int, set[str]] = {}
        """Members by node slot of which nobody told the cards or ports that they hold there."""
        self._unsure: set[int] = set()
        """Node slots whose guesses are to be made anew before anybody looks at them."""
        self._port_uses: dict[int, dict[str, int]] = {}

    # ---- events: nodes

    def set_node(self, facts: NodeFacts) -> None:
        """A node exists, or has changed."""
        before = self.ledger.slot.get(facts.name)
        i = self.ledger.set_node(facts)
        self._free_masks.pop(i, None)
        if before is None:
            for member in self._on_unknown_node.pop(facts.name, {}).values():
                self._claim(member)
        self._doubt(i)

    def drop_node(self, name: str) -> None:
        """A node is gone; members on it hold nothing until it, or they, come back."""
        if name not in self.ledger.slot:
            return
        i = self.ledger.slot[name]
        held = {uid: self.ledger.claims[uid] for uid in self.ledger.on_node[i]}
        for uid in self.ledger.drop_node(name):
            member = self._member_of.get(uid)
            if member is None:
                continue
            if not member.node:  # seated by a plan that nobody has told us is carried out: it belongs there too
                cards, ports = indexes_of(held[uid].cards), held[uid].ports
                member = self._member_of[uid] = replace(member, node=name, cards=cards, ports=ports)
                self._unit_of[uid].seated[uid] = member
            self._on_unknown_node.setdefault(name, {})[uid] = member
        self._free_masks.pop(i, None)
        self._guessed.pop(i, None)
        self._unsure.discard(i)
        self._port_uses.pop(i, None)

    def set_namespace(self, name: str, labels: dict[str, str] | None) -> None:
        self.ledger.set_namespace(name, labels)

    def set_hypernodes(self, nodes: Iterable[HyperNode]) -> None:
        self.forest.hypernodes = {h.name: h for h in nodes}
        self.forest.forget()
        self.ledger.grow_version += 1

    def set_topologies(self, topologies: dict[str, tuple[str, ...]]) -> None:
        """Kueue and KAI Topology objects: name to label keys, widest first."""
        self.forest.topologies = topologies
        self.forest.forget()
        self.ledger.grow_version += 1

    # ---- events: members and gangs

    def set_gang(self, gang: Gang) -> None:
        """A gang is there, or has changed; members may have come before it."""
        unit = self.units.get(gang.key)
        if unit is None:
            unit = self.units[gang.key] = Unit(gang.key, gang)
        unit.gang = gang

    def drop_gang(self, key: str) -> None:
        """The gang's object is gone; its members stay what they are until they go too."""
        unit = self.units.get(key)
        if unit is not None and not unit.waiting and not unit.seated:
            del self.units[key]

    def set_member(self, member: Member) -> None:
        """A pod is there, or has changed: pending, bound, gated, moved to another gang."""
        if member.uid in self._member_of:
            old = self._member_of[member.uid]
            if old == member:
                return
            if old.node == member.node and old.shape == member.shape and old.node:
                self._replace(old, member)
                return
            self.drop_member(member.uid)
        if not member.node and not member.ours:
            return
        self._member_of[member.uid] = member
        unit = self._unit(member)
        self._unit_of[member.uid] = unit
        if member.node:
            unit.seated[member.uid] = member
            self._claim(member)
        else:
            unit.waiting[member.uid] = member
            self._waiting[unit.key] = unit

    def _unit(self, member: Member) -> Unit:
        key = member.gang or f"pod:{member.uid}"
        unit = self.units.get(key)
        if unit is None:
            gang = Gang(key=member.gang, minimum=1) if member.gang else None
            unit = self.units[key] = Unit(key, gang)
        return unit

    def _replace(self, old: Member, member: Member) -> None:
        """Same node, same shape: labels, rank or gang changed."""
        self.drop_member(member.uid)
        self._member_of[member.uid] = member
        unit = self._unit(member)
        self._unit_of[member.uid] = unit
        unit.seated[member.uid] = member
        self._claim(member)

    def drop_member(self, uid: str) -> None:
        """A pod is gone or has finished: it holds nothing any more."""
        member = self._member_of.pop(uid, None)
        if member is None:
            return
        unit = self._unit_of.pop(uid)
        unit.waiting.pop(uid, None)
        unit.seated.pop(uid, None)
        if not unit.waiting:
            self._waiting.pop(unit.key, None)
            if not unit.seated and unit.gang is None:
                self.units.pop(unit.key, None)
        if uid in self.ledger.claims:
            self._release(uid)
        elif member.node:
            self._on_unknown_node.get(member.node, {}).pop(uid, None)

    def member(self, uid: str) -> Member | None:
        return self._member_of.get(uid)

    def waiting(self) -> list[Unit]:
        """Units with members that have no node, in queue order."""
        return sorted(self._waiting.values(), key=Unit.order)

    def partly_seated(self) -> list[Unit]:
        """Gangs with members on nodes, fewer than their minimum, and others that wait."""
        return [u for u in self._waiting.values() if u.gang is not None and 0 < len(u.seated) < u.gang.minimum]

    # ---- claims

    def kind_of(self, member: Member) -> tuple[Kind, Tag]:
        return self.ledger.kind(member.shape, member.namespace, member.labels)

    def _claim(self, member: Member) -> None:
        i = self.ledger.slot.get(member.node)
        if i is None:
            self._on_unknown_node.setdefault(member.node, {})[member.uid] = member
            return
        kind, tag = self.kind_of(member)
        if (member.cards is None and kind.n_cards) or (member.ports is None and _asked_ports(kind)):
            self._guessed.setdefault(i, set()).add(member.uid)
        cards, ports = mask_of(member.cards or ()), member.ports or ()
        self._use(i, ports, 1)
        if i in self._free_masks:
            self._free_masks[i] &= ~cards
        self.ledger.hold(Claim(member.uid, i, kind, tag, cards, ports))
        self._doubt(i)

    def _doubt(self, i: int) -> None:
        """Something has changed that the guesses on a node go by."""
        if self._guessed.get(i):
            self._unsure.add(i)

    def guess(self) -> None:
        """What running members hold and nobody told, guessed anew by what is known now, where anything has changed:
        whoever came or went first, a dump of this moment gives the same. O(members of those nodes). Called before
        anybody looks at claims."""
        unsure, self._unsure = self._unsure, set()  # a set that was large once is slow to look at
        for i in unsure:
            self._guess(i)

    def _guess(self, i: int) -> None:
        self._unsure.discard(i)
        uids = sorted(self._guessed.get(i, ()))
        if not uids:
            return
        facts = self.ledger.facts[i]
        assert facts is not None
        held = [(self._member_of[uid], self.ledger.claims[uid]) for uid in uids]
        for member, claim in held:
            claim.cards = 0 if member.cards is None else claim.cards
            if member.ports is None:
                self._use(i, claim.ports, -1)
        self._free_masks.pop(i, None)
        free = self.free_mask(i)
        for member, claim in held:
            if member.cards is None:
                claim.cards = choose_cards(facts, free, claim.kind.n_cards)
                free &= ~claim.cards
            if member.ports is None:
                claim.ports = self._ports_for(i, facts, claim.kind, claim.cards)
                self._use(i, claim.ports, 1)
        self._free_masks[i] = free

    def _use(self, i: int, ports: tuple[str, ...], n: int) -> None:
        if ports:
            uses = self._port_uses.setdefault(i, {})
            for port in ports:
                uses[port] = uses.get(port, 0) + n

    def _claim_of(self, member: Member, i: int, kind: Kind, tag: Tag) -> Claim:
        """What a member holds on a node: what it is told, else chosen now."""
        facts = self.ledger.facts[i]
        assert facts is not None
        free = self.free_mask(i)
        cards = choose_cards(facts, free, kind.n_cards) if member.cards is None else mask_of(member.cards)
        self._free_masks[i] = free & ~cards
        ports = member.ports
        if ports is None:
            ports = self._ports_for(i, facts, kind, cards) if facts.ports else ()
        self._use(i, ports, 1)
        return Claim(member.uid, i, kind, tag, cards, ports)

    def _ports_for(self, i: int, facts: NodeFacts, kind: Kind, cards: int) -> tuple[str, ...]:
        asked = _asked_ports(kind)
        return choose_ports(facts, cards, asked, self._port_uses.get(i, {})) if asked else ()

    def free_mask(self, i: int) -> int:
        """Cards of a node slot that no claim holds."""
        if i in self._unsure:
            self._guess(i)
        mask = self._free_masks.get(i)
        if mask is None:
            facts = self.ledger.facts[i]
            assert facts is not None
            mask = whole_mask(facts, facts.allocatable.get(CARD, 0))
            for uid in self.ledger.on_node[i]:
                mask &= ~self.ledger.claims[uid].cards
            self._free_masks[i] = mask
        return mask

    def _release(self, uid: str) -> None:
        claim = self.ledger.release(uid)
        self._free_masks.pop(claim.node, None)
        self._use(claim.node, claim.ports, -1)
        guessed = self._guessed.get(claim.node)
        if guessed:
            guessed.discard(uid)
            self._doubt(claim.node)

    def settle(self, unit: Unit, kind: Kind, members: Iterable[Member], slots: Iterable[int]) -> list[Seat]:
        """Planned members of one kind now hold what was claimed for them in the trial, one slot each."""
        ledger, waiting, seated = self.ledger, unit.waiting, unit.seated
        is_single = unit.gang is None
        seats = []
        for member, i in zip(members, slots, strict=True):
            tag = ledger.terms.tag(member.namespace, member.labels)
            claim = self._claim_of(member, i, kind, tag)
            ledger.register(claim)
            facts = ledger.facts[i]
            assert facts is not None
            del waiting[member.uid]
            seated[member.uid] = member
            seats.append(Seat(member, facts.name, claim.cards, claim.ports, None if is_single else member.rank))
        if not waiting:
            self._waiting.pop(unit.key, None)
        return seats

    # ---- what the tests check after every event

    def faults(self) -> Iterator[str]:
        """Violated invariants, as sentences: books equal a rebuild from claims, cards held once."""
        self.guess()
        ledger = self.ledger
        used: dict[str, dict[int, int]] = {name: {} for name in ledger.free}
        cards: dict[int, int] = {}
        for claim in ledger.claims.values():
            for name, amount in claim.kind.shape.requests:
                used[name][claim.node] = used[name].get(claim.node, 0) + amount
            member = self._member_of.get(claim.uid)
            if member is None:
                yield f"claim without member: {claim.uid}"
            if claim.cards & cards.get(claim.node, 0):
                yield f"card held twice on {ledger.facts[claim.node]}"
            cards[claim.node] = cards.get(claim.node, 0) | claim.cards
        for name, vec in ledger.free.items():
            for i in range(ledger.n_slots):
                expected = ledger.total[name].at[i] - used[name].get(i, 0)
                if vec.at[i] != expected:
                    yield f"books of {name} on slot {i}: {vec.at[i]} free, {expected} by the claims"
        for uid in ledger.leaving.keys() - ledger.claims.keys():
            yield f"{uid} is leaving and holds nothing"
        for unit in self.units.values():
            for uid in unit.waiting:
                if uid in ledger.claims:
                    yield f"waiting member {uid} holds a claim"


def _asked_ports(kind: Kind) -> int:
    return sum(amount for name, amount in kind.shape.requests if name.startswith(PORT_PREFIXES))
