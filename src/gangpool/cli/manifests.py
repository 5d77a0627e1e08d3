"""`gangpool manifests`: prints what must be applied before the processes start, as YAML."""

from __future__ import annotations

import click

from gangpool.cli.exits import Exit

PARTS = ("crds", "rbac", "fence")


@click.command("manifests")
@click.argument("part", type=click.Choice((*PARTS, "all")), default="all")
def command(part: str) -> int:
    """Print CRDs, accounts and roles, and the fence.

    \b
    gangpool manifests all | kubectl apply -f -
    """
    import yaml

    from gangpool import manifests

    made = {
        "crds": manifests.crds(),
        "rbac": [*manifests.rbac(), *manifests.reader()],
        "fence": manifests.fence(),
    }
    objects = [obj for name, found in made.items() if part in (name, "all") for obj in found]
    click.echo(yaml.safe_dump_all(objects, sort_keys=False, explicit_start=True), nl=False)
    return Exit.OK
