"""Why a gang waits: the best domain, how many members it takes, what is short there, and who was left out.

Made from the same rooms, masks and trials that refused, never guessed afterwards. Called once per distinct refusal
at the end of a cycle, so that all reasons of a cycle describe the same state.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from gangpool.core.amount import amount_text, unit_numbers
from gangpool.core.ask import Ask, Part, Refusal, Tie
from gangpool.core.coupled import fill_coupled, most_coupled, roomiest
from gangpool.core.descent import Spot, in_blocks, meet
from gangpool.core.gang import Planner, above, inner
from gangpool.core.kind import Kind
from gangpool.core.match import untolerated
from gangpool.core.model import Reason, Requirement
from gangpool.core.room import rules
from gangpool.core.topology import Tree
from gangpool.core.vec import Bools, Ints, Vec

MOST_CAUSES = 6
MOST_DOMAINS = 4


def reason_for(planner: Planner, refusal: Refusal) -> Reason:
    """The reason of a refusal, by the ledger as it is now."""
    ask = refusal.ask
    torn = next((part for part in ask.parts if not meet(ask.tree, ask.pin, part.pin)), None)
    if torn is not None:
        return _torn(ask, torn)
    mark = planner.ledger.mark()
    if len(ask.parts) == 1 and ask.parts[0].kind.coupled:
        spot, placed, others = most_coupled(planner, ask, *span(ask))
        counts, failing = _next_best(ask, spot, others), ask.parts[0]
    else:
        spot, counts = _best_spot(planner, ask)
        placed, failing = _fill(planner, ask, spot)
    lacking = _lacking(planner, ask, failing, spot)
    levels = _level_text(planner, ask, failing, spot)
    left_out = _left_out(planner, ask, failing, spot)
    planner.ledger.rollback(mark)
    short, single = _shortage(planner, lacking, failing, _usable(planner, ask, failing, spot), ask.tree.order)
    missing = sum(part.n for part in ask.parts) - placed  # running members above one role's minimum do not make up
    best = max(min(ask.running + placed, ask.needed - missing), 0)
    where = domain_text(ask.tree, spot)
    role = f"; role {failing.last_role} has no place" if failing.last_role else ""
    text = f"{best} of {ask.needed} members fit in {where}{role}{levels}{short}{counts}{left_out}"
    numbers: dict[str, int | str] = {"needed": ask.needed, "best": best, "unit": "members"}
    if ask.is_single and single:
        numbers = single
    best_domain = ask.tree.name(spot.level, spot.domain) if spot.level else None
    if not refusal.is_proved:
        text = f"no placement found in {refusal.budget} steps, and no proof that there is none; {text}"
        return Reason("not-found", text, {**numbers, "budget": refusal.budget}, best_domain, _next_step(ask, spot))
    return Reason("cannot-fit", text, numbers, best_domain, _next_step(ask, spot))


def _torn(ask: Ask, part: Part) -> Reason:
    """Nodes of running members were labelled anew: the gang's domain and that of the part lie apart."""
    held, own = domain_text(ask.tree, ask.pin), domain_text(ask.tree, part.pin)
    best = max(min(ask.running, ask.needed - part.n), 0)
    text = f"{best} of {ask.needed} members have a place: running members hold the gang to {held}, "
    text += f"and {'the others' if not part.last_role else f'role {part.last_role}'} to {own}, which is not inside it"
    numbers: dict[str, int | str] = {"needed": ask.needed, "best": best, "unit": "members"}
    domain = ask.tree.name(ask.pin.level, ask.pin.domain) if ask.pin.level else None
    step = "let the members that are outside end or start again, or label their nodes as they were"
    return Reason("cannot-fit", text, numbers, domain, step)


def domain_text(tree: Tree, spot: Spot) -> str:
    """`leaf spine-0/leaf-3`, or `the pool`."""
    if not spot.level:
        return "the pool"
    return f"{short_key(tree.keys[spot.level - 1])} {tree.name(spot.level, spot.domain)}"


