"""`gangpool nodes`: the nodes of a pool, what they have and what is free. A read, like `kubectl get nodes`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from gangpool.cli.exits import Exit
from gangpool.cli.options import Source, config_option, output_option, pool_options
from gangpool.cli.table import table

if TYPE_CHECKING:
    from gangpool.intake.node_list import NodeEntry, NodesAnswer

SORT_KEYS = ("name", "cards", "cards_free", "ports", "pods", "domain")


class Request(Struct, frozen=True):
    """The command line as given."""

    source: Source = Source()
    config: str | None = None
    selector: str = ""
    no_headers: bool = False
    sort_by: str | None = None
    output: str = "table"


@click.command("nodes")
@pool_options
@config_option
@click.option("-l", "--selector", default="", metavar="SELECTOR", help="Only nodes with these labels (a=b,c!=d,e).")
@click.option("--no-headers", is_flag=True, help="Leave out the headings of the columns.")
@click.option("--sort-by", type=click.Choice(SORT_KEYS), help="Sort by this field; default: the order of the pool.")
@output_option("table", "wide", "json", "yaml")
def command(**options: Any) -> int:
    """List nodes with cards, ports, pods and domains.

    \b
    gangpool nodes -l zone=a
    kubectl get nodes,pods -A -o json | gangpool nodes --pool -
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
    for line in lines(answer.nodes, wide=request.output == "wide", with_heads=not request.no_headers):
        click.echo(line)
    return Exit.OK


def ask(request: Request) -> NodesAnswer:
    """The chosen nodes, in the order asked for. Doubts about the pool go to stderr."""
    from gangpool.cli.inputs import doubts, read_config, read_world
    from gangpool.cli.place_text import warning_lines
    from gangpool.cli.selector import read_selector
    from gangpool.intake.node_list import NodesAnswer, node_list

    try:
        selector = read_selector(request.selector)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="-l") from None
    world = read_world(request.source, read_config(request.config), with_pods=True)
    for line in warning_lines(doubts(world, request.source)):
        click.echo(line, err=True)
    forest = world.pool.forest
    answer = node_list(world.pool.ledger, forest.tree(forest.default_keys()), selector)
    return NodesAnswer(answer.schema, tuple(sort_nodes(answer.nodes, request.sort_by)))


def sort_nodes(entries: Sequence[NodeEntry], key: str | None) -> list[NodeEntry]:
    """By a field of the answer, ascending; equal ones stay in the order of the pool. No key: as they are."""
    if not key:
        return list(entries)
    if key == "domain":
        return sorted(entries, key=lambda entry: [domain.domain for domain in entry.domains])
    if key == "ports":
        return sorted(entries, key=lambda entry: entry.ports or 0)
    return sorted(entries, key=lambda entry: getattr(entry, key))


def lines(entries: Sequence[NodeEntry], *, wide: bool = False, with_heads: bool = True) -> Iterator[str]:
    """A line per node; `wide` adds what is free of CPU and memory, every taint and the whole path of domains."""
    heads = ["NAME", "STATUS", "CARDS", "FREE", "PORTS", "PODS", "DOMAIN", "TAINTS"]
    rows: list[list[object]] = []
    for entry in entries:
        row: list[object] = [entry.name, _status(entry), entry.cards, entry.cards_free]
        row += [entry.ports if entry.ports is not None else "-", f"{entry.pods}/{entry.pods_max}"]
        row += [entry.domains[-1].domain if entry.domains else "-"]
        if wide:
            row += [",".join(entry.taints) or "-", entry.free.get("cpu", "-"), _gib(entry.free.get("memory"))]
        else:
            row += [len(entry.taints) or "-"]
        rows.append(row)
    yield from table(heads + (["FREE-CPU", "FREE-MEMORY"] if wide else []), rows, with_heads=with_heads)


def _status(entry: NodeEntry) -> str:
    return ("Ready" if entry.ready else "NotReady") + ("" if entry.schedulable else ",SchedulingDisabled")


def _gib(text: str | None) -> str:
    """Bytes as whole GiB, rounded down; people compare them, `-o json` has every byte."""
    return "-" if text is None else f"{int(text) >> 30}Gi"
