"""The machine interface of `gangpool place`, sentence by sentence, from text files to the JSON document."""

from __future__ import annotations

import io
import json

import pytest

from tests.e2e.desk import Desk, message, pods
from tests.e2e.terminal import command
from tests.intake.build import Json, deployment, job, node, obj, pod, priority_class, template, volcano

LEAF, SPINE = "network.topology.nvidia.com/leaf", "network.topology.nvidia.com/spine"


# ---- -f


def test_yaml_or_json_one_or_many_documents_lists_and_folders(desk: Desk) -> None:
    one, two, three, four = (pod(f"p{i}") for i in range(4))
    a = desk.file("jobs/a.yaml", one, two)
    desk.file("jobs/deep/b.json", three, four)
    desk.file("jobs/notes.txt", {"not": "read"})
    for given in (["-f", a, "-f", str(desk.folder / "jobs/deep")], ["-f", str(desk.folder / "jobs")]):
        outcome = desk.run(*given, "--pool", "h100:1", "-o", "json")
        assert pods(outcome.answer()) == ["p0", "p1", "p2", "p3"]


def test_stdin() -> None:
    text = json.dumps(pod("p")).encode()
    assert pods(command("place", "-f", "-", "--pool", "h100:1", "-o", "json", stdin=text).answer()) == ["p"]
    both = command("place", "-f", "-", "--pool", "-", stdin=text)
    assert (both.code, both.out) == (2, "")


def test_a_pool_from_stdin(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("n1")]}).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(dump)))
    outcome = desk.run("-f", desk.file("p.yaml", pod("p")), "--pool", "-", "-o", "json")
    assert [e["node"] for e in outcome.answer()["placed"]] == ["n1"]


def kubeflow(kind: str, key: str, **roles: int) -> Json:
    specs = {role: {"replicas": n, "template": template(0)} for role, n in roles.items()}
    return obj("kubeflow.org/v1", kind, "k", spec={key: specs})


