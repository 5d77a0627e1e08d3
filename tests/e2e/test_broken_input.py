"""Input that cannot be read: exit code 2 and one message that names file, place and cause; never a traceback, and
never more than a few seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.terminal import EXAMPLES, command, in_process, is_one_message

WORKLOAD = str(EXAMPLES / "seed/training-worker.yaml")
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n"
SECONDS = 8.0
"""CPU time of a whole process on a slow machine; each of these takes less than one second on a fast one."""


def bomb() -> bytes:
    """Nine aliases of nine aliases of …: three hundred thousand million values when it is taken at its word."""
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]" for i in range(11)]
    return "\n".join(lines).encode()


BROKEN: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "", "no objects"),
    "blank": (b"\n\n---\n# nothing\n", "", "no objects"),
    "not-yaml": (b"a: [1,\nb: }", "line 2, column 4", "not YAML"),
    "prose": (b"please place my job", "document 1 (line 1)", "not a Kubernetes object but the text"),
    "a-number": (b"42", "document 1 (line 1)", "not a Kubernetes object but the value 42"),
    "a-list": (b"[1, 2]", "document 1 (line 1)", "not a Kubernetes object but a list"),
    "tabs": (b"a:\n\tb: 1", "line 2, column 1", "not YAML"),
    "cut-json": (b'{"apiVersion": "v1", "kind": "Pod", "meta', "line 1, column 37", "cut off"),
    "cut-list": (b'{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", ', "line 1", "cut off"),
    "cut-yaml": (POD.encode() + b'  - {name: "a', "line 6, column", "not YAML"),
    "binary": (bytes(range(256)), "byte 0", "binary"),
    "gzip": (b"\x1f\x8b\x08\x00" + bytes(20), "byte 0", "compressed"),
    "latin-1": (POD.encode() + b"  - {name: caf\xe9}", "line 6", "not UTF-8"),
    "control": (b"a: \x01", "line 1, column 4", "may not stand in YAML"),
    "no-kind": (b"apiVersion: v1\nmetadata: {name: a}", "document 1 (line 1)", "has no kind"),
    "no-version": (b"kind: Pod\nmetadata: {name: a}", "document 1 (line 1)", "has no apiVersion"),
    "kind-of-a-list": (b"apiVersion: v1\nkind: [Pod]", "document 1 (line 1)", "as its kind"),
    "second-document": (POD.encode() + b"  - {name: a}\n---\nx: 1", "document 2 (line 8)", "has no kind"),
    "items-of-a-list": (b"apiVersion: v1\nkind: List\nitems: [5]", "document 1 (line 1), items[0]", "the value 5"),
    "items-are-none": (b"apiVersion: v1\nkind: List\nitems: 5", "document 1 (line 1), items", "not a list"),
    "brackets": (b"[" * 1_000_000, "", "deep"),
    "closed-brackets": (b"[" * 1_000_000 + b"]" * 1_000_000, "", "deep"),
    "braces": (b'{"a":' * 1_000_000, "", "deep"),
    "brackets-in-yaml": (b"a: " + b"[" * 1_000_000, "line 1", "nest"),
    "dashes": (b"- " * 100_000 + b"a", "line 1", "nest"),
    "alias-bomb": (bomb(), "line 7, column 8", "aliases repeat more than 1,000,000 values"),
    "alias-in-itself": (b"a: &a [*a]", "line 1, column 8", "stands inside what it repeats"),
    "alias-of-nothing": (b"a: *b", "line 1, column 4", "no anchor"),
    "tag": (b"a: !!python/object/apply:os.system [echo]", "line 1, column 4", "tag"),
    "own-tag": (b"a: !secret x", "line 1, column 4", "tag !secret is not allowed"),
    "twice": (b"apiVersion: v1\nkind: Pod\nkind: Pod", "line 3, column 1", "stands twice"),
    "half-a-surrogate": (b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "\\ud800"}}', "", "surrogate"),
    "infinite": (b'{"apiVersion": "v1", "kind": "Pod", "x": Infinity}', "document 1", "no number"),
    "too-large": (b'{"apiVersion": "v1", "kind": "Pod", "x": 1e999}', "document 1", "beyond every float"),
}


@pytest.mark.parametrize("flag", ["-f", "--pool"])
@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_read(name: str, flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, place, cause = BROKEN[name]
    path = tmp_path / "broken.yaml"
    path.write_bytes(content)
    if flag == "--pool" and name in ("empty", "blank"):
        return  # an empty namespace is printed so
    given = ["-f", str(path), "--pool", "h100:1"] if flag == "-f" else ["-f", WORKLOAD, "--pool", str(path)]
    outcome = in_process(capsys, "place", *given)
    assert is_one_message(outcome), outcome
    assert outcome.err.startswith(f"gangpool: {path}: ")
    assert place in outcome.err
    assert cause in outcome.err


@pytest.mark.parametrize("name", ["binary", "closed-brackets", "alias-bomb", "cut-json", "not-yaml"])
def test_a_process_of_its_own_ends_soon_and_says_the_same(name: str) -> None:
    outcome = command("place", "-f", "-", "--pool", "h100:1", stdin=BROKEN[name][0])
    assert is_one_message(outcome), outcome
    assert outcome.err.startswith("gangpool: standard input: ")
    assert outcome.cpu_s < SECONDS


def big(path: Path, head: bytes) -> str:
    """A file of 1 GiB that takes no room on the disk: its head, and nothing behind it."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(1 << 30)
    return str(path)


