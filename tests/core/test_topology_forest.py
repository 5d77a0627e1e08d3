"""Which tree a pool has by default, and which one knows the levels that a gang names."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gangpool.core.model import HOSTNAME, Level
from gangpool.core.pool import Pool
from gangpool.core.topology import HyperNode
from tests.core.build import LEVELS, RACK, ZONE, node, pool_of

ZONE_KEY, RACK_KEY = "topology.kubernetes.io/zone", "topology.kubernetes.io/rack"
WORLD = "a/a1: n1=8 n2=8\na/a2: n3=8\nb/b1: n4=8"
HYPER = [
    HyperNode("leaf0", 1, ("n1", "n2"), tier_name="leaf"),
    HyperNode("leaf1", 1, ("n3",), tier_name="leaf"),
    HyperNode("spine0", 2, children=("leaf0", "leaf1")),
    HyperNode("core0", 3, nodes=("n4",), children=("spine0",)),
]


def hyper_pool() -> Pool:
    pool = pool_of(WORLD, None)
    pool.set_hypernodes(HYPER)
    return pool


def test_configured_levels_win() -> None:
    pool = pool_of(WORLD, (RACK,))
    pool.set_hypernodes(HYPER)
    assert pool.forest.default_keys() == (RACK,)
    assert pool_of(WORLD, ()).forest.default_keys() == ()


def test_then_hypernodes_then_the_only_topology_then_presets() -> None:
    pool = pool_of(WORLD, None)
    pool.set_topologies({"t": (ZONE, RACK, HOSTNAME)})
    assert pool.forest.default_keys() == (ZONE, RACK)
    pool.set_hypernodes(HYPER)
    assert pool.forest.default_keys() == ("tier:3", "tier:2", "tier:1")
    pool.set_hypernodes([])
    pool.set_topologies({"t": (ZONE,), "u": (RACK,)})
    assert pool.forest.default_keys() == ()


def test_the_tree_of_a_named_level_follows_the_nodes() -> None:
    pool = pool_of("a/a1: n1=8", ())
    wanted = [Level(key=ZONE)]
    assert pool.forest.tree_for(wanted)[0].names[1] == [("a",)]
    pool.set_node(node("n2", labels={ZONE: "b"}))
    assert pool.forest.tree_for(wanted)[0].names[1] == [("a",), ("b",)]
    assert pool.forest.tree_for(wanted)[0] is pool.forest.tree_for(wanted)[0]
    pool.drop_node("n1")
    assert pool.forest.tree_for(wanted)[0].names[1] == [("b",)]


def test_the_preset_that_most_nodes_carry() -> None:
    pool = Pool()
    pool.set_node(node("n0", labels={"nvidia.com/gpu.clique": "c", ZONE_KEY: "z"}))
    for i in range(2):
        pool.set_node(node(f"z{i}", labels={ZONE_KEY: "z", RACK_KEY: "r" if i else ""}))
    assert pool.forest.default_keys() == (ZONE_KEY, RACK_KEY)
    pool.drop_node("z0")
    pool.set_node(node("n1", labels={"nvidia.com/gpu.clique": "c"}))
    assert pool.forest.default_keys() == ("nvidia.com/gpu.clique",)
    assert Pool().forest.default_keys() == ()
    pool = Pool()
    pool.set_node(node("n0"))
    assert pool.forest.default_keys() == ()


def test_a_tree_is_kept_until_nodes_or_labels_change() -> None:
    pool = pool_of(WORLD)
    tree = pool.forest.tree(LEVELS)
    assert pool.forest.tree(LEVELS) is tree
    assert pool.forest.tree((ZONE,)) is not tree
    facts = pool.ledger.facts[0]
    assert facts is not None
    pool.set_node(replace(facts, allocatable={"cpu": 1}))
    assert pool.forest.tree(LEVELS) is tree
    pool.set_node(replace(facts, labels={}))
    changed = pool.forest.tree(LEVELS)
    assert changed is not tree
    assert changed.path_of(0) == ()
    pool.drop_node("n4")
    assert len(pool.forest.tree(LEVELS).order) == 3


def depths(pool: Pool, *wanted: Level) -> tuple[tuple[str, ...], list[int | None]]:
    tree, found = pool.forest.tree_for(wanted)
    return tree.keys, found


@pytest.mark.parametrize(
    ("level", "keys", "depth"),
    [
        (Level(key=ZONE), LEVELS, 1),
        (Level(key=RACK), LEVELS, 2),
        (Level(tier=1), LEVELS, 2),
        (Level(tier=2), LEVELS, 1),
        (Level(tier=3), LEVELS, 0),
        (Level(key=HOSTNAME), (*LEVELS, HOSTNAME), 3),
        (Level(key="nowhere"), ("nowhere",), None),
        (Level(tier_name="leaf"), LEVELS, None),
    ],
)
def test_the_depth_of_a_level(level: Level, keys: tuple[str, ...], depth: int | None) -> None:
    assert depths(pool_of(WORLD), level) == (keys, [depth])


def test_a_tier_is_unknown_where_the_pool_has_no_levels() -> None:
    assert depths(pool_of(WORLD, ()), Level(tier=1)) == ((), [None])
    assert depths(pool_of(WORLD, ()), Level(tier=0)) == ((), [None])


def test_a_level_that_all_nodes_lack_is_unknown() -> None:
    assert depths(pool_of("a/-: n1=8"), Level(key=RACK), Level(key=ZONE)) == (LEVELS, [None, 1])


def test_keys_that_no_tree_has_together_make_one_with_the_fewest_values_widest() -> None:
    pool = pool_of(WORLD, ("other",))
    assert depths(pool, Level(key=RACK), Level(key=ZONE)) == ((ZONE, RACK), [2, 1])
    assert depths(pool, Level(key=ZONE), Level(key=RACK)) == ((ZONE, RACK), [1, 2])


def test_the_topology_that_is_named_or_else_one_that_knows_the_keys() -> None:
    pool = pool_of(WORLD, ("other",))
    pool.set_topologies({"t": (RACK, HOSTNAME), "u": (ZONE, RACK), "v": (ZONE,)})
    assert depths(pool, Level(key=RACK, topology="u")) == ((ZONE, RACK), [2])
    assert depths(pool, Level(key=RACK, topology="none")) == ((RACK,), [1])
    assert depths(pool, Level(key=ZONE)) == ((ZONE,), [1])
    assert depths(pool, Level(key=ZONE), Level(key=RACK)) == ((ZONE, RACK), [1, 2])
    assert depths(pool, Level(key=ZONE, topology="v")) == ((ZONE,), [1])
    assert depths(pool, Level(key=RACK, topology="v")) == ((RACK,), [1])


def test_hypernodes_as_tiers() -> None:
    pool = hyper_pool()
    tree = pool.forest.tree(pool.forest.default_keys())
    assert [tree.name(3, tree.dom[3][i]) for i in range(4)] == [
        "core0/spine0/leaf0",
        "core0/spine0/leaf0",
        "core0/spine0/leaf1",
        "core0/-/-",
    ]
    assert depths(pool, Level(tier=1))[1] == [3]
    assert depths(pool, Level(tier=2))[1] == [2]
    assert depths(pool, Level(tier=3))[1] == [1]
    assert depths(pool, Level(tier=4))[1] == [0]
    assert depths(pool, Level(tier_name="leaf"))[1] == [3]
    assert depths(pool, Level(tier_name="none"))[1] == [None]


def test_tiers_with_a_gap_mean_the_nearest_one_below() -> None:
    pool = pool_of(WORLD, None)
    pool.set_hypernodes([HyperNode("l", 1, ("n1",)), HyperNode("s", 3, children=("l",))])
    assert depths(pool, Level(tier=2)) == (("tier:3", "tier:1"), [2])
    assert depths(pool, Level(tier=3))[1] == [1]


def test_hypernodes_in_a_circle_or_of_nodes_that_do_not_exist() -> None:
    pool = pool_of(WORLD, None)
    pool.set_hypernodes([HyperNode("p", 1, ("n1", "n9"), ("q",)), HyperNode("q", 2, children=("p",))])
    tree = pool.forest.tree(pool.forest.default_keys())
    assert tree.path_of(0) == (("tier:2", "q"), ("tier:1", "q/p"))
    assert tree.path_of(1) == ()


def test_the_nearest_hypernode_that_names_a_node_wins() -> None:
    pool = pool_of(WORLD, None)
    pool.set_hypernodes([HyperNode("s", 2, ("n1", "n2")), HyperNode("l", 1, ("n1",))])
    tree = pool.forest.tree(pool.forest.default_keys())
    assert tree.path_of(0) == (("tier:1", "-/l"),)
    assert tree.path_of(1) == (("tier:2", "s"),)


def test_a_label_beside_a_tier_makes_a_tree_of_both() -> None:
    """1. A gang requires tier 1 and prefers a label that is no tier. 2. The tree knows both levels."""
    keys, found = depths(hyper_pool(), Level(tier=1), Level(key=RACK))
    assert keys == ("tier:1", RACK)
    assert found == [1, 2]
    tree = hyper_pool().forest.tree(keys)
    assert tree.path_of(0) == (("tier:1", "leaf0"), (RACK, "leaf0/a1"))
    assert tree.path_of(3) == ((RACK, "-/b1"),)


def test_new_objects_make_room_for_what_was_refused() -> None:
    pool = pool_of(WORLD, None)
    grown = pool.ledger.grow_version
    pool.set_hypernodes(HYPER)
    assert pool.ledger.grow_version > grown
    grown = pool.ledger.grow_version
    pool.set_topologies({"t": (ZONE,)})
    assert pool.ledger.grow_version > grown
    pool.set_hypernodes([])
    assert pool.forest.default_keys() == (ZONE,)