NAMES: dict[str, tuple[Json, list[str]]] = {
    "pod": (pod("p"), ["p"]),
    "job": (job("a", 2, 0), ["a-0", "a-1"]),
    "deployment": (deployment("d", 2, 0), ["d-0", "d-1"]),
    "replicaset": (obj("apps/v1", "ReplicaSet", "r", spec={"replicas": 2, "template": template(0)}), ["r-0", "r-1"]),
    "statefulset": (obj("apps/v1", "StatefulSet", "s", spec={"replicas": 2, "template": template(0)}), ["s-0", "s-1"]),
    "cronjob": (
        obj("batch/v1", "CronJob", "c", spec={"jobTemplate": {"spec": {"parallelism": 2, "template": template(0)}}}),
        ["c-0", "c-1"],
    ),
    "daemonset": (obj("apps/v1", "DaemonSet", "x", spec={"template": template(0)}), ["x-0", "x-1", "x-2"]),
    "volcano": (volcano("v", {"ps": (1, 0), "worker": (2, 0)}), ["v-ps-0", "v-worker-0", "v-worker-1"]),
    "jobset": (
        obj(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            "j",
            spec={
                "replicatedJobs": [
                    {"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 2, "template": template(0)}}}
                ]
            },
        ),
        ["j-w-0-0", "j-w-0-1", "j-w-1-0", "j-w-1-1"],
    ),
    "lws": (
        obj(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            "l",
            spec={"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template(0)}},
        ),
        ["l-0", "l-0-1", "l-1", "l-1-1"],
    ),
    "pytorch": (
        kubeflow("PyTorchJob", "pytorchReplicaSpecs", Worker=2, Master=1),
        ["k-master-0", "k-worker-0", "k-worker-1"],
    ),
    "tf": (kubeflow("TFJob", "tfReplicaSpecs", PS=1, Worker=1), ["k-worker-0", "k-ps-0"]),
}


@pytest.mark.parametrize("kind", NAMES)
def test_pods_are_expanded_and_named_as_their_controller_does(kind: str, desk: Desk) -> None:
    workload, names = NAMES[kind]
    answer = desk.ask("h100:3", workload)
    assert pods(answer) == names
    assert answer["pending"] == []


def test_a_service_is_context(desk: Desk) -> None:
    answer = desk.ask("h100:1", obj("v1", "Service", "s"), obj("example.com/v1", "Whatever", "w"))
    assert (answer["placed"], answer["pending"], answer["warnings"]) == ([], [], [])


# ---- the document


def test_the_fields_of_the_document_and_their_order(desk: Desk) -> None:
    answer = desk.ask("h100:1", pod("p", 2, limits={"rdma/hca": 1}), pod("big", 9))
    assert list(answer) == ["schema", "pool", "placed", "pending", "evicted", "warnings", "decision_ms"]
    assert list(answer["pool"]) == ["nodes", "cards", "cards_free_before", "cards_free_after"]
    fields = ["namespace", "pod", "gang", "rank", "node", "cards", "cards_exact", "slices", "ports", "domains"]
    assert list(answer["placed"][0]) == fields
    assert list(answer["pending"][0]) == ["namespace", "gang", "pods", "reason"]
    reason = answer["pending"][0]["reason"]
    assert list(reason) == ["code", "message", "numbers", "best_domain", "next_step", "starts_at"]
    assert answer["schema"] == "gangpool.io/place/v1"
    assert answer["evicted"] == []
    assert answer["decision_ms"] >= 0


def test_a_warning_names_file_object_field_and_code(desk: Desk) -> None:
    answer = desk.ask("h100:2", volcano("train", {"w": (2, 1)}, minMember=2))
    assert len(answer["warnings"]) == 1
    warning = answer["warnings"][0]
    assert list(warning) == ["file", "object", "field", "code", "message"]
    assert warning["file"] == str(desk.folder / "given.yaml")
    assert (warning["object"], warning["field"], warning["code"]) == (
        "Job/ml/train",
        "spec.minMember",
        "minmember-in-job",
    )


def test_a_single_pod_has_neither_gang_nor_rank_and_a_gang_comes_in_rank_order(desk: Desk) -> None:
    answer = desk.ask("h100:2", pod("single"), volcano("v", {"w": (11, 1)}))
    assert [(e["gang"], e["rank"]) for e in answer["placed"]] == [(None, None), *(("ml/v", i) for i in range(11))]


def test_a_shape_names_its_cards_and_ports_exactly(desk: Desk) -> None:
    entry = desk.ask("h100:1", pod("p", 2, limits={"rdma/hca": 2}))["placed"][0]
    assert (entry["cards"], entry["cards_exact"], entry["slices"]) == ([0, 1], True, [])
    assert entry["ports"] == ["mlx5_0", "mlx5_1"]
    assert entry["domains"] == [
        {"level": SPINE, "domain": "spine-0"},
        {"level": LEAF, "domain": "spine-0/leaf-0"},
    ]


def test_without_the_annotation_cards_are_the_ledgers_own(desk: Desk) -> None:
    running = pod("old", 3, nodeName="n1")
    entry = desk.ask([node("n1"), running], pod("p", 2))["placed"][0]
    assert (entry["cards"], entry["cards_exact"], entry["ports"]) == ([3, 4], False, [])


def test_cards_before_and_after(desk: Desk) -> None:
    pool = [node("n1"), node("n2", 4), pod("old", 3, nodeName="n1"), pod("waits", 1)]
    answer = desk.ask(pool, pod("p", 2))
    assert answer["pool"] == {"nodes": 2, "cards": 12, "cards_free_before": 9, "cards_free_after": 6}


# ---- reasons


def racks(*cards: int) -> list[Json]:
    labels = "topology.kubernetes.io/rack"
    return [node(f"b{i}", n, labels={labels: f"r{i // 2}"}) for i, n in enumerate(cards)]


def test_numbers_of_a_gang_count_members(desk: Desk) -> None:
    answer = desk.ask("h100:4", job("a", 5, 8), code=3)
    assert answer["pending"][0]["gang"] == "ml/a"
    assert answer["pending"][0]["pods"] == [f"a-{i}" for i in range(5)]
    assert answer["pending"][0]["reason"]["numbers"] == {"needed": 5, "best": 4, "unit": "members"}
    assert message(answer).startswith("4 of 5 members fit in the pool; nvidia.com/gpu asked 8, best 8")


def test_numbers_of_a_single_pod_count_units(desk: Desk) -> None:
    answer = desk.ask([node("b3", 8), pod("old", 1, nodeName="b3")], pod("p", 8), code=3)
    assert answer["pending"][0]["gang"] is None
    numbers = answer["pending"][0]["reason"]["numbers"]
    assert (numbers["needed"], numbers["best"], numbers["unit"]) == (8, 7, "nvidia.com/gpu")


def test_memory_is_counted_in_a_unit_that_is_named(desk: Desk) -> None:
    answer = desk.ask([node("n1")], pod("p", 0, limits={"memory": "1Ti"}), code=3)
    numbers = answer["pending"][0]["reason"]["numbers"]
    assert numbers["needed"] > numbers["best"]
    assert isinstance(numbers["unit"], str) and numbers["unit"]
    assert "memory asked 1Ti, best 512Gi" in message(answer)


def test_the_domain_is_named_with_the_next_best(desk: Desk) -> None:
    required = {"annotations": {"gangpool.io/required-topology": "topology.kubernetes.io/rack"}}
    answer = desk.ask(racks(8, 8, 8, 4), job("a", 3, 8, **required), code=3)
    reason = answer["pending"][0]["reason"]
    assert (reason["code"], reason["best_domain"]) == ("cannot-fit", "r0")
    assert reason["message"].startswith("2 of 3 members fit in rack r0; nvidia.com/gpu asked 8, best 8")
    assert "r1 1 of 3" in reason["message"]
    assert reason["next_step"]


def test_the_nearest_node_is_named_with_what_it_has(desk: Desk) -> None:
    pool = [*(node(f"b{i}") for i in range(4)), pod("old", 1, nodeName="b3")]
    pool += [pod(f"x{i}", 4, nodeName=f"b{i}") for i in range(3)]
    assert "b3 has 7" in message(desk.ask(pool, pod("p", 8), code=3))


def test_what_no_node_could_ever_hold_says_the_largest_there_is(desk: Desk) -> None:
    answer = desk.ask([node("n1", 4), node("n2", 8)], pod("p", 9), code=3)
    assert "the largest node has 8" in message(answer)


def test_the_role_that_has_no_place_is_named(desk: Desk) -> None:
    answer = desk.ask([node("n1", 8)], volcano("v", {"ps": (1, 2), "worker": (2, 4)}), code=3)
    assert "; role " in message(answer)
    assert message(answer).split("; role ")[1].startswith(("ps has no place", "worker has no place"))


def test_nodes_left_out_follow_with_counts(desk: Desk) -> None:
    taint = {"key": "dedicated", "value": "infer", "effect": "NoSchedule"}
    off = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    pool = [
        node("t1", taints=[taint]),
        node("t2", taints=[taint]),
        node("e", taints=[{"key": "only", "effect": "NoExecute"}]),
        node("c", unschedulable=True),
        node("s", labels={"kind": "no"}),
        node("s2"),
    ]
    broken = node("r")
    broken["status"] |= off["status"]
    answer = desk.ask([*pool, broken], pod("p", 1, nodeSelector={"kind": "yes"}), code=3)
    assert "7 do not match kind=yes" in message(answer)
    answer = desk.ask([*pool[:4], broken], pod("p", 1), code=3)
    for text in (
        "2 with taint dedicated=infer:NoSchedule",
        "1 with taint only:NoExecute",
        "1 cordoned",
        "1 not ready",
    ):
        assert text in message(answer)


def test_gates_are_named_with_counts(desk: Desk) -> None:
    labels = {"scheduling.x-k8s.io/pod-group": "g"}
    gates = {"schedulingGates": [{"name": "example.com/x"}]}
    group = obj("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", spec={"minMember": 4})
    members = [pod(f"g-{i}", 1, labels=labels, **(gates if i < 2 else {})) for i in range(4)]
    answer = desk.ask("h100:2", group, *members, code=3)
    assert answer["pending"][0]["reason"]["code"] == "gated"
    assert "2 of 4 members wait behind gate example.com/x" in message(answer)


def test_contradictory_objects_wait_as_invalid(desk: Desk) -> None:
    answer = desk.ask("h100:4", volcano("v", {"w": (2, 1)}, minAvailable=3), code=3)
    assert answer["pending"][0]["reason"]["code"] == "invalid-object"
    assert answer["pending"][0]["pods"] == ["v-w-0", "v-w-1"]


# ---- exit codes


def test_exit_code_3_only_when_nothing_is_placed(desk: Desk) -> None:
    assert desk.run("-f", desk.file("a.yaml", pod("p", 9)), "--pool", "h100:1").code == 3
    assert desk.run("-f", desk.file("a.yaml", pod("p", 9), pod("q")), "--pool", "h100:1").code == 0
    assert desk.run("-f", desk.file("a.yaml", pod("q")), "--pool", "h100:1").code == 0
    assert desk.run("-f", desk.file("a.yaml", obj("v1", "Service", "s")), "--pool", "h100:1").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--pool", "h100:1"],
        ["-f"],
        ["--nonsense"],
        ["-o", "xml", "-f", "x", "--pool", "h100:1"],
        ["--now", "yesterday", "-f", "x", "--pool", "h100:1"],
        ["-f", "x", "--pool", "h100:0"],
        ["-f", "x", "--pool", "h100:1,leaf=0"],
        ["-f", "x", "--pool", "b300:1"],
    ],
)
def test_wrong_usage_is_exit_code_2_without_a_traceback(arguments: list[str], desk: Desk) -> None:
    outcome = desk.run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert len(outcome.err.splitlines()) <= 2
    assert "Traceback" not in outcome.err


