"""JSON to objects: values in a row, what is refused, where, and limits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangpool.files import json_text
from gangpool.files.failure import InputError
from gangpool.files.json_text import documents, is_too_deep


def values(text: str) -> list[Any]:
    return [document.value for document in documents("f.json", text)]


def test_values_in_a_row_with_their_lines() -> None:
    found = list(documents("f", '\n{"a": 1}\n\n[2]{"b":\n 3}\n'))
    assert [(d.number, d.line, d.value) for d in found] == [(1, 2, {"a": 1}), (2, 4, [2]), (3, 4, {"b": 3})]
    assert values(" \n ") == []


def test_numbers_are_those_of_kubectl() -> None:
    assert values("[1.0, 0.5, 1e3, 18446744073709551616, 9007199254740993]") == [
        [1, 0.5, 1000, 18446744073709551616, 9007199254740993]
    ]


@pytest.mark.parametrize(
    ("text", "place", "cause"),
    [
        ('{"a": 1,}', "line 1, column 9", "not JSON"),
        ('{"a" 1}', "line 1, column 6", "not JSON: expecting ':' delimiter"),
        ('{"a":\n [1, x]}', "line 2, column 6", "not JSON: expecting value"),
        ('{"a": "b', "line 1, column 7", "not JSON: it is cut off"),
        ('{"a": [1, ', "line 1, column 11", "not JSON: it is cut off"),
        ('{"a": 1}\n{"b"', "line 2, column 5", "not JSON: it is cut off"),
        ('{"a": 1}\n}', "line 2, column 1", "not JSON"),
        ('{"a": "\t"}', "line 1, column 8", "not JSON: invalid control character"),
        ('{}\n{"a": 1, "a": 2}', "document 2 (line 2)", "the key 'a' stands twice in one object"),
        ('{"a": NaN}', "document 1 (line 1)", "NaN is no number"),
        ('{"a": -Infinity}', "document 1 (line 1)", "-Infinity is no number"),
        ('{"a": 1e400}', "document 1 (line 1)", "1e400 is beyond"),
        ('{"a": 1' + "0" * 5000 + "}", "document 1 (line 1)", "more than 400 digits"),
        ('{"a": "\\ud800"}', "document 1 (line 1)", "half of a surrogate pair"),
        ('{"\\udfff": 1}', "document 1 (line 1)", "half of a surrogate pair"),
    ],
)
def test_refused_with_place_and_cause(text: str, place: str, cause: str) -> None:
    with pytest.raises(InputError) as refused:
        list(documents("f.json", text))
    assert (refused.value.file, refused.value.place) == ("f.json", place)
    assert cause in refused.value.cause


def test_a_whole_surrogate_pair_is_a_character() -> None:
    assert values('["\\ud83d\\ude00"]') == [["😀"]]


@pytest.mark.parametrize("text", ["[" * 1_000_000, '{"a":' * 500_000, "[" * 201 + "]" * 201])
def test_nesting_has_a_limit(text: str) -> None:
    with pytest.raises(InputError, match="nested deeper than 200 levels"):
        list(documents("f", text))


def test_depth() -> None:
    assert values("[" * 200 + "]" * 200)
    deep: Any = 1
    for _ in range(200):
        deep = {"a": [deep]} if _ % 2 else [{"b": 1}, deep]
    assert is_too_deep(deep)
    assert not is_too_deep({"a": [1, {"b": "text"}]})
    assert not is_too_deep("text")


def test_too_many_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "DOCUMENTS_MAX", 2)
    with pytest.raises(InputError, match="line 3: more than 2 documents"):
        list(documents("f", "{}\n{}\n{}"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(json_values, max_size=3), st.booleans())
def test_what_is_written_comes_back(wanted: list[Any], ascii_only: bool) -> None:
    assert values("\n".join(json.dumps(value, ensure_ascii=ascii_only) for value in wanted)) == wanted
