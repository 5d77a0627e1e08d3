"""The books made anew from nodes and claims, the slow and obvious way, and what differs: an oracle for histories.

Nothing here reads a counter, a filter or a tally to tell what it should be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from gangpool.core.ledger import Claim, Ledger
from gangpool.core.match import matches, node_matches, untolerated
from gangpool.core.model import CARD, NAME_FIELD, Member, NodeFacts, Requirement, Selector, Shape, Term
from gangpool.core.ranking import rank
from gangpool.core.tally import Tally
from gangpool.core.terms import TERMINATING, Counter
from gangpool.core.topology import Tree

Counts = dict[tuple[object, ...], dict[int, int]]


def book_faults(ledger: Ledger) -> Iterator[str]:
    """Differences of free and total amounts."""
    for name, free in ledger.free.items():
        for i, facts in enumerate(ledger.facts):
            total = 0 if facts is None else facts.allocatable.get(name, 0)
            used = sum(dict(c.kind.shape.requests).get(name, 0) for c in ledger.claims.values() if c.node == i)
            if (ledger.total[name].at[i], free.at[i]) != (total, total - used):
                yield f"{name} on slot {i}: {free.at[i]} of {ledger.total[name].at[i]}, not {total - used} of {total}"
        beyond = (*free.view[ledger.n_slots :], *ledger.total[name].view[ledger.n_slots :])
        if any(beyond):
            yield f"{name} beyond the last slot"
    for uid, claim in ledger.claims.items():
        if uid not in ledger.on_node[claim.node]:
            yield f"{uid} is not listed on its node"
    if sum(map(len, ledger.on_node)) != len(ledger.claims):
        yield "claims listed on nodes that they are not on"


def counter_faults(ledger: Ledger) -> Iterator[str]:
    """Differences of the counters of selectors, carried terms and host ports."""
    expected: Counts = {}
    for key in ledger.terms._matches:
        expected["match", key] = _count(c for c in ledger.claims.values() if _is_match(ledger, c, *key))
    for term in ledger.terms._carries:
        expected["carry", term] = _count(c for c in ledger.claims.values() if term in c.kind.shape.anti_affinity)
    for (protocol, port), addresses in ledger.terms._ports.items():
        for address in addresses:
            use = (address, protocol, port)
            expected["port", *use] = _count(c for c in ledger.claims.values() if use in c.kind.shape.host_ports)
    named: dict[tuple[object, ...], Counter] = {("match", key): m for key, m in ledger.terms._matches.items()}
    named |= {("carry", term): carry for term, carry in ledger.terms._carries.items()}
    named |= {("port", a, *key): use for key, found in ledger.terms._ports.items() for a, use in found.items()}
    for name, counter in named.items():
        counts = {i: int(n) for i, n in enumerate(counter.of.view) if n}
        if counts != expected[name] or counter.total != sum(counts.values()):
            yield f"counter {name}: {counts} in total {counter.total}, not {expected[name]}"
    for claim in ledger.claims.values():
        if set(claim.kind.matches) != {m for key, m in ledger.terms._matches.items() if _is_match(ledger, claim, *key)}:
            yield f"kind of {claim.uid} does not move what its labels match"


def _count(claims: Iterable[Claim]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for claim in claims:
        counts[claim.node] = counts.get(claim.node, 0) + 1
    return counts


def _is_match(ledger: Ledger, claim: Claim, selector: Selector, names: tuple[str, ...], by_label: Selector) -> bool:
    space, labels = claim.tag.namespace, dict(claim.tag.labels)
    chosen = space in names or (by_label is not None and matches(by_label, ledger.terms.namespaces.get(space, {})))
    return chosen and matches(selector, labels)


def lets_in(shape: Shape, facts: NodeFacts) -> bool:
    """Selectors and taints of one node, by `match` alone."""
    labels = {**facts.labels, NAME_FIELD: facts.name}
    return all(node_matches(s, labels) for s in (*shape.node_selectors, *shape.held_to)) and (
        untolerated(shape.tolerations, facts.taints, shape.avoid_soft_taints) is None
    )


def room_of(ledger: Ledger, shape: Shape, i: int) -> int:
    """Members of a shape that fit on a slot by allocatable and claims."""
    facts = ledger.facts[i]
    if facts is None or not lets_in(shape, facts):
        return 0
    held: dict[str, int] = {}
    for uid in ledger.on_node[i]:
        for name, amount in ledger.claims[uid].kind.shape.requests:
            held[name] = held.get(name, 0) + amount
    rooms = [(facts.allocatable.get(name, 0) - held.get(name, 0)) // amount for name, amount in shape.requests]
    return max(0, min(rooms, default=1 << 31))


def tally_faults(ledger: Ledger, tally: Tally, trees: Iterable[Tree]) -> Iterator[str]:
    """Differences of a tally (after `sync`): fit, twin and sums per level. No trial may be open."""
    tally.sync()
    fit = [room_of(ledger, tally.kind.shape, i) for i in range(ledger.n_slots)]
    twin = [n if _is_broken(ledger, i) else 0 for i, n in enumerate(fit)]
    for what, vec, expected in (("fit", tally.fit, fit), ("twin", tally.twin, twin)):
        if vec.view[: ledger.n_slots].tolist() != expected or vec.view[ledger.n_slots :].any():
            yield f"{what} of kind {tally.kind.number}: {vec.view[: ledger.n_slots].tolist()}, not {expected}"
    for tree in trees:
        yield from rank_faults(tally, tree)
        sums = tally.sums(tree)
        for level in range(tree.depth + 1):
            for what, found, values in (("room", sums.room, fit), ("broken", sums.broken, twin)):
                nodes = [tree.nodes(level, domain) for domain in range(len(tree.names[level]))]
                expected = [int(np.array(values, dtype=np.int64)[index].sum()) for index in nodes]
                if found[level].view.tolist() != expected:
                    yield f"{what} of kind {tally.kind.number} at level {level}: {found[level].view}, not {expected}"


def rank_faults(tally: Tally, tree: Tree) -> Iterator[str]:
    """Differences of the ranks that a tally (after `sync`) keeps for some sizes of gangs."""
    fit, twin = tally.fit.view, tally.twin.view
    for n, ranking in tally.sums(tree).rankings.items():
        for domain in range(len(tree.names[-1])):
            nodes = tree.nodes(tree.depth, domain)
            broken = twin[nodes]
            one, two = int((broken >= n).sum()), int((2 * broken >= n).sum())
            expected = rank(n, int(broken.sum()), int(fit[nodes].sum()), one, two)
            if ranking.of.at[domain] != expected:
                yield f"rank of {tree.name(tree.depth, domain)} for {n} of kind {tally.kind.number}"


def _is_broken(ledger: Ledger, i: int) -> bool:
    facts = ledger.facts[i]
    total = 0 if facts is None else facts.allocatable.get(CARD, 0)
    used = sum(ledger.claims[uid].kind.n_cards for uid in ledger.on_node[i])
    return total == 0 or used != 0


def is_counted(term: Term, member: Member, namespaces: dict[str, dict[str, str]]) -> bool:
    """Whether a term means this member."""
    chosen = member.namespace in term.namespaces or (
        term.namespace_selector is not None and matches(term.namespace_selector, namespaces.get(member.namespace, {}))
    )
    return chosen and matches(term.selector, dict(member.labels))


def spread_selector(selector: Selector) -> Selector:
    """What a spread constraint counts: not the pods that end."""
    return None if selector is None else (*selector, Requirement(TERMINATING, "DoesNotExist"))
