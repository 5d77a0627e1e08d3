"""Any history of nodes, claims, trials, rollbacks, labels, taints and namespaces leaves the books that a rebuild
gives: amounts, counters, tallies with their twins and sums over several trees. Nested trials, tallies that look
inside them, growth beyond the first capacity and slots used again are part of it."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gangpool.core import ledger as ledger_module
from gangpool.core.kind import Kind
from gangpool.core.ledger import Claim, Ledger
from gangpool.core.model import HOSTNAME, NodeFacts, Shape, Toleration
from gangpool.core.tally import Tallies
from gangpool.core.terms import Tag
from gangpool.core.topology import Forest
from tests.core.build import RACK, ZONE, either, node, selector, shape, spread, taint, term
from tests.core.rebuild import book_faults, counter_faults, tally_faults

TREES = ((), (ZONE,), (ZONE, RACK), (RACK,))
LABELS = ((), (("app", "x"),), (("app", "y"),), (("app", "x"), ("team", "red")))
SPACES = ("ml", "ops")
SHAPES = (
    shape(1),
    shape(2, cpu=3),
    shape(0, cpu=5),
    shape(1, node_selectors=(either("zone=a", "rack"),)),
    shape(1, tolerations=(Toleration("k", "Exists"),)),
    shape(1, room={"example.com/x": 1}),
    shape(1, anti_affinity=(term(HOSTNAME, "app=x"), term(ZONE, "team=red", by_label=selector("env=prod")))),
    shape(1, affinity=(term(ZONE, "app=y", "ml", "ops"),), host_ports=(("", "TCP", 80),)),
    shape(1, spread=(spread(ZONE, "app=x"),), host_ports=(("10.0.0.1", "TCP", 80), ("", "UDP", 81))),
    shape(1, avoid_soft_taints=True, node_selectors=(either("board!=h100"),)),
)


class LedgerHistory:
    """Random operations on one ledger. Mutable: the ledger, open trials, what happened."""

    def __init__(self, seed: str) -> None:
        self.rng = Random(seed)
        self.ledger = Ledger(capacity=4)
        self.forest = Forest(self.ledger, (ZONE, RACK))
        self.tallies = Tallies(self.ledger)
        self.n_claims = 0
        self.n_nodes = 0

    def facts(self, name: str) -> NodeFacts:
        rng = self.rng
        labels = {"board": rng.choice(["h100", "a100"])}
        if rng.random() < 0.9:
            labels[ZONE] = rng.choice("abc")
            if rng.random() < 0.9:
                labels[RACK] = labels[ZONE] + rng.choice("12")
        taints = tuple(taint(t) for t in ("k=v:NoSchedule", "s:PreferNoSchedule") if rng.random() < 0.2)
        room = {"example.com/x": 3} if rng.random() < 0.3 else {}
        return node(name, rng.choice([8, 8, 4, 0]), cpu=rng.choice([8, 16]), labels=labels, taints=taints, room=room)

    def step(self) -> None:
        rng, ledger = self.rng, self.ledger
        names = sorted(ledger.slot)
        match rng.randrange(12) if len(names) > 2 else 0:
            case 0:
                self.n_nodes += 1
                ledger.set_node(self.facts(f"n{self.n_nodes}"))
            case 1:
                ledger.set_node(self.facts(rng.choice(names)))
            case 2 if len(names) > 30 or rng.random() < 0.3:
                ledger.drop_node(rng.choice(names))
            case 3:
                labels = rng.choice([None, {}, {"env": "prod"}, {"env": "dev"}])
                ledger.set_namespace(rng.choice(SPACES), labels)
            case 4 | 5 | 6:
                self.n_claims += 1
                kind, tag = ledger.kind(rng.choice(SHAPES), rng.choice(SPACES), rng.choice(LABELS))
                ledger.hold(Claim(f"c{self.n_claims}", ledger.slot[rng.choice(names)], kind, tag))
            case 7 | 8 if ledger.claims:
                ledger.release(rng.choice(sorted(ledger.claims)))
            case 9:
                self.look(self.kinds())
            case _:
                self.trial(2, self.kinds())

    def kinds(self) -> list[tuple[Kind, Tag]]:
        """Some kinds. All are asked for twice: one may bring a selector that another, made before it, has to move.
        None is made while a trial is open, as in the planner."""
        choose = self.rng.choice
        wanted = [(choose(SHAPES), choose(SPACES), choose(LABELS)) for _ in range(3)]
        return [[self.ledger.kind(*one) for one in wanted] for _ in range(2)][-1]

    def trial(self, depth: int, kinds: list[tuple[Kind, Tag]]) -> None:
        """Claims one by one and in runs, looks, trials inside; rolled back, or kept at the outermost level."""
        rng, ledger = self.rng, self.ledger
        slots = sorted(ledger.slot.values())
        mark = ledger.mark()
        made: list[Claim] = []
        for _ in range(rng.randrange(1, 5)):
            kind, tag = rng.choice(kinds)
            nodes = rng.sample(slots, min(len(slots), rng.choice([1, 1, 3, 40])))
            counts = [rng.randrange(1, 3) for _ in nodes]
            if len(nodes) == 1:
                ledger.claim(nodes[0], kind, counts[0])
            else:
                ledger.claim_run(np.array(nodes, dtype=np.int64), kind, np.array(counts, dtype=np.int64))
            for i, k in zip(nodes, counts, strict=True):
                made += [Claim("", i, kind, tag)] * k
            if rng.random() < 0.4:
                self.look(kinds)
            if depth and rng.random() < 0.3:
                self.trial(depth - 1, kinds)
        if depth < 2 or rng.random() < 0.7:
            ledger.rollback(mark)
            return
        for claim in made:
            self.n_claims += 1
            ledger.register(replace(claim, uid=f"c{self.n_claims}"))
        ledger.keep(mark)

    def look(self, kinds: list[tuple[Kind, Tag]]) -> None:
        """Some tally catches up, whatever trial is open."""
        tally = self.tallies.of(self.rng.choice(kinds)[0])
        for keys in self.rng.sample(TREES, 2):
            tally.ranking(self.forest.tree(keys), self.rng.choice([1, 2, 3, 7]))

    def faults(self) -> list[str]:
        ledger = self.ledger
        found = [*book_faults(ledger), *counter_faults(ledger)]
        trees = [self.forest.tree(keys) for keys in TREES]
        for tally in self.tallies.all():
            found += tally_faults(ledger, tally, trees)
        assert ledger.journal == []
        return found


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("limit", [7, 200_000])
def test_books_equal_a_rebuild(number: int, limit: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`limit`: the log of touched nodes is cut often, or never."""
    monkeypatch.setattr(ledger_module, "TOUCHED_LIMIT", limit)
    history = LedgerHistory(f"{seed} {number}")
    for step in range(220):
        history.step()
        if step % 4 == 0:
            assert history.faults() == [], f"seed {seed}, history {number}, step {step}"
    assert history.ledger.capacity >= 8


def test_every_shape_and_label_of_the_histories_is_met() -> None:
    """A history that never makes a counter move tests nothing."""
    history = LedgerHistory("coverage")
    moved: set[Any] = set()
    shapes: set[Shape] = set()
    for _ in range(300):
        history.step()
        moved |= {id(c) for c in history.ledger.terms.counters() if c.total}
        shapes |= {claim.kind.shape for claim in history.ledger.claims.values()}
    assert len(moved) == len(list(history.ledger.terms.counters())) >= 9
    assert shapes == set(SHAPES)
    assert history.ledger.cut == 0
