"""Gangs of equals on small pools against brute force: placed exactly when some domain holds them, at the lowest level,
in the domain with few nodes and little room, in the fewest domains at each level; refused with the best count."""

from __future__ import annotations

from collections import Counter
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from gangpool.core.cycle import Cycle
from gangpool.core.model import HOSTNAME, Block, Gang, Role, Shape
from gangpool.core.pool import Pool
from tests.core.brute import Case, Path, best_count, blocks_fit, cases, domains, lowest_depth, room, spread_faults
from tests.core.build import ZONE, level, members, node, only_wait, places, plan, shape, submit, term


@given(cases())
def test_equals_are_seated_exactly_where_brute_force_says(case: Case) -> None:
    spots = case.spots()
    rules = {"required": case.level(case.required)} if case.required else {}
    submit(case.pool, "g", case.n, case.what, labels=case.labels, **rules)
    made = plan(case.pool)
    depth = lowest_depth(case, spots)
    if case.required and not any(len(spot.path) >= case.required for spot in spots):
        assert only_wait(made).reason.code == "level-unknown"
        return
    if depth is None:
        reason = only_wait(made).reason
        assert made.seats == ()
        assert reason.code == "cannot-fit"
        assert (reason.numbers["needed"], reason.numbers["best"]) == (case.n, best_count(case, spots))
        return
    assert made.waits == ()
    counts = Counter(places(made).values())
    assert sum(counts.values()) == case.n
    assert all(counts[spot.name] <= spot.room for spot in spots)
    by_path = domains(spots, depth)
    (chosen,) = [path for path, inside in by_path.items() if any(spot.name in counts for spot in inside)]
    holding = [path for path, inside in by_path.items() if room(inside) >= case.n]
    broken = [path for path in holding if room(by_path[path], True) >= case.n]
    assert chosen in (broken or holding)

    def order(path: Path) -> tuple[int, int, int]:
        inside = by_path[path]
        few = n_nodes([spot.room for spot in inside if spot.broken], case.n) if broken and depth == 2 else 0
        return few, room(inside, bool(broken)), room(inside)

    assert order(chosen) == min(order(path) for path in broken or holding)
    assert list(spread_faults(by_path[chosen], counts, depth, False)) == []


def n_nodes(rooms: list[int], n: int) -> int:
    """1: a node holds all; 2: two nodes hold half each; 3: more nodes, or unequal parts."""
    if max(rooms, default=0) >= n:
        return 1
    return 2 if sum(2 * k >= n for k in rooms) > 1 else 3


@given(cases(with_blocks=True))
def test_blocks_are_seated_exactly_where_brute_force_says(case: Case) -> None:
    assert case.block is not None
    size, depth = case.block
    spots = case.spots()
    if not any(len(spot.path) >= max(depth, case.required) for spot in spots):
        return
    rules = {"required": case.level(case.required)} if case.required else {}
    blocks = (("", Block(size, case.level(depth))),)
    submit(case.pool, "g", case.n, case.what, labels=case.labels, blocks=blocks, **rules)
    made = plan(case.pool)
    assert bool(made.seats) == blocks_fit(case, spots)
    if not made.seats:
        reason = only_wait(made).reason
        assert reason.code == "cannot-fit"
        assert int(reason.numbers["best"]) < case.n
        return
    path_of = {spot.name: spot.path for spot in spots}
    placed = places(made)
    assert len({path_of[name][: case.required] for name in placed.values()}) == 1
    by_block: dict[int, set[tuple[str, ...]]] = {}
    for uid, name in placed.items():
        by_block.setdefault(int(uid.split("-")[1]) // size, set()).add(path_of[name][:depth])
    assert all(len(paths) == 1 and len(next(iter(paths))) == depth for paths in by_block.values())


SIZES = st.builds(lambda gpu, cpu: shape(gpu, cpu=cpu), st.integers(0, 3), st.sampled_from([1, 3, 6]))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from([4, 8]), st.sampled_from("ab")), min_size=1, max_size=4),
    SIZES,
    SIZES,
    st.integers(1, 2),
    st.integers(1, 3),
    st.sampled_from(["", "zone", "role zone"]),
    st.booleans(),
)
def test_two_roles_are_seated_exactly_where_brute_force_says(
    rows: list[tuple[int, int, str]], m: Shape, w: Shape, n_m: int, n_w: int, rule: str, apart: bool
) -> None:
    """Masters and workers of any two sizes; maybe all in one zone, the workers in one, masters off workers' nodes."""
    if apart:
        m = Shape(m.requests, anti_affinity=(term(HOSTNAME, "role=w"),))
    pool = Pool((ZONE,))
    for k, (cards, cpu, zone) in enumerate(rows):
        pool.set_node(node(f"n{k}", cards, cpu=cpu, labels={ZONE: zone}))
    required = level(ZONE) if rule == "zone" else None
    by_role = (("w", level(ZONE)),) if rule == "role zone" else ()
    pool.set_gang(Gang("ml/g", n_m + n_w, (Role("m", n_m), Role("w", n_w)), required, role_levels=by_role))
    for role, n, what in (("m", n_m, m), ("w", n_w, w)):
        for one in members("ml/g", n, what, role=role, labels=f"role={role}"):
            pool.set_member(one)

    def fits(where: tuple[int, ...]) -> bool:
        for i, (cards, cpu, _) in enumerate(rows):
            asks = [dict((m if p < n_m else w).requests) for p, at in enumerate(where) if at == i]
            if sum(a.get("nvidia.com/gpu", 0) for a in asks) > cards or sum(a["cpu"] for a in asks) > 1000 * cpu:
                return False
        together = where if rule == "zone" else where[n_m:] if rule == "role zone" else ()
        if len({rows[i][2] for i in together}) > 1:
            return False
        return not (apart and set(where[:n_m]) & set(where[n_m:]))

    expected = any(fits(where) for where in product(range(len(rows)), repeat=n_m + n_w))
    made = Cycle(pool).run()
    placed = places(made)
    if not expected:
        assert placed == {}
        assert only_wait(made).reason.code in ("cannot-fit", "not-found")
        return
    order = [f"g-m-{r}" for r in range(n_m)] + [f"g-w-{r}" for r in range(n_w)]
    assert set(placed) == set(order), only_wait(made).reason
    assert fits(tuple(int(placed[uid][1:]) for uid in order))
