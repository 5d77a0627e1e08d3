"""How `explain` reads for people."""

from __future__ import annotations

import pytest

from gangpool.cli.explain_text import lines
from gangpool.cli.shown import age, amount
from gangpool.intake.answer import DomainEntry, ReasonEntry
from gangpool.intake.crew import MembersEntry
from gangpool.intake.explanation import AlsoEntry, ExplainAnswer, HolderEntry, NodeRoom, ResourceEntry

SINCE, NOW_S = "1970-01-01T00:01:00Z", 200.0
REASON = ReasonEntry(
    "cannot-fit", "1 of 2 members fit in leaf l1; nvidia.com/gpu asked 8, best 4", {}, "l1", "wait for room"
)


def answer(state: str, **more: object) -> ExplainAnswer:
    return ExplainAnswer(**{"schema": "s", "object": "pod/ml/a", "gang": None, "state": state, **more})  # type: ignore[arg-type]


def told(of: ExplainAnswer) -> list[str]:
    return list(lines(of, NOW_S))


def test_what_waits() -> None:
    also = (AlsoEntry("gated", "1 of 2 members wait behind gate x"), AlsoEntry("node-doubt", "y"))
    of = answer("pending", reason=REASON, gang="ml/g", also=also, since=SINCE, members=MembersEntry(2, 3, 1, 1, 1))
    assert told(of) == [
        "pod/ml/a is pending for 2m: cannot-fit",
        "  why      1 of 2 members fit in leaf l1",
        "           nvidia.com/gpu asked 8, best 4",
        "  next     wait for room",
        "  gang     ml/g: 1 of 3 members bound, 1 running, 1 finished, minimum 2",
        "  also     gated: 1 of 2 members wait behind gate x",
        "           node-doubt: y",
    ]


def test_what_is_placed() -> None:
    devices = {"containers": {"main": {"cards": [0, 1, 2], "ports": ["mlx5_0", "mlx5_1"]}, "side": {"slices": [{}]}}}
    where = DomainEntry("example.com/leaf", "s1/l1")
    of = answer("placed", node="n1", nodes=("n1",), since=SINCE, domain=where, devices=devices)
    assert told(of) == [
        "pod/ml/a is placed on n1 for 2m",
        "  where    leaf s1/l1",
        "  devices  main: cards 0-2, ports mlx5_[0-1]",
        "           side: 1 slices",
    ]


@pytest.mark.parametrize(
    ("of", "line"),
    [
        (answer("placed", nodes=("n1", "n2")), "pod/ml/a is placed on n[1-2]"),
        (answer("pending", nodes=("n1",)), "pod/ml/a is pending"),
        (answer("finished", node="n1", since=SINCE), "pod/ml/a is finished on n1 since 2m ago"),
        (answer("not-ours", node="n1", reason=REASON), "pod/ml/a is another scheduler's, on n1"),
        (answer("not-ours", reason=REASON), "pod/ml/a is another scheduler's"),
        (answer("placed", node="n\n1"), "pod/ml/a is placed on n\\n1"),
    ],
)
def test_the_first_line(of: ExplainAnswer, line: str) -> None:
    assert told(of)[0] == line


@pytest.mark.parametrize("devices", [None, 3, {}, {"containers": 3}, {"containers": {"a": 3}}])
def test_devices_of_another_form_are_left_to_json(devices: object) -> None:
    assert told(answer("placed", devices=devices)) == ["pod/ml/a is placed"]


def test_devices_of_half_the_form() -> None:
    assert (
        told(answer("placed", devices={"containers": {"a": {"cards": "x", "ports": None}}}))[1] == "  devices  a: none"
    )


def room(**more: object) -> NodeRoom:
    resources = (
        ResourceEntry("nvidia.com/gpu", "8", "6", "8", "-2"),
        ResourceEntry("memory", None, str(1 << 40), "0", str(1 << 40)),
        ResourceEntry("hugepages-1Gi", "0", "0", "0", "0"),
    )
    held = (HolderEntry("ml", "b", None, (), True, True), HolderEntry("ml", "a", "ml/g", (0, 1), False, True))
    fields = {"resources": resources, "taints": ("x:NoSchedule",), "domains": (), "cards": (), "pods": held, **more}
    return NodeRoom(ready=True, schedulable=True, **fields)  # type: ignore[arg-type]


def test_a_node() -> None:
    of = answer("open", node="n1", reason=ReasonEntry("node-degraded", "6 of 8 usable"), room=room())
    assert told(of) == [
        "pod/ml/a takes new pods, 0 of 6 cards free: node-degraded",
        "  why      6 of 8 usable",
        "  taints   x:NoSchedule",
        "",
        "RESOURCE         CAPACITY   ALLOCATABLE   HELD   FREE",
        "nvidia.com/gpu   8          6             8      -2",
        "memory           -          1Ti           0      1Ti",
        "",
        "NAMESPACE   POD   GANG   CARDS",
        "ml          a     g      ~0-1",
        "ml          b     -      -",
    ]
    assert told(answer("closed", node="n1", room=room()))[0] == "pod/ml/a takes nothing new"


def test_a_node_with_many_pods_shows_those_with_cards() -> None:
    held = tuple(HolderEntry("ml", f"p{i}", None, (i,) if i > 20 else (), True, True) for i in range(24))
    shown = told(answer("open", room=room(pods=held)))
    assert shown[-1] == "... and 4 more pods"
    assert [line.split()[1] for line in shown[-21:-18]] == ["p21", "p22", "p23"]


@pytest.mark.parametrize(
    ("now_s", "text"), [(60.0, "0s"), (179.0, "119s"), (180.0, "2m"), (7260.0, "2h"), (172_860.0, "2d"), (0.0, "0s")]
)
def test_ages(now_s: float, text: str) -> None:
    assert age(SINCE, now_s) == text


@pytest.mark.parametrize(
    ("text", "shown"), [("0", "0"), (str(20 << 10), "20Ki"), (str(-(2 << 30)), "-2Gi"), (str((20 << 20) + 1), "20Mi")]
)
def test_bytes(text: str, shown: str) -> None:
    assert amount("memory", text) == shown