def short_key(key: str) -> str:
    """The last word of a label key: `network.topology.nvidia.com/leaf` is a leaf."""
    return key.rsplit("/", 1)[-1]


def _next_step(ask: Ask, spot: Spot) -> str:
    if ask.is_single:
        return "wait until something ends, ask for less, or add a node that has it"
    if spot.level:
        return "wait for room in one domain, lower the minimum, or allow a wider level"
    return "wait for room, lower the minimum, or add nodes"


def _best_spot(planner: Planner, ask: Ask) -> tuple[Spot, str]:
    """The domain of the limit that takes most members, and a text with the next best ones."""
    tree = ask.tree
    pin, level = span(ask)
    first, last = tree.span(pin.level, pin.domain, level)
    total = np.zeros(last - first, dtype=np.int64)
    for part in ask.parts:
        sums = planner.room(part.kind, tree).sums(level)[first:last]
        if part.block_size and part.n >= part.block_size and level <= part.block_level:
            base = planner.room(part.kind, tree)
            sums = in_blocks(base, part.block_size, part.block_level).sums[level][first:last] * part.block_size
        total += np.minimum(sums, part.n)
    total[~tree.real[level][first:last]] = -1
    order = np.argsort(-total, kind="stable")
    best = Spot(level, first + int(order[0])) if total.max(initial=-1) >= 0 else pin
    return best, _next_best(ask, best, [(first + p, int(total[p])) for p in order[1:].tolist()])


def span(ask: Ask) -> tuple[Spot, int]:
    """Where the members may go, and the depth at which they all share a domain."""
    pin, level = ask.pin, ask.limit
    if len(ask.parts) == 1:
        (part,) = ask.parts
        pin, level = inner(pin, part.pin), max(level, shared_level(part))
    return pin, max(level, pin.level)


def _next_best(ask: Ask, best: Spot, others: list[tuple[int, int]]) -> str:
    """Other domains of the level and how many members each takes, in words."""
    taking = [(domain, n) for domain, n in others[: MOST_DOMAINS - 1] if n > 0]
    if best.level == 0 or ask.is_single or not taking:
        return ""
    listed = ", ".join(f"{ask.tree.name(best.level, domain)} {n} of {ask.needed}" for domain, n in taking)
    return f"; next best: {listed}"


def _fill(planner: Planner, ask: Ask, spot: Spot) -> tuple[int, Part]:
    """Seat as many members as go in a domain, part by part (claims stand); returns how many, and the part that
    has no place once the others have theirs."""
    placed, failing, short_of = 0, ask.parts[-1], 0
    begun: dict[Tie, Spot] = {}
    order = sorted(ask.parts, key=lambda part: (-part.kind.n_cards, -part.n))
    for part in order:
        around = inner(spot, part.pin)
        for tie in part.ties:
            around = inner(around, begun.get(tie, around))
        free = [tie.level for tie in part.ties if tie not in begun]
        inside = roomiest(planner, ask, part, around, max(shared_level(part), *free, 0))
        done = 0
        if inside is not None:
            begun |= {tie: above(ask.tree, inside, tie.level) for tie in part.ties if tie not in begun}
            done = _fill_part(planner, ask, part, inside)
        placed += done
        if part.n - done > short_of:
            short_of, failing = part.n - done, part
    return placed, failing


def shared_level(part: Part) -> int:
    """The depth at which all members of a part share one domain: its own level, or that of its only block."""
    return max(part.level, part.block_level if part.n < part.block_size else 0)


