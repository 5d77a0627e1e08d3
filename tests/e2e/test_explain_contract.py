"""`gangpool explain` and `gangpool jobs` on dumps, sentence by sentence of the machine interface."""

from __future__ import annotations

import pytest

from gangpool.core.reasons import CODES
from tests.e2e.desk import Answer, Desk, dump
from tests.e2e.terminal import Outcome, in_process
from tests.intake.build import Json, node, obj, pod

GROUP = {"scheduling.k8s.io/group-name": "big"}
BIG = [
    obj("scheduling.volcano.sh/v1beta1", "PodGroup", "big", spec={"minMember": 2}),
    *(pod(f"big-{i}", 8, annotations=GROUP, created="2026-01-01T00:00:00Z") for i in range(2)),
]
POOL = [node("n1"), *BIG, pod("runs", 1, nodeName="n1"), pod("theirs", schedulerName="x"), pod("done", phase="Failed")]


def run(desk: Desk, *arguments: str, pool: list[Json] = POOL) -> Outcome:
    return in_process(desk.capsys, *arguments, "--pool", desk.file("pool.json", dump(pool)))


def ask(desk: Desk, *arguments: str, pool: list[Json] = POOL) -> Answer:
    outcome = run(desk, *arguments, "-n", "ml", "-o", "json", pool=pool)
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.answer()


def test_the_form_of_the_answer(desk: Desk) -> None:
    answer = ask(desk, "explain", "pod/big-0")
    fields = ["schema", "object", "gang", "state", "reason", "also", "node", "devices", "since"]
    assert list(answer)[: len(fields)] == fields
    assert (answer["schema"], answer["object"], answer["gang"]) == ("gangpool.io/explain/v1", "pod/ml/big-0", "ml/big")
    assert list(answer["reason"]) == ["code", "message", "numbers", "best_domain", "next_step", "starts_at"]
    assert (answer["node"], answer["devices"], answer["since"]) == (None, None, "2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("pod/big-1", "pending"),
        ("podgroup/big", "pending"),
        ("pod/runs", "placed"),
        ("pod/done", "finished"),
        ("pod/theirs", "not-ours"),
    ],
)
def test_states(desk: Desk, name: str, state: str) -> None:
    assert ask(desk, "explain", name)["state"] == state


def test_kind_and_name_may_be_two_words(desk: Desk) -> None:
    assert ask(desk, "explain", "po", "big-0") == ask(desk, "explain", "pods/big-0")


def test_numbers_say_what_is_needed_and_the_most_there_is(desk: Desk) -> None:
    assert ask(desk, "explain", "job/big-0", pool=[*POOL, big_job()])["reason"]["numbers"]["needed"] == 2
    single = ask(desk, "explain", "pod/a", pool=[node("n1"), pod("runs", 7, nodeName="n1"), pod("a", 2)])
    assert single["reason"]["numbers"] == {"needed": 2, "best": 1, "unit": "nvidia.com/gpu"}


def big_job() -> Json:
    spec = {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": {"spec": {"containers": []}}}
    return obj("batch/v1", "Job", "big-0", spec=spec)


def test_codes_are_of_the_closed_list(desk: Desk) -> None:
    for name in ("pod/big-0", "pod/theirs", "node/n1"):
        reason = ask(desk, "explain", name)["reason"]
        assert reason is None or reason["code"] in CODES


def test_yaml_holds_the_same(desk: Desk) -> None:
    outcome = run(desk, "explain", "pod/runs", "-n", "ml", "-o", "yaml")
    assert outcome.code == 0
    assert outcome.out.startswith("schema: gangpool.io/explain/v1\n")


def test_what_is_not_there_is_one_sentence_and_exit_code_1(desk: Desk) -> None:
    outcome = run(desk, "explain", "pod/bgi-0", "-n", "ml", "-o", "json")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "gangpool: pod/ml/bgi-0 is not there; did you mean big-0 or big-1?\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "no object is given"),
        (["big-0"], "write KIND/NAME, such as pod/big-0"),
        (["pod/"], "'pod/' names no object; write KIND/NAME, such as pod/train-0"),
        (["node"], "'node' names no object; write KIND/NAME, such as node/train-0"),
        (["train"], "'train' names no object; write KIND/NAME, such as pod/train"),
        (["pod", "a", "b"], "'pod a b' names no object; write KIND/NAME, such as pod/a"),
        (["pod/a", "pod/b"], "'pod/a pod/b' names no object; write KIND/NAME, such as pod/train-0"),
        (["pdo/a"], "did you mean pod?"),
        (["secret/a"], "known are "),
    ],
)
def test_wrong_usage(desk: Desk, words: list[str], text: str) -> None:
    outcome = run(desk, "explain", *words)
    assert outcome.code == 2
    assert text in outcome.err.splitlines()[0]


def test_for_people(desk: Desk) -> None:
    first, why, *_ = run(desk, "explain", "pod/big-0", "-n", "ml").out.splitlines()
    assert first.startswith("pod/ml/big-0 is pending for ") and first.endswith(": cannot-fit")
    assert why.startswith("  why      0 of 2 members fit")


def test_jobs_in_json(desk: Desk) -> None:
    answer = ask(desk, "jobs")
    (entry,) = answer["jobs"]
    assert answer["schema"] == "gangpool.io/jobs/v1"
    assert (entry["namespace"], entry["name"], entry["kind"], entry["state"]) == ("ml", "big", "PodGroup", "pending")
    assert entry["members"] == {"minimum": 2, "exist": 2, "bound": 0, "running": 0, "finished": 0}
    assert entry["reason"] == ask(desk, "explain", "gang/big")["reason"]


def test_jobs_by_label_and_none_found(desk: Desk) -> None:
    labelled = [node("n1"), obj("scheduling.volcano.sh/v1beta1", "PodGroup", "big", labels={"team": "a"}), BIG[1]]
    assert len(ask(desk, "jobs", "-l", "team=a", pool=labelled)["jobs"]) == 1
    outcome = run(desk, "jobs", "-l", "team=b", pool=labelled)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "No jobs found.\n")
    assert run(desk, "jobs", "-l", "a in").code == 2


def test_jobs_for_people(desk: Desk) -> None:
    heads, row = run(desk, "jobs").out.splitlines()
    assert heads.split()[:2] == ["NAMESPACE", "NAME"]
    assert row.split()[:2] == ["ml", "big"] and row.split()[-1] == "cannot-fit"
    assert "--no-headers" in in_process(desk.capsys, "jobs", "--help").out
