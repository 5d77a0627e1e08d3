"""What must hold after every event of a history, and of every plan; sentences that say what does not.

Rules are judged from the objects alone (labels, shapes, nodes), not from counters or trees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gangpool.core.model import Gang, Level, Member, NodeFacts, Plan, Seat, Wait
from gangpool.core.pool import Pool, Unit
from gangpool.core.reasons import CODES
from gangpool.core.terms import ANY_ADDRESS
from tests.core.build import RACK, ZONE
from tests.core.history import History
from tests.core.rebuild import book_faults, counter_faults, is_counted, lets_in, tally_faults


def state_faults(history: History) -> Iterator[str]:
    """After every event."""
    pool = history.pool
    yield from pool.faults()
    for unit in pool.units.values():
        for uid, member in unit.seated.items():
            if uid not in pool.ledger.claims and member.node in pool.ledger.slot:
                yield f"{uid} is on {member.node} and holds nothing"
        if set(unit.waiting) & set(unit.seated):
            yield f"{unit.key}: members that wait and run"


def deep_faults(history: History) -> Iterator[str]:
    """Slower; after some events. Books, counters and the tallies that the planner keeps equal a rebuild."""
    pool = history.pool
    yield from book_faults(pool.ledger)
    yield from counter_faults(pool.ledger)
    tree = pool.forest.tree(pool.forest.default_keys())
    for tally in history.cycle.planner.tallies.all()[-6:]:
        yield from tally_faults(pool.ledger, tally, (tree,))


def plan_faults(history: History, plan: Plan) -> Iterator[str]:
    """After a cycle."""
    pool = history.pool
    yield from _seat_faults(pool, plan)
    yield from _wait_faults(pool, plan)
    for unit in pool.units.values():
        if unit.gang is not None:
            yield from _gang_faults(pool, unit, unit.gang, plan, unit.key in history.disturbed)


def _seat_faults(pool: Pool, plan: Plan) -> Iterator[str]:
    ledger = pool.ledger
    n_seats = Counter(seat.member.uid for seat in plan.seats)
    for seat in plan.seats:
        uid, shape, i = seat.member.uid, seat.member.shape, ledger.slot[seat.node]
        claim, facts = ledger.claims.get(uid), ledger.facts[i]
        assert facts is not None
        if n_seats[uid] > 1:
            yield f"{uid}: seated twice"
        if claim is None or (claim.node, claim.cards, claim.ports) != (i, seat.cards, seat.ports):
            yield f"{uid}: the ledger does not hold what the plan says"
        if seat.cards.bit_count() != dict(shape.requests).get("nvidia.com/gpu", 0):
            yield f"{uid}: {seat.cards.bit_count()} cards"
        if seat.member.gates or seat.member.blocked:
            yield f"{uid}: held back, but seated"
        if not lets_in(shape, facts):
            yield f"{uid}: not let in on {seat.node}"
        for name, _ in shape.requests:
            if ledger.free[name].at[i] < 0:
                yield f"{uid}: over-commits {name} on {seat.node}"
        yield from _rule_faults(pool, seat, facts)


def _rule_faults(pool: Pool, seat: Seat, facts: NodeFacts) -> Iterator[str]:
    """Anti-affinity both ways and host ports, against all that hold something now."""
    me = seat.member
    for uid, claim in pool.ledger.claims.items():
        other, where = pool.member(uid), pool.ledger.facts[claim.node]
        if uid == me.uid or other is None or where is None:
            continue
        for one, two in ((me, other), (other, me)):
            for term in one.shape.anti_affinity:
                value = facts.labels.get(term.key)
                together = value is not None and where.labels.get(term.key) == value
                if together and is_counted(term, two, pool.ledger.terms.namespaces):
                    yield f"{me.uid} on {facts.name}: {one.uid} keeps away from {two.uid} on {where.name}"
        if where is facts and _clash(me, other):
            yield f"{me.uid} on {facts.name}: host port of {uid}"


def _clash(one: Member, other: Member) -> bool:
    return any(
        a[1:] == b[1:] and (a[0] == b[0] or a[0] in ANY_ADDRESS or b[0] in ANY_ADDRESS)
        for a in one.shape.host_ports
        for b in other.shape.host_ports
    )


def _wait_faults(pool: Pool, plan: Plan) -> Iterator[str]:
    waiting = {uid for unit in pool.units.values() for uid in unit.waiting}
    told = Counter(member.uid for wait in plan.waits for member in wait.members)
    if set(told) != waiting or any(n > 1 for n in told.values()):
        yield f"waits: {waiting ^ set(told)} untold or not waiting, {[uid for uid, n in told.items() if n > 1]} twice"
    for wait in plan.waits:
        yield from _reason_faults(wait)


def _reason_faults(wait: Wait) -> Iterator[str]:
    reason = wait.reason
    who = wait.gang or wait.members[0].uid
    if reason.code not in CODES:
        yield f"{who}: no such code {reason.code}"
    if reason.code in ("cannot-fit", "not-found"):
        needed, best = reason.numbers["needed"], reason.numbers["best"]
        if reason.code == "cannot-fit" and reason.numbers["unit"] == "members" and best >= needed:  # type: ignore[operator]
            yield f"{who}: cannot fit, but {best} of {needed} do: {reason.message}"
        if ("budget" in reason.numbers) != (reason.code == "not-found"):
            yield f"{who}: a budget belongs to a search without an answer"
    if not reason.message or not (reason.next_step or reason.code == "gated"):
        yield f"{who}: nothing said"


def _gang_faults(pool: Pool, unit: Unit, gang: Gang, plan: Plan, is_disturbed: bool) -> Iterator[str]:
    mine = [seat for seat in plan.seats if seat.member.gang == unit.key]
    n = len(unit.seated)
    if not is_disturbed and 0 < n < gang.minimum:
        yield f"{unit.key}: {n} of {gang.minimum} run"
    if not mine:
        return
    if n < gang.minimum:
        yield f"{unit.key}: {n} of {gang.minimum} after seats were given"
    for role in gang.roles:
        of_role = sum(member.role == role.name for member in unit.seated.values())
        if of_role < role.minimum:
            yield f"{unit.key}: {of_role} of {role.minimum} {role.name} after seats were given"
    if gang.required is not None:
        yield from _apart(pool, unit, [seat.member for seat in mine], gang.required, "gang")
    for name, level in gang.role_levels:
        yield from _apart(pool, unit, [s.member for s in mine if s.member.role == name], level, f"role {name}")
    for name, block in gang.blocks:
        blocks: dict[int, list[Member]] = {}
        for seat in mine:
            if not name or seat.member.role == name:
                blocks.setdefault(seat.member.rank // block.size, []).append(seat.member)
        for number, them in blocks.items():
            yield from _apart(pool, unit, them, block.level, f"block {number}")


def _apart(pool: Pool, unit: Unit, them: list[Member], level: Level, what: str) -> Iterator[str]:
    """Members seated together must share a domain of the level."""
    keys = {ZONE: (ZONE,), RACK: (ZONE, RACK)}.get(level.key) or ((ZONE, RACK)[: 3 - level.tier])
    domains = set()
    for member in them:
        facts = pool.ledger.facts[pool.ledger.claims[member.uid].node]
        assert facts is not None
        domains.add(tuple(facts.labels.get(key) for key in keys))
    if len(domains) > 1 or any(None in domain for domain in domains):
        yield f"{unit.key}: {what} in {domains}"
