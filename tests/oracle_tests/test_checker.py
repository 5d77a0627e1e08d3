"""Rules of one node (selection, taints, room, ports, volumes) and of gangs, row by row with known answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.checker import check, steps_by_gang
from tests.oracle.world_parts import CARD, RACK, RANK, ZONE, affinity, gang, host_port, node, pod, world

Json = dict[str, Any]


def verdict(nodes: list[Json], pods: list[Json], **placed: str) -> list[str]:
    return check(world(nodes, pods), {f"ml/{name}": where for name, where in placed.items()})


def on(*expressions: Json, fields: list[Json] | None = None) -> Json:
    made: Json = {"matchExpressions": list(expressions)}
    return {**made, "matchFields": fields} if fields else made


def want(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, "values": list(values)}


def ready(status: str) -> Json:
    made = node("n")
    made["status"]["conditions"] = [{"type": "Ready", "status": status}]
    return made


def tolerating(name: str) -> Json:
    return {"tolerations": [{"key": f"node.kubernetes.io/{name}", "operator": "Exists"}]}


N = node("n", {"disk": "ssd", "gen": "3"})
K1, K1X, K2 = (
    {"key": "key1", "value": "value1", "effect": "NoSchedule"},
    {"key": "key1", "value": "value1", "effect": "NoExecute"},
    {"key": "key2", "value": "value2", "effect": "NoSchedule"},
)
TOLERATES = [{"operator": "Equal", **K1}, {"operator": "Equal", **K1X}]
BUSY = pod("busy", {CARD: "5", "cpu": "1"}, on="n")

NODE_ROWS: list[tuple[str, bool, Json, Json]] = [
    ("nothing asked", True, N, {}),
    ("nodeSelector", True, N, {"nodeSelector": {"disk": "ssd"}}),
    ("nodeSelector, other value", False, N, {"nodeSelector": {"disk": "hdd"}}),
    ("In", True, N, {"affinity": affinity(on=[on(want("disk", "In", "hdd", "ssd"))])}),
    ("In, key absent", False, N, {"affinity": affinity(on=[on(want("x", "In", "1"))])}),
    ("NotIn, key absent", True, N, {"affinity": affinity(on=[on(want("x", "NotIn", "1"))])}),
    ("NotIn", False, N, {"affinity": affinity(on=[on(want("disk", "NotIn", "ssd"))])}),
    ("Exists", False, N, {"affinity": affinity(on=[on(want("x", "Exists"))])}),
    ("DoesNotExist", True, N, {"affinity": affinity(on=[on(want("x", "DoesNotExist"))])}),
    ("Gt", True, N, {"affinity": affinity(on=[on(want("gen", "Gt", "2"))])}),
    ("Gt is strict", False, N, {"affinity": affinity(on=[on(want("gen", "Gt", "3"))])}),
    ("Lt", True, N, {"affinity": affinity(on=[on(want("gen", "Lt", "4"))])}),
    ("Lt is strict", False, N, {"affinity": affinity(on=[on(want("gen", "Lt", "3"))])}),
    ("Lt of a word", False, N, {"affinity": affinity(on=[on(want("disk", "Lt", "4"))])}),
    ("any term", True, N, {"affinity": affinity(on=[on(want("x", "Exists")), on(want("disk", "Exists"))])}),
    ("all of a term", False, N, {"affinity": affinity(on=[on(want("x", "Exists"), want("disk", "Exists"))])}),
    ("an empty term matches no node", False, N, {"affinity": affinity(on=[{}])}),
    ("no term matches no node", False, N, {"affinity": affinity(on=[])}),
    ("matchFields", True, N, {"affinity": affinity(on=[{"matchFields": [want("metadata.name", "In", "n")]}])}),
    ("matchFields, other node", False, N,
     {"affinity": affinity(on=[on(want("disk", "Exists"), fields=[want("metadata.name", "In", "m")])])}),
    ("selector and affinity, both", False, N,
     {"nodeSelector": {"disk": "hdd"}, "affinity": affinity(on=[on(want("disk", "Exists"))])}),
    ("taint", False, node("n", taints=[K1]), {}),
    ("three taints, two tolerations", False, node("n", taints=[K1, K1X, K2]), {"tolerations": TOLERATES}),
    ("two taints, two tolerations", True, node("n", taints=[K1, K1X]), {"tolerations": TOLERATES}),
    ("NoExecute keeps new pods away", False, node("n", taints=[K1X]), {"tolerations": TOLERATES[:1]}),
    ("PreferNoSchedule does not", True, node("n", taints=[{**K1, "effect": "PreferNoSchedule"}]), {}),
    ("Exists", True, node("n", taints=[K1]), {"tolerations": [{"key": "key1", "operator": "Exists"}]}),
    ("Exists without key", True, node("n", taints=[K1, K2]), {"tolerations": [{"operator": "Exists"}]}),
    ("Exists with effect", False, node("n", taints=[K1X]),
     {"tolerations": [{"operator": "Exists", "effect": "NoSchedule"}]}),
    ("Equal is the default", False, node("n", taints=[K1]), {"tolerations": [{"key": "key1", "value": "other"}]}),
    ("cordon", False, node("n", unschedulable=True), {}),
    ("cordon tolerated", True, node("n", unschedulable=True), tolerating("unschedulable")),
    ("not ready", False, ready("False"), {}),
    ("silent", False, ready("Unknown"), {}),
    ("not ready, tolerated", True, ready("False"), tolerating("not-ready")),
    ("silent, tolerated", True, ready("Unknown"), tolerating("unreachable")),
    ("gated", False, N, {"schedulingGates": [{"name": "example.com/wait"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("ok", "where", "spec"), [r[1:] for r in NODE_ROWS], ids=[r[0] for r in NODE_ROWS])
def test_one_pod_on_one_node(ok: bool, where: Json, spec: Json) -> None:
    assert (verdict([where], [pod("p", **spec)], p="n") == []) is ok


def test_room() -> None:
    nodes = [node("n", room={"pods": "3"})]
    assert verdict(nodes, [BUSY, pod("p", {CARD: "3"})], p="n") == []
    assert "gpu asked" in verdict(nodes, [BUSY, pod("p", {CARD: "4"})], p="n")[0]
    assert "pods asked" in verdict(nodes, [BUSY, *[pod(f"p{i}") for i in range(3)]], p0="n", p1="n", p2="n")[0]
    assert "rdma/hca asked" in verdict(nodes, [pod("p", {"rdma/hca": "1"})], p="n")[0]


def test_a_node_below_its_use_takes_what_asks_nothing_of_it() -> None:
    nodes = [node("n", room={CARD: "4"})]
    assert verdict(nodes, [BUSY, pod("p", {"cpu": "1"})], p="n") == []
    assert len(verdict(nodes, [BUSY, pod("p", {CARD: "1"})], p="n")) == 1


def test_finished_pods_hold_nothing_and_terminating_ones_do() -> None:
    done = {**BUSY, "status": {"phase": "Succeeded"}}
    ending = {**BUSY, "metadata": {**BUSY["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert verdict([N], [done, pod("p", {CARD: "8"})], p="n") == []
    assert len(verdict([N], [ending, pod("p", {CARD: "8"})], p="n")) == 1


PORTS: list[tuple[str, bool, Json, Json]] = [
    ("same", False, {"containers": host_port(80)}, {"containers": host_port(80)}),
    ("other number", True, {"containers": host_port(80)}, {"containers": host_port(81)}),
    ("other protocol", True, {"containers": host_port(80)}, {"containers": host_port(80, protocol="UDP")}),
    ("same address", False, {"containers": host_port(80, hostIP="1.1.1.1")},
     {"containers": host_port(80, hostIP="1.1.1.1")}),
    ("other address", True, {"containers": host_port(80, hostIP="1.1.1.1")},
     {"containers": host_port(80, hostIP="2.2.2.2")}),
    ("TCP is the default", False, {"containers": host_port(80)}, {"containers": host_port(80, protocol="TCP")}),
    ("every address, the other way round", False, {"containers": host_port(80)},
     {"containers": host_port(80, hostIP="1.1.1.1")}),
    ("every address", False, {"containers": host_port(80, hostIP="1.1.1.1")}, {"containers": host_port(80)}),
    ("the host's network", False, {"containers": host_port(80)},
     {"containers": [{"ports": [{"containerPort": 80}]}], "hostNetwork": True}),
    ("a container's own port", True, {"containers": host_port(80)},
     {"containers": [{"ports": [{"containerPort": 80}]}]}),
    ("a sidecar's", False, {"containers": host_port(80)},
     {"containers": [], "initContainers": [{**host_port(80)[0], "restartPolicy": "Always"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("ok", "one", "other"), [r[1:] for r in PORTS], ids=[r[0] for r in PORTS])
def test_host_ports(ok: bool, one: Json, other: Json) -> None:
    nodes = [node("n"), node("m")]
    assert (verdict(nodes, [pod("a", **one), pod("b", **other)], a="n", b="n") == []) is ok
    assert (verdict(nodes, [pod("a", on="n", **one), pod("b", **other)], b="n") == []) is ok
    assert verdict(nodes, [pod("a", **one), pod("b", **other)], a="n", b="m") == []


def test_volumes() -> None:
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "ml"}, "spec": {"volumeName": "v"}}
    required = {"nodeSelectorTerms": [on(want(ZONE, "In", "a"))]}
    volume = {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"nodeAffinity": {"required": required}}}
    reads: Json = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]}
    nodes = [node("n", {ZONE: "a"}), node("m", {ZONE: "b"})]
    here = world(nodes, [pod("p", **reads)], volumes=[claim, volume])
    assert check(here, {"ml/p": "n"}) == []
    assert "cannot be reached" in check(here, {"ml/p": "m"})[0]
    assert "does not exist" in check(world(nodes, [pod("p", namespace="x", **reads)], volumes=[claim]), {"x/p": "n"})[0]
    assert check(world(nodes, [pod("p", **reads)]), {"ml/p": "n"}) == []


def fabric() -> list[Json]:
    """Zones a and b, each with a rack called r1, one called r2, two nodes a rack; and a node without labels."""
    places = [(z, r, i) for z in "ab" for r in ("r1", "r2") for i in "01"]
    return [node(f"{z}-{r}-{i}", {ZONE: z, RACK: r}) for z, r, i in places] + [node("bare")]


def members(n: int, minimum: int | None = None, running: dict[int, str] | None = None, **more: Any) -> Json:
    """A world with one gang of n on that fabric."""
    pods = [pod(f"g-{i}", {CARD: "2"}, {RANK: str(i)}, on=(running or {}).get(i, "")) for i in range(n)]
    return world(fabric(), pods, [gang("ml/g", [f"g-{i}" for i in range(n)], minimum, **more)])


def seat(*nodes: str, first: int = 0) -> dict[str, str]:
    return {f"ml/g-{i}": name for i, name in enumerate(nodes, first)}


ROLES = {"master": {"members": ["g-0"], "minimum": 1}, "worker": {"members": ["g-1", "g-2", "g-3"], "minimum": 2}}
BY_RACK = {"size": 2, "keys": [ZONE, RACK]}
SAME_RACK: Json = {"required": [ZONE, RACK]}

GANG_ROWS: list[tuple[str, bool, Json, dict[str, str]]] = [
    ("nothing", True, members(3), {}),
    ("all", True, members(3), seat("bare", "a-r1-0", "b-r1-0")),
    ("below the minimum", False, members(3), seat("bare", "bare")),
    ("at a smaller minimum", True, members(3, 2), seat("bare", "bare")),
    ("running members count", True, members(3, running={0: "bare"}), seat("bare", "bare", first=1)),
    ("and are not enough", False, members(4, running={0: "bare"}), seat("bare", "bare", first=1)),
    ("a broken gang that is left alone", True, members(4, running={0: "bare"}), {}),
    ("roles", True, members(4, 3, roles=ROLES), seat("bare", "bare", "bare")),
    ("a role is short", False, members(4, 3, roles=ROLES), seat("bare", "bare", "bare", first=1)),
    ("one rack", True, members(3, **SAME_RACK), seat("a-r1-0", "a-r1-1", "a-r1-0")),
    ("two racks", False, members(3, **SAME_RACK), seat("a-r1-0", "a-r1-1", "a-r2-0")),
    ("two racks of one name", False, members(2, **SAME_RACK), seat("a-r1-0", "b-r1-0")),
    ("outside the level", False, members(2, **SAME_RACK), seat("bare", "bare")),
    ("one zone", True, members(2, required=[ZONE]), seat("a-r1-0", "a-r2-0")),
    ("where it runs", True, members(2, running={0: "a-r1-0"}, **SAME_RACK), seat("a-r1-1", first=1)),
    ("not where it runs", False, members(2, running={0: "a-r1-0"}, **SAME_RACK), seat("a-r2-1", first=1)),
    ("blocks", True, members(4, blocks=BY_RACK), seat("a-r1-0", "a-r1-1", "b-r1-0", "b-r1-1")),
    ("blocks may share a domain", True, members(4, blocks=BY_RACK), seat(*["a-r1-0"] * 4)),
    ("a block is split", False, members(4, blocks=BY_RACK), seat("a-r1-0", "b-r1-0", "b-r1-1", "a-r1-1")),
    ("the last block may be short", True, members(3, blocks=BY_RACK), seat("a-r1-0", "a-r1-1", "b-r1-0")),
    ("a block outside the level", False, members(2, blocks=BY_RACK), seat("bare", "bare")),
    ("a block stays where it runs", False, members(2, blocks=BY_RACK, running={0: "a-r1-0"}), seat("a-r2-0", first=1)),
]


UNRANKED = members(4, blocks=BY_RACK)
for made in UNRANKED["pods"]:
    del made["metadata"]["labels"][RANK]


def of_roles() -> Json:
    """A master and three workers, ranked from 0 each, in blocks of two."""
    here = members(4, blocks=BY_RACK, roles=ROLES)
    for made, rank in zip(here["pods"], "0012", strict=True):
        made["metadata"]["labels"][RANK] = rank
    return here


GANG_ROWS += [
    ("without ranks the order of the members counts", True, UNRANKED, seat("a-r1-0", "a-r1-1", "b-r1-0", "b-r1-1")),
    ("and a block is split", False, UNRANKED, seat("a-r1-0", "b-r1-0", "b-r1-1", "a-r1-1")),
    ("blocks go on from role to role", True, of_roles(), seat("a-r1-0", "a-r1-1", "b-r1-0", "b-r1-1")),
    ("a block of two roles is split", False, of_roles(), seat("a-r1-0", "b-r1-0", "a-r2-0", "a-r2-1")),
]


@pytest.mark.parametrize(("ok", "here", "placed"), [r[1:] for r in GANG_ROWS], ids=[r[0] for r in GANG_ROWS])
def test_gangs(ok: bool, here: Json, placed: dict[str, str]) -> None:
    assert (check(here, placed) == []) is ok


def test_what_cannot_be() -> None:
    here = world([N], [pod("p"), BUSY])
    assert check(here, {"ml/x": "n"}) == ["ml/x: no such pod waits"]
    assert check(here, {"ml/p": "m"}) == ["ml/p: no node m"]
    assert check(here, {"ml/busy": "n"}) == ["ml/busy: already runs on n"]
    assert check(here, [("ml/p", "n"), ("ml/p", "n")]) == ["ml/p: placed twice"]


def test_steps_are_gangs_and_single_pods_in_the_order_of_their_first_pods() -> None:
    gangs = [gang("ml/a", ["a-0", "a-1"]), gang("ml/b", ["b-0"])]
    here = world([N], [pod(n) for n in ("a-0", "a-1", "b-0", "lone")], gangs)
    order = ["ml/b-0", "ml/a-1", "ml/lone", "ml/a-0"]
    assert steps_by_gang(here, order) == [["ml/b-0"], ["ml/a-1", "ml/a-0"], ["ml/lone"]]