# ---- --pool


def test_a_shape_is_what_the_interface_says(desk: Desk) -> None:
    answer = desk.ask(
        "h100:1280,leaf=32,spine=16,label=team:a,res=rdma/ib:4", deployment("d", 1, 8, nodeSelector={"team": "a"})
    )
    assert answer["pool"]["cards"] == 10240
    assert answer["placed"][0]["node"] == "node-1024"  # the last spine has half the leaves of the others
    full = pod("p", 8, limits={"rdma/hca": "8", "cpu": "192", "memory": "2Ti", "rdma/ib": "4"})
    assert len(desk.ask("h100:1,res=rdma/ib:4", full)["placed"]) == 1
    more = pod("p", 8, limits={"rdma/hca": "8", "cpu": "192001m"})
    assert "cpu asked 192001m" in message(desk.ask("h100:1", more, code=3))
    two = desk.ask("h100:64,leaf=2,spine=2", job("a", 4, 8))
    assert [e["domains"][1]["domain"] for e in two["placed"]] == [
        "spine-0/leaf-0",
        "spine-0/leaf-0",
        "spine-0/leaf-1",
        "spine-0/leaf-1",
    ]


def test_a_dump_may_have_any_kinds_and_a_table_of_any_order(desk: Desk) -> None:
    pool = [pod("old", 8, nodeName="n1"), obj("v1", "Secret", "s"), priority_class("a", 1), node("n1"), node("n2")]
    assert desk.ask(pool, pod("p", 8))["placed"][0]["node"] == "n2"


