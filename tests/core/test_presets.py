"""Level presets: the style of a pool from its label keys, and the domains from a node's labels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangpool.core.presets import PRESETS, domain_path, pool_levels, preset_levels, used_keys

NV = "network.topology.nvidia.com"


@pytest.mark.parametrize(
    ("keys", "style", "levels"),
    [
        ((f"{NV}/leaf", f"{NV}/spine"), "topograph-0.3", (f"{NV}/spine", f"{NV}/leaf")),
        ((f"{NV}/block", f"{NV}/spine"), "topograph-0.1", (f"{NV}/spine", f"{NV}/block")),
        ((f"{NV}/spine",), "topograph-0.1", (f"{NV}/spine",)),
        (
            ("topology.kubernetes.io/zone", "topology.k8s.aws/network-node-layer-3"),
            "eks",
            ("topology.k8s.aws/network-node-layer-3",),
        ),
        (
            ("topology.kubernetes.io/rack", "topology.kubernetes.io/zone"),
            "zone-rack",
            ("topology.kubernetes.io/zone", "topology.kubernetes.io/rack"),
        ),
        (("nvidia.com/gpu.clique", "topology.kubernetes.io/zone"), "nvlink", ("nvidia.com/gpu.clique",)),
    ],
)
def test_the_first_style_with_a_key_wins(keys: tuple[str, ...], style: str, levels: tuple[str, ...]) -> None:
    assert preset_levels(keys) == (style, levels)


def test_topograph_tiers_of_any_number_come_widest_first_and_nvlink_domains_last() -> None:
    keys = [f"fabric.topograph.run/tier-{n}" for n in (0, 2, 10)]
    keys += ["accelerator.topograph.run/sub-domain", "accelerator.topograph.run/domain", "fabric.topograph.run/tier-x"]
    assert preset_levels(keys) == (
        "topograph",
        (
            "fabric.topograph.run/tier-10",
            "fabric.topograph.run/tier-2",
            "fabric.topograph.run/tier-0",
            "accelerator.topograph.run/domain",
            "accelerator.topograph.run/sub-domain",
        ),
    )


@pytest.mark.parametrize(("style", "keys"), [(s, k) for s, k in PRESETS if s != "topograph-0.1"])
def test_every_style_is_found_by_its_own_keys(style: str, keys: tuple[str, ...]) -> None:
    assert preset_levels(reversed(keys)) == (style, keys)


def test_no_known_key_is_no_style() -> None:
    assert preset_levels(["kubernetes.io/hostname", "node.kubernetes.io/instance-type"]) is None


def test_a_key_that_is_empty_everywhere_is_not_used() -> None:
    assert used_keys([{"a": "", "b": "1"}, {"a": ""}]) == {"b"}


def test_the_style_that_most_nodes_carry_is_that_of_the_pool() -> None:
    rack = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/rack": "r"}
    odd = {"cloud.google.com/gce-topology-block": "b"}
    assert pool_levels([odd, rack, rack, {}]) == (
        "zone-rack",
        ("topology.kubernetes.io/zone", "topology.kubernetes.io/rack"),
    )
    assert pool_levels([{}, {"topology.kubernetes.io/zone": ""}]) is None


LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "1", "01"]))


@given(LABELS, LABELS)
def test_nodes_share_a_domain_exactly_when_all_wider_values_are_equal(
    left: dict[str, str], right: dict[str, str]
) -> None:
    keys = ("a", "b", "c")
    shared = set(domain_path(left, keys)) & set(domain_path(right, keys))
    expected = set()
    for depth in (1, 2, 3):
        values = [left.get(key) for key in keys[:depth]]
        if all(values) and values == [right.get(key) for key in keys[:depth]]:
            expected.add(keys[depth - 1])
    assert {key for key, _ in shared} == expected
