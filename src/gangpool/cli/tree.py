"""`gangpool tree`: which nodes share which domains of the fabric, by the levels that the scheduler would use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from gangpool.cli.exits import Exit
from gangpool.cli.options import Source, config_option, output_option, pool_options
from gangpool.cli.table import name_ranges, table
from gangpool.core.model import CARD

if TYPE_CHECKING:
    from gangpool.intake.trees import TreeAnswer, TreeNode

_GROUPS_SHOWN = 4
Path = tuple[tuple[str, str], ...]
"""(level, domain) from the widest level on."""


class Request(Struct, frozen=True):
    """The command line as given."""

    source: Source = Source()
    config: str | None = None
    levels: str | None = None
    output: str = "table"


@click.command("tree")
@pool_options
@config_option
@click.option(
    "--levels",
    type=click.Path(),
    metavar="FILE",
    help="JSON or YAML: a map from the name of a style to its label keys, widest first. Without it: the configured "
    "levels, else those of HyperNode or Topology objects, else the preset that most nodes carry.",
)
@output_option("table", "json", "yaml")
def command(**options: Any) -> int:
    """Show which nodes share a spine, a leaf, a rack.

    \b
    gangpool tree
    kubectl get nodes -o json | gangpool tree --pool -
    """
    request = Request(**options)
    answer = ask(request)
    if request.output == "json":
        from gangpool.cli.output import emit_json

        emit_json(answer)
        return Exit.OK
    if request.output == "yaml":
        from gangpool.cli.output import emit_yaml

        emit_yaml(answer)
        return Exit.OK
    if not answer.nodes:
        click.echo("No nodes found.", err=True)
        return Exit.OK
    for line in lines(answer):
        click.echo(line)
    return Exit.OK


def ask(request: Request) -> TreeAnswer:
    """The tree of the given levels, else that of the scheduler. Doubts about the pool go to stderr."""
    from gangpool.cli.inputs import doubts, read_config, read_world
    from gangpool.cli.place_text import warning_lines
    from gangpool.intake.trees import tree, tree_of

    config = read_config(request.config)
    styles = None if request.levels is None else read_levels(request.levels)
    world = read_world(request.source, config, with_pods=False)
    for line in warning_lines(doubts(world, request.source)):
        click.echo(line, err=True)
    if styles is None:
        return tree_of(world.pool)
    return tree((facts for _, facts in world.pool.ledger.alive()), styles)


def read_levels(path: str) -> dict[str, tuple[str, ...]]:
    """A map from the name of a style to its label keys."""
    import msgspec

    from gangpool.cli.inputs import read_value
    from gangpool.files import InputError

    try:
        return msgspec.convert(read_value(path), dict[str, tuple[str, ...]])
    except msgspec.ValidationError as error:
        raise InputError(path, "", f"is no map from styles to lists of label keys: {error}") from None


def lines(answer: TreeAnswer) -> Iterator[str]:
    """A line per domain, narrower ones indented under their wider one; then the nodes that are in none."""
    members: dict[Path, list[TreeNode]] = {}
    for node in answer.nodes:
        path = tuple((entry.level, entry.domain) for entry in node.domains)
        for depth in range(1, len(path) + 1):
            members.setdefault(path[:depth], []).append(node)
    rows = [_row(path, members[path]) for path in _tree_order(members)]
    alone = [node for node in answer.nodes if node.ungrouped]
    if alone:
        rows.append(_row((("-", "(ungrouped)"),), alone))
    yield from table(("DOMAIN", "LEVEL", "NODES", "CARDS", "NAMES"), rows)


def _tree_order(paths: Iterable[Path]) -> list[Path]:
    """Every domain right after its wider one; those under one parent in the order in which they are first seen."""
    seen = {path: number for number, path in enumerate(paths)}
    return sorted(seen, key=lambda path: [seen[path[:depth]] for depth in range(1, len(path) + 1)])


def _row(path: Path, nodes: Sequence[TreeNode]) -> tuple[object, ...]:
    level, domain = path[-1]
    n_cards = sum(int(node.allocatable.get(CARD, "0")) for node in nodes)
    names = name_ranges((node.name for node in nodes), _GROUPS_SHOWN)
    return ("  " * (len(path) - 1) + domain, level, len(nodes), n_cards, names)
