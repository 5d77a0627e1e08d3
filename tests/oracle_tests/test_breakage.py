"""A right placement, broken in every way: the checker must object, and to that."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.checker import check
from tests.oracle.world_parts import CARD, RACK, RANK, ZONE, affinity, gang, node, pod, selector, spread, term, world

Json = dict[str, Any]

CORDON = "node.kubernetes.io/unschedulable"
K1 = {"key": "key1", "value": "value1", "effect": "NoSchedule"}


def rich() -> tuple[Json, dict[str, str]]:
    """A world in which every rule binds, and a right placement."""
    apart = affinity(near=[term(ZONE, selector(app="g"))], apart=[term(RACK, selector(app="enemy"))])
    rules: Json = {
        "affinity": apart,
        "topologySpreadConstraints": [spread(RACK, selector(app="g"), 2)],
        "nodeSelector": {"board": "h100"},
    }
    pods = [pod(f"g-{i}", {CARD: "4"}, {"app": "g", RANK: str(i)}, **rules) for i in range(4)]
    for made in pods:
        made["spec"]["containers"][0]["ports"] = [{"containerPort": 1, "hostPort": 1}]
    nodes = [node(f"{z}{r}{i}", {ZONE: z, RACK: f"{z}{r}", "board": "h100"}) for z in "ab" for r in "12" for i in "01"]
    blocks = {"size": 2, "keys": [ZONE, RACK]}
    one = gang("ml/g", [f"g-{i}" for i in range(4)], required=[ZONE], blocks=blocks)
    here = world(nodes, [*pods, pod("enemy", labels={"app": "enemy"}, on="b10")], [one])
    return here, {"ml/g-0": "a10", "ml/g-1": "a11", "ml/g-2": "a20", "ml/g-3": "a21"}


def breakages() -> list[tuple[str, Any, str]]:
    def of(name: str, here: Json) -> Json:
        found: Json = next(o for o in [*here["nodes"], *here["pods"]] if o["metadata"]["name"] == name)
        return found

    def g0(here: Json) -> Json:
        spec: Json = of("g-0", here)["spec"]
        return spec

    def ask(here: Json, cards: str) -> None:
        g0(here)["containers"][0]["resources"] = {"requests": {CARD: cards}}

    return [
        ("a member left out", lambda w, p: p.pop("ml/g-3"), "are the minimum"),
        ("more cards than there are", lambda w, p: ask(w, "9"), "gpu asked"),
        ("two on one node", lambda w, p: p.update({"ml/g-0": "a11"}), "host port"),
        ("a block split", lambda w, p: p.update({"ml/g-1": "a20", "ml/g-2": "a11"}), "block 0: members sit in 2"),
        ("an enemy near", lambda w, p: of("enemy", w)["spec"].update(nodeName="a20"), "does not allow ml/enemy"),
        ("another zone", lambda w, p: p.update({"ml/g-2": "b20", "ml/g-3": "b21"}), "domains of " + ZONE),
        ("affinity nowhere met", lambda w, p: p.update({"ml/g-2": "b20", "ml/g-3": "b21"}), "in no order"),
        ("crowded", lambda w, p: p.update({"ml/g-3": "a11"}), "skew"),
        ("other board", lambda w, p: of("a10", w)["metadata"]["labels"].update(board="a100"), "is not selected"),
        ("taint", lambda w, p: of("a10", w)["spec"].update(taints=[K1]), "does not tolerate: key1"),
        ("cordon", lambda w, p: of("a10", w)["spec"].update(unschedulable=True), "does not tolerate: " + CORDON),
        ("gate", lambda w, p: g0(w).update(schedulingGates=[{"name": "g"}]), "scheduling gate"),
        ("label lost", lambda w, p: of("a10", w)["metadata"]["labels"].pop(RACK), "sits outside level"),
        ("label lost, spread", lambda w, p: of("a10", w)["metadata"]["labels"].pop(RACK), "must spread"),
        ("no such node", lambda w, p: p.update({"ml/g-0": "zzz"}), "no node zzz"),
        ("no such pod", lambda w, p: p.update({"ml/g-9": "a10"}), "no such pod"),
        ("runs already", lambda w, p: g0(w).update(nodeName="a10"), "already runs"),
        ("a full node", lambda w, p: of("a10", w)["status"]["allocatable"].update(pods="0"), "pods asked"),
    ]


@pytest.mark.parametrize(("change", "objection"), [b[1:] for b in breakages()], ids=[b[0] for b in breakages()])
def test_a_broken_placement_is_objected_to(change: Any, objection: str) -> None:
    here, placed = rich()
    assert check(here, placed) == []
    change(here, placed)
    assert any(objection in fault for fault in check(here, placed)), check(here, placed)


def test_the_oracle_imports_nothing_of_gangpool() -> None:
    for file in Path(__file__).parents[1].joinpath("oracle").glob("*.py"):
        for found in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [a.name for a in found.names] if isinstance(found, ast.Import) else []
            names += [found.module or ""] if isinstance(found, ast.ImportFrom) else []
            assert not [name for name in names if name.startswith("gangpool")], file