def _fill_part(planner: Planner, ask: Ask, part: Part, inside: Spot) -> int:
    if part.kind.coupled:
        return fill_coupled(planner, ask, part, inside)
    base = planner.room(part.kind, ask.tree)
    have = int(base.sums(inside.level)[inside.domain])
    if part.block_size and part.n >= part.block_size and inside.level <= part.block_level:
        units = in_blocks(base, part.block_size, part.block_level)
        blocks = min(int(units.sums[inside.level][inside.domain]), part.n // part.block_size)
        if blocks:
            planner.claim(part.kind, *planner.walk(base, inside, blocks, units))
        return blocks * part.block_size
    n = min(part.n, have)
    if n:
        planner.claim(part.kind, *planner.walk(base, inside, n, None))
    return n


def _level_text(planner: Planner, ask: Ask, part: Part, spot: Spot) -> str:
    """A level of the part that no node has there; else which domain is nearest to holding one more block, where none
    does."""
    tree, inside = ask.tree, inner(spot, part.pin)
    for level in sorted({part.level, part.block_level, *(tie.level for tie in part.ties)}):
        if roomiest(planner, ask, part, inside, level) is None:
            return f"; no node of {domain_text(tree, inside)} has the level {short_key(tree.keys[level - 1])}"
    size, best = min(part.block_size, part.n), roomiest(planner, ask, part, inside, part.block_level)
    if not size or best is None or best == inside:
        return ""
    room = planner.room(part.kind, tree).sums(best.level)[best.domain]
    if room >= size:
        return ""
    name = tree.name(best.level, best.domain)
    return f"; a block of {size} needs one {short_key(tree.keys[best.level - 1])}, {name} takes {room}"


def _usable(planner: Planner, ask: Ask, part: Part, spot: Spot) -> Bools:
    """Nodes of a domain that filters and rules let the next member onto; where there is none, without the rules;
    where there is none either, all."""
    ledger = planner.ledger
    here = _inside(planner, ask.tree, inner(spot, part.pin))
    filtered = here & ledger.filter_of(part.kind.shape).mask
    usable = filtered.copy()
    for _, allowed in rules(ledger, part.kind):
        usable &= allowed
    return usable if usable.any() else filtered if filtered.any() else here


def _lacking(planner: Planner, ask: Ask, part: Part, spot: Spot) -> list[int]:
    """Which of a kind's asks the next member does not find, once the others are seated, as positions in its requests:
    those that no node has left; else, among the nodes that have the scarcest, those that none of them has."""
    mask = _usable(planner, ask, part, spot)
    while mask.any():
        having = [np.count_nonzero(mask & (vec.view >= amount)) for vec, amount in part.kind.asks]
        nowhere = [p for p, n in enumerate(having) if n == 0]
        if nowhere:
            return nowhere
        scarcest = having.index(min(having))
        if having[scarcest] == np.count_nonzero(mask):
            break  # a node has all of it: taints, rules or levels are in the way, not room
        vec, amount = part.kind.asks[scarcest]
        mask &= vec.view >= amount
    return []


def _shortage(
    planner: Planner, lacking: list[int], part: Part, usable: Bools, order: Ints
) -> tuple[str, dict[str, int | str]]:
    """`; RESOURCE asked X, best Y`: Y is what the best node has free now. The fullest node that has some of it, but
    takes no member, is named; and what is on no node at all, free or not, says the largest there is, if any."""
    ledger = planner.ledger
    texts: list[str] = []
    numbers: dict[str, int | str] = {}
    for p in lacking:
        name, (vec, amount) = part.kind.shape.requests[p][0], part.kind.asks[p]
        values = np.where(usable, vec.view, 0)
        best = max(int(values.max()), 0)
        text = f"; {name} asked {amount_text(name, amount)}, best {amount_text(name, best)}"
        near = np.where(values < amount, values, 0)
        at = int(order[near[order].argmax()]) if len(order) else 0
        if near[at] > 0 and (facts := ledger.facts[at]) is not None:
            text += f" ({facts.name} has {amount_text(name, int(near[at]))})"
        largest = int(np.where(usable, ledger.total[name].view, 0).max())
        if amount > largest:
            has = f"the largest node has {amount_text(name, largest)}" if largest > 0 else "no node has any"
            text += f", {has}"
        if held := _held_by_leaving(planner, vec, usable):
            text += f", {amount_text(name, held)} held by terminating pods"
        texts.append(text)
        numbers = numbers or unit_numbers(name, amount, best)
    return "".join(texts), numbers


def _held_by_leaving(planner: Planner, vec: Vec, usable: Bools) -> int:
    """How much of a resource pods hold that are being deleted: it comes back without anybody's doing."""
    leaving = [claim for claim in planner.ledger.leaving.values() if usable[claim.node]]
    return sum(amount for claim in leaving for of, amount in claim.kind.asks if of is vec)


def _inside(planner: Planner, tree: Tree, spot: Spot) -> Bools:
    mask = np.zeros(planner.ledger.capacity, dtype=np.bool_)
    mask[tree.nodes(spot.level, spot.domain)] = True
    return mask


def _left_out(planner: Planner, ask: Ask, part: Part, spot: Spot) -> str:
    """Nodes of the pool that cannot take the member for other causes than room, with counts."""
    ledger, kind = planner.ledger, part.kind
    if not len(ask.tree.order):
        return "; the pool has no nodes"
    here = _inside(planner, ask.tree, ask.pin)
    selectors = ledger.columns.filter(kind.shape.node_selectors + kind.shape.held_to, None).mask
    causes: dict[str, int] = {}
    mismatched = int(np.count_nonzero(here & ~selectors))
    if mismatched:
        causes[f"do not match {selector_text(kind)}"] = mismatched
    rest = here & selectors
    tolerated = ledger.columns.filter((), kind.shape.tolerations).mask
    for number, count in Counter(ledger.columns.taint_ids()[rest & ~tolerated].tolist()).items():
        taint = untolerated(kind.shape.tolerations, ledger.columns.taint_sets[number])
        if taint is not None:
            words = taint_words(str(taint))
            causes[words] = causes.get(words, 0) + count
    rest &= tolerated
    for cause, allowed in rules(ledger, kind):
        forbidden = int(np.count_nonzero(rest & ~allowed))
        if forbidden:
            words = f"excluded by {cause}"
            causes[words] = causes.get(words, 0) + forbidden
    causes.update(ledger.notes(here))
    if not causes:
        return ""
    ranked = sorted(causes.items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{count} {cause}" for cause, count in ranked[:MOST_CAUSES])
    more = len(ranked) - MOST_CAUSES
    return f"; nodes left out: {listed}" + (f", and {more} more causes" if more > 0 else "")


def taint_words(taint: str) -> str:
    """A taint as people know it."""
    if taint.startswith("node.kubernetes.io/unschedulable"):
        return "cordoned"
    if taint.startswith("node.kubernetes.io/not-ready"):
        return "not ready"
    if taint.startswith("node.kubernetes.io/unreachable"):
        return "unreachable"
    return f"with taint {taint}"


def selector_text(kind: Kind) -> str:
    """The node selectors of a kind in words."""
    shown = []
    for selector in kind.shape.node_selectors + kind.shape.held_to:
        terms = [" and ".join(_requirement_text(r) for r in term) for term in selector if term]
        shown.append(" or ".join(terms) if terms else "an empty node selector")
    return ", ".join(shown)[:300]


def _requirement_text(requirement: Requirement) -> str:
    key = requirement.key.removeprefix("field:")
    values = ",".join(requirement.values[:3]) + (",…" if len(requirement.values) > 3 else "")
    if requirement.operator == "In":
        return f"{key}={values}" if len(requirement.values) == 1 else f"{key} in ({values})"
    if requirement.operator == "NotIn":
        return f"{key} not in ({values})"
    if requirement.operator in ("Exists", "DoesNotExist"):
        return key if requirement.operator == "Exists" else f"no {key}"
    return f"{key} {'>' if requirement.operator == 'Gt' else '<'} {values}"
