"""Writes the reference pages that come from code, so that page and code can't disagree.

`python -m scripts.reference` writes them; with `--check` (in `make lint`) it fails where a page differs from the code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from gangpool.core.reasons import CODES
from gangpool.intake.config import Config
from gangpool.jobs.series import SERIES as JOBS_SERIES
from gangpool.live.series import SERIES
from gangpool.serve.metrics import Series

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
    """Page of the processes' metrics, from gangpool.live.series and gangpool.jobs.series."""
    return "\n".join(
        [
            WRITTEN_BY,
            "# Metrics",
            "",
            "`gangpool scheduler` serves these series at `/metrics` of its `--listen` address. Durations are in "
            "seconds, and counters begin anew with the process. What only the leader knows stays 0 on the others.",
            "",
            *_series(SERIES),
            "",
            "`gangpool jobs-controller` serves these:",
            "",
            *_series(JOBS_SERIES),
            "",
        ]
    )


def _series(series: Iterable[Series]) -> list[str]:
    rows = [f"| `{one.name}` | {one.type} | {one.help} |" for one in series]
    return ["| series | type | what it says |", "|---|---|---|", *rows]


def config() -> str:
    """Page of the configuration file, from gangpool.intake.config."""
    return "\n".join(
        [
            WRITTEN_BY,
            "# Configuration",
            "",
            "`--config FILE` of every command. A key that is not in this table is an error. "
            "[config.schema.json](config.schema.json) is the same for editors: "
            "`# yaml-language-server: $schema=config.schema.json` as the first line of the file.",
            "",
            "Running processes follow the file, also through a ConfigMap; SIGHUP reads it at once. The scheduler "
            "applies `schedulerNames` as it goes; `topology.levels` and `gpuMem.unit` need a restart, and until then "
            "the log, and `gangpool_config_restart_needed`, say so. A bad file changes nothing "
            "(`gangpool_config_valid` is 0).",
            "",
            "| key | default | what it says | for example |",
            "|---|---|---|---|",
            *_keys(_schema(), Config(), ""),
            "",
        ]
    )


def _schema() -> dict[str, Any]:
    return msgspec.json.schema(Config)


def _keys(schema: dict[str, Any], default: msgspec.Struct, place: str) -> Iterator[str]:
    for name in default.__struct_fields__:
        known = _resolved(schema, default)["properties"][name]
        value = getattr(default, name)
        if isinstance(value, msgspec.Struct):
            yield from _keys(schema, value, f"{place}{name}.")
            continue
        given = "" if value is None else f"`{json.dumps(value)}`"
        examples = ", ".join(f"`{json.dumps(example)}`" for example in known.get("examples", ()))
        yield f"| `{place}{name}` | {given} | {known['description']} | {examples} |"


def _resolved(schema: dict[str, Any], of: msgspec.Struct) -> dict[str, Any]:
    return dict(schema["$defs"][type(of).__name__])


def config_schema() -> str:
    """JSON schema of the configuration file."""
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **_schema()}, indent=2) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "config.md": config,
    "config.schema.json": config_schema,
    "metrics.md": metrics,
    "reasons.md": reasons,
}


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
