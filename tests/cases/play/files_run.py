"""Runs a read command of the product and keeps its answer, however bad it is.

Steps of the file-based part call ``ask`` and put the result into ``ctx.last``; checks look at it through ``body``.
A wrong exit code, text that is not JSON or a wrong schema is an answer too: every check then says so.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.cases.play.context import Context

YES, NO = 0, 3  # exit codes of an answer; all others mean that there is none
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Answer:
    """What one call of the product gave. ``error`` is None when ``body`` is an answer in the sense of the contract."""

    command: str
    code: int
    body: dict[str, Any]
    stderr: str
    seconds: float
    error: str | None = None


async def run(
    command: Sequence[str],
    schema: str,
    stdin: str | None = None,
    patience_s: float = PATIENCE_S,
    cwd: Path | None = None,
) -> Answer:
    """One call; the product is killed by its process handle after ``patience_s``."""
    start = time.monotonic()
    shown = " ".join(command)
    try:
        child = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
        )
    except OSError as e:
        return Answer(shown, -1, {}, "", 0.0, f"cannot be started: {e}")
    try:
        out, err = await asyncio.wait_for(child.communicate(stdin.encode() if stdin is not None else None), patience_s)
    except TimeoutError:
        child.kill()
        await child.wait()
        return Answer(shown, -1, {}, "", patience_s, f"no answer within {patience_s:.0f} s")
    text, took, code = err.decode(errors="replace"), time.monotonic() - start, child.returncode or 0
    body, error = _read(out, code, text, schema)
    return Answer(shown, code, body, text, took, error)


def _read(out: bytes, code: int, stderr: str, schema: str) -> tuple[dict[str, Any], str | None]:
    if "Traceback (most recent call last)" in stderr:
        return {}, "a traceback reached the user"
    if code not in (YES, NO):
        return {}, f"exit {code}: {' '.join(stderr.split())[-200:]}"
    try:
        body = json.loads(out)
    except ValueError:
        return {}, f"the answer is not JSON: {out[:80]!r}"
    if not isinstance(body, dict) or body.get("schema") != f"gangpool.io/{schema}/v1":
        return (
            {},
            f"schema is {body.get('schema') if isinstance(body, dict) else type(body).__name__}, "
            f"not gangpool.io/{schema}/v1",
        )
    return body, None


async def ask(
    ctx: Context, schema: str, *args: str | Path, stdin: str | None = None, patience_s: float = PATIENCE_S
) -> Answer:
    """``PRODUCT args… -o json``."""
    return await run([*ctx.product_cmd, *map(str, args), "-o", "json"], schema, stdin, patience_s)


def body(ctx: Context) -> tuple[dict[str, Any], str | None]:
    """Answer of the last step and what is wrong with it."""
    last = ctx.last
    if not isinstance(last, Answer):
        return {}, f"the last step gave no answer of a command ({type(last).__name__})"
    return last.body, last.error


def flags(ctx: Context, inputs: dict[str, Any], skip: Sequence[str] = ()) -> list[str]:
    """``{"nccl_log": ["a", "b"]}`` as ``--nccl-log …/a --nccl-log …/b``."""
    out: list[str] = []
    for key, value in inputs.items():
        if key not in skip:
            for name in value if isinstance(value, list) else [value]:
                out += [f"--{key.replace('_', '-')}", str(ctx.file(str(name)))]
    return out
