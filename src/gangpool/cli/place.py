"""`gangpool place`: would this run now, where, and if not, why. Reads files, asks the core, prints; decides nothing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from gangpool.cli.exits import Exit
from gangpool.cli.options import Source, config_option, output_option, pool_options, read_time

if TYPE_CHECKING:
    from gangpool.intake.answer import PlaceAnswer


class Request(Struct, frozen=True):
    """The command line as given; `now` in seconds since the epoch."""

    files: tuple[str, ...]
    source: Source = Source()
    now: float | None = None
    config: str | None = None
    output: str = "table"


@click.command("place")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    type=click.Path(),
    metavar="FILE",
    help="Kubernetes objects in YAML or JSON: a file, a folder, or - for stdin. May be given several times.",
)
@click.argument("more_files", nargs=-1, type=click.Path(), metavar="[FILE]...")
@pool_options
@click.option("--now", metavar="TIME", callback=read_time, help="Plan as of this time (RFC 3339); default: now.")
@config_option
@output_option("table", "wide", "json", "yaml")
def command(files: tuple[str, ...], more_files: tuple[str, ...], **options: Any) -> int:
    """Would this run now, where, and if not, why.

    \b
    gangpool place -f job.yaml
    gangpool place -f job.yaml --pool h100:1280
    kubectl get nodes,pods -A -o json | gangpool place -f job.yaml --pool -

    Plans against the live cluster of the current context, a dump or a shape.
    Nothing is written to any cluster. Exit code 3: nothing can be placed.
    """
    request = Request(files + more_files, **options)
    if not request.files:
        raise click.UsageError("no workloads are given; name their files with -f")
    if request.source.pool == "-" and "-" in request.files:
        raise click.UsageError("stdin can be the workloads (-f -) or the pool (--pool -), not both")
    answer = ask(request)
    show(answer, request.output)
    return Exit.NO if answer.pending and not answer.placed else Exit.OK


def ask(request: Request) -> PlaceAnswer:
    """Read what the request names and let the core plan it."""
    from msgspec.structs import replace

    from gangpool.cli.inputs import in_namespace, named, namespace_of, naming, pool_items, read_config
    from gangpool.files import read_objects
    from gangpool.intake import place

    config = read_config(request.config)
    pool = pool_items(request.source)
    namespace = namespace_of(request.source)
    workloads = in_namespace(read_objects(request.files), namespace)
    now = time.time() if request.now is None else request.now
    with naming(request.source):
        answer = place(pool, workloads, now, config, time.perf_counter)
    return replace(answer, warnings=named(answer.warnings, request.source))


def show(answer: PlaceAnswer, output: str) -> None:
    """Print the answer; for people the warnings go to stderr, JSON and YAML hold them."""
    from gangpool.cli import output as documents
    from gangpool.cli import place_text

    if output == "json":
        documents.emit_json(answer)
    elif output == "yaml":
        documents.emit_yaml(answer)
    else:
        for line in place_text.warning_lines(answer.warnings):
            click.echo(line, err=True)
        for line in place_text.lines(answer, wide=output == "wide"):
            click.echo(line)
