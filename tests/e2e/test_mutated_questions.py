"""`explain` and `jobs` on pools changed at random: an answer of the promised form, or one message. Runs the whole
command in this process."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangpool.cli.main import run
from gangpool.core.reasons import CODES
from tests.e2e.terminal import Outcome, is_one_message
from tests.e2e.test_mutated_manifests import MANIFESTS, listed, mutated, pool
from tests.intake.build import Json, job, node, pod, volcano

OBJECTS = (
    *("pod/plain-x", "pod/g-0", "pod/user", "pod/js-w-0-0-abcde", "pod/runs", "pod/ends", "node/n0", "node/t"),
    *("job/plain", "podgroup/g", "jobset/js", "gang/js", "vcjob/v", "job/gone", "deployment/d"),
)
QUESTIONED = ("Pod", "Job", "JobSet", "PodGroup", "ReplicaSet")
"""Other kinds are strict about every field; they are changed in the tests of `place`."""
STATES = ("pending", "placed", "finished", "not-ours", "open", "closed")


def items(rng: Random) -> list[Json]:
    """Objects of many kinds, one or two of them changed."""
    devices = {"gangpool.io/devices": '{"v": 1, "containers": {"main": {"cards": [0], "ports": ["p"]}}}'}
    found = [
        *pool(),
        rng.choice(MANIFESTS),
        pod(
            "runs",
            1,
            nodeName="n1",
            annotations=devices,
            owner="ReplicaSet/d-1/apps/v1",
            labels={"pod-template-hash": "1"},
        ),
        pod("ends", 1, nodeName="n1", phase="Succeeded", labels={"job-name": "plain"}),
        volcano("v", {"w": (2, 8)}, schedulerName="gangpool") | {"status": {"state": {"phase": "Pending"}}},
        job("bare", schedulerName="gangpool") | {"status": {"conditions": [{"type": "Complete", "status": "False"}]}},
        node("full") | {"status": {"capacity": {"nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": "6"}}},
    ]
    for _ in range(rng.choice((1, 2))):
        at = rng.choice([i for i, one in enumerate(found) if str(one.get("kind")) in QUESTIONED])
        found[at] = mutated(found[at], rng)
    return found


def told(*arguments: str) -> Outcome:
    """A command in this process, with its output."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(arguments)
        out.flush()
    assert isinstance(out.buffer, io.BytesIO)
    return Outcome(int(code), out.buffer.getvalue().decode(), err.getvalue())


def check(folder: Path, seed: int) -> None:
    rng = Random(seed)
    path = listed(folder / "p.json", items(rng))
    name = rng.choice((*OBJECTS, "jobs"))
    question = ["jobs"] if name == "jobs" else ["explain", name, "-n", "ml"]
    outcome = told(*question, "--pool", path, "-o", rng.choice(("json", "json", "table", "yaml")))
    if outcome.code == 2:
        assert is_one_message(outcome), outcome
        return
    if outcome.code == 1:
        assert (outcome.out, outcome.err.count("\n")) == ("", 1), outcome
        assert f"/{name.partition('/')[2]} is not there" in outcome.err
        return
    assert outcome.code == 0, outcome
    assert all(line.startswith("warning: ") or line == "No jobs found." for line in outcome.err.splitlines()), outcome
    if not outcome.out.startswith("{"):
        return
    answer = outcome.answer()
    for entry in answer["jobs"] if name == "jobs" else [answer]:
        assert entry["state"] in STATES
        assert entry["reason"] is None or (entry["reason"]["code"] in CODES and entry["reason"]["message"])
        assert entry["state"] != "pending" or entry["reason"] is not None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("questions")


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_mutated_pool_gives_an_answer_or_one_message(seed: int, folder: Path) -> None:
    check(folder, seed)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_thousands_of_mutated_pools(part: int, seed: int, folder: Path) -> None:
    for i in range(250):
        check(folder, seed * 1_000_003 + part * 1_000 + i)
