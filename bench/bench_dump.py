"""The ledger of a large pool from a dump: reading the file, decoding nodes and pods, booking every pod."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from bench import dump
from bench.harness import Case, bench
from gangpool.core.model import CARD
from gangpool.files import read_pool
from gangpool.intake import World, load
from gangpool.intake.config import Config


def read(path: Path) -> World:
    """As `gangpool place --pool FILE` does it; pods are decoded one by one as the world takes them in."""
    found = read_pool(str(path))
    nodes = (node for _, node in found.nodes)
    pods = (pod for _, pod in found.pods())
    return load(chain(nodes, found.others, pods), Config())


@bench("dump-140000-pods", runs=3, memory=True)
def dump_140000() -> Case:
    """5,000 nodes and 140,000 pods, 3 to 4 KiB each; 10,000 of them have finished and hold nothing."""

    def check(path: Path, world: World) -> None:
        size = path.stat().st_size
        assert size > dump.N_PODS * 3 * 1024, size
        books = world.pool.ledger
        assert len(books.slot) == dump.N_NODES
        assert len(books.claims) == dump.N_HOLDING
        used = books.total[CARD].view.sum() - books.free[CARD].view.sum()
        assert used == dump.CARDS_IN_USE, used
        for fault in world.pool.faults():
            raise AssertionError(fault)

    return Case(prepare=dump.dump_file, work=read, check=check, count=dump.N_PODS)
