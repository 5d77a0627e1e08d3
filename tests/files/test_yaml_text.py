"""YAML to objects: documents, aliases, merges; what is refused, where; and nothing that grows without bound."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gangpool.files import yaml_text
from gangpool.files.failure import InputError
from gangpool.files.yaml_text import documents


def values(text: str) -> list[Any]:
    return [document.value for document in documents("f.yaml", text)]


def refusal(text: str) -> InputError:
    with pytest.raises(InputError) as refused:
        list(documents("f.yaml", text))
    assert refused.value.file == "f.yaml"
    return refused.value


def test_documents_are_counted_and_empty_ones_left_out() -> None:
    text = "# a comment\n\na: 1\n---\n---\n# nothing\n--- \n\n\nb: 2\n...\n---\n- c\n--- d\n"
    found = list(documents("f", text))
    assert [(d.number, d.line, d.value) for d in found] == [
        (1, 3, {"a": 1}),
        (4, 10, {"b": 2}),
        (5, 13, ["c"]),
        (6, 14, "d"),
    ]


def test_quoted_words_stay_text() -> None:
    assert values("a: 'on'\nb: \"1\"\nc: |\n  yes\nd: >-\n  1\n") == [{"a": "on", "b": "1", "c": "yes\n", "d": "1"}]


def test_tags_of_plain_types() -> None:
    text = "a: !!str 1\nb: !!int '3'\nc: ! 12\nd: !!float 3\ne: !!bool yes\nf: !!null ''\ng: !!map {}\nh: !!seq []"
    assert values(text) == [{"a": "1", "b": 3, "c": "12", "d": 3, "e": True, "f": None, "g": {}, "h": []}]


def test_keys_become_text() -> None:
    """As for kubectl: a key `y` is no exception among the words that mean true."""
    assert values("1: a\ny: b\n1.5: c\n2026-01-01: d\noff : e\n0x10: f\n") == [
        {"1": "a", "true": "b", "1.5": "c", "2026-01-01": "d", "false": "e", "16": "f"}
    ]


def test_aliases_are_copies() -> None:
    (found,) = values("a: &x {k: [1]}\nb: *x\nc: [*x, *x]\nd: &t text\ne: *t\n")
    assert found == {"a": {"k": [1]}, "b": {"k": [1]}, "c": [{"k": [1]}, {"k": [1]}], "d": "text", "e": "text"}
    found["b"]["k"].append(2)
    assert found["a"]["k"] == [1]


def test_an_anchor_may_be_set_again() -> None:
    assert values("[&x 1, *x, &x 2, *x]") == [[1, 1, 2, 2]]


def test_merge() -> None:
    text = "a: &a {k: 1, l: 1}\nb: &b {l: 2, m: 2}\nc: {k: 0, <<: [*a, *b]}\nd:\n  <<: *b\n  m: 0\n'<<': quoted\n"
    (found,) = values(text)
    assert found["c"] == {"k": 0, "l": 1, "m": 2}  # what is written wins, then the first of the list
    assert found["d"] == {"l": 2, "m": 0}
    assert found["<<"] == "quoted"
    assert values("a: <<\nb: [<<]") == [{"a": "<<", "b": ["<<"]}]


@pytest.mark.parametrize(
    ("text", "place", "cause"),
    [
        ("a: [1, 2\nb: }\n", "line 2, column 2", "not YAML"),
        ("a: 'cut", "line 1, column 8", "not YAML: found unexpected end of stream"),
        ("a: b: c", "line 1, column 5", "not YAML: mapping values are not allowed"),
        ("a:\n\t- b", "line 2, column 1", "not YAML"),
        ("%YAML 3.0\n---\na: 1", "line 1, column 1", "not YAML"),
        ("a: 1\nb: \x01", "line 2, column 4", "'\\x01' may not stand"),
        ("a: 1\na: 2", "line 2, column 1", "the key 'a' stands twice"),
        ("a: {b: 1, 'b': 2}", "line 1, column 11", "the key 'b' stands twice"),
        ("1: a\n'1': b", "line 2, column 1", "the key '1' stands twice"),
        ("true: a\non: b", "line 2, column 1", "the key 'true' stands twice"),
        ("a:\n  ? [x]\n  : 1", "line 2, column 7", "a key must be plain text"),
        ("? {x: y}\n: 1", "line 1, column 8", "a key must be plain text"),
        ("~: 1", "line 1, column 1", "a key must be plain text"),
        ("a: &x [1]\n*x : 1", "line 2, column 1", "a key must be plain text"),
        ("a: !x 1", "line 1, column 4", "tag !x is not allowed"),
        ("a: !!python/object/apply:os.system ['true']", "line 1, column 4", "python/object/apply:os.system"),
        ("!!python/name:os.system", "line 1, column 1", "is not allowed"),
        ("a: !!binary aGk=", "line 1, column 4", "is not allowed"),
        ("a: !!set {x}", "line 1, column 4", "is not allowed"),
        ("a: !!map [x]", "line 1, column 4", "is not allowed"),
        ("a: !!int 1.5", "line 1, column 4", "'1.5' is no int"),
        ("a: !!int yes", "line 1, column 4", "'yes' is no int"),
        ("a: .nan", "line 1, column 4", ".nan is no number"),
        ("a: *b", "line 1, column 4", "alias *b has no anchor before it"),
        ("a: &b 1\n---\na: *b", "line 3, column 4", "alias *b has no anchor"),
        ("a: &a [*a]", "line 1, column 8", "alias *a stands inside what it repeats"),
        ("a: &a\n  b: {c: *a}", "line 2, column 10", "alias *a stands inside"),
        ("a: {<<: 1}", "line 1, column 9", "<< takes a mapping"),
        ("a: &x {}\nb: {<<: [*x, 1]}", "line 2, column 15", "<< takes a mapping"),
    ],
)
def test_refused_with_place_and_cause(text: str, place: str, cause: str) -> None:
    error = refusal(text)
    assert error.place == place
    assert cause in error.cause


def nested(levels: int) -> str:
    return "".join(f"{' ' * i}a:\n" for i in range(levels - 1)) + " " * levels + "a: 1"


def test_depth_has_a_limit() -> None:
    limit = yaml_text.DEPTH_MAX
    assert values(nested(limit))
    assert "nested deeper than 200 levels" in refusal(nested(limit + 1)).cause


@pytest.mark.parametrize("text", ["[" * 1_000_000, "{a: " * 300_000, "- " * 500_000, "? " * 500_000, "[[[\n" * 300_000])
def test_a_million_brackets_end_at_once(text: str) -> None:
    assert "nest" in refusal(text).cause


def test_depth_grows_through_aliases_too() -> None:
    chain = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 300))
    error = refusal(chain)
    assert (error.place, "nested deeper than 200" in error.cause) == ("line 200, column 14", True)


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)
MERGE_BOMB = "a0: &a0 {x: 1, y: 2, z: 3}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 12)
)


@pytest.mark.parametrize("text", [BOMB, MERGE_BOMB])
def test_alias_bombs(text: str) -> None:
    assert "aliases repeat more than 1,000,000 values" in refusal(text).cause


def test_many_small_aliases_are_a_bomb_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "ALIASED_MAX", 20)
    assert values("a: &a [k]\nb: [" + "*a, " * 10 + "k]")  # ten times a list with one word
    assert refusal("a: &a [k]\nb: [" + "*a, " * 11 + "k]").place == "line 2, column 45"


def test_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "VALUES_MAX", 7)
    assert values("a: 1\nb: [2, 3]") == [{"a": 1, "b": [2, 3]}]  # two keys, three values, two collections
    error = refusal("a: 1\nb: [2, 3, 4]")
    assert error.cause == "more than 7 values"


def test_too_many_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "DOCUMENTS_MAX", 2)
    error = refusal("---\na\n---\n---\n")
    assert (error.place, error.cause) == ("line 4, column 1", "more than 2 documents")


def test_without_the_c_parser_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &x {on: 1}\nb: [*x, 010, 2026-01-01, 'y']\n---\nc: 1.0\n"
    found = values(text)
    monkeypatch.setattr(yaml_text, "_LOADER", yaml.SafeLoader)
    assert values(text) == found == [{"a": {"true": 1}, "b": [{"true": 1}, 8, "2026-01-01", "y"]}, {"c": 1}]
    assert "nested deeper than 200" in refusal("- " * 1000).cause
    assert "not YAML" in refusal("a: [").cause


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(json_values.filter(lambda value: value is not None))
def test_what_is_written_comes_back(value: Any) -> None:
    """Any JSON value; texts in quotes, since plain words mean other things to kubectl than to PyYAML."""
    assert values(yaml.safe_dump(value, allow_unicode=True, default_style='"')) == [value]


@given(st.text(alphabet="abc&*!<>[]{}:,-?|'\"#% \n\t01.~", max_size=40))
def test_any_text_gives_values_or_one_error(text: str) -> None:
    try:
        found = values(text)
    except InputError as error:
        assert error.cause
    else:
        assert json.loads(json.dumps(found)) == found
