"""`gangpool quantity`: exact values, sums, refusals, exit codes."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import pytest

from gangpool.cli.main import run


def ask(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], texts: str, *flags: str
) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(texts.encode())))
    code = run(["quantity", "--file", "-", *flags])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_values_and_sum(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ask(monkeypatch, capsys, '["0.1", "0.2", "1Ei", 3, 0.5]', "--sum", "-o", "json")
    assert code == 0
    answer = json.loads(out)
    assert answer["schema"] == "gangpool.io/quantity/v1"
    assert answer["values"][0] == {"text": "0.1", "value": "0.1", "error": None}
    assert [value["text"] for value in answer["values"]] == ["0.1", "0.2", "1Ei", "3", "0.5"]
    assert answer["sum"] == "1152921504606846979.8"


def test_without_sum_there_is_none(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ask(monkeypatch, capsys, "[]", "-o", "json")
    assert (code, json.loads(out)) == (0, {"schema": "gangpool.io/quantity/v1", "values": [], "sum": None})


def test_a_refused_text_has_an_error_no_value_and_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = ask(monkeypatch, capsys, '["1Gi", "1gi", null]', "--sum", "-o", "json")
    answer = json.loads(out)
    assert code == 3
    assert answer["sum"] is None
    assert [value["value"] for value in answer["values"]] == ["1073741824", None, None]
    assert answer["values"][0]["error"] is None
    assert all(value["error"] for value in answer["values"][1:])
    assert answer["values"][2]["text"] == "null"


def test_extended_resources_are_whole_and_not_negative(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = ask(monkeypatch, capsys, '["2000m", "1k", "100m", "-1"]', "--extended", "-o", "json")
    assert code == 3
    assert [value["value"] for value in json.loads(out)["values"]] == ["2", "1000", None, None]


def test_the_table_for_people(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = ask(monkeypatch, capsys, '["1k", ""]')
    assert out.splitlines()[:2] == ["TEXT   VALUE   ERROR", "'1k'   1000"]
    _, out, _ = ask(monkeypatch, capsys, '["1k", "1"]', "--sum")
    assert out.splitlines()[-1] == "sum    1001"


@pytest.mark.parametrize(("text", "says"), [('{"a": 1}', "is no JSON list"), ('["1"', "cut off"), ("", "0 documents")])
def test_what_is_no_list_is_refused(
    text: str, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ask(monkeypatch, capsys, text)
    assert (code, out) == (2, "")
    assert err.startswith("gangpool: standard input: ") and says in err
