"""Small wrong changes of a Python module: find every place where one could be made, and make one.

`scripts.mutants` asks the tests whether they notice. Pure: text in, text out, always in the same order.
Left alone, since no test can or should notice: annotations, docstrings, asserts, `raise` with its message, f-strings,
`__repr__`, decorators, keywords of a class (`frozen=True`), `zip(strict=…)`, `if TYPE_CHECKING`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

SWAPPED_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
SWAPPED_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.Pow: ast.Mult,
}
SYMMETRIC = frozenset(
    {"min", "max", "minimum", "maximum", "isinstance", "issubclass", "gcd", "array_equal", "logical_and"}
    | {"meet", "inner"}  # of two domains, `core.descent` and `core.gang`
)
"""Calls in which swapped arguments change nothing, or only crash."""

SKIPPED_FIELDS = frozenset({"annotation", "returns", "decorator_list", "type_params"})


class Mutation(NamedTuple):
    """One wrong change. `line` and `column` say where, `before` and `after` what, as Python text."""

    line: int
    column: int
    kind: str
    before: str
    after: str


class _Edit(NamedTuple):
    """Put `new` into `field` of `owner` (`at` an index where it is a list). `shown` tells the change to a person."""

    kind: str
    shown: ast.AST
    owner: ast.AST
    field: str
    at: int | None
    new: Any

    def swap(self) -> _Edit:
        """Make the change and return the edit that takes it back."""
        if self.at is None:
            old = getattr(self.owner, self.field)
            setattr(self.owner, self.field, self.new)
        else:
            values = getattr(self.owner, self.field)
            old = values[self.at]
            values[self.at] = self.new
        return self._replace(new=old)


def mutations(source: str) -> list[Mutation]:
    """List every mutation of a module, in the order of its text."""
    return [_describe(edit) for edit in _edits(ast.parse(source))]


def mutate(source: str, number: int) -> str:
    """Return the module with the mutation at this place of `mutations(source)` made; comments are lost."""
    tree = ast.parse(source)
    list(_edits(tree))[number].swap()
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _describe(edit: _Edit) -> Mutation:
    before = _text(edit.shown)
    undo = edit.swap()
    after = _text(edit.new if undo.new is edit.shown else edit.shown)
    undo.swap()
    return Mutation(getattr(edit.shown, "lineno", 0), getattr(edit.shown, "col_offset", 0), edit.kind, before, after)


def _text(node: ast.AST) -> str:
    """One line for a person: of a compound statement its head only."""
    return ast.unparse(ast.fix_missing_locations(node)).split("\n", 1)[0]


def _edits(tree: ast.Module) -> Iterator[_Edit]:
    for owner, field, index, node in _places(tree):
        yield from _edits_at(owner, field, index, node)


def _places(parent: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Walk what may be changed, parents first, with the place of each node in its parent."""
    for field, value in ast.iter_fields(parent):
        if field in SKIPPED_FIELDS or (isinstance(parent, ast.ClassDef) and field in ("bases", "keywords")):
            continue
        children = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for index, node in children:
            if isinstance(node, ast.AST) and not _left_alone(node, parent):
                yield parent, field, index, node
                yield from _places(node)


def _left_alone(node: ast.AST, parent: ast.AST) -> bool:
    match node:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.FunctionDef(name="__repr__"):
            return True
        case ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.keyword(arg="strict"):
            return True
        case ast.Assign(value=ast.BinOp(op=ast.BitOr()) | ast.Subscript()):
            return isinstance(parent, ast.Module)  # an alias of a type
        case _:
            return False


def _edits_at(owner: ast.AST, field: str, at: int | None, node: ast.AST) -> Iterator[_Edit]:
    if isinstance(node, ast.stmt):
        yield from _statement_edits(owner, field, at, node)
    else:
        yield from _expression_edits(owner, field, at, node)
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            if type(op) in SWAPPED_OPERATORS and not _joins_sequences(node):
                yield _Edit("arithmetic", node, node, "op", None, SWAPPED_OPERATORS[type(op)]())
        case ast.If() | ast.While() | ast.IfExp():
            if not isinstance(node.test, ast.UnaryOp | ast.Constant | ast.Compare):  # those are changed themselves
                yield _Edit("negated condition", node, node, "test", None, ast.UnaryOp(ast.Not(), node.test))
        case ast.comprehension(ifs=ifs):
            for i, test in enumerate(ifs):
                if not isinstance(test, ast.UnaryOp | ast.Compare):
                    yield _Edit("negated condition", owner, node, "ifs", i, ast.UnaryOp(ast.Not(), test))


def _expression_edits(owner: ast.AST, field: str, at: int | None, node: ast.AST) -> Iterator[_Edit]:
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                for swapped in SWAPPED_COMPARISONS[type(op)]:
                    yield _Edit("comparison", node, node, "ops", i, swapped())
        case ast.Constant(value=bool(value)):
            yield _Edit("boolean", node, node, "value", None, not value)
        case ast.Constant(value=int(value)):
            yield _Edit("constant", node, node, "value", None, value + 1)
            yield _Edit("constant", node, node, "value", None, value - 1)
        case ast.BoolOp(op=op):
            yield _Edit("and/or", node, node, "op", None, ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _Edit("removed not", node, owner, field, at, operand)
        case ast.Call():
            yield from _swapped_arguments(node)


def _statement_edits(owner: ast.AST, field: str, at: int | None, node: ast.stmt) -> Iterator[_Edit]:
    match node:
        case ast.Expr(value=ast.Call()):
            yield _Edit("dropped call", node, owner, field, at, ast.Pass())
        case ast.Continue():
            yield _Edit("continue/break", node, owner, field, at, ast.Break())
        case ast.Break():
            yield _Edit("continue/break", node, owner, field, at, ast.Continue())
        case ast.Return(value=ast.expr() as value):
            for other in (None, 0):
                if not (isinstance(value, ast.Constant) and value.value is other):
                    yield _Edit("return value", node, node, "value", None, ast.Constant(other))


def _joins_sequences(node: ast.BinOp | ast.AugAssign) -> bool:
    """Whether `+` joins text or tuples written out here: `-` would only crash."""
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    return any(
        isinstance(side, ast.JoinedStr | ast.Tuple | ast.List)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in sides
    )


def _swapped_arguments(call: ast.Call) -> Iterator[_Edit]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in SYMMETRIC:
        return
    for i, (left, right) in enumerate(zip(call.args, call.args[1:], strict=False)):
        starred = isinstance(left, ast.Starred) or isinstance(right, ast.Starred)
        if not starred and ast.dump(left) != ast.dump(right):
            swapped = [*call.args[:i], right, left, *call.args[i + 2 :]]
            yield _Edit("swapped arguments", call, call, "args", None, swapped)
