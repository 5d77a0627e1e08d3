"""`gangpool demo`: real manifests on an embedded pool of 10,240 cards: where each gang sits, what waits and why.

It asks the core through the same functions as `gangpool place`, so that every answer can be had again by the
commands that it prints. It reads the example files of the repository and writes nothing.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gangpool.cli.exits import Exit

if TYPE_CHECKING:
    from gangpool.intake.answer import PlaceAnswer, PlacedEntry

POOL = "h100:1280,label=workload:gpu-train"
SEEDS = ("train-qwen", "training-worker", "infer-mig")
WORKLOADS = (
    "01-volcano-gang-8x8-rdma",
    "03-mpijob-nccl-tests",
    "04-jobset",
    "05-raycluster",
    "11-cronjob",
    "12-bare-pods-gated",
)
QUESTION = "demo/one-spine-160.yaml"
_WARNINGS_SHOWN = 5


@click.command("demo")
@click.option("--examples", type=click.Path(file_okay=False), metavar="DIR", help="Folder of the example files.")
def command(examples: str | None) -> int:
    """Place example workloads on 10,240 embedded cards.

    On 1,280 nodes with 8 H100 each: where every gang sits, what waits and why, and one
    question with its answer. Needs no cluster.
    """
    folder = _examples(examples)
    for line in lines(folder):
        click.echo(line)
    return Exit.OK


def lines(folder: Path) -> Iterator[str]:
    """The whole show."""
    from gangpool.cli.options import Source
    from gangpool.cli.place import Request, ask
    from gangpool.cli.place_text import lines as answer_lines
    from gangpool.cli.place_text import sums, waiting_lines, warning_lines

    shown = os.path.relpath(folder)
    seeds = tuple(str(folder / f"seed/{name}.yaml") for name in SEEDS)
    workloads = tuple(str(folder / f"workloads/{name}.yaml") for name in WORKLOADS)
    yield "An embedded pool: 1,280 nodes with 8 H100 and 8 ports each, 16 nodes on a leaf, 8 leaves on a spine."
    yield f"$ gangpool place --pool {POOL} \\"
    yield f"    -f {shown}/seed/{{{','.join(SEEDS)}}}.yaml \\"
    yield f"    {shown}/workloads/{{{','.join(name.partition('-')[0] for name in WORKLOADS)}}}-*.yaml"
    yield ""
    answer = ask(Request(seeds + workloads, Source(POOL)))
    yield "Where every gang sits (spine -> leaf -> node -> cards):"
    yield from seats(answer)
    yield ""
    yield from waiting_lines(answer.pending)
    yield ""
    yield f"Mistakes and doubts that were found in the files ({len(answer.warnings)}, `place` shows all):"
    yield from (f"  {line}" for line in warning_lines(answer.warnings[:_WARNINGS_SHOWN]))
    yield ""
    yield sums(answer)
    yield ""
    yield "A question before anything is submitted: would 160 whole nodes fit under one spine of this pool?"
    yield f"$ gangpool place --pool {POOL} -f {shown}/{QUESTION}"
    yield from answer_lines(ask(Request((str(folder / QUESTION),), Source(POOL))))


def seats(answer: PlaceAnswer) -> Iterator[str]:
    """Each gang with its nodes, those of one leaf with the same cards together."""
    from gangpool.cli.place_text import by_gang

    for group in by_gang(answer.placed):
        first = group[0]
        name = first.gang or f"{first.namespace}/{first.pod}"
        n_cards = sum(len(entry.cards) for entry in group)
        yield f"  {name}: {_count(len(group), 'pod')}, {_count(n_cards, 'card')}"
        yield from (f"    {line}" for line in _places(group))


def _places(group: Sequence[PlacedEntry]) -> Iterator[str]:
    from gangpool.cli.table import name_ranges, plain, ranges

    cards_of: dict[tuple[str, str], set[int]] = {}
    for entry in group:
        domain = entry.domains[-1].domain if entry.domains else "(no domain)"
        cards_of.setdefault((domain, entry.node), set()).update(entry.cards)
    nodes_of: dict[tuple[str, str], list[str]] = {}
    for (domain, node), cards in cards_of.items():
        nodes_of.setdefault((domain, ranges(cards)), []).append(node)
    for (domain, text), nodes in nodes_of.items():
        path = " -> ".join([*domain.split("/"), name_ranges(nodes, 4), f"cards {text}" if text else "no card"])
        yield plain(path)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _examples(named: str | None) -> Path:
    """The folder of the examples: the one named, else that of this clone."""
    choices = [Path(named)] if named else [Path("examples"), Path(__file__).resolve().parents[3] / "examples"]
    for folder in choices:
        if (folder / QUESTION).is_file():
            return folder
    raise click.UsageError(f"{choices[0]} holds no examples; run this in a clone of the repository or give --examples")
