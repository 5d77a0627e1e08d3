"""`gangpool explain`: why one object waits, or where it is. Reads a dump or the cluster, asks the core, prints."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from gangpool.cli.exits import Exit, Stopped
from gangpool.cli.options import Source, config_option, output_option, pool_options

if TYPE_CHECKING:
    from gangpool.intake.explanation import ExplainAnswer


class Request(Struct, frozen=True):
    """The command line as given."""

    words: tuple[str, ...]
    source: Source = Source()
    config: str | None = None
    output: str = "table"


@click.command("explain")
@click.argument("words", nargs=-1, metavar="KIND/NAME")
@pool_options
@config_option
@output_option("table", "json", "yaml")
def command(words: tuple[str, ...], **options: Any) -> int:
    """Say why a pod, a job or a node is as it is: where, why, what next.

    \b
    gangpool explain pod/train-0 -n ml
    gangpool explain job/train -n ml        also podgroup/, jobset/, deployment/, ... and gang/NAME
    gangpool explain node/gpu-17
    kubectl get nodes,pods,jobs -A -o json | gangpool explain pod/train-0 -n ml --pool -

    The reason is that of a plan made now, in the scheduler's own words. Nothing is written to any cluster.
    """
    request = Request(words, **options)
    answer = ask(request)
    if request.output == "table":
        from gangpool.cli.explain_text import lines

        for line in lines(answer, time.time()):
            click.echo(line)
        return Exit.OK
    from gangpool.cli import output as documents

    emit = documents.emit_json if request.output == "json" else documents.emit_yaml
    emit(answer)
    return Exit.OK


def ask(request: Request) -> ExplainAnswer:
    """Read what the request names and let the core answer. What of the cluster could not be read goes to stderr."""
    from gangpool.cli.inputs import doubts, namespace_of, naming, pool_items, read_config
    from gangpool.cli.place_text import warning_lines
    from gangpool.intake import load
    from gangpool.intake.explained import explain
    from gangpool.intake.explanation import NotThere
    from gangpool.intake.seen import Seen
    from gangpool.intake.store import DEFAULT_NAMESPACE
    from gangpool.intake.target import read_target

    if not request.words:
        raise click.UsageError("no object is given; name one as KIND/NAME, such as pod/train-0")
    config = read_config(request.config)
    space = namespace_of(request.source) or DEFAULT_NAMESPACE
    try:
        target = read_target(request.words, space)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    seen = Seen(lambda pod: pod.metadata.namespace == space, target.name if target.is_node else "")
    with naming(request.source):
        world = load(seen.watch(pool_items(request.source)), config)
    whole_kinds = [doubt for doubt in doubts(world, request.source) if "/" not in doubt.object]
    for line in warning_lines(whole_kinds):  # those about the object are in the answer, others are of no concern
        click.echo(line, err=True)
    try:
        return explain(world, seen, target)
    except NotThere as error:
        raise Stopped(str(error), Exit.ERROR) from None
