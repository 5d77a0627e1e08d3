"""`gangpool quantity`: what a text means as a Kubernetes quantity, exactly, or why it is none.

Reads texts and prints; the meaning is `gangpool.objects.quantity`'s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import click
from msgspec import Struct

from gangpool.cli.exits import Exit
from gangpool.cli.options import output_option
from gangpool.cli.table import table

QUANTITY_SCHEMA = "gangpool.io/quantity/v1"


class Value(Struct, frozen=True):
    """One text as it was given, its exact value as plain decimal text, or why it has none."""

    text: str
    value: str | None
    error: str | None


class Answer(Struct, frozen=True):
    """Values in the order of the texts; `sum` None where none was asked for or a text is refused."""

    schema: str
    values: tuple[Value, ...]
    sum: str | None = None


@click.command("quantity")
@click.option(
    "--file", "file", required=True, type=click.Path(), metavar="FILE", help="A JSON list of quantities; - for stdin."
)
@click.option("--sum", "with_sum", is_flag=True, help="Add them up.")
@click.option("--extended", is_flag=True, help="Only what a counted resource may be: whole and not negative.")
@output_option("table", "json")
def command(file: str, with_sum: bool, extended: bool, output: str) -> int:
    """Read Kubernetes quantities exactly.

    Exit code 3: at least one text is no quantity.
    """
    answer = judge(read_texts(file), with_sum=with_sum, extended=extended)
    if output == "json":
        from gangpool.cli.output import emit_json

        emit_json(answer)
    else:
        for line in lines(answer):
            click.echo(line)
    return Exit.NO if any(value.error for value in answer.values) else Exit.OK


def read_texts(path: str) -> list[Any]:
    """The items of a list in a file or stdin."""
    from gangpool.cli.inputs import read_value
    from gangpool.files import InputError

    found = read_value(path)
    if not isinstance(found, list):
        raise InputError("standard input" if path == "-" else path, "", "is no JSON list of quantities")
    return found


def judge(texts: Sequence[Any], *, with_sum: bool, extended: bool) -> Answer:
    """Every text read; with `extended` fractions and negative amounts are refused too."""
    from gangpool.objects import quantity

    values: list[Value] = []
    total = Fraction(0)
    for text in texts:
        try:
            number = quantity.parse(text)
            if extended:
                number = Fraction(quantity.extended(number))
        except quantity.QuantityError as error:
            values.append(Value(_shown(text), None, str(error)))
        else:
            values.append(Value(_shown(text), quantity.plain(number), None))
            total += number
    complete = with_sum and not any(value.error for value in values)
    return Answer(QUANTITY_SCHEMA, tuple(values), quantity.plain(total) if complete else None)


def _shown(item: object) -> str:
    """A text is itself; anything else as JSON writes it."""
    return item if isinstance(item, str) else json.dumps(item)


def lines(answer: Answer) -> Iterator[str]:
    """A line per text, and the sum."""
    rows = [(repr(value.text), value.value or "-", value.error or "") for value in answer.values]
    if answer.sum is not None:
        rows.append(("sum", answer.sum, ""))
    yield from table(("TEXT", "VALUE", "ERROR"), rows)
