"""Every fault of a configuration, with its place and the nearest known key."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangpool.intake.config import AgentConfig, Config, GpuMemConfig, TopologyConfig, differing
from gangpool.intake.config_faults import ConfigError, checked, keys


def faults(value: object) -> list[str]:
    with pytest.raises(ConfigError) as error:
        checked(value)
    return [str(fault) for fault in error.value.faults]


def test_all_of_a_good_one_is_read() -> None:
    value = {
        "apiVersion": "gangpool.io/v1",
        "kind": "Config",
        "schedulerNames": ["gangpool", "volcano"],
        "topology": {"levels": ["topology.example/spine", "leaf"]},
        "gpuMem": {"unit": "MiB"},
        "agent": {"offer": ["memory"], "scanPeriod": "500ms", "quietPeriod": "1m30s"},
    }
    assert checked(value) == Config(
        schedulerNames=("gangpool", "volcano"),
        topology=TopologyConfig(("topology.example/spine", "leaf")),
        gpuMem=GpuMemConfig("MiB"),
        agent=AgentConfig(("memory",), "500ms", "1m30s"),
    )
    assert checked({}) == Config()


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"schedulerName": ["a"]}, "schedulerName: unknown key; did you mean schedulerNames?"),
        ({"gpumem": {}}, "gpumem: unknown key; did you mean gpuMem?"),
        ({"topology": {"levls": []}}, "topology.levls: unknown key; did you mean topology.levels?"),
        ({"levels": []}, "levels: unknown key; did you mean topology.levels?"),  # right key, wrong place
        ({"agent": {"unit": 1}}, "agent.unit: unknown key; did you mean gpuMem.unit?"),
        ({"x": 1}, "x: unknown key; known here: apiVersion, kind, schedulerNames, topology, gpuMem, agent"),
        ({"topology": {1: 1}}, "topology.1: unknown key; known here: levels"),
        ({"apiVersion": "gangpool.io/v2"}, "apiVersion: cannot be 'gangpool.io/v2'; it may be gangpool.io/v1"),
        ({"gpuMem": {"unit": "GB"}}, "gpuMem.unit: cannot be 'GB'; it may be GiB or MiB"),
        ({"agent": {"offer": ["mig", "x"]}}, "agent.offer[1]: cannot be 'x'; it may be whole or memory or mig or rdma"),
        ({"schedulerNames": "gangpool"}, "schedulerNames: is a text, and must be a list"),
        ({"schedulerNames": ["a", 1]}, "schedulerNames[1]: is a number, and must be a text"),
        ({"topology": None}, "topology: is nothing, and must be a mapping"),
        ([], "is a list, and must be a mapping"),
        ({"schedulerNames": []}, "schedulerNames: is empty, and then no pod would be ours"),
        ({"schedulerNames": ["a", " "]}, "schedulerNames[1]: is empty"),
        ({"topology": {"levels": ["a", "b", "a"]}}, "topology.levels[2]: 'a' is there already"),
        ({"topology": {"levels": ["a b"]}}, "topology.levels[0]: 'a b' is no label key"),
        ({"agent": {"quietPeriod": "60"}}, "agent.quietPeriod: '60' is no period such as 500ms, 60s or 2m"),
    ],
)
def test_what_is_wrong_and_where(value: Any, fault: str) -> None:
    assert faults(value) == [fault]


def test_all_faults_are_told_at_once() -> None:
    value = {"schedulerNmes": [], "topology": {"levls": []}, "gpuMem": {"unit": 1}, "agent": {"offers": []}}
    assert [fault.partition(":")[0] for fault in faults(value)] == [
        "schedulerNmes",
        "topology.levls",
        "agent.offers",
        "gpuMem.unit",
    ]


@given(st.sampled_from(sorted(set(keys()) - {"apiVersion", "kind"})), st.data())
def test_a_key_with_one_letter_missing_is_recognised(path: str, data: st.DataObject) -> None:
    parent, _, name = path.rpartition(".")
    i = data.draw(st.integers(0, len(name) - 1))
    wrong = name[:i] + name[i + 1 :]
    value = {parent: {wrong: 1}} if parent else {wrong: 1}
    assert faults(value) == [f"{parent}{'.' * bool(parent)}{wrong}: unknown key; did you mean {path}?"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["levels", "offer", "unit"]), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(sorted(set(keys()))), values))
def test_whatever_comes_is_a_config_or_faults(value: dict[str, Any]) -> None:
    try:
        assert isinstance(checked(value), Config)
    except ConfigError as error:
        assert error.faults


def test_differing_keys_have_their_paths() -> None:
    other = Config(schedulerNames=("x",), gpuMem=GpuMemConfig("MiB"), agent=AgentConfig(scanPeriod="2s"))
    assert list(differing(Config(), other)) == ["schedulerNames", "gpuMem.unit", "agent.scanPeriod"]
    assert list(differing(other, other)) == []
