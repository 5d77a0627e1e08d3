"""Dumps of a pool: the quick way for JSON Lists, the slow way for all else, both with the same outcome."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gangpool.files import InputError, PoolDump, iter_pool, key_of, pool, pool_of, read_pool

Json = dict[str, Any]


def pod(name: str = "p", **spec: Any) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ml"}, "spec": spec}


def node(name: str = "node") -> Json:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": {"cpu": "4"}}}


JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"parallelism": 2}}


def dump(*items: Any, **more: Any) -> Json:
    return {"apiVersion": "v1", "items": list(items), "kind": "List", **more}


def read(text: str | bytes) -> PoolDump:
    return read_pool("-", io.BytesIO(text if isinstance(text, bytes) else text.encode()))


def refusal(text: str | bytes) -> str:
    with pytest.raises(InputError) as refused:
        for _ in iter_pool(read(text)):
            pass
    return str(refused.value)


def outcome(found: PoolDump) -> tuple[Any, ...]:
    return (found.nodes, [o.object for o in found.others], list(found.pods()))


def test_every_kind_goes_to_its_place() -> None:
    found = read(json.dumps(dump(pod("a", nodeName="n"), node(), JOB, pod("b"))))
    assert [(file, n.metadata.name) for file, n in found.nodes] == [("standard input", "node")]
    assert [(o.object, o.item) for o in found.others] == [(JOB, 2)]
    assert found.n_pods == 2
    assert [p.metadata.name for _, p in found.pods()] == ["a", "b"]
    assert [p.spec.nodeName for _, p in found.pods()] == ["n", ""]  # and again
    assert [key for key, _ in iter_pool(found)] == [("", "Node"), ("batch", "Job"), ("", "Pod"), ("", "Pod")]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(dump(pod("a"), node(), JOB, pod("b")), indent=4),  # as kubectl prints it
        json.dumps(dump(pod("a"), node(), JOB, pod("b")), separators=(",", ":")),
        "\ufeff" + json.dumps(dump(pod("a"), node(), JOB, pod("b"))),
        yaml.safe_dump(dump(pod("a"), node(), JOB, pod("b"))),
        yaml.safe_dump_all([pod("a"), node(), JOB, pod("b")]),
        "\n".join(json.dumps(o) for o in (pod("a"), node(), JOB, pod("b"))),
        json.dumps(dump(pod("a"), node())) + json.dumps(dump(JOB, pod("b"))),
        json.dumps(dump(*({k: o[k] for k in reversed(o)} for o in (pod("a"), node(), JOB, pod("b"))))),
    ],
)
def test_all_spellings_give_the_same(text: str) -> None:
    wanted = read(json.dumps(dump(pod("a"), node(), JOB, pod("b"))))
    assert outcome(read(text)) == outcome(wanted)


def test_lists_of_the_api_server_whose_items_have_no_kind() -> None:
    bare = [{key: value for key, value in made.items() if key not in ("kind", "apiVersion")} for made in (pod(), JOB)]
    assert read(json.dumps(dump(bare[0], kind="PodList"))).n_pods == 1
    found = read(json.dumps(dump(bare[1], kind="JobList", apiVersion="batch/v1")))
    assert [o.object for o in found.others] == [JOB]


def test_pods_of_other_groups_are_no_pods() -> None:
    other = {**pod(), "apiVersion": "metrics.k8s.io/v1beta1", "kind": "Pod"}
    found = read(json.dumps(dump(other)))
    assert (found.n_pods, [o.object for o in found.others]) == (0, [other])
    assert key_of(other) == ("metrics.k8s.io", "Pod")


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump])
def test_a_pod_written_by_hand_is_in_the_namespace_of_its_group(write: Any) -> None:
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}
    found = read(write(dump(pod("p"), bare)))
    assert [pod.metadata.namespace for _, pod in found.pods()] == ["ml", "default"]


def test_null_counts_as_absent_in_the_quick_way_too() -> None:
    made = dump({**pod("a", nodeName=None), "status": None}, {**node(), "spec": None})
    found = read(json.dumps(made))
    assert [(p.metadata.name, p.spec.nodeName) for _, p in found.pods()] == [("a", "")]
    assert found.nodes[0][1].metadata.name == "node"


def test_an_empty_list_is_an_empty_pool() -> None:
    assert outcome(read('{"apiVersion": "v1", "kind": "List", "items": []}')) == ([], [], [])
    assert outcome(read("apiVersion: v1\nkind: List\nitems: []\n")) == ([], [], [])


def test_folders_and_several_files(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(dump(node("n1"))))
    (tmp_path / "b.yaml").write_text(yaml.safe_dump(node("n2")))
    names = [str(tmp_path / "a.json"), str(tmp_path / "b.yaml")]
    assert [(file, n.metadata.name) for file, n in read_pool(str(tmp_path)).nodes] == list(
        zip(names, ["n1", "n2"], strict=True)
    )
    assert len(read_pool([names[0], names[0]]).nodes) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no objects in it"),
        ("[]", "not a Kubernetes object but a list"),
        ("{}", "document 1 (line 1): not a Kubernetes object: has no kind"),
        ('{"apiVersion": "v1", "kind": "List", "items": [{"kind"', "line 1, column 55: not JSON: it is cut off"),
        (
            '{"apiVersion": "v1", "kind": "List", "items": [3]}',
            "items[0]: not a Kubernetes object: object: expected object",
        ),
        (
            '{"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod"}]}',
            "items[0]: not a Kubernetes object: has no apiVersion",
        ),
        (
            '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1"}]}',
            "items[0]: not a Kubernetes object: has no kind",
        ),
        ('{"apiVersion": "v1", "kind": "List", "items": {}}', "document 1 (line 1), items: not a list but an object"),
        ('{"apiVersion": "v1", "kind": 3, "items": []}', "the value 3 as its kind"),
        (json.dumps(dump(node(), pod("a", nodeName=3))), "items[1], Pod/ml/a: spec.nodeName: expected str, got int"),
        (yaml.safe_dump(pod("a", nodeName=3)), "document 1 (line 1), Pod/ml/a: spec.nodeName: expected str, got int"),
        (json.dumps(dump({**node(), "spec": 1})), "items[0], Node/node: spec: expected object, got int"),
        (json.dumps(dump({**node(), "metadata": 1})), "items[0], Node: metadata: expected object, got int"),
        (
            b'{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"\xff"}}]}',
            "UTF-8",
        ),
        (
            json.dumps(dump({"apiVersion": "v1", "kind": "X"}))[:-20].replace("X", 'X", "a": ' + "[" * 100_000),
            "nested deeper",
        ),
        (
            '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"X","a":'
            + "[" * 300
            + "]" * 300
            + "}]}",
            "items[0]: nested deeper than 200",
        ),
    ],
)
def test_what_is_refused(text: str | bytes, message: str) -> None:
    assert message in refusal(text)
    assert refusal(text).startswith("standard input: ")


def test_an_object_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "ITEM_MAX", 500)
    assert outcome(read(json.dumps(dump(pod("a" * 100)))))
    assert "items[1]: 0 MiB; an object has at most 0 MiB" in refusal(json.dumps(dump(node(), pod("a" * 1000))))


def large(monkeypatch: pytest.MonkeyPatch, text: str | bytes) -> str:
    """The refusal of a dump that is too large for the slow way."""
    monkeypatch.setattr(pool, "TEXT_MAX", 10)
    return refusal(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"kind": "List",\n"items": [{}', "line 2: not JSON: it is cut off"),
        ('{"kind": "List",\n"items": [x]}', "line 2, byte 27: not JSON: invalid character"),
        ('{"kind": "List", "items": []} {}', "line 1, byte 31: not JSON: trailing characters"),
        ('{"kind": "List", "items": [' + "[" * 100_000, "nested deeper than 200 levels"),
        ('{"kind": "List", "items": {}}', "not a List of Kubernetes objects: items: expected array | null, got object"),
        ('{"kind": "ConfigMap", "apiVersion": "v1"}', "0 MiB that are no List of objects"),
        ("kind: Pod\napiVersion: v1\n", "YAML is read up to 0 MiB, write larger dumps with -o json"),
    ],
)
def test_large_dumps_that_are_broken(monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    assert message.lower() in large(monkeypatch, text).lower()


def test_bytes_in_memory_are_read_the_same() -> None:
    data = json.dumps(dump(pod("a"), node(), JOB)).encode()
    found, wanted = pool_of("standard input", data), read(data)
    assert outcome(found) == outcome(wanted)
    assert outcome(pool_of("standard input", bytearray(data))) == outcome(wanted)
    assert refusal(b"x") == "standard input: document 1 (line 1): not a Kubernetes object but the text 'x'"
    with pytest.raises(InputError, match="memory: no objects in it"):
        pool_of("memory", b"")


names = st.text("abc", min_size=1, max_size=4)
objects = st.lists(st.one_of(names.map(pod), names.map(node), st.just(JOB)), max_size=8)


@given(objects, st.sampled_from([None, 1, 4]))
def test_quick_and_slow_way_agree(made: list[Json], indent: int | None) -> None:
    quick = read(json.dumps(dump(*made), indent=indent))
    slow = read(yaml.safe_dump(dump(*made), sort_keys=False))
    assert outcome(quick) == outcome(slow)
