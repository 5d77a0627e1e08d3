"""Generated pages: a page that the code no longer says is found."""

from __future__ import annotations

from pathlib import Path

from gangpool.core.reasons import CODES
from scripts.reference import PAGES, drifted, reasons


def test_every_code_has_its_row() -> None:
    rows = [line for line in reasons().splitlines() if line.startswith("| `")]
    assert sorted(row.split("`")[1] for row in rows) == sorted(CODES)


def test_missing_and_changed_pages_are_drift(tmp_path: Path) -> None:
    assert drifted(tmp_path) == list(PAGES)
    for name, page in PAGES.items():
        (tmp_path / name).write_text(page(), encoding="utf-8")
    assert drifted(tmp_path) == []
    (tmp_path / "reasons.md").write_text(reasons() + "by hand\n", encoding="utf-8")
    assert drifted(tmp_path) == ["reasons.md"]
