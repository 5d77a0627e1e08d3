"""`gangpool place` from the command line to the printed answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from gangpool.cli.main import run

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: ml}
spec:
  minAvailable: MEMBERS
  tasks:
  - name: worker
    replicas: MEMBERS
    template:
      spec:
        containers:
        - name: main
          resources: {limits: {nvidia.com/gpu: 8, rdma/hca: 8}}
"""


@pytest.fixture
def job(tmp_path: Path) -> str:
    path = tmp_path / "job.yaml"
    path.write_text(JOB.replace("MEMBERS", "2"))
    return str(path)


@pytest.fixture
def big(tmp_path: Path) -> str:
    path = tmp_path / "big.yaml"
    path.write_text(JOB.replace("MEMBERS", "5").replace("train", "big"))
    return str(path)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(["place", *arguments]) == code
    return capsys.readouterr().out


def test_a_gang_that_fits(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "-f", job, "--pool", "h100:4").splitlines()[:2] == [
        "NAMESPACE   PLACED   PODS   CARDS   LEVEL   DOMAIN           NODES",
        "ml          train    2      16      leaf    spine-0/leaf-0   node-[0000-0001]",
    ]


def test_the_answer_as_json(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(printed(capsys, "-f", job, "--pool", "h100:4", "-o", "json"))
    assert list(answer) == ["schema", "pool", "placed", "pending", "evicted", "warnings", "decision_ms"]
    assert answer["schema"] == "gangpool.io/place/v1"
    assert answer["pool"] == {"nodes": 4, "cards": 32, "cards_free_before": 32, "cards_free_after": 16}
    assert answer["placed"][1] == {
        "namespace": "ml",
        "pod": "train-worker-1",
        "gang": "ml/train",
        "rank": 1,
        "node": "node-0001",
        "cards": [0, 1, 2, 3, 4, 5, 6, 7],
        "cards_exact": True,
        "slices": [],
        "ports": [f"mlx5_{i}" for i in range(8)],
        "domains": [
            {"level": "network.topology.nvidia.com/spine", "domain": "spine-0"},
            {"level": "network.topology.nvidia.com/leaf", "domain": "spine-0/leaf-0"},
        ],
    }


def test_yaml_is_the_same_document(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    as_yaml = yaml.safe_load(printed(capsys, "-f", job, "--pool", "h100:4", "-o", "yaml"))
    as_json = json.loads(printed(capsys, "-f", job, "--pool", "h100:4", "-o", "json"))
    assert as_yaml | {"decision_ms": 0} == as_json | {"decision_ms": 0}


def test_exit_code_3_only_when_nothing_is_placed(job: str, big: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "-f", big, "--pool", "h100:4", code=3)
    assert out.splitlines()[0].split() == ["NAMESPACE", "WAITING", "PODS", "REASON", "MESSAGE"]
    assert out.splitlines()[1].split()[:4] == ["ml", "big", "5", "cannot-fit"]
    assert out.splitlines()[2].startswith("  next: ")
    both = printed(capsys, "-f", job, "-f", big, "--pool", "h100:4")
    assert "PLACED" in both and "WAITING" in both


def test_more_files_may_follow_without_a_flag(job: str, big: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "-f", job, big, "--pool", "h100:16")
    assert "7 pods placed, 0 waiting" in out


def test_nothing_to_place_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "service.yaml"
    path.write_text("{apiVersion: v1, kind: Service, metadata: {name: s}}")
    assert printed(capsys, "-f", str(path), "--pool", "h100:1").startswith("0 pods placed, 0 waiting")


def test_warnings_go_to_stderr_for_people_and_into_the_document_for_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(JOB.replace("minAvailable", "minMember").replace("MEMBERS", "2"))
    assert run(["place", "-f", str(path), "--pool", "h100:4"]) == 0
    said = capsys.readouterr()
    assert f"warning: {path}: Job/ml/train: spec.minMember: " in said.err
    assert "warning" not in said.out
    assert run(["place", "-f", str(path), "--pool", "h100:4", "-o", "json"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert [(w["file"], w["code"]) for w in json.loads(said.out)["warnings"]] == [(str(path), "minmember-in-job")]


def test_a_file_wins_over_a_shape_of_the_same_name(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("h100:4").write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    answer = json.loads(printed(capsys, "-f", job, "--pool", "h100:4", "-o", "json", code=3))
    assert answer["pool"]["nodes"] == 0


def test_the_configuration_names_the_levels(job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("{apiVersion: gangpool.io/v1, kind: Config, topology: {levels: [nvidia.com/gpu.product]}}")
    answer = json.loads(printed(capsys, "-f", job, "--pool", "h100:4", "--config", str(config), "-o", "json"))
    assert answer["placed"][0]["domains"] == [{"level": "nvidia.com/gpu.product", "domain": "NVIDIA-H100-80GB-HBM3"}]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{apiVersion: gangpool.io/v1, kind: Config, topolgy: {}}", "topolgy: unknown key; did you mean topology?"),
        ("{apiVersion: gangpool.io/v1, kind: Konfig}", "Konfig"),
        ("{apiVersion: gangpool.io/v1, kind: Config}\n---\n{apiVersion: v1, kind: Pod}", "holds 2 objects"),
    ],
)
def test_a_wrong_configuration_is_refused(
    text: str, says: str, job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(text)
    assert run(["place", "-f", job, "--pool", "h100:1", "--config", str(config)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"gangpool: {config}: ") and says in said


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"a: [", "not YAML"),
        (b'{"apiVersion": "v1"', "it is cut off"),
        (b"\x00\x01\x02", "binary"),
        (b"a: b", "has no kind"),
        (b"[" * 100_000, "deeper"),
        (b"", "no objects"),
    ],
)
@pytest.mark.parametrize("flag", ["-f", "--pool"])
def test_a_broken_input_is_one_line_that_names_the_file(
    flag: str, content: bytes, says: str, job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken"
    path.write_bytes(content)
    arguments = ["-f", str(path), "--pool", "h100:1"] if flag == "-f" else ["-f", job, "--pool", str(path)]
    assert run(["place", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"gangpool: {path}: ") and said.err.count("\n") == 1
    assert says in said.err


@pytest.mark.parametrize("flag", ["-f", "--pool"])
def test_an_impossible_object_is_one_line_that_names_file_and_object(
    flag: str, job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ml"},
        "spec": {"schedulerName": "gangpool", "containers": [{"resources": {"limits": {"nvidia.com/gpu": "-1"}}}]},
    }
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(pod))
    arguments = ["-f", str(path), "--pool", "h100:1"] if flag == "-f" else ["-f", job, "--pool", str(path)]
    assert run(["place", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"gangpool: {path}: ") and "Pod/ml/p" in said and said.count("\n") == 1


@pytest.mark.parametrize("now", ["2026-08-01T12:00:00Z", "2026-08-01T14:00:00.5+02:00"])
def test_the_time_may_be_given(now: str, job: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "2 pods placed" in printed(capsys, "-f", job, "--pool", "h100:4", "--now", now)
