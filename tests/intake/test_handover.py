"""What a running pod's annotation says it holds."""

from __future__ import annotations

import json

import pytest

from gangpool.intake.handover import held_by
from gangpool.objects.typed import as_pod
from tests.intake.build import Json, ask, node, pod

KEY = "gangpool.io/devices"
DEVICES = {"v": 1, "cards": [{"index": i} for i in range(8)], "ports": [{"device": f"mlx5_{i}"} for i in range(2)]}


def held(value: object) -> tuple[tuple[int, ...] | None, tuple[str, ...] | None]:
    text = value if isinstance(value, str) else json.dumps(value)
    return held_by(as_pod(pod("p", annotations={KEY: text}, nodeName="n")))


def test_cards_and_ports_of_all_containers() -> None:
    containers = {"a": {"cards": [3, 0], "ports": ["mlx5_1"]}, "b": {"cards": [3, 5]}, "init": {}}
    assert held({"v": 1, "containers": containers}) == ((0, 3, 5), ("mlx5_1",))


def test_nothing_written_is_nothing_known() -> None:
    assert held_by(as_pod(pod("p"))) == (None, None)
    assert held({"v": 1, "containers": {}}) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"x"',
        '{"containers": []}',
        '{"containers": {"a": {"cards": ["0"]}}}',
        "[" * 10_000,
        "\ud800",
    ],
)
def test_what_cannot_be_read_is_nothing_known(text: str) -> None:
    assert held_by(as_pod(pod("p", annotations={KEY: text}))) == (None, None)


def test_indexes_that_no_node_has_are_left_out() -> None:
    assert held({"containers": {"a": {"cards": [-1, 2, 10**9]}}}) == ((2,), None)


def running(name: str, cards: list[int] | None, n: int) -> Json:
    text = json.dumps({"v": 1, "containers": {"main": {"cards": cards or []}}})
    return pod(name, n, nodeName="n", **({"annotations": {KEY: text}} if cards else {}))


@pytest.mark.parametrize("exact", [True, False])
def test_cards_that_are_held_are_not_given_again(exact: bool) -> None:
    annotations = {KEY: json.dumps(DEVICES)} if exact else {}
    answer = ask([node("n", annotations=annotations), running("old", [1, 6], 2)], pod("new", 6))
    assert (answer.placed[0].cards, answer.placed[0].cards_exact) == ((0, 2, 3, 4, 5, 7), exact)


def test_running_pods_of_whom_nobody_knows_get_the_lowest() -> None:
    answer = ask([node("n"), running("a", None, 3), running("b", [0], 1)], pod("new", 4))
    assert answer.placed[0].cards == (4, 5, 6, 7)
