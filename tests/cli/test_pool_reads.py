"""`gangpool nodes` and `gangpool tree` on dumps: from the command line to the printed answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gangpool.cli.main import run


def node(name: str, labels: dict[str, str], **amounts: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"pods": "110", "nvidia.com/gpu": "8", **amounts}},
    }


RUNNING = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "ml", "uid": "u1"},
    "spec": {"nodeName": "b", "containers": [{"resources": {"limits": {"nvidia.com/gpu": "3"}}}]},
    "status": {"phase": "Running"},
}


@pytest.fixture
def dump(tmp_path: Path) -> str:
    path = tmp_path / "pool.json"
    spine, leaf = "network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf"
    nodes = [
        node("b", {spine: "s1", leaf: "7"}, memory="1.5Ti"),
        node("a", {spine: "s2", leaf: "7", "zone": "z"}, cpu="95500m"),
        node("bare", {"topology.kubernetes.io/zone": ""}),
    ]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, RUNNING]}))
    return str(path)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run([*arguments, "-o", "json"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return json.loads(said.out)


def test_nodes_count_what_pods_hold(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "nodes", "--pool", dump)
    assert found["schema"] == "gangpool.io/nodes/v1"
    assert [(n["name"], n["cards"], n["cards_free"], n["pods"]) for n in found["nodes"]] == [
        ("b", 8, 5, 1),
        ("a", 8, 8, 0),
        ("bare", 8, 8, 0),
    ]
    assert found["nodes"][1]["free"]["cpu"] == "95.5"


def test_nodes_can_be_chosen_and_ordered(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = answer(capsys, "nodes", "--pool", dump, "-l", "network.topology.nvidia.com/leaf=7", "--sort-by", "name")
    assert [n["name"] for n in chosen["nodes"]] == ["a", "b"]


def test_no_node_is_told_on_stderr(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nodes", "--pool", dump, "-l", "zone=x"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "No nodes found.\n")


def test_a_tree_of_nothing_is_told_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pool.json"
    path.write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    assert run(["tree", "--pool", str(path)]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "No nodes found.\n")


@pytest.mark.parametrize("command", ["nodes", "tree"])
def test_yaml_says_the_same_as_json(command: str, dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, command, "--pool", dump)
    assert run([command, "--pool", dump, "-o", "yaml"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == found


def test_nodes_without_headings(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nodes", "--pool", dump, "--no-headers", "-l", "zone"]) == 0
    assert capsys.readouterr().out.split()[:3] == ["a", "Ready", "8"]


def test_a_doubtful_node_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pool.json"
    path.write_text(json.dumps(node("n", {}, cpu="1 core")))
    assert run(["nodes", "--pool", str(path)]) == 0
    assert f"warning: {path}: Node//n: status.allocatable[cpu]: " in capsys.readouterr().err


def test_the_tree_of_the_preset(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "tree", "--pool", dump)
    assert found["schema"] == "gangpool.io/tree/v1"
    b, a, bare = found["nodes"]
    assert (b["style"], [d["domain"] for d in b["domains"]]) == ("topograph-0.3", ["s1", "s1/7"])
    assert [d["domain"] for d in a["domains"]] == ["s2", "s2/7"]
    assert (bare["style"], bare["domains"], bare["ungrouped"]) == (None, [], True)
    assert (b["memory_bytes"], bare["memory_bytes"]) == (1649267441664, None)


def test_the_tree_of_given_levels(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = tmp_path / "levels.json"
    levels.write_text('{"mine": ["zone", "network.topology.nvidia.com/leaf"]}')
    b, a, _ = answer(capsys, "tree", "--pool", dump, "--levels", str(levels))["nodes"]
    assert (a["style"], a["domains"][-1]["domain"]) == ("mine", "z/7")
    assert (b["style"], b["ungrouped"]) == (None, True)


def test_the_tree_of_the_configuration(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("{apiVersion: gangpool.io/v1, kind: Config, topology: {levels: [zone]}}")
    _, a, _ = answer(capsys, "tree", "--pool", dump, "--config", str(config))["nodes"]
    assert (a["style"], a["domains"]) == ("configured", [{"level": "zone", "domain": "z"}])


@pytest.mark.parametrize(
    ("objects", "style"),
    [
        (
            [
                {
                    "apiVersion": "kueue.x-k8s.io/v1beta1",
                    "kind": "Topology",
                    "metadata": {"name": "halls"},
                    "spec": {"levels": [{"nodeLabel": "zone"}]},
                }
            ],
            "halls",
        ),
        (
            [
                {
                    "apiVersion": "topology.volcano.sh/v1alpha1",
                    "kind": "HyperNode",
                    "metadata": {"name": "h"},
                    "spec": {
                        "tier": 1,
                        "members": [{"type": "Node", "selector": {"exactMatch": {"name": "a"}}}],
                    },
                }
            ],
            "hypernodes",
        ),
    ],
)
def test_the_tree_of_objects(
    objects: list[dict], style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pool.json"
    items = [node("a", {"zone": "h"}), node("b", {}), *objects]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    a, b = answer(capsys, "tree", "--pool", str(path))["nodes"]
    assert (a["style"], [d["domain"] for d in a["domains"]]) == (style, ["h"])
    assert b["ungrouped"]


@pytest.mark.parametrize("text", ["[]", '{"a": "b"}', '{"a": [1]}'])
def test_levels_of_another_form_are_refused(
    text: str, dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = tmp_path / "levels.json"
    levels.write_text(text)
    assert run(["tree", "--pool", dump, "--levels", str(levels)]) == 2
    assert capsys.readouterr().err.startswith(f"gangpool: {levels}: is no map from styles")
