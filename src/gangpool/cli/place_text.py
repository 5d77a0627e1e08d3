"""The answer of `place` for people: a line per gang, or per pod, what waits and why, and one line of sums.

Called by `gangpool place` and `gangpool demo`. Pure: an answer in, lines out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gangpool.cli.table import name_ranges, plain, ranges, table
from gangpool.intake.answer import PendingEntry, PlaceAnswer, PlacedEntry, SliceEntry, WarningEntry

_GROUPS_SHOWN = 4
"""Brackets or names of nodes shown in the line of a gang; `-o wide` and `-o json` have all of them."""


def lines(answer: PlaceAnswer, *, wide: bool = False) -> Iterator[str]:
    """The whole answer: what is placed, what waits, what must go, and the sums; parts without content are left out."""
    if answer.placed:
        yield from _pods(answer.placed) if wide else _gangs(answer.placed)
        yield ""
    if answer.pending:
        yield from waiting_lines(answer.pending)
        yield ""
    if answer.evicted:
        rows = [(entry.namespace, entry.pod, entry.beneficiary) for entry in answer.evicted]
        yield from table(("NAMESPACE", "EVICTED", "FOR"), rows)
        yield ""
    yield sums(answer)


def warning_lines(warnings: Iterable[WarningEntry]) -> Iterator[str]:
    """One line each: where (file, object, field), what, and its code."""
    for entry in warnings:
        place = ": ".join(part for part in (entry.file, entry.object, entry.field) if part)
        yield plain(f"warning: {place}: {entry.message} [{entry.code}]")


def waiting_lines(pending: Sequence[PendingEntry]) -> Iterator[str]:
    """A line per gang or pod that waits, each followed by what can be done."""
    rows = [
        (
            entry.namespace,
            short(entry.gang, entry.namespace, name_ranges(entry.pods, _GROUPS_SHOWN)),
            len(entry.pods),
            entry.reason.code,
            entry.reason.message,
        )
        for entry in pending
    ]
    heads, *body = table(("NAMESPACE", "WAITING", "PODS", "REASON", "MESSAGE"), rows)
    yield heads
    for line, entry in zip(body, pending, strict=True):
        yield line
        if entry.reason.next_step:
            yield plain(f"  next: {entry.reason.next_step}")


def sums(answer: PlaceAnswer) -> str:
    """What became of everything, in one line."""
    pool = answer.pool
    waiting = sum(len(entry.pods) for entry in answer.pending)
    return (
        f"{len(answer.placed)} {'pod' if len(answer.placed) == 1 else 'pods'} placed, {waiting} waiting; "
        f"{pool.cards_free_before} of {pool.cards} cards free before, {pool.cards_free_after} after; "
        f"{pool.nodes} nodes, {answer.decision_ms:g} ms"
    )


def common_domain(entries: Sequence[PlacedEntry]) -> tuple[str, str]:
    """(label key, domain) of the narrowest domain that holds all of them; ("", "") if there is none."""
    best = ("", "")
    first, others = entries[0], entries[1:]
    shared = set.intersection(*({(d.level, d.domain) for d in e.domains} for e in others)) if others else None
    for entry in first.domains:
        if shared is None or (entry.level, entry.domain) in shared:
            best = (entry.level, entry.domain)
    return best


def by_gang(placed: Iterable[PlacedEntry]) -> list[list[PlacedEntry]]:
    """Pods of one gang together, in the order of the answer; each single pod by itself."""
    groups: dict[tuple[str, str, bool], list[PlacedEntry]] = {}
    for entry in placed:
        key = (entry.namespace, entry.pod if entry.gang is None else entry.gang, entry.gang is None)
        groups.setdefault(key, []).append(entry)
    return list(groups.values())


def short(gang: str | None, namespace: str, pod: str) -> str:
    """The name beside a namespace column: that of the gang without its namespace, or of the pod or pods."""
    return pod if gang is None else gang.removeprefix(f"{namespace}/")


def cards(entry: PlacedEntry) -> str:
    """Whole cards and slices of one pod: `0-7`, `2:1g.5gb`, `-`. A `~` in front: the node names no cards."""
    parts = [ranges(entry.cards)] if entry.cards else []
    parts += [f"{s.card}:{_slice(s)}" for s in entry.slices]
    return ("" if entry.cards_exact or not parts else "~") + (",".join(parts) or "-")


def _slice(entry: SliceEntry) -> str:
    if entry.profile is not None:
        return entry.profile if entry.start is None else f"{entry.profile}@{entry.start}"
    return f"{entry.memory_mib}MiB" if entry.memory_mib is not None else f"{entry.compute_pct}%"


def _gangs(placed: Sequence[PlacedEntry]) -> Iterator[str]:
    rows = []
    for group in by_gang(placed):
        first = group[0]
        level, domain = common_domain(group)
        n_cards = sum(len(entry.cards) for entry in group)
        rows.append(
            (
                first.namespace,
                short(first.gang, first.namespace, first.pod),
                len(group),
                n_cards or "-",
                level.rpartition("/")[2] or "-",
                domain or "-",
                name_ranges((entry.node for entry in group), _GROUPS_SHOWN),
            )
        )
    yield from table(("NAMESPACE", "PLACED", "PODS", "CARDS", "LEVEL", "DOMAIN", "NODES"), rows)


def _pods(placed: Sequence[PlacedEntry]) -> Iterator[str]:
    rows = [
        (
            entry.namespace,
            entry.pod,
            "-" if entry.gang is None else short(entry.gang, entry.namespace, entry.pod),
            "-" if entry.rank is None else entry.rank,
            entry.domains[-1].domain if entry.domains else "-",
            entry.node,
            cards(entry),
            name_ranges(entry.ports) or "-",
        )
        for entry in placed
    ]
    yield from table(("NAMESPACE", "POD", "GANG", "RANK", "DOMAIN", "NODE", "CARDS", "PORTS"), rows)
