"""The guard against silent skips (tests/conftest.py), run on a small test suite of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")

SUITE = """
import pytest

def test_runs(): pass

@pytest.mark.skip(reason="no cluster")
def test_skipped(): pass

@pytest.mark.xfail(reason="known hole", strict=True)
def test_xfailed(): assert False
"""


def run(pytester: pytest.Pytester, skips: str) -> pytest.RunResult:
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.path.joinpath("skips.txt").write_text(skips, encoding="utf-8")
    pytester.makepyfile(test_suite=SUITE)
    return pytester.runpytest_inprocess("-p", "no:cacheprovider")


def test_an_unlisted_skip_fails_the_run(pytester: pytest.Pytester) -> None:
    result = run(pytester, "test_suite.py::test_xfailed | expected failure: known hole | tracked\n")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["test_suite.py::test_skipped: no cluster", "The run fails:*"])
    assert not re.search(r"^test_suite.py::test_xfailed: ", str(result.stdout), re.MULTILINE)


def test_listed_skips_pass(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        "# comment\ntest_suite.py::test_s* | no cluster | needs one\n\n* | expected failure: known* | tracked\n",
    )
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*skipped without leave*")


def test_a_line_without_a_why_is_refused(pytester: pytest.Pytester) -> None:
    result = run(pytester, "* | no cluster |\n")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*skips.txt:1: want `node ids | reason | why it is allowed`"])
