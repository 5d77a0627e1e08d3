"""`gangpool scheduler`: the live scheduler as a process. Serves health and state, ends within 5 s of SIGTERM."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from gangpool.cli.exits import Exit
from gangpool.cli.options import config_option
from gangpool.cli.process import (
    LISTEN,
    access_options,
    collect_rarely,
    freeze,
    listen_option,
    log_to_stderr,
    run_until_told,
)

if TYPE_CHECKING:  # imported when the process starts
    from gangpool.live.config_file import ConfigFile

NAMESPACE = "gangpool-system"
LEASE = "gangpool-scheduler"
LEASE_S = 15


class Request(Struct, frozen=True):
    """The command line as given."""

    kubeconfig: str | None = None
    context: str | None = None
    config: str | None = None
    listen: tuple[str, int] = LISTEN
    identity: str = ""
    namespace: str = NAMESPACE
    lease_duration: int = LEASE_S


@click.command("scheduler")
@access_options
@config_option
@listen_option
@click.option("--identity", metavar="ID", default="", help="Name of this replica; default: the host's name.")
@click.option("--namespace", metavar="NS", default=NAMESPACE, show_default=True, help="Where the Lease is.")
@click.option(
    "--lease-duration",
    type=click.IntRange(min=3),
    metavar="SECONDS",
    default=LEASE_S,
    show_default=True,
    help="A Lease that is not renewed for so long is taken over; it is renewed three times as often.",
)
def command(**options: Any) -> int:
    """Schedule the pods of the cluster: whole gangs by topology.

    Replicas elect a leader by the Lease gangpool-scheduler. Serves /healthz, /readyz, /metrics and /state. The
    configuration file is followed; SIGHUP reads it at once.
    """
    collect_rarely()
    from gangpool.live.config_file import ConfigFile

    log_to_stderr()
    request = Request(**{**options, "identity": options["identity"] or socket.gethostname()})
    file = ConfigFile(request.config)
    run_until_told(run(request, file), file.ask)
    return Exit.OK


async def run(request: Request, file: ConfigFile) -> None:
    """Until SIGTERM or Ctrl-C."""
    from gangpool.kube.client import Client
    from gangpool.kube.kubeconfig import load
    from gangpool.kube.lease import Leadership
    from gangpool.kube.term import Times
    from gangpool.kube.transport import Transport
    from gangpool.live.scheduler import Scheduler
    from gangpool.live.series import text_of
    from gangpool.live.state import state_of
    from gangpool.serve.http import Server

    transport = Transport(load(request.kubeconfig, request.context), user_agent="gangpool-scheduler")
    client = Client(transport)
    times = Times(request.lease_duration)
    leadership = Leadership(client, request.namespace, LEASE, request.identity, times)
    scheduler = Scheduler(client, file.config, leadership)
    scheduler.config_file = file
    server = Server(
        request.listen,
        waits_for=scheduler.waits_for,
        metrics=lambda: text_of(scheduler),
        routes={"/state": lambda: state_of(scheduler.follower, scheduler.waits)},
    )
    try:
        await server.start()
        await scheduler.run(built=freeze)
    finally:
        await server.close()
        await transport.close()
