"""Pools made from one line of text."""

from __future__ import annotations

import json

import pytest

from gangpool.sim.shape import LEAF_LABEL, NODES_MAX, SPINE_LABEL, ShapeError, is_shape, parse_shape, read_shape


def test_a_node_is_an_hgx_h100() -> None:
    (node,) = parse_shape("h100:1")
    assert (node["apiVersion"], node["kind"]) == ("v1", "Node")
    assert node["metadata"]["name"] == "node-0000"
    assert node["metadata"]["labels"] == {
        "kubernetes.io/hostname": "node-0000",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        SPINE_LABEL: "spine-0",
        LEAF_LABEL: "leaf-0",
    }
    assert node["spec"].get("taints") is None
    assert node["status"]["allocatable"] == {
        "cpu": "192",
        "memory": "2Ti",
        "pods": "110",
        "nvidia.com/gpu": "8",
        "rdma/hca": "8",
    }
    assert node["status"]["conditions"][0]["status"] == "True"


def devices(text: str, node: int = 0) -> dict:
    return json.loads(parse_shape(text)[node]["metadata"]["annotations"]["gangpool.io/devices"])


def test_four_cards_on_each_socket_each_beside_one_port() -> None:
    told = devices("h100:1")
    cards, ports = told["cards"], told["ports"]
    assert (told["v"], told["board"], told["nvlink"]) == (1, "H100-SXM5-80GB", "nvswitch")
    assert [card["index"] for card in cards] == list(range(8))
    assert [card["numa"] for card in cards] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert {card["memory_mib"] for card in cards} == {81559}
    assert [(port["switch"], port["numa"]) for port in ports] == [(card["switch"], card["numa"]) for card in cards]
    assert len({card["switch"] for card in cards}) == len({card["pcie"] for card in cards}) == 8
    assert [(port["device"], port["rail"], port["rate_gbps"]) for port in ports] == [
        (f"mlx5_{i}", i, 400) for i in range(8)
    ]


def test_no_two_cards_of_a_pool_share_a_uuid() -> None:
    uuids = [card["uuid"] for node in range(3) for card in devices("h100:3", node)["cards"]]
    assert len(set(uuids)) == 24
    assert all(uuid.startswith("GPU-") and len(uuid) == 40 for uuid in uuids)


def places(text: str) -> list[tuple[str, str]]:
    return [(n["metadata"]["labels"][SPINE_LABEL], n["metadata"]["labels"][LEAF_LABEL]) for n in parse_shape(text)]


def test_sixteen_nodes_a_leaf_and_eight_leaves_a_spine() -> None:
    assert places("h100:129")[15:17] == [("spine-0", "leaf-0"), ("spine-0", "leaf-1")]
    assert places("h100:129")[127:] == [("spine-0", "leaf-7"), ("spine-1", "leaf-8")]


def test_leaf_and_spine_change_the_fabric() -> None:
    assert places("h100:5,leaf=2,spine=2") == [
        ("spine-0", "leaf-0"),
        ("spine-0", "leaf-0"),
        ("spine-0", "leaf-1"),
        ("spine-0", "leaf-1"),
        ("spine-1", "leaf-2"),
    ]


def test_names_have_as_many_digits_as_needed() -> None:
    names = [node["metadata"]["name"] for node in parse_shape("h100:10001")]
    assert (names[0], names[-1]) == ("node-00000", "node-10000")
    assert len(set(names)) == 10001


def test_labels_and_resources_are_added_or_replaced() -> None:
    (node,) = parse_shape(
        "h100:1,label=workload:gpu-train,label=nvidia.com/gpu.product:X,res=rdma/ib:1k,res=cpu:95500m"
    )
    assert node["metadata"]["labels"]["workload"] == "gpu-train"
    assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "X"
    assert node["status"]["allocatable"]["rdma/ib"] == "1k"
    assert node["status"]["allocatable"]["cpu"] == "95500m"
    assert node["status"]["capacity"] == node["status"]["allocatable"]


@pytest.mark.parametrize(
    ("resource", "cards", "ports"),
    [("nvidia.com/gpu:4", 4, 8), ("nvidia.com/gpu:0", 0, 8), ("rdma/hca:1k", 8, 8), ("rdma/hca:2", 8, 2)],
)
def test_devices_follow_the_amounts_and_a_shared_resource_keeps_its_ports(
    resource: str, cards: int, ports: int
) -> None:
    told = devices(f"h100:1,res={resource}")
    assert (len(told["cards"]), len(told["ports"])) == (cards, ports)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a100:8", "'a100'"),
        ("h100:", "'h100:' needs a whole number"),
        ("h100:-1", "'-1'"),
        ("h100:1.5", "'1.5'"),
        ("h100:٣", "'٣'"),
        (f"h100:{NODES_MAX + 1}", "200,000 nodes"),
        ("h100:8,leaf=0", "'leaf=0'"),
        ("h100:8,rack=4", "'rack=4' is none of"),
        ("h100:8,", "'' is none of"),
        ("h100:8,label=a", "label=KEY:VALUE"),
        ("h100:8,label=:x", "label=KEY:VALUE"),
        ("h100:8,label=a b:x", "is no label"),
        ("h100:8,label=a:x y", "is no label"),
        ("h100:8,res=rdma/ib", "res=NAME:QUANTITY"),
        ("h100:8,res=rdma/ib:1.5", "'res=rdma/ib:1.5'"),
        ("h100:8,res=rdma/ib:x", "'res=rdma/ib:x'"),
        ("h100:8,res=cpu:-1", "'res=cpu:-1'"),
        ("h100:8,res=nvidia.com/gpu:17", "at most 16"),
        ("h100:8,res=!:1", "no name of a resource"),
    ],
)
def test_a_bad_shape_names_the_part(text: str, names: str) -> None:
    with pytest.raises(ShapeError) as caught:
        parse_shape(text)
    assert names in str(caught.value)


def test_defaults() -> None:
    shape = read_shape("h100:1280")
    assert (shape.nodes, shape.leaf, shape.spine, shape.labels, shape.resources) == (1280, 16, 8, {}, {})


@pytest.mark.parametrize(("text", "yes"), [("h100:8", True), ("x:", True), ("pool.json", False), ("./h100:8", False)])
def test_what_looks_like_a_shape(text: str, yes: bool) -> None:
    assert is_shape(text) is yes
