"""Are the Python files short enough to read? Run by `make lint`.

A file of 1,000 lines fails. One above 400 lines is named, unless one of its first lines says `Length: WHY`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "bench", "scripts", "docs")
NEVER = 1_000
WITH_A_REASON = 400
REASON = re.compile(r"^(# )?Length: \S", re.MULTILINE)
REASON_WITHIN_LINES = 30


def complaints(name: str, text: str) -> Iterator[tuple[str, bool]]:
    """Yield what is wrong with the length of a file, and whether it fails the check."""
    lines = text.splitlines()
    if len(lines) >= NEVER:
        yield f"{name}: {len(lines)} lines; {NEVER} are never readable: split it", True
    elif len(lines) > WITH_A_REASON and not REASON.search("\n".join(lines[:REASON_WITHIN_LINES])):
        yield f"{name}: {len(lines)} lines; above {WITH_A_REASON} say why at the top (`Length: …`) or split it", False


def main() -> int:
    """Check all files of the repository; 1 where one fails."""
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    found = [c for path in files for c in complaints(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))]
    for message, fails in found:
        print(message if fails else f"warning: {message}")
    n_failed = sum(fails for _, fails in found)
    print(f"lengths: {len(files)} files, {n_failed} too long, {len(found) - n_failed} long without a reason")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
