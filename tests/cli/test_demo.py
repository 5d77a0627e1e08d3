"""`gangpool demo`: what it shows on the examples of this repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from gangpool.cli.main import run

ROOT = Path(__file__).resolve().parents[2]


def test_the_show(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    assert run(["demo"]) == 0
    out = capsys.readouterr().out
    assert "  default/train-qwen: 8 pods, 8 cards\n    spine-0 -> leaf-0 -> node-0000 -> cards 0-7\n" in out
    assert "  llm/pretrain-9b: 8 pods, 64 cards\n" in out
    assert out.count("  next: ") >= 3
    assert "one-spine-160   160    cannot-fit   128 of 160 members fit" in out
    assert out.isascii()
    assert len(out.splitlines()) < 60


def test_without_the_examples_it_says_where_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--examples", str(tmp_path)]) == 2
    assert f"gangpool demo: {tmp_path} holds no examples" in capsys.readouterr().err
