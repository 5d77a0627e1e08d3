"""`gangpool jobs-controller`: pods, PodGroup and status of Volcano Jobs, as a process."""

from __future__ import annotations

from typing import Any

import click
from msgspec import Struct

from gangpool.cli.exits import Exit
from gangpool.cli.options import config_option
from gangpool.cli.process import log_to_stderr, run_until_told


class Request(Struct, frozen=True):
    """The command line as given."""

    kubeconfig: str | None = None
    context: str | None = None
    config: str | None = None
    listen: str = "0.0.0.0:8080"  # noqa: S104 - probes and Prometheus come from outside the pod


@click.command("jobs-controller")
@click.option("--kubeconfig", type=click.Path(), metavar="FILE", help="Kubeconfig; default: the pod's own account.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig to use.")
@config_option
@click.option("--listen", metavar="HOST:PORT", default=Request.listen, show_default=True, help="Health and metrics.")
def command(**options: Any) -> int:
    """Make the pods of Volcano Jobs where Volcano is not installed."""
    log_to_stderr()
    run_until_told(run(Request(**options)))
    return Exit.OK


async def run(request: Request) -> None:
    """Until SIGTERM or Ctrl-C."""
    from gangpool.cli.inputs import read_config
    from gangpool.jobs.controller import JobsController
    from gangpool.kube.client import Client
    from gangpool.kube.kubeconfig import load
    from gangpool.kube.transport import Transport
    from gangpool.serve.http import Server

    config = read_config(request.config)
    transport = Transport(load(request.kubeconfig, request.context), user_agent="gangpool-jobs-controller")
    controller = JobsController(Client(transport), config)
    host, _, port = request.listen.rpartition(":")

    def metrics() -> str:
        counts = {"pods_created_total": controller.n_created, "pods_deleted_total": controller.n_deleted}
        lines = [
            f"# TYPE gangpool_jobs_{name} counter\ngangpool_jobs_{name} {count}\n" for name, count in counts.items()
        ]
        return "".join([*lines, f"# TYPE gangpool_jobs gauge\ngangpool_jobs {len(controller.jobs)}\n"])

    server = Server(host, int(port), ready=lambda: controller.is_ready, metrics=metrics)
    await server.start()
    try:
        await controller.run()
    finally:
        await server.close()
        await transport.close()