def test_one_line_of_a_gigabyte(tmp_path: Path) -> None:
    line = big(tmp_path / "line.yaml", b"a: '" + b"x" * 8192)
    outcome = command("place", "-f", line, "--pool", "h100:1")
    assert is_one_message(outcome), outcome
    assert outcome.err == f"gangpool: {line}: 1,024 MiB, and manifests may have at most 64 MiB\n"
    assert outcome.cpu_s < SECONDS
    outcome = command("place", "-f", WORKLOAD, "--pool", line)
    assert is_one_message(outcome), outcome
    assert outcome.cpu_s < SECONDS


def test_a_gigabyte_of_nothing(tmp_path: Path) -> None:
    outcome = command("place", "-f", big(tmp_path / "zeros.json", b""), "--pool", "h100:1")
    assert is_one_message(outcome), outcome
    assert "binary" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-f", "/nowhere/job.yaml", "--pool", "h100:1"], "/nowhere/job.yaml: No such file"),
        (["-f", WORKLOAD, "--pool", "/nowhere/pool.json"], "/nowhere/pool.json: No such file"),
        (["-f", "/dev/null", "--pool", "h100:1"], "/dev/null: "),
        (["-f", "/dev/zero", "--pool", "h100:1"], "/dev/zero: "),
        (["-f", WORKLOAD, "--pool", "h100:1", "--config", "/nowhere.yaml"], "/nowhere.yaml: No such file"),
    ],
)
def test_a_file_that_is_none(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = in_process(capsys, "place", *arguments)
    assert is_one_message(outcome), outcome
    assert says in outcome.err


def test_a_folder_without_manifests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = in_process(capsys, "place", "-f", str(tmp_path), "--pool", "h100:1")
    assert is_one_message(outcome), outcome
    assert "no file that ends in .yaml" in outcome.err


WRONG_OBJECTS = {
    "negative": ("resources: {limits: {nvidia.com/gpu: -1}}", "spec.containers[0].resources.limits[nvidia.com/gpu]"),
    "half-a-card": ("resources: {limits: {nvidia.com/gpu: 0.5}}", "whole"),
    "absurd": ("resources: {limits: {cpu: 99999999999999999999Gi}}", "more than any node can have"),
    "exponent": ("resources: {limits: {cpu: 1e99999}}", "limits[cpu]"),
    "no-quantity": ("resources: {limits: {cpu: many}}", "'many' is no quantity"),
    "a-list": ("resources: {limits: {cpu: [1]}}", "spec.containers[0].resources.limits"),
    "wrong-type": ("resources: 5", "spec.containers[0].resources"),
    "port": ("ports: [{hostPort: 70000}]", "70000 is no port"),
    "huge-port": ("ports: [{hostPort: 1000000000000000000000000000000}]", "spec.containers[0].ports[0]"),
}


@pytest.mark.parametrize("name", WRONG_OBJECTS)
def test_an_impossible_pod(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, says = WRONG_OBJECTS[name]
    path = tmp_path / "pod.yaml"
    path.write_text(f"{POD}  - {{name: a, {text}}}\n")
    outcome = in_process(capsys, "place", "-f", str(path), "--pool", "h100:1")
    assert is_one_message(outcome), outcome
    assert outcome.err.startswith(f"gangpool: {path}: Pod/default/p: ")
    assert says in outcome.err


@pytest.mark.parametrize("replicas", ["-1", "2000000000", "99999999999999999999", "2.5", "'3'", "[]"])
def test_replicas_that_nobody_can_mean(replicas: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deployment.yaml"
    spec = f"{{replicas: {replicas}, template: {{spec: {{containers: [{{name: a}}]}}}}}}"
    path.write_text(f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: d}}, spec: {spec}}}")
    outcome = in_process(capsys, "place", "-f", str(path), "--pool", "h100:1")
    assert is_one_message(outcome), outcome
    assert f"{path}: Deployment/default/d: spec.replicas: must be" in outcome.err


def test_owners_in_a_circle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two Jobs own each other and a running pod; a third one is placed."""
    text = """
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 8, pods: 10}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: a, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: b}]}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: b, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: a}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: a, controller: true}]}
spec: {nodeName: n1, containers: [{name: a, resources: {limits: {cpu: 1}}}]}
"""
    pool = tmp_path / "pool.yaml"
    pool.write_text(text)
    job = tmp_path / "job.yaml"
    job.write_text(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: c}, spec: {template: {spec: {containers: [{name: a}]}}}}"
    )
    outcome = in_process(capsys, "place", "-f", str(job), "--pool", str(pool), "-o", "json")
    assert [entry["pod"] for entry in outcome.answer()["placed"]] == ["c-0"]


def test_a_context_object_that_cannot_be_read_is_told_under_its_own_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = tmp_path / "pool.yaml"
    pool.write_text("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: a}, value: high}")
    outcome = in_process(capsys, "place", "-f", WORKLOAD, "--pool", str(pool))
    assert is_one_message(outcome), outcome
    assert outcome.err.startswith(f"gangpool: {pool}: PriorityClass//a: value: must be a whole number")
