"""Small pools for hypothesis and the slow, obvious answers: does a gang of equals fit, where at the lowest, in how few
domains, and how many members would fit at most. Reads labels and rooms only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from hypothesis import strategies as st

from gangpool.core.model import HOSTNAME, Level, Shape
from gangpool.core.pool import Pool
from tests.core.build import RACK, ZONE, foreign, level, node, shape, term
from tests.core.rebuild import room_of

Path = tuple[str, ...]


@dataclass(frozen=True)
class Spot:
    """A node: its path (cut where a label is missing), members that fit, and whether some card is in use."""

    name: str
    path: Path
    room: int
    broken: bool


@dataclass(frozen=True)
class Case:
    """A pool, and a gang of `n` members of `what`; `required` is a depth, `block` (size, depth) or nothing."""

    pool: Pool
    what: Shape
    labels: str
    n: int
    required: int
    block: tuple[int, int] | None

    def level(self, depth: int) -> Level:
        return level((ZONE, RACK)[depth - 1])

    def spots(self) -> list[Spot]:
        """Read before anything is seated."""
        self.pool.guess()
        found = []
        for i, facts in self.pool.ledger.alive():
            path: Path = ()
            for key in (ZONE, RACK):
                if key not in facts.labels:
                    break
                path += (facts.labels[key],)
            room = room_of(self.pool.ledger, self.what, i)
            found.append(
                Spot(facts.name, path, min(room, 1) if self.what.anti_affinity else room, is_broken(self.pool, i))
            )
        return found


def is_broken(pool: Pool, i: int) -> bool:
    facts = pool.ledger.facts[i]
    total = 0 if facts is None else facts.allocatable.get("nvidia.com/gpu", 0)
    used = sum(pool.ledger.claims[uid].cards.bit_count() for uid in pool.ledger.on_node[i])
    return used != 0 or not total


@st.composite
def cases(draw: st.DrawFn, with_blocks: bool = False) -> Case:
    pool = Pool((ZONE, RACK), capacity=draw(st.sampled_from([2, 64])))
    for k in range(draw(st.integers(1, 9))):
        labels = {}
        zone = draw(st.sampled_from(["a", "b", "-"] if k % 3 == 2 else ["a", "b"]))
        if zone != "-":
            labels[ZONE] = zone
            rack = draw(st.sampled_from(["1", "2", "3", "-"] if k % 3 == 1 else ["1", "2"]))
            labels |= {} if rack == "-" else {RACK: rack}
        cards = draw(st.integers(0, 4))
        pool.set_node(node(f"n{k}", cards, cpu=draw(st.sampled_from([2, 64])), labels=labels))
        if cards and draw(st.booleans()):
            pool.set_member(foreign(f"f{k}", f"n{k}", shape(draw(st.integers(1, cards)), cpu=0)))
    apart = draw(st.integers(0, 3)) == 0
    what = shape(draw(st.integers(0 if apart else 1, 2)), anti_affinity=(term(HOSTNAME, "app=x"),) if apart else ())
    block = (draw(st.integers(1, 4)), draw(st.integers(1, 2))) if with_blocks else None
    return Case(pool, what, "app=x", draw(st.integers(1, 9)), draw(st.integers(0, 2)), block)


def domains(spots: Sequence[Spot], depth: int) -> dict[Path, list[Spot]]:
    """Real domains of a depth: only nodes that have all the labels."""
    found: dict[Path, list[Spot]] = {}
    for spot in spots:
        if len(spot.path) >= depth:
            found.setdefault(spot.path[:depth], []).append(spot)
    return found


def room(spots: Sequence[Spot], only_broken: bool = False) -> int:
    return sum(spot.room for spot in spots if spot.broken or not only_broken)


def best_count(case: Case, spots: Sequence[Spot]) -> int:
    """The most members of a gang without blocks that one domain of the required level takes."""
    return max((min(room(inside), case.n) for inside in domains(spots, case.required).values()), default=0)


def lowest_depth(case: Case, spots: Sequence[Spot]) -> int | None:
    """The lowest level with a domain that holds everybody; None: there is none."""
    for depth in (2, 1, 0):
        if depth >= case.required and any(room(inside) >= case.n for inside in domains(spots, depth).values()):
            return depth
    return None


def fewest(rooms: Sequence[int], n: int) -> int:
    """How few of these rooms hold n members, by trying all."""
    return next(k for k in range(len(rooms) + 1) if any(sum(some) >= n for some in combinations(rooms, k)))


def spread_faults(spots: Sequence[Spot], counts: dict[str, int], depth: int, only_broken: bool) -> Iterator[str]:
    """Whether members inside a domain of `depth` are in the fewest domains one level down, and so on to nodes.
    Broken nodes alone count where they hold all (whole nodes stay whole)."""
    n = sum(counts.get(spot.name, 0) for spot in spots)
    only_broken = only_broken or room(spots, True) >= n
    children: dict[Path, list[Spot]] = {}
    for spot in spots:
        key = (*spot.path, "-", "-")[: depth + 1] if depth < 2 else (spot.name,)
        children.setdefault(key, []).append(spot)
    used = {path: inside for path, inside in children.items() if any(spot.name in counts for spot in inside)}
    least = fewest([room(inside, only_broken) for inside in children.values()], n)
    if len(used) != least:
        yield f"{len(used)} domains below {spots[0].path[:depth]}, {least} would do"
    if only_broken and any(not spot.broken for spot in spots if spot.name in counts):
        yield f"a whole node was used in {spots[0].path[:depth]}"
    if depth < 2:
        for inside in used.values():
            yield from spread_faults(inside, counts, depth + 1, only_broken)


def blocks_fit(case: Case, spots: Sequence[Spot]) -> bool:
    """Whether blocks, the last one maybe smaller, each fit into one domain of theirs inside one of the limit."""
    assert case.block is not None
    size, depth = case.block
    sizes = [size] * (case.n // size) + ([case.n % size] if case.n % size else [])
    for inside in domains(spots, case.required).values():
        if depth <= case.required:
            if room(inside) >= case.n:
                return True
        elif _packs([room(some) for some in domains(inside, depth).values()], sizes):
            return True
    return False


def _packs(rooms: list[int], sizes: Sequence[int]) -> bool:
    if not sizes:
        return True
    for p, left in enumerate(rooms):
        if left >= sizes[0] and _packs([*rooms[:p], left - sizes[0], *rooms[p + 1 :]], sizes[1:]):
            return True
    return False
