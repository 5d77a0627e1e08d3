"""What people read of an answer of `place`: a line per gang or pod, what waits and why, the sums."""

from __future__ import annotations

from gangpool.cli.place_text import common_domain, lines, warning_lines
from gangpool.intake.answer import (
    PLACE_SCHEMA,
    DomainEntry,
    EvictedEntry,
    PendingEntry,
    PlaceAnswer,
    PlacedEntry,
    PoolEntry,
    ReasonEntry,
    SliceEntry,
    WarningEntry,
)

SPINE, LEAF = "network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf"


def placed(pod: str, node: int, leaf: int, gang: str | None = "ml/train", rank: int | None = 0) -> PlacedEntry:
    domains = (DomainEntry(SPINE, "spine-0"), DomainEntry(LEAF, f"spine-0/leaf-{leaf}"))
    ports = tuple(f"mlx5_{i}" for i in range(8))
    return PlacedEntry("ml", pod, gang, rank, f"node-{node:04}", tuple(range(8)), True, (), ports, domains)


def answer(**parts: object) -> PlaceAnswer:
    return PlaceAnswer(PLACE_SCHEMA, PoolEntry(4, 32, 32, 16), decision_ms=3.1, **parts)  # type: ignore[arg-type]


def test_a_gang_is_one_line_with_its_narrowest_common_domain() -> None:
    pods = (placed("train-0", 0, 3), placed("train-1", 1, 3, rank=1), placed("solo", 9, 0, None, None))
    assert list(lines(answer(placed=pods))) == [
        "NAMESPACE   PLACED   PODS   CARDS   LEVEL   DOMAIN           NODES",
        "ml          train    2      16      leaf    spine-0/leaf-3   node-[0000-0001]",
        "ml          solo     1      8       leaf    spine-0/leaf-0   node-0009",
        "",
        "3 pods placed, 0 waiting; 32 of 32 cards free before, 16 after; 4 nodes, 3.1 ms",
    ]


def test_wide_is_a_line_per_pod() -> None:
    pods = (placed("train-0", 0, 3), placed("solo", 9, 0, None, None))
    assert list(lines(answer(placed=pods), wide=True))[:3] == [
        "NAMESPACE   POD       GANG    RANK   DOMAIN           NODE        CARDS   PORTS",
        "ml          train-0   train   0      spine-0/leaf-3   node-0000   0-7     mlx5_[0-7]",
        "ml          solo      -       -      spine-0/leaf-0   node-0009   0-7     mlx5_[0-7]",
    ]


def test_what_waits_is_told_with_its_reason_and_next_step() -> None:
    reason = ReasonEntry("cannot-fit", "8 of 16 members fit in l1", {"needed": 16, "best": 8}, "l1", "free 8 cards")
    waits = PendingEntry("ml", "ml/big", ("big-0", "big-1"), reason)
    assert list(lines(answer(pending=(waits,)))) == [
        "NAMESPACE   WAITING   PODS   REASON       MESSAGE",
        "ml          big       2      cannot-fit   8 of 16 members fit in l1",
        "  next: free 8 cards",
        "",
        "0 pods placed, 2 waiting; 32 of 32 cards free before, 16 after; 4 nodes, 3.1 ms",
    ]


def test_evictions_name_who_gets_the_room() -> None:
    text = list(lines(answer(evicted=(EvictedEntry("ml", "batch-3", "ml/train"),))))
    assert text[:2] == ["NAMESPACE   EVICTED   FOR", "ml          batch-3   ml/train"]


def test_a_gang_over_several_leaves_is_in_the_wider_domain() -> None:
    assert common_domain([placed("a", 0, 0), placed("b", 16, 1)]) == (SPINE, "spine-0")


def test_a_gang_without_common_domain_and_cards_by_the_ledger() -> None:
    slices = (SliceEntry("main", 2, "nvidia.com/mig-1g.5gb", "1g.5gb", 4), SliceEntry("main", 3, "x", memory_mib=10240))
    entry = PlacedEntry("ml", "p", None, None, "n1", (0,), False, slices)
    text = list(lines(answer(placed=(entry,))))
    assert text[1] == "ml          p        1      1       -       -        n1"
    wide = list(lines(answer(placed=(entry,)), wide=True))
    assert wide[1].split() == ["ml", "p", "-", "-", "-", "n1", "~0,2:1g.5gb@4,3:10240MiB", "-"]


def test_a_warning_names_file_object_and_field() -> None:
    warning = WarningEntry("job.yaml", "Job/ml/train", "spec.minMember", "minmember-in-job", "is not read here")
    bare = WarningEntry("job.yaml", "Job/ml/train", "", "x", "odd\ntext")
    assert list(warning_lines([warning, bare])) == [
        "warning: job.yaml: Job/ml/train: spec.minMember: is not read here [minmember-in-job]",
        "warning: job.yaml: Job/ml/train: odd\\ntext [x]",
    ]
