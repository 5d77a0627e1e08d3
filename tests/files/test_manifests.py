"""Objects from files: documents, Lists, places, and one message for each kind of broken input."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangpool.files import InputError, Located, read_objects
from gangpool.files.manifests import objects_of

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"


def read(text: str | bytes) -> list[Located]:
    return list(objects_of("f", text if isinstance(text, bytes) else text.encode()))


def kinds(text: str) -> list[tuple[str, str, int, int, int | None]]:
    return [(o.object["apiVersion"], o.object["kind"], o.document, o.line, o.item) for o in read(text)]


def test_documents_and_their_places() -> None:
    assert kinds(f"# first\n{POD}---\n---\n{POD}") == [("v1", "Pod", 1, 2, None), ("v1", "Pod", 3, 7, None)]


def test_lists_are_taken_apart() -> None:
    text = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod}
- {apiVersion: batch/v1, kind: Job}
"""
    assert kinds(text) == [("v1", "Pod", 1, 2, 0), ("batch/v1", "Job", 1, 2, 1)]


def test_items_without_a_kind_have_that_of_their_list() -> None:
    """As the API server answers: `kubectl get --raw /apis/batch/v1/jobs`."""
    assert kinds('{"apiVersion": "batch/v1", "kind": "JobList", "items": [{"metadata": {}}]}') == [
        ("batch/v1", "Job", 1, 1, 0)
    ]


@pytest.mark.parametrize("items", ["", "items:", "items: []"])
def test_an_empty_list_has_no_objects(items: str) -> None:
    assert read(f"apiVersion: v1\nkind: List\n{items}\n") == []


def test_a_kind_that_only_ends_like_a_list() -> None:
    assert kinds("apiVersion: x/v1\nkind: AllowList\nspec: {}\n") == [("x/v1", "AllowList", 1, 1, None)]


def test_json_in_all_its_forms() -> None:
    one, two = '{"apiVersion": "v1", "kind": "Pod"}', '{"apiVersion": "batch/v1", "kind": "Job"}'
    assert [k[1] for k in kinds(f"{one}\n{two}")] == ["Pod", "Job"]
    assert [k[1] for k in kinds(f"{one}\n---\n{two}")] == ["Pod", "Job"]
    assert [k[1] for k in kinds("{apiVersion: v1, kind: Pod}")] == ["Pod"]  # a flow mapping of YAML
    assert [k[1] for k in kinds(f"---\n{one}")] == ["Pod"]
    assert [k[1] for k in kinds(f"\ufeff{one}")] == ["Pod"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("just words", "f: document 1 (line 1): not a Kubernetes object but the text 'just words'"),
        (f"{POD}---\n- a\n", "f: document 2 (line 5): not a Kubernetes object but a list"),
        ("[1, 2]", "f: document 1 (line 1): not a Kubernetes object but a list"),
        ("3", "f: document 1 (line 1): not a Kubernetes object but the value 3"),
        ("kind: Pod", "f: document 1 (line 1): not a Kubernetes object: has no apiVersion"),
        ("apiVersion: v1\nkind: ''", "f: document 1 (line 1): not a Kubernetes object: has no kind"),
        ("apiVersion: 1\nkind: Pod", "f: document 1 (line 1): not a Kubernetes object: the value 1 as its apiVersion"),
        ("apiVersion: v1\nkind: {}", "f: document 1 (line 1): not a Kubernetes object: an object as its kind"),
        ("apiVersion: v1\nkind: List\nitems: 3", "f: document 1 (line 1), items: not a list but the value 3"),
        (
            "apiVersion: v1\nkind: List\nitems: [null]",
            "f: document 1 (line 1), items[0]: not a Kubernetes object but null",
        ),
        (
            "apiVersion: v1\nkind: List\nitems: [{kind: Pod}]",
            "f: document 1 (line 1), items[0]: not a Kubernetes object: has no apiVersion",
        ),
        ("a: [1, 2\nb: }\n", "f: line 2, column 2: not YAML: did not find expected ',' or ']'"),
        ('{"kind": "Pod" "a"}', "f: line 1, column 16: not JSON: expecting ',' delimiter"),
        ('{"kind": "Pod", "apiVersion": "v1", "spec": {"contai', "f: line 1, column 46: not JSON: it is cut off"),
        (b"\xff\xfea", "f: line 1, byte 2: not text: byte 0x61 is not UTF-16-LE"),
    ],
)
def test_what_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read(text)
    assert str(refused.value) == message


def test_files_folders_and_stdin_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(POD)
    (tmp_path / "a.json").write_text('{"apiVersion": "v1", "kind": "Node"}')
    found = read_objects(["-", str(tmp_path)], io.BytesIO(POD.encode()))
    assert [(o.file, o.object["kind"]) for o in found] == [
        ("standard input", "Pod"),
        (str(tmp_path / "a.json"), "Node"),
        (str(tmp_path / "b.yaml"), "Pod"),
    ]
    assert read_objects(str(tmp_path / "b.yaml")) == found[2:]


@pytest.mark.parametrize(
    "text", ["", "---\n# nothing\n---\n", " \n", '{"apiVersion": "v1", "kind": "List", "items": []}']
)
def test_a_file_without_objects_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(InputError, match=r"a\.yaml: no objects in it"):
        read_objects([str(tmp_path)])


def test_a_cut_file_is_refused_whole(tmp_path: Path) -> None:
    """The first document is complete, but nobody should plan half of what was meant."""
    (tmp_path / "a.yaml").write_text(f"{POD}---\nkind: 'cut")
    with pytest.raises(InputError, match="line 5"):
        read_objects([str(tmp_path)])


@given(st.binary(max_size=60))
def test_any_bytes_give_objects_or_one_error(data: bytes) -> None:
    try:
        found = read(data)
    except InputError as error:
        assert str(error).startswith("f: ")
        assert "\n" not in error.place
    else:
        assert all(located.object["kind"] for located in found)


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_flipped_byte_gives_objects_or_one_error(position: int, byte: int) -> None:
    data = bytearray(
        (POD + "---\n" + POD).encode() + b'---\n{"apiVersion": "v1", "kind": "List", "items": [{"kind": "X"}]}'
    )
    data[position % len(data)] = byte
    try:
        read(bytes(data))
    except InputError as error:
        assert error.cause