def test_the_pool_may_be_a_folder_of_dumps(desk: Desk) -> None:
    desk.file("dump/nodes.json", node("n1"), node("n2"))
    desk.file("dump/pods.yaml", pod("old", 8, nodeName="n1"))
    given = desk.file("p.yaml", pod("p", 8))
    outcome = desk.run("-f", given, "--pool", str(desk.folder / "dump"), "-o", "json")
    assert outcome.answer()["placed"][0]["node"] == "n2"


def test_without_a_pool_the_message_says_what_to_give(desk: Desk) -> None:
    outcome = desk.run("-f", desk.file("p.yaml", pod("p")))
    assert outcome.code != 0
    assert "Traceback" not in outcome.err


def test_the_same_question_has_the_same_answer(desk: Desk) -> None:
    given = desk.file("p.yaml", job("a", 3, 8), deployment("d", 5, 2))
    arguments = ["place", "-f", given, "--pool", "h100:8", "--now", "2026-08-01T12:00:00Z", "-o", "json"]
    answers = [command(*arguments).answer() | {"decision_ms": 0} for _ in range(2)]
    assert answers[0] == answers[1]


def test_doubts_about_the_pool_name_it(desk: Desk) -> None:
    """An annotation of a node that cannot be read is a doubt about the pool, not about the workloads."""
    broken = node("n1", annotations={"gangpool.io/devices": "no JSON"})
    answer = desk.ask([broken], pod("p"))
    found = [(warning["file"].rpartition("/")[2], warning["object"]) for warning in answer["warnings"]]
    assert found == [("pool.json", "Node//n1")]


def test_what_a_given_pod_lacks_is_not_put_on_the_pool(desk: Desk) -> None:
    lonely = pod("p", annotations={"scheduling.k8s.io/group-name": "gone"})
    answer = desk.ask([node("n1")], lonely)
    assert {warning["file"].rpartition("/")[2] for warning in answer["warnings"]} <= {"", "given.yaml"}
    assert answer["warnings"]
