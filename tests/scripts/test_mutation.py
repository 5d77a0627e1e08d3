"""Mutations: which ones a module has, and that making one changes what it says and nothing else."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from scripts.mutation import mutate, mutations


def changes(source: str) -> list[tuple[str, str, str]]:
    return [(m.kind, m.before, m.after) for m in mutations(dedent(source))]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", [("comparison", "a < b", "a <= b"), ("comparison", "a < b", "a >= b")]),
        ("a == b != c", [("comparison", "a == b != c", c) for c in ("a != b != c", "a == b == c")]),
        ("x = a + b", [("arithmetic", "a + b", "a - b")]),
        ("x //= y", [("arithmetic", "x //= y", "x *= y")]),
        ("x = 7", [("constant", "7", "8"), ("constant", "7", "6")]),
        ("x = True", [("boolean", "True", "False")]),
        ("x = a and b", [("and/or", "a and b", "a or b")]),
        ("x = not a", [("removed not", "not a", "a")]),
        ("if a: pass", [("negated condition", "if a:", "if not a:")]),
        ("x = [i for i in y if i]", [("negated condition", "[i for i in y if i]", "[i for i in y if not i]")]),
        ("f()", [("dropped call", "f()", "pass")]),
        ("x = f(a, b, *c)", [("swapped arguments", "f(a, b, *c)", "f(b, a, *c)")]),
        ("for i in x: continue", [("continue/break", "continue", "break")]),
        ("def f(): return a", [("return value", "return a", "return None"), ("return value", "return a", "return 0")]),
    ],
)
def test_each_kind(source: str, expected: list[tuple[str, str, str]]) -> None:
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Text with 1 number."""',
        "x: Literal[1]",
        "def f(a: X[1]) -> Y[2]: ...",
        "A = B | None",
        "raise ValueError(a + 1, b)",
        "assert a == 1",
        'x = f"{a + 1}"',
        'x = "a" + b',
        "x = max(a, b)",
        "x = f(a, a)",
        "@d(1)\nclass C(Struct, frozen=True): ...",
        "def __repr__(self): return a + 1",
        "if TYPE_CHECKING: f()",
        "x = zip(a, strict=True)",
    ],
)
def test_left_alone(source: str) -> None:
    assert changes(source) == []


def test_one_mutation_is_made_and_only_that() -> None:
    source = dedent('''
        def f(a, b):
            """Doc."""
            if a < b and not g(b, a):
                h(a)
            return a * 2
    ''')
    found = mutations(source)
    mutants = [mutate(source, i) for i in range(len(found))]
    assert len(set(mutants)) == len(found) == 12
    original = ast.unparse(ast.parse(source)).split("\n")
    for mutation, mutant in zip(found, mutants, strict=True):
        lines = mutant.removesuffix("\n").split("\n")
        changed = [(old, new) for old, new in zip(original, lines, strict=True) if old != new]
        assert len(changed) == 1
        assert mutation.before in changed[0][0]
        assert mutation.after in changed[0][1]


def test_places_are_those_of_the_source() -> None:
    assert [(m.line, m.column, m.after) for m in mutations("x = 1\n# why\ny = f(  5)\n")] == [
        (1, 4, "2"),
        (1, 4, "0"),
        (3, 8, "6"),
        (3, 8, "4"),
    ]
