"""The table of `gangpool jobs` and its order."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gangpool.cli.jobs import Request, lines, sort_jobs
from gangpool.cli.options import Source
from gangpool.intake.answer import ReasonEntry
from gangpool.intake.crew import MembersEntry
from gangpool.intake.job_list import JobEntry

RUNS = JobEntry(
    namespace="ml",
    name="b",
    kind="Job",
    api_version="batch.volcano.sh/v1alpha1",
    queue="q",
    priority=5,
    state="placed",
    members=MembersEntry(2, 3, 3, 2, 1),
    total=None,
    cards=16,
    nodes=("n1", "n2"),
    domain=None,
    reason=None,
    created="1970-01-01T00:01:00Z",
)
WAITS = JobEntry(
    namespace="web",
    name="a",
    kind="",
    api_version="",
    queue="",
    priority=0,
    state="pending",
    members=MembersEntry(None, 1, 0, 0, 0),
    total=2,
    cards=0,
    nodes=(),
    domain=None,
    reason=ReasonEntry("gated", "1 of 2 members wait behind gate x"),
    created=None,
)


def told(**request: Any) -> list[str]:
    return list(lines([RUNS, WAITS], Request(**request), 200.0))


def test_a_line_per_gang() -> None:
    assert told() == [
        "NAME   KIND    QUEUE   STATE     RUNNING   BOUND   MIN   TOTAL   AGE   REASON",
        "b      vcjob   q       placed    2         3       2     4       2m    -",
        "a      -       -       pending   0         0       -     2       -     gated",
    ]


@pytest.mark.parametrize("request_", [{"all_namespaces": True}, {"source": Source(pool="f")}])
def test_all_namespaces_have_a_column(request_: dict[str, Any]) -> None:
    heads, *rows = told(**request_)
    assert heads.split()[0] == "NAMESPACE"
    assert [row.split()[0] for row in rows] == ["ml", "web"]


def test_one_namespace_has_none() -> None:
    assert told(source=Source(pool="f", namespace="ml"))[0].startswith("NAME ")
    assert told(source=Source(namespace="ml"), no_headers=True)[0].startswith("b ")


def test_wide_says_where_and_why() -> None:
    heads, runs, waits = told(output="wide")
    assert heads.split()[-5:] == ["PRIORITY", "CARDS", "NODES", "REASON", "MESSAGE"]
    assert runs.split()[-5:] == ["5", "16", "n[1-2]", "-", "-"]
    assert waits.endswith("gated    1 of 2 members wait behind gate x")


@pytest.mark.parametrize(
    ("key", "names"),
    [
        (None, "ba"),
        ("name", "ab"),
        ("age", "ab"),
        ("state", "ab"),
        ("queue", "ab"),
        ("priority", "ab"),
        ("cards", "ab"),
    ],
)
def test_order(key: str | None, names: str) -> None:
    assert "".join(entry.name for entry in sort_jobs([RUNS, WAITS], key)) == names
    assert sort_jobs([RUNS, replace(RUNS, name="c")], "state")[0].name == "b"
