"""`gangpool jobs`: all gangs with their members, state and reason. A read, like `kubectl get`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from gangpool.cli.exits import Exit
from gangpool.cli.options import Source, config_option, output_option, pool_options
from gangpool.cli.table import name_ranges, table

if TYPE_CHECKING:
    from gangpool.intake.job_list import JobEntry, JobsAnswer

SORT_KEYS = ("name", "age", "state", "queue", "priority", "cards")
_GROUPS_SHOWN = 4


class Request(Struct, frozen=True):
    """The command line as given."""

    source: Source = Source()
    config: str | None = None
    all_namespaces: bool = False
    selector: str = ""
    no_headers: bool = False
    sort_by: str | None = None
    output: str = "table"

    @property
    def is_of_all(self) -> bool:
        """A dump has no current namespace: all are shown unless one is named."""
        return self.all_namespaces or (not self.source.is_live and self.source.namespace is None)


@click.command("jobs")
@pool_options
@config_option
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces; the default with --pool.")
@click.option("-l", "--selector", default="", metavar="SELECTOR", help="Only gangs with these labels (a=b,c!=d,e).")
@click.option("--no-headers", is_flag=True, help="Leave out the headings of the columns.")
@click.option("--sort-by", type=click.Choice(SORT_KEYS), help="Sort by this column; default: namespace and name.")
@output_option("table", "wide", "json", "yaml")
def command(**options: Any) -> int:
    """List gangs: who runs, who waits, and for what.

    \b
    gangpool jobs -A
    kubectl get nodes,pods,jobs -A -o json | gangpool jobs --pool -

    The reason is that of a plan made now; `gangpool explain job/NAME` says more. Nothing is written to any cluster.
    """
    request = Request(**options)
    answer = ask(request)
    if request.output in ("json", "yaml"):
        from gangpool.cli import output as documents

        emit = documents.emit_json if request.output == "json" else documents.emit_yaml
        emit(answer)
        return Exit.OK
    if not answer.jobs:
        click.echo("No jobs found.", err=True)
        return Exit.OK
    for line in lines(answer.jobs, request, time.time()):
        click.echo(line)
    return Exit.OK


def ask(request: Request) -> JobsAnswer:
    """The gangs, in the order asked for. What of the pool could not be used goes to stderr."""
    from gangpool.cli.inputs import doubts, namespace_of, naming, pool_items, read_config
    from gangpool.cli.place_text import warning_lines
    from gangpool.cli.selector import read_selector
    from gangpool.intake import load
    from gangpool.intake.job_list import JobsAnswer, job_list
    from gangpool.intake.seen import Seen
    from gangpool.intake.store import DEFAULT_NAMESPACE

    try:
        selector = read_selector(request.selector)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="-l") from None
    config = read_config(request.config)
    space = None if request.is_of_all else namespace_of(request.source) or DEFAULT_NAMESPACE
    ours = frozenset(config.schedulerNames)
    seen = Seen(lambda pod: pod.spec.schedulerName in ours and space in (None, pod.metadata.namespace))
    with naming(request.source):
        world = load(seen.watch(pool_items(request.source)), config)
    for line in warning_lines(doubts(world, request.source)):
        click.echo(line, err=True)
    answer = job_list(world, seen, space, selector)
    return JobsAnswer(answer.schema, tuple(sort_jobs(answer.jobs, request.sort_by)))


def sort_jobs(entries: Sequence[JobEntry], key: str | None) -> list[JobEntry]:
    """Ascending, by age the oldest first; equal ones stay as they are. No key: as they are."""
    if not key:
        return list(entries)
    if key == "age":
        return sorted(entries, key=lambda entry: entry.created or "")
    return sorted(entries, key=lambda entry: getattr(entry, key))


def lines(entries: Sequence[JobEntry], request: Request, now_s: float) -> Iterator[str]:
    """A line per gang; `wide` adds priority, cards, nodes and the reason's words. `now_s`: since the epoch."""
    from gangpool.cli.shown import age

    is_wide = request.output == "wide"
    heads = ["NAMESPACE"] if request.is_of_all else []
    heads += ["NAME", "KIND", "QUEUE", "STATE", "RUNNING", "BOUND", "MIN", "TOTAL", "AGE"]
    heads += ["PRIORITY", "CARDS", "NODES", "REASON", "MESSAGE"] if is_wide else ["REASON"]
    rows: list[list[object]] = []
    for entry in entries:
        members = entry.members
        total = members.exist + members.finished if entry.total is None else entry.total
        row: list[object] = [entry.namespace] if request.is_of_all else []
        row += [entry.name, kind_shown(entry), entry.queue or "-", entry.state, members.running, members.bound]
        row += ["-" if members.minimum is None else members.minimum, total, age(entry.created, now_s) or "-"]
        if is_wide:
            row += [entry.priority, entry.cards, name_ranges(entry.nodes, _GROUPS_SHOWN) or "-"]
        row.append("-" if entry.reason is None else entry.reason.code)
        if is_wide:
            row.append("-" if entry.reason is None else entry.reason.message)
        rows.append(row)
    yield from table(heads, rows, with_heads=not request.no_headers)


def kind_shown(entry: JobEntry) -> str:
    """The kind; two projects have a Job, and Volcano's is called as its own command calls it."""
    if entry.api_version.startswith("batch.volcano.sh/"):
        return "vcjob"
    return entry.kind or "-"
