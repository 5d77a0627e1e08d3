"""The hunt for mutants: what is drawn, what counts as caught, what needs an explanation."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.mutant_run import fast_tests, mirror_tests
from scripts.mutants import Hunt, Mutant, Verdict, choose, is_explained, report
from scripts.mutation import Mutation

SOURCE = '''"""Doc."""


def largest(a, b):
    if a > b:
        return a
    return b


def count_down(n):
    while n > 0:
        n -= 1
    return n
'''
TEST = """from gangpool.core.x import count_down, largest

def test_largest():
    assert largest(1, 2) == 2
    assert largest(4, 3) == 4
"""
COUNT_TEST = """from gangpool.core.x import count_down

def test_count_down():
    assert count_down(3) == 0
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small repository: one module, the test that mirrors it, one more test."""
    root = tmp_path / "repository"
    files = {
        "src/gangpool/__init__.py": "",
        "src/gangpool/core/__init__.py": "",
        "src/gangpool/core/x.py": SOURCE,
        "tests/core/test_x.py": TEST,
        "tests/other/test_count.py": COUNT_TEST,
        "tests/cli/test_process.py": "",
        "tests/conftest.py": "import hypothesis\nhypothesis.settings.register_profile('mutants')\n",
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = ['--import-mode=importlib']\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def mutant(before: str, after: str) -> Mutant:
    return Mutant("src/gangpool/core/x.py", 0, Mutation(5, 7, "comparison", before, after), "if a > b:")


def test_the_same_seed_draws_the_same_mutants(tree: Path) -> None:
    everything = choose(tree, "", 0, 1)
    drawn = choose(tree, "", 5, 1)
    assert drawn == choose(tree, "src/gangpool/core/x.py", 5, 1)
    assert drawn != choose(tree, "", 5, 2)
    source = tree / "src/gangpool/core/x.py"
    source.write_text("A = 1 + 2\n\n" + source.read_text(encoding="utf-8"), encoding="utf-8")
    left = [m.mutation._replace(line=0) for m in choose(tree, "", 5, 1) if m.text != "A = 1 + 2"]
    assert set(left) <= {m.mutation._replace(line=0) for m in drawn}  # other lines don't change the choice
    assert [m for m in everything if m in drawn] == drawn
    assert {m.text for m in everything} <= {line.strip() for line in SOURCE.split("\n")}


def test_the_mirror_comes_first_and_processes_never(tree: Path) -> None:
    assert mirror_tests(tree, "src/gangpool/core/x.py") == ["tests/core/test_x.py"]
    assert mirror_tests(tree, "src/gangpool/core/y.py") == []
    assert fast_tests(tree) == [["tests/core/test_x.py"], ["tests/other"]]


def test_slow_tests_come_last(tree: Path) -> None:
    for name in ("core/test_x_history.py", "core/test_cycle_history.py", "core/test_cycle.py", "core/test_cycle_z.py"):
        (tree / "tests" / name).write_text("", encoding="utf-8")
    for name in ("scenarios", "judged", "workloads"):
        (tree / "tests" / name).mkdir()
        (tree / "tests" / name / f"test_{name}.py").write_text("", encoding="utf-8")
    quick = [f"tests/core/test_{name}.py" for name in ("cycle", "cycle_z", "x", "x_history")]
    slow = [f"tests/{name}" for name in ("other", "workloads", "judged", "core/test_cycle_history.py", "scenarios")]
    assert fast_tests(tree) == [quick, slow]
    mirror = [f"tests/core/test_{name}.py" for name in ("cycle", "cycle_z", "cycle_history")]
    assert mirror_tests(tree, "src/gangpool/core/cycle.py") == mirror


def test_only_the_same_line_and_change_with_a_reason_explains() -> None:
    line = {"file": "src/gangpool/core/x.py", "line": "if a > b:", "mutation": "a > b → a >= b", "reason": "equal"}
    assert is_explained(mutant("a > b", "a >= b"), [line])
    assert not is_explained(mutant("a > b", "a <= b"), [line])
    assert not is_explained(mutant("a > b", "a >= b"), [{**line, "reason": ""}])
    assert not is_explained(mutant("a > b", "a >= b"), [{**line, "file": "src/gangpool/core/y.py"}])


@pytest.mark.parametrize(("n_caught", "is_well"), [(9, True), (8, False)])
def test_nine_of_ten_must_be_caught(n_caught: int, is_well: bool) -> None:
    line = {"file": "src/gangpool/core/x.py", "line": "if a > b:", "mutation": "a > b → a >= b", "reason": "equal"}
    verdicts = [Verdict(mutant("a > b", "a >= b"), "test" if i < n_caught else "", 1.0) for i in range(10)]
    assert report(verdicts, [line])[1] is is_well
    text, is_well_without = report(verdicts, [])
    assert not is_well_without
    assert 'line = "if a > b:"\nmutation = "a > b → a >= b"' in text


@pytest.mark.long
def test_mutants_are_caught_by_mirror_by_others_and_by_time(tree: Path, tmp_path: Path) -> None:
    wanted = {
        "a > b → a <= b": "tests/core/test_x.py::test_largest",
        "a > b → a >= b": "",
        "return n → return None": "tests/other/test_count.py::test_count_down",
        "n -= 1 → n += 1": "time-out",
    }
    mutants = [m for m in choose(tree, "", 0, 1) if f"{m.mutation.before} → {m.mutation.after}" in wanted]
    hunt = Hunt(tree, tmp_path / "trees", 2, [])
    hunt.prepare(["src/gangpool/core/x.py"], least_limit_s=10.0)
    verdicts = {f"{v.mutant.mutation.before} → {v.mutant.mutation.after}": v.caught_by for v in hunt.run(mutants)}
    caught = {change: by.split(" after ")[0] for change, by in verdicts.items()}
    assert caught == wanted
    assert (tree / "src/gangpool/core/x.py").read_text(encoding="utf-8") == SOURCE
