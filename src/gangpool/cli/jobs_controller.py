"""`gangpool jobs-controller`: pods, PodGroup and status of Volcano Jobs, as a process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from gangpool.cli.exits import Exit
from gangpool.cli.options import config_option
from gangpool.cli.process import LISTEN, access_options, listen_option, log_to_stderr, run_until_told

if TYPE_CHECKING:  # imported when the process starts
    from gangpool.live.config_file import ConfigFile


class Request(Struct, frozen=True):
    """The command line as given."""

    kubeconfig: str | None = None
    context: str | None = None
    config: str | None = None
    listen: tuple[str, int] = LISTEN


@click.command("jobs-controller")
@access_options
@config_option
@listen_option
def command(**options: Any) -> int:
    """Make the pods of Volcano Jobs where Volcano is not installed.

    Serves /healthz, /readyz and /metrics. The configuration file is followed; SIGHUP reads it at once.
    """
    from gangpool.live.config_file import ConfigFile

    log_to_stderr()
    request = Request(**options)
    file = ConfigFile(request.config)
    run_until_told(run(request, file), file.ask)
    return Exit.OK


async def run(request: Request, file: ConfigFile) -> None:
    """Until SIGTERM or Ctrl-C."""
    import asyncio

    from gangpool.jobs.controller import JobsController
    from gangpool.jobs.series import text_of
    from gangpool.kube.client import Client
    from gangpool.kube.kubeconfig import load
    from gangpool.kube.transport import Transport
    from gangpool.serve.http import Server

    transport = Transport(load(request.kubeconfig, request.context), user_agent="gangpool-jobs-controller")
    controller = JobsController(Client(transport), file.config)
    server = Server(request.listen, waits_for=controller.waits_for, metrics=lambda: text_of(controller))
    try:
        await server.start()
        async with asyncio.TaskGroup() as group:
            group.create_task(file.follow(controller.reconfigure))
            group.create_task(controller.run())
    finally:
        await server.close()
        await transport.close()
