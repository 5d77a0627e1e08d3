"""What a node has, what is free, who sits there, and why it takes nothing new: `gangpool explain node/NAME`.

Read from the ledger, so that it cannot differ from what the planner sees; capacity and the words of the kubelet come
from the Node itself. Called by `explained`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from gangpool.core.cards import indexes_of
from gangpool.core.model import CARD, PODS, NodeFacts, Reason
from gangpool.intake.amounts import amount_text
from gangpool.intake.answer import DomainEntry
from gangpool.intake.explanation import (
    EXPLAIN_SCHEMA,
    AlsoEntry,
    CardEntry,
    ExplainAnswer,
    HolderEntry,
    NodeRoom,
    NotThere,
    ResourceEntry,
    doubt_of,
)
from gangpool.intake.node_list import CORDONED, NOT_READY
from gangpool.intake.not_there import not_there_text
from gangpool.intake.place import entry_of
from gangpool.intake.seen import Seen
from gangpool.intake.target import Target
from gangpool.intake.world import World
from gangpool.objects.node import Node, amounts_of
from gangpool.objects.pod import Condition

OPEN, CLOSED = "open", "closed"
_MEASURED = ("cpu", "memory", "ephemeral-storage", "hugepages-")
"""Resources of which the kubelet keeps a part for itself: less allocatable than capacity is no trouble."""


def explain_node(world: World, seen: Seen, target: Target) -> ExplainAnswer:
    """The answer about one node. Raises NotThere."""
    slot = world.pool.ledger.slot.get(target.name)
    facts = None if slot is None else world.pool.ledger.facts[slot]
    if slot is None or facts is None:
        raise NotThere(not_there_text(world, seen, target))
    room = _room(world, slot, facts, seen.node)
    ready = _ready(seen.node)
    closing = list(_closing(room, ready))
    troubles = closing + list(_degraded(room, facts)) + list(_full(room)) + list(_tainted(room))
    also = [AlsoEntry(one.code, one.message) for one in troubles[1:]]
    also += [doubt_of(note) for note in world.notes if note.object == f"Node//{facts.name}"]
    return ExplainAnswer(
        schema=EXPLAIN_SCHEMA,
        object=target.text,
        gang=None,
        state=CLOSED if closing else OPEN,
        reason=entry_of(troubles[0]) if troubles else None,
        also=tuple(also),
        node=facts.name,
        since=ready.lastTransitionTime if ready is not None and not room.ready else None,
        domain=room.domains[-1] if room.domains else None,
        room=room,
    )


def _room(world: World, slot: int, facts: NodeFacts, node: Node | None) -> NodeRoom:
    ledger = world.pool.ledger
    tree = world.pool.forest.tree(world.pool.forest.default_keys())
    capacity = {} if node is None else amounts_of(node.status.capacity or {})
    names = sorted(set(facts.allocatable) | set(capacity), key=lambda name: (name != CARD, name))
    keys = {taint.key for taint in facts.taints}
    return NodeRoom(
        ready=not keys & NOT_READY,
        schedulable=CORDONED not in keys,
        resources=tuple(_resource(name, facts, capacity.get(name), ledger.resource(name).at[slot]) for name in names),
        taints=tuple(map(str, facts.taints)),
        domains=tuple(DomainEntry(*step) for step in tree.path_of(slot)),
        cards=tuple(CardEntry(card.index, card.healthy, card.reason) for card in facts.cards),
        pods=tuple(_holders(world, slot, facts)),
    )


def _resource(name: str, facts: NodeFacts, capacity: int | None, free: int) -> ResourceEntry:
    has = facts.allocatable.get(name, 0)
    return ResourceEntry(
        resource=name,
        capacity=None if capacity is None else amount_text(name, capacity),
        allocatable=amount_text(name, has),
        held=amount_text(name, has - free),
        free=amount_text(name, free),
    )


def _holders(world: World, slot: int, facts: NodeFacts) -> Iterator[HolderEntry]:
    """Pods on a node by name."""
    ledger = world.pool.ledger
    found = []
    for uid in ledger.on_node[slot]:
        member = world.pool.member(uid)
        if member is not None:
            cards = indexes_of(ledger.claims[uid].cards)
            is_exact = bool(facts.cards) or member.cards is not None
            entry = HolderEntry(member.namespace, member.name, member.gang or None, cards, is_exact, member.ours)
            found.append(entry)
    yield from sorted(found, key=lambda entry: (entry.namespace, entry.pod))


def _ready(node: Node | None) -> Condition | None:
    conditions = [] if node is None else node.status.conditions or []
    return next((condition for condition in conditions if condition.type == "Ready"), None)


# ---- what is wrong with it


def _closing(room: NodeRoom, ready: Condition | None) -> Iterator[Reason]:
    """Why it takes no new pod at all."""
    if not room.ready:
        words = "" if ready is None else ": ".join(filter(None, (ready.reason, ready.message)))
        text = "is not ready" + (f": {words}" if words else "")
        yield Reason("node-not-ready", text, next_step="see the kubelet on the node")
    if not room.schedulable:
        yield Reason("node-cordoned", "is marked unschedulable", next_step="kubectl uncordon it when it may be used")
    places = next((one for one in room.resources if one.resource == PODS), None)
    if places is None or int(places.free) <= 0:
        held, most = (len(room.pods), 0) if places is None else (int(places.held), int(places.allocatable))
        yield Reason("node-full", f"holds {held} pods, the kubelet takes {most}", next_step="wait until a pod ends")


def _degraded(room: NodeRoom, facts: NodeFacts) -> Iterator[Reason]:
    """What it has and does not offer."""
    for note in facts.notes:
        yield Reason("node-degraded", note, next_step="see what changes or checks the cards on the node")
    for card in room.cards:
        if not card.healthy:
            why = f": {card.reason}" if card.reason else ""
            yield Reason("node-degraded", f"card {card.index} is unwell{why}", next_step="see the card on the node")
    for one in room.resources:
        if one.resource.startswith(_MEASURED) or one.resource == PODS:
            continue
        capacity = int(one.capacity or one.allocatable)
        has, held = int(one.allocatable), int(one.held)
        if held <= has and (has >= capacity or facts.notes):  # a note has said why already
            continue
        text = f"{has} of {max(capacity, has)} {one.resource} usable"
        text += f", and its pods hold {held}" if held > has else ""
        numbers: dict[str, int | str] = {"needed": capacity, "best": has, "unit": one.resource}
        yield Reason("node-degraded", text, numbers, next_step="see the device plugin and the devices on the node")


def _full(room: NodeRoom) -> Iterator[Reason]:
    """All its cards are held."""
    cards = next((one for one in room.resources if one.resource == CARD), None)
    if cards is not None and 0 < int(cards.allocatable) <= int(cards.held):
        text = f"none of its {cards.allocatable} cards is free"
        yield Reason("node-full", text, {"needed": 1, "best": 0, "unit": CARD}, next_step="wait until a pod ends")


def _tainted(room: NodeRoom) -> Iterator[Reason]:
    """Taints that only some pods tolerate."""
    known = (*NOT_READY, CORDONED)
    taints = [t for t in room.taints if not t.startswith(known) and not t.endswith(":PreferNoSchedule")]
    if taints:
        text = f"takes only pods that tolerate {', '.join(taints)}"
        yield Reason("node-tainted", text, next_step="tolerate it in the pods that belong there, or remove the taint")
