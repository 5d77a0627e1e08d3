"""`gangpool manifests`: prints what must be applied before the processes start, as YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gangpool.cli.exits import Exit

if TYPE_CHECKING:  # read when the command runs
    import yaml

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
    click.echo(yaml.dump_all(objects, Dumper=_written_out(), sort_keys=False, explicit_start=True), nl=False)
    return Exit.OK


def _written_out() -> type[yaml.SafeDumper]:
    """Writes what is used twice twice: anchors are lost on people, and on some tools that read manifests."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    return Dumper
