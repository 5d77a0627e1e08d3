"""Books of nodes and claims; the journal; slots that are used again."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from gangpool.core import ledger as ledger_module
from gangpool.core.ledger import Claim, Ledger
from gangpool.core.model import CARD, Shape
from gangpool.core.terms import Match
from tests.core.build import GIB, ZONE, either, kind, ledger_of, node, shape, taint, term

WORLD = "a/a1: n1=8 n2=8\nb/b1: n3=4"


def free(ledger: Ledger, resource: str = CARD) -> list[int]:
    return ledger.resource(resource).view[: ledger.n_slots].tolist()


def hold(ledger: Ledger, uid: str, i: int, what: Shape | None = None) -> Claim:
    found, tag = ledger.kind(what or shape(), "ml", (("app", "x"),))
    claim = Claim(uid, i, found, tag)
    ledger.hold(claim)
    return claim


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_a_node_brings_its_allocatable() -> None:
    ledger = Ledger()
    assert ledger.set_node(node("n1", 8, cpu=4, gib=2, pods=10)) == 0
    for cards in (3, 4, 4):  # new, changed, the same: it keeps its slot
        assert ledger.set_node(node("n2", cards)) == 1
    assert free(ledger) == [8, 4]
    assert (free(ledger, "cpu")[0], free(ledger, "memory")[0], free(ledger, "pods")[0]) == (4000, 2 * GIB, 10)
    assert ledger.total[CARD].view[:2].tolist() == [8, 4]
    assert [facts.name for _, facts in ledger.alive()] == ["n1", "n2"]
    assert ledger.slot == {"n1": 0, "n2": 1}
    assert free(ledger, "example.com/none") == [0, 0]


def test_a_changed_node_keeps_what_is_claimed_on_it() -> None:
    ledger = ledger_of(WORLD)
    hold(ledger, "p", 0, shape(3))
    ledger.set_node(replace(node("n1", 4, room={"example.com/x": 2}), labels={"zone": "b"}))
    assert free(ledger)[0] == 1
    assert free(ledger, "example.com/x")[0] == 2
    ledger.set_node(node("n1", 2))
    assert free(ledger)[0] == -1
    assert free(ledger, "example.com/x")[0] == 0
    ledger.release("p")
    assert free(ledger)[0] == 2


def test_what_moves_the_versions() -> None:
    ledger = ledger_of(WORLD)

    def moved(ledger: Ledger = ledger, last: list[tuple[int, int, int]] = [(0, 0, 0)]) -> str:  # noqa: B006
        now = (ledger.version, ledger.grow_version, ledger.node_version)
        names = [name for name, old, new in zip(("all", "grow", "node"), last[0], now, strict=True) if new > old]
        last[0] = now
        return " ".join(names)

    moved()
    facts = ledger.facts[0]
    assert facts is not None
    ledger.set_node(replace(facts))
    assert moved() == ""
    ledger.set_node(replace(facts, allocatable={"cpu": 1}))
    assert moved() == "all grow"
    ledger.set_node(replace(facts, taints=(taint("k:NoSchedule"),)))
    assert moved() == "all grow"
    ledger.set_node(replace(facts, labels={}))
    assert moved() == "all grow node"
    hold(ledger, "p", 0)
    assert moved() == "all"
    ledger.release("p")
    assert moved() == "all grow"
    ledger.drop_node("n1")
    assert moved() == "all grow node"
    mark = ledger.mark()
    ledger.claim(1, kind(ledger, shape()))
    ledger.rollback(mark)
    assert moved() == ""


def test_a_dropped_node_releases_its_claims_and_lends_its_slot() -> None:
    ledger = ledger_of(WORLD)
    hold(ledger, "q", 0, shape(2))
    hold(ledger, "p", 0, shape(1))
    hold(ledger, "r", 1)
    assert ledger.drop_node("n1") == ["p", "q"]
    assert free(ledger) == [0, 7, 4]
    assert set(ledger.claims) == {"r"}
    assert ledger.on_node[0] == set()
    assert ledger.facts[0] is None
    assert ledger.set_node(node("n9", 6)) == 0
    assert free(ledger) == [6, 7, 4]
    assert ledger.set_node(node("n10", 6)) == 3


def test_capacity_doubles_and_nothing_is_lost() -> None:
    ledger = Ledger(capacity=2)
    for i in range(5):
        ledger.set_node(node(f"n{i}", i + 1))
        if i == 1:
            hold(ledger, "p", 0)
    assert ledger.capacity == 8
    assert free(ledger) == [0, 2, 3, 4, 5]
    assert len(ledger.resource("late").view) == 8
    assert len(ledger.filter_of(shape()).mask) == 8
    ledger.reserve(4)
    assert ledger.capacity == 8
    ledger.reserve(9)
    assert (ledger.capacity, len(ledger.total[CARD].view)) == (9, 9)


def test_claims_and_runs_are_undone_newest_first() -> None:
    ledger = ledger_of(WORLD)
    one = kind(ledger, shape(2, cpu=1, host_ports=(("", "TCP", 80),)))
    (use,) = one.clashes
    start = ledger.mark()
    ledger.claim(0, one, 2)
    assert (free(ledger), free(ledger, "cpu")[0], use.of.at[0], use.total) == ([4, 8, 4], 62_000, 2, 2)
    middle = ledger.mark()
    ledger.claim_run(ints(1, 2), one, ints(3, 1))
    assert (free(ledger), use.of.view[:3].tolist(), use.total) == ([4, 2, 2], [2, 3, 1], 6)
    assert (free(ledger, "cpu")[1:], free(ledger, "pods")) == ([61_000, 63_000], [108, 107, 109])
    ledger.claim(2, one)
    ledger.rollback(middle)
    assert (free(ledger), use.of.view[:3].tolist(), use.total) == ([4, 8, 4], [2, 0, 0], 2)
    ledger.rollback(start)
    assert (free(ledger), free(ledger, "cpu")[0], use.total, ledger.journal) == ([8, 8, 4], 64_000, 0, [])


def test_a_rollback_that_nobody_saw_leaves_no_trace_in_the_log() -> None:
    ledger = ledger_of(WORLD)
    one = kind(ledger, shape())
    ledger.looked()
    before = list(ledger.touched)
    mark = ledger.mark()
    ledger.claim(0, one)
    ledger.claim_run(ints(1, 2), one, ints(1, 1))
    assert ledger.touched == [*before, 0, 1, 2]
    ledger.rollback(mark)
    assert ledger.touched == before


def test_a_rollback_after_a_look_touches_the_nodes_again() -> None:
    ledger = ledger_of(WORLD)
    one = kind(ledger, shape())
    before = len(ledger.touched)
    mark = ledger.mark()
    ledger.claim(0, one)
    assert ledger.looked() == before + 1
    ledger.claim_run(ints(1, 2), one, ints(1, 1))
    ledger.rollback(mark)
    assert sorted(ledger.touched[before + 1 :]) == [0, 1, 1, 2, 2]


def test_the_log_is_cut_only_outside_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "TOUCHED_LIMIT", 10)
    ledger = ledger_of(WORLD)
    one = kind(ledger, shape(0))
    outer = ledger.mark()
    ledger.claim(0, one)
    inner = ledger.mark()
    for _ in range(20):
        ledger.claim(1, one)
    ledger.keep(inner)
    assert ledger.cut == 0
    length = len(ledger.touched)
    ledger.keep(outer)
    assert ledger.cut == length // 2
    assert len(ledger.touched) == length - length // 2
    assert ledger.looked() == length
    mark = ledger.mark()
    assert mark == (0, length)
    ledger.claim(2, one)
    ledger.rollback(mark)
    assert ledger.mark() == (0, length)
    assert len(ledger.touched) == length - ledger.cut


def test_a_cut_inside_the_marked_stretch_keeps_the_rest_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "TOUCHED_LIMIT", 2)
    ledger = ledger_of(WORLD)
    hold(ledger, "p", 0)
    assert ledger.cut > 0
    assert ledger.cut + len(ledger.touched) == ledger.mark()[1]


def test_a_kept_claim_is_written_down_and_released() -> None:
    ledger = ledger_of(WORLD)
    claim = hold(ledger, "p", 1, shape(3))
    assert ledger.journal == []
    assert (ledger.claims["p"], ledger.on_node[1]) == (claim, {"p"})
    before = len(ledger.touched)
    assert ledger.release("p") is claim
    assert ledger.touched[before:] == [1]
    assert (ledger.claims, ledger.on_node[1], free(ledger)) == ({}, set(), [8, 8, 4])


def test_room_is_the_least_over_all_resources() -> None:
    ledger = ledger_of(WORLD)
    assert ledger.room_on(0, kind(ledger, shape(2))) == 4
    assert ledger.room_on(0, kind(ledger, shape(3))) == 2
    assert ledger.room_on(0, kind(ledger, shape(1, cpu=33))) == 1
    assert ledger.room_on(0, kind(ledger, shape(9))) == 0
    assert ledger.room_on(0, kind(ledger, shape(1, room={"none": 1}))) == 0
    assert ledger.room_on(0, kind(ledger, Shape(()))) == 1 << 31
    ledger.set_node(node("n1", 0))
    hold(ledger, "p", 0, shape(3))
    assert ledger.room_on(0, kind(ledger, shape(1))) == 0


def test_broken_nodes_have_a_card_in_use_or_none() -> None:
    ledger = ledger_of("a/a1: n1=8 n2=8 n3=0")
    hold(ledger, "p", 1)
    assert [ledger.is_broken(i) for i in range(3)] == [False, True, True]
    assert ledger.broken().tolist()[:3] == [False, True, True]


def test_filters_hold_selectors_what_volumes_say_and_taints() -> None:
    ledger = ledger_of(WORLD)
    ledger.set_node(replace(node("n4", taints=(taint("k:PreferNoSchedule"),)), labels={"zone": "b"}))

    def slots(**rules: object) -> list[int]:
        return np.nonzero(ledger.filter_of(shape(**rules)).mask)[0].tolist()  # type: ignore[arg-type]

    assert slots() == [0, 1, 2, 3]
    assert slots(node_selectors=(either("zone=b"),)) == [2, 3]
    assert slots(held_to=(either("zone=b"),), node_selectors=(either("rack"),)) == [2]
    assert slots(avoid_soft_taints=True) == [0, 1, 2]


def test_notes_are_counted_where_they_are() -> None:
    ledger = Ledger()
    for name, notes in (("n1", ("x",)), ("n2", ("x", "y")), ("n3", ("x",)), ("n4", ())):
        ledger.set_node(node(name, notes=notes))
    here = np.ones(ledger.capacity, dtype=np.bool_)
    here[2] = False
    assert ledger.notes(here) == {"x": 2, "y": 1}
    ledger.set_node(node("n1"))
    ledger.drop_node("n2")
    here[2] = True
    assert ledger.notes(here) == {"x": 1}


def test_claims_of_a_later_selector_change_kind_together() -> None:
    ledger = ledger_of(WORLD)
    first, second = hold(ledger, "p", 0), hold(ledger, "q", 1)
    match, _ = ledger.terms.term(term(ZONE, "app=x"))
    assert isinstance(match, Match)
    assert first.kind is second.kind
    assert first.kind.moves == (match,)
    assert kind(ledger, shape(), "app=x") is first.kind
    assert first.kind.asks == second.kind.asks
