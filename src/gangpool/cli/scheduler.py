"""`gangpool scheduler`: the live scheduler as a process. Serves health and state, ends within 5 s of SIGTERM."""

from __future__ import annotations

import socket
from typing import Any

import click
from msgspec import Struct

from gangpool.cli.exits import Exit
from gangpool.cli.options import config_option
from gangpool.cli.process import log_to_stderr, run_until_told

NAMESPACE = "gangpool-system"
LEASE = "gangpool-scheduler"


class Request(Struct, frozen=True):
    """The command line as given."""

    kubeconfig: str | None = None
    context: str | None = None
    config: str | None = None
    listen: str = "0.0.0.0:8080"  # noqa: S104 - probes and Prometheus come from outside the pod
    identity: str = ""
    namespace: str = NAMESPACE


@click.command("scheduler")
@click.option("--kubeconfig", type=click.Path(), metavar="FILE", help="Kubeconfig; default: the pod's own account.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig to use.")
@config_option
@click.option("--listen", metavar="HOST:PORT", default=Request.listen, show_default=True, help="Health and metrics.")
@click.option("--identity", metavar="ID", default="", help="Name of this replica; default: the host's name.")
@click.option("--namespace", metavar="NS", default=NAMESPACE, show_default=True, help="Where the Lease is.")
def command(**options: Any) -> int:
    """Schedule the pods of the cluster: whole gangs by topology.

    Replicas elect a leader by the Lease gangpool-scheduler. Serves /healthz, /readyz, /metrics and /state.
    """
    request = Request(**{**options, "identity": options["identity"] or socket.gethostname()})
    log_to_stderr()
    run_until_told(run(request))
    return Exit.OK


async def run(request: Request) -> None:
    """Until SIGTERM or Ctrl-C."""
    from gangpool.cli.inputs import read_config
    from gangpool.kube.client import Client
    from gangpool.kube.kubeconfig import load
    from gangpool.kube.lease import Leadership
    from gangpool.kube.transport import Transport
    from gangpool.live.scheduler import Scheduler
    from gangpool.live.series import text_of
    from gangpool.live.state import state_of
    from gangpool.serve.http import Server

    config = read_config(request.config)
    transport = Transport(load(request.kubeconfig, request.context), user_agent="gangpool-scheduler")
    client = Client(transport)
    scheduler = Scheduler(client, config, Leadership(client, request.namespace, LEASE, request.identity))
    host, _, port = request.listen.rpartition(":")
    server = Server(
        host,
        int(port),
        ready=lambda: scheduler.is_ready,
        metrics=lambda: text_of(scheduler),
        routes={"/state": lambda: state_of(scheduler.follower, scheduler.waits)},
    )
    await server.start()
    try:
        await scheduler.run()
    finally:
        await server.close()
        await transport.close()
