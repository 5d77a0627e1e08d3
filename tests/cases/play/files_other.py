"""Steps and checks of read commands on files: quantities and the tree of the fabric."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from tests.cases.play import files_run
from tests.cases.play.registry import check, step

if TYPE_CHECKING:
    from tests.cases.play.context import Context


@step("quantities")
async def quantities(ctx: Context, value: str, s: dict[str, Any]) -> dict[str, Any]:
    """``gangpool quantity``: all texts at once, each sum, and the texts that an extended resource may (not) be."""
    table = json.loads(ctx.file(value).read_text())
    ask = files_run.ask

    async def read(texts: list[str], *flags: str) -> files_run.Answer:
        return await ask(ctx, "quantity", "quantity", "--file", "-", *flags, stdin=json.dumps(texts))

    return {
        "table": table,
        "plain": await read([v["text"] for v in table["valid"]] + table["invalid"]),
        "sums": [await read(v["of"], "--sum") for v in table["sums"]],
        "extended": await read(
            [v["text"] for v in table["extended_resource_ok"]] + table["extended_resource_refused"], "--extended"
        ),
    }


def _same_number(text: Any, want: str) -> bool:
    try:
        return isinstance(text, str) and Decimal(text) == Decimal(want)
    except InvalidOperation:
        return False


def _values(answer: files_run.Answer, n: int) -> tuple[list[dict[str, Any]], str | None]:
    values = answer.body.get("values") or []
    return values, answer.error or (None if len(values) == n else f"{len(values)} values for {n} texts")


@check("all_values_equal")
async def all_values_equal(ctx: Context, value: bool) -> str | None:
    """Valid texts, sums and whole numbers of extended resources have exactly the listed values."""
    if value is not True:
        return "takes true only"
    t = ctx.last["table"]
    wrong: list[str] = []
    for key, valid, refused in (
        ("plain", t["valid"], t["invalid"]),
        ("extended", t["extended_resource_ok"], t["extended_resource_refused"]),
    ):
        values, error = _values(ctx.last[key], len(valid) + len(refused))
        if error:
            return error
        wrong += [
            f"{w['text']} is {v.get('value')}"
            for w, v in zip(valid, values, strict=False)
            if v.get("error") or not _same_number(v.get("value"), w["value"])
        ]
    for want, answer in zip(t["sums"], ctx.last["sums"], strict=True):
        if answer.error or not _same_number(answer.body.get("sum"), want["value"]):
            wrong.append(f"sum of {want['of']} is {answer.error or answer.body.get('sum')}")
    return "; ".join(wrong[:5]) or None


@check("all_invalid_refused")
async def all_invalid_refused(ctx: Context, value: bool) -> str | None:
    """Every text that is no quantity, or none for an extended resource, has an error and no value."""
    if value is not True:
        return "takes true only"
    t = ctx.last["table"]
    wrong: list[str] = []
    for key, valid, refused in (
        ("plain", t["valid"], t["invalid"]),
        ("extended", t["extended_resource_ok"], t["extended_resource_refused"]),
    ):
        values, error = _values(ctx.last[key], len(valid) + len(refused))
        if error:
            return error
        wrong += [
            f"{text!r} is taken as {v.get('value')}"
            for text, v in zip(refused, values[len(valid) :], strict=True)
            if not v.get("error") or v.get("value") is not None
        ]
    return "; ".join(wrong[:5]) or None


@step("topology_tree")
async def topology_tree(ctx: Context, value: dict[str, str], s: dict[str, Any]) -> files_run.Answer:
    """``gangpool tree --pool F --levels F``."""
    return await files_run.ask(
        ctx, "tree", "tree", "--pool", ctx.file(value["nodes"]), "--levels", ctx.file(value["levels"])
    )


def _nodes(ctx: Context) -> tuple[dict[str, dict[str, Any]], str | None]:
    answer, error = files_run.body(ctx)
    return {str(n.get("name")): n for n in answer.get("nodes") or [] if isinstance(n, dict)}, error


def _domains(node: dict[str, Any]) -> list[tuple[Any, Any]]:
    return [(d.get("level"), d.get("domain")) for d in node.get("domains") or [] if d.get("domain") is not None]


@check("distance")
async def distance(ctx: Context, value: dict[str, Any]) -> str | None:
    """The nearest level at which the two nodes are in one domain; null: none."""
    nodes, error = _nodes(ctx)
    a, b = (_domains(nodes.get(n, {})) for n in value["pair"])
    common = [level for level, domain in a if (level, domain) in b]
    nearest = common[-1] if common else None
    return error or (None if nearest == value["level"] else f"{value['pair']} meet at {nearest}")


distance.keys = distance.required = ("pair", "level")  # type: ignore[attr-defined]


@check("ungrouped")
async def ungrouped(ctx: Context, value: list[str]) -> str | None:
    """Exactly these nodes have no domain."""
    nodes, error = _nodes(ctx)
    got = sorted(n for n, o in nodes.items() if o.get("ungrouped") is True and not _domains(o))
    return error or (None if got == sorted(value) else f"ungrouped: {got}")


@check("memory_bytes")
async def memory_bytes(ctx: Context, value: dict[str, int]) -> str | None:
    nodes, error = _nodes(ctx)
    wrong = {
        n: nodes.get(n, {}).get("memory_bytes")
        for n, want in value.items()
        if nodes.get(n, {}).get("memory_bytes") != want
    }
    return error or (f"memory {wrong}" if wrong else None)


@check("allocatable")
async def allocatable(ctx: Context, value: dict[str, Any]) -> str | None:
    """Of ``node``: each named resource has this value."""
    nodes, error = _nodes(ctx)
    got = nodes.get(value["node"], {}).get("allocatable") or {}
    wrong = {r: got.get(r) for r, want in value.items() if r != "node" and not _same_number(got.get(r), str(want))}
    return error or (f"{value['node']}: {wrong}" if wrong else None)
