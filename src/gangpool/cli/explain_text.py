"""The answer of `explain` for people: what, where, why, what next. Pure: an answer in, lines out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangpool.cli.shown import age, amount, last_word
from gangpool.cli.table import name_ranges, plain, ranges, table
from gangpool.core.model import CARD
from gangpool.intake.answer import ReasonEntry
from gangpool.intake.explanation import ExplainAnswer, HolderEntry, NodeRoom

_NAME = 9
_GROUPS_SHOWN = 4
_HOLDERS_SHOWN = 20
"""Pods of a node; `-o json` has all of them."""
_KEPT = ("cpu", "memory", "pods")
"""Resources that are always shown; others only where a node has some of them."""


def lines(answer: ExplainAnswer, now_s: float) -> Iterator[str]:
    """The whole answer. `now_s`: seconds since the epoch, for ages."""
    yield plain(_headline(answer, now_s))
    for name, text in _facts(answer):
        yield plain(f"  {name.ljust(_NAME)}{text}")
    if answer.room is not None:
        yield from _room(answer.room)


def _headline(answer: ExplainAnswer, now_s: float) -> str:
    """`pod/ml/big-0 is pending for 5m: cannot-fit`."""
    code = f": {answer.reason.code}" if answer.reason is not None else ""
    if answer.room is not None:
        return f"{answer.object} {_node_state(answer, answer.room)}{code}"
    nodes = [answer.node] if answer.node else list(answer.nodes)
    on = f" on {name_ranges(nodes, _GROUPS_SHOWN)}" if nodes and answer.state != "pending" else ""
    if answer.state == "not-ours":
        return f"{answer.object} is another scheduler's{',' * bool(on)}{on}"
    passed = age(answer.since, now_s)
    when = "" if not passed else f" since {passed} ago" if answer.state == "finished" else f" for {passed}"
    return f"{answer.object} is {answer.state}{on}{when}{code}"


def _node_state(answer: ExplainAnswer, room: NodeRoom) -> str:
    if answer.state == "closed":
        return "takes nothing new"
    cards = next((one for one in room.resources if one.resource == CARD), None)
    return "takes new pods" + (f", {max(int(cards.free), 0)} of {cards.allocatable} cards free" if cards else "")


def _facts(answer: ExplainAnswer) -> Iterator[tuple[str, str]]:
    """Lines of a name and a text; a name is written once."""
    if answer.reason is not None:
        yield from _reason(answer.reason)
    if answer.members is not None:
        members = answer.members
        least = "" if members.minimum is None else f", minimum {members.minimum}"
        done = f", {members.finished} finished" if members.finished else ""
        of = f"{answer.gang}: " if answer.gang else ""
        text = f"{of}{members.bound} of {members.exist} members bound, {members.running} running{done}{least}"
        yield "gang" if answer.gang else "pods", text
    if answer.domain is not None:
        yield "where", f"{last_word(answer.domain.level)} {answer.domain.domain}"
    yield from _devices(answer.devices)
    if answer.room is not None and answer.room.taints:
        yield "taints", ", ".join(answer.room.taints)
    for i, entry in enumerate(answer.also):
        yield "also" if not i else "", f"{entry.code}: {entry.message}"


def _reason(reason: ReasonEntry) -> Iterator[tuple[str, str]]:
    """A clause a line, then what can be done."""
    for i, clause in enumerate(reason.message.split("; ")):
        yield "why" if not i else "", clause
    if reason.starts_at:
        yield "starts", reason.starts_at
    if reason.next_step:
        yield "next", reason.next_step


def _devices(devices: object) -> Iterator[tuple[str, str]]:
    """Containers with their cards, slices and ports, as far as the annotation has the form that we write."""
    containers = devices.get("containers") if isinstance(devices, dict) else None
    for i, (name, held) in enumerate(containers.items() if isinstance(containers, dict) else ()):
        if not isinstance(held, dict):
            continue
        cards, slices, ports = (held.get(key) or [] for key in ("cards", "slices", "ports"))
        parts = [f"cards {ranges(c for c in cards if isinstance(c, int))}"] if isinstance(cards, list) and cards else []
        parts += [f"{len(slices)} slices"] if isinstance(slices, list) and slices else []
        parts += [f"ports {name_ranges(map(str, ports))}"] if isinstance(ports, list) and ports else []
        yield "devices" if not i else "", f"{name}: {', '.join(parts) or 'none'}"


def _room(room: NodeRoom) -> Iterator[str]:
    """What the node has, and who holds it."""
    rows: list[Sequence[object]] = []
    for one in room.resources:
        if one.resource in _KEPT or {one.capacity, one.allocatable, one.held} - {"0", None}:
            numbers = (one.capacity, one.allocatable, one.held, one.free)
            rows.append((one.resource, *("-" if n is None else amount(one.resource, n) for n in numbers)))
    yield ""
    yield from table(("RESOURCE", "CAPACITY", "ALLOCATABLE", "HELD", "FREE"), rows)
    if not room.pods:
        return
    yield ""
    shown = sorted(room.pods, key=lambda pod: -len(pod.cards))[:_HOLDERS_SHOWN]
    yield from table(("NAMESPACE", "POD", "GANG", "CARDS"), [_holder(pod) for pod in shown])
    if len(room.pods) > len(shown):
        yield f"... and {len(room.pods) - len(shown)} more pods"


def _holder(pod: HolderEntry) -> tuple[object, ...]:
    cards = ("" if pod.cards_exact else "~") + ranges(pod.cards) if pod.cards else "-"
    gang = pod.gang.removeprefix(f"{pod.namespace}/") if pod.gang else "-"
    return pod.namespace, pod.pod, gang, cards
