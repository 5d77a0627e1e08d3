"""Writes the reference pages that come from code, so that page and code can't disagree.

`python -m scripts.reference` writes them; with `--check` (in `make lint`) it fails where a page differs from the code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from gangpool.core.reasons import CODES
from gangpool.live.series import SERIES

FOLDER = Path(__file__).resolve().parent.parent / "docs/reference"
WRITTEN_BY = "<!-- Written by `python -m scripts.reference`; change the code that it comes from. -->"


def reasons() -> str:
    """Page of the reason codes, from gangpool.core.reasons."""
    rows = [f"| `{code}` | {meaning} |" for code, meaning in sorted(CODES.items())]
    return "\n".join(
        [
            WRITTEN_BY,
            "# Reasons",
            "",
            "Whatever gangpool does not place has a reason: a code from this closed list, the numbers that led to it, "
            "the best domain and the next step. The same code appears in every output.",
            "",
            "| code | meaning |",
            "|---|---|",
            *rows,
            "",
        ]
    )


def metrics() -> str:
    """Page of the scheduler's metrics, from gangpool.live.series."""
    rows = [f"| `{series.name}` | {series.type} | {series.help} |" for series in SERIES]
    return "\n".join(
        [
            WRITTEN_BY,
            "# Metrics",
            "",
            "`gangpool scheduler` serves these series at `/metrics` of its `--listen` address. Durations are in "
            "seconds, and counters begin anew with the process. What only the leader knows stays 0 on the others.",
            "",
            "| series | type | what it says |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


PAGES: dict[str, Callable[[], str]] = {"metrics.md": metrics, "reasons.md": reasons}


def drifted(folder: Path) -> list[str]:
    """Return the names of the pages that differ from what the code says."""
    texts = {name: (folder / name).read_text(encoding="utf-8") if (folder / name).exists() else "" for name in PAGES}
    return [name for name, page in PAGES.items() if texts[name] != page()]


def main(argv: list[str]) -> int:
    """Write the pages, or check them."""
    stale = drifted(FOLDER)
    if "--check" in argv:
        for name in stale:
            print(f"docs/reference/{name} is not what the code says: run `python -m scripts.reference`")
        print(f"reference: {len(PAGES)} pages, {len(stale)} differ")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (FOLDER / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"wrote docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
