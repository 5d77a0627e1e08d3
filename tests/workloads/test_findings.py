"""The list of codes is closed: what a dialect writes is in it, and all of it is written somewhere."""

from __future__ import annotations

import re
from pathlib import Path

from gangpool.workloads import findings

SOURCES = Path(findings.__file__).parent


def test_every_code_is_used_and_explained() -> None:
    names = {name for name in vars(findings) if name.isupper() and name != "CODES"}
    assert set(findings.CODES) == {getattr(findings, name) for name in names}
    text = "".join(p.read_text(encoding="utf-8") for p in SOURCES.glob("*.py") if p.name != "findings.py")
    assert {name for name in names if re.search(rf"\b{name}\b", text)} == names
