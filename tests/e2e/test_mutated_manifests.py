"""Example manifests and a pool, changed at random: whatever stands anywhere, the answer is a plan, or one message that
names the file. Runs the whole command in this process."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gangpool.cli.main import run
from gangpool.core.reasons import CODES
from tests.e2e.terminal import EXAMPLES, Outcome, is_one_message
from tests.intake.build import Json, job, jobset, jobset_pod, node, obj, pod, priority_class

Where = tuple[str | int, ...]
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1.5, 2**31, 2**63, 10**30, 99_999),
    *("", "x", "-1", "0.1", "1e9", "99999999999999999999Gi", "a/b", "Ünï", "x" * 300, "9" * 400, "true", "NoSchedule"),
    *([], {}, [None], [[]], [{}], {"a": None}, {"": ""}, {"x": {"y": [1]}}),
)
KEYS = ("minAvailable", "replicas", "spec", "metadata", "name", "labels", "annotations", "status")


def manifests() -> list[Json]:
    texts = (path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.rglob("*.yaml")))
    return [document for text in texts for document in yaml.safe_load_all(text) if document]


def pool() -> list[Json]:
    """Nodes, pods and at least one object of every kind that is read."""
    first_consumer = {"provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"}
    topologies = [{"matchLabelExpressions": [{"key": "rack", "values": ["r0"]}]}]
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "Exists"}]}]}}
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    members = [{"type": "Node", "selector": {"regexMatch": {"pattern": "n[0-3]"}}}]
    scheduling = {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}
    exclusive = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "topology.example/rack"}
    taint = {"key": "a", "value": "b", "effect": "NoSchedule"}
    return [
        *(node(f"n{i}", labels={"topology.example/rack": f"r{i // 4}", "workload": "gpu-train"}) for i in range(8)),
        node("t", taints=[taint], annotations={"gangpool.io/devices": '{"v": 1, "cards": [{"index": 0}]}'}),
        job("plain", annotations={"gangpool.io/min-member": "2"}),
        pod("plain-x", 1, labels={"job-name": "plain"}, owner="Job/plain/batch/v1"),
        obj("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", spec={"minMember": 2}),
        pod("g-0", 1, labels={"scheduling.x-k8s.io/pod-group": "g"}, priorityClassName="high"),
        jobset("js", {"w": (2, 2)}, annotations=exclusive),
        jobset_pod("js", "w", 0, 0, nodeName="n0"),
        jobset_pod("js", "w", 1, 1),
        obj("v1", "PersistentVolumeClaim", "data", spec={"volumeName": "pv"}),
        obj("v1", "PersistentVolume", "pv", None, spec={"nodeAffinity": affinity, "capacity": {"storage": "1Gi"}}),
        obj("storage.k8s.io/v1", "StorageClass", "local-nvme", None, allowedTopologies=topologies, **first_consumer),
        pod("user", 1, volumes=volumes),
        priority_class("high", 10),
        priority_class("training", 5, globalDefault=True),
        obj("v1", "Namespace", "ml", None, labels={"team": "a"}),
        obj("scheduling.volcano.sh/v1beta1", "Queue", "foundation", None, status={"state": "Open"}),
        obj("kueue.x-k8s.io/v1beta1", "LocalQueue", "vision", "vision"),
        obj("topology.volcano.sh/v1alpha1", "HyperNode", "h", None, spec={"tier": 1, "members": members}),
        obj("kueue.x-k8s.io/v1beta1", "Topology", "t", None, spec={"levels": [{"nodeLabel": "topology.example/rack"}]}),
        obj("node.k8s.io/v1", "RuntimeClass", "nvidia", None, scheduling=scheduling),
    ]


MANIFESTS = manifests()


def places_of(value: Any, at: Where = ()) -> Iterator[Where]:
    """The path of everything inside a value."""
    if at:
        yield at
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from places_of(item, (*at, key))


def found(value: Any, at: Where) -> Any:
    for key in at:
        value = value[key]
    return value


def mutated(original: Json, rng: Random) -> Json:
    """The object with one to three changes: another value, nothing, a piece of itself, once more, a new key."""
    changed = deepcopy(original)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(places_of(changed))
        if not places:
            break
        at = rng.choice(places)
        parent, how = found(changed, at[:-1]), rng.random()
        if how < 0.7:
            parent[at[-1]] = deepcopy(rng.choice(VALUES))
        elif how < 0.8:
            del parent[at[-1]]
        elif how < 0.9:
            parent[at[-1]] = deepcopy(found(changed, rng.choice(places)))
        elif isinstance(parent, list):
            parent.append(deepcopy(parent[at[-1]]))  # type: ignore[index]
        else:
            parent[rng.choice(KEYS)] = deepcopy(rng.choice(VALUES))
    return changed


def listed(path: Path, items: list[Json]) -> str:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    return str(path)


def asked(folder: Path, items: list[Json], workloads: list[Json]) -> Outcome:
    """`gangpool place` in this process, with its output."""
    arguments = ["-f", listed(folder / "w.json", workloads), "--pool", listed(folder / "p.json", items), "-o", "json"]
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(["place", *arguments])
        out.flush()
    assert isinstance(out.buffer, io.BytesIO)
    return Outcome(int(code), out.buffer.getvalue().decode(), err.getvalue())


def check(folder: Path, seed: int) -> None:
    rng = Random(seed)
    items, workloads = pool(), [rng.choice(MANIFESTS)]
    if rng.random() < 0.5:
        workloads = [mutated(workloads[0], rng)]
    else:
        at = rng.randrange(len(items))
        broken = mutated(items[at], rng)
        if rng.random() < 0.5:
            items[at] = broken
        else:
            workloads.append(broken)
    outcome = asked(folder, items, workloads)
    if outcome.code == 2:
        assert is_one_message(outcome), outcome
        assert outcome.err.startswith((f"gangpool: {folder}/w.json: ", f"gangpool: {folder}/p.json: ")), outcome
        return
    assert outcome.code in (0, 3), outcome
    assert outcome.err == ""
    answer = outcome.answer()
    assert all(entry["reason"]["code"] in CODES and entry["reason"]["message"] for entry in answer["pending"])
    assert all(set(entry["cards"]) <= set(range(1024)) for entry in answer["placed"])
    cards = [(entry["node"], card) for entry in answer["placed"] for card in entry["cards"]]
    assert len(cards) == len(set(cards))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutated")


@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_mutated_input_gives_a_plan_or_one_message(seed: int, folder: Path) -> None:
    check(folder, seed)


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_mutated_inputs(part: int, seed: int, folder: Path) -> None:
    for i in range(250):
        check(folder, seed * 1_000_003 + part * 1_000 + i)
