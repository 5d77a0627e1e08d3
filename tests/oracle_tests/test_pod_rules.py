"""Rules between pods, on the worked examples of the Kubernetes documentation ("spread", "affinity" pages)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.checker import check
from tests.oracle.world_parts import HOSTNAME, affinity, namespace, node, pod, selector, spread, term, world

Json = dict[str, Any]
FOO = {"foo": "bar"}
IS_FOO, IS_X = selector(foo="bar"), selector(app="x")


def four_nodes(**more: Json) -> list[Json]:
    """node1, node2 in zone A; node3, node4 in zone B. `more`: other labels by node name."""
    zones = {"node1": "zoneA", "node2": "zoneA", "node3": "zoneB", "node4": "zoneB"}
    return [node(name, {"zone": zone, "node": name, **more.get(name, {})}) for name, zone in zones.items()]


def foos(*nodes: str) -> list[Json]:
    return [pod(f"p{i}", labels=FOO, on=name) for i, name in enumerate(nodes)]


def mypod(*constraints: Json, labels: Json = FOO, **spec: Any) -> Json:
    return pod("mypod", labels=labels, topologySpreadConstraints=list(constraints), **spec)


def homes(nodes: list[Json], running: list[Json], new: Json) -> str:
    """The nodes on which the checker accepts the new pod."""
    here = world(nodes, [*running, new])
    return " ".join(n["metadata"]["name"] for n in nodes if not check(here, {"ml/mypod": n["metadata"]["name"]}))


BY_ZONE, BY_NODE = spread("zone", IS_FOO), spread("node", IS_FOO)
SOFT = {**BY_ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
NOT_C = affinity(on=[{"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["zoneC"]}]}])
THREE = foos("node1", "node2", "node3")
CONFLICT = foos("node1", "node1", "node2", "node3", "node3")
FIVE = [*four_nodes(), node("node5", {"zone": "zoneC", "node": "node5"})]
TAINTED = [*four_nodes(), node("node5", {"zone": "zoneC"}, taints=[{"key": "x", "effect": "NoSchedule"}])]
V1, V2 = {**FOO, "rev": "1"}, {**FOO, "rev": "2"}

SPREAD = [
    ("one constraint: zone B", four_nodes(), THREE, mypod(BY_ZONE), "node3 node4"),
    ("maxSkew 2: anywhere", four_nodes(), THREE, mypod(spread("zone", IS_FOO, 2)), "node1 node2 node3 node4"),
    ("by node: node4", four_nodes(), THREE, mypod(BY_NODE), "node4"),
    ("ScheduleAnyway forbids nothing", four_nodes(), THREE, mypod(SOFT), "node1 node2 node3 node4"),
    ("two constraints: node4", four_nodes(), THREE, mypod(BY_ZONE, BY_NODE), "node4"),
    ("two that conflict: pending", four_nodes()[:3], CONFLICT, mypod(BY_ZONE, BY_NODE), ""),
    ("zone C is the emptiest", FIVE, THREE, mypod(BY_ZONE), "node5"),
    ("zone C excluded by affinity", FIVE, THREE, mypod(BY_ZONE, affinity=NOT_C), "node3 node4"),
    ("policy Ignore counts zone C again", FIVE, THREE,
     mypod({**BY_ZONE, "nodeAffinityPolicy": "Ignore"}, affinity=NOT_C), ""),
    ("nodeSelector excludes as well", FIVE, THREE, mypod(BY_ZONE, nodeSelector={"zone": "zoneA"}), "node1 node2"),
    ("taints are ignored by default", TAINTED, THREE, mypod(BY_ZONE), ""),
    ("taints honoured on request", TAINTED, THREE, mypod({**BY_ZONE, "nodeTaintsPolicy": "Honor"}), "node3 node4"),
    ("a node that lacks a key is bypassed, and so are its pods",
     [node("node1", {"node": "node1"}), *four_nodes()[1:3]], CONFLICT, mypod(BY_ZONE, BY_NODE), "node2"),
    ("own labels need not match", four_nodes(), THREE, mypod(BY_ZONE, labels={}), "node1 node2 node3 node4"),
    ("but the imbalance that is there counts", four_nodes(), foos("node1", "node1"), mypod(BY_ZONE, labels={}),
     "node3 node4"),
    ("other namespaces are not counted", four_nodes(),
     [pod("p", labels=FOO, on="node3", namespace="x")], mypod(BY_NODE), "node1 node2 node3 node4"),
    ("fewer domains than minDomains: minimum 0", four_nodes()[:3], THREE,
     mypod({**BY_NODE, "minDomains": 5}), ""),
    ("enough domains: no effect", four_nodes()[:3], THREE, mypod({**BY_NODE, "minDomains": 3}), "node1 node2 node3"),
    ("matchLabelKeys counts one revision", four_nodes(),
     [pod("p1", labels=V1, on="node1"), pod("p2", labels=V2, on="node3")],
     mypod({**BY_NODE, "matchLabelKeys": ["rev"]}, labels=V2), "node1 node2 node4"),
    ("terminating pods are not counted", four_nodes(),
     [pod("p", labels=FOO, on="node1") | {"metadata": {"name": "p", "namespace": "ml", "labels": FOO,
                                                       "deletionTimestamp": "2026-01-01T00:00:00Z"}}],
     mypod(BY_NODE), "node1 node2 node3 node4"),
    ("an absent selector counts nothing", four_nodes(), THREE, mypod(spread("zone", None)), "node1 node2 node3 node4"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "running", "new", "expected"), [row[1:] for row in SPREAD], ids=[row[0] for row in SPREAD]
)
def test_spread(nodes: list[Json], running: list[Json], new: Json, expected: str) -> None:
    assert homes(nodes, running, new) == expected


S1, S2 = selector(security="S1"), selector(security="S2")
TENANT = {"matchExpressions": [{"key": "tenant", "operator": "Exists"}]}
ZONELESS = [*four_nodes()[:2], node("bare", {"node": "bare"})]


def near(label_selector: Json | None, key: str = "zone", labels: Json | None = None, **more: Any) -> Json:
    return pod("mypod", labels=labels, affinity=affinity(near=[term(key, label_selector, **more)]))


def apart(label_selector: Json | None, key: str = "zone", labels: Json | None = None, **more: Any) -> Json:
    return pod("mypod", labels=labels, affinity=affinity(apart=[term(key, label_selector, **more)]))


def secure(level: str, on: str, **more: Any) -> Json:
    return pod(f"s-{on}", labels={"security": level}, on=on, **more)


AFFINITY = [
    ("in the zone of an S1 pod", four_nodes(), [secure("S1", "node1")], near(S1), "node1 node2"),
    ("no S1 anywhere, and it is none itself", four_nodes(), [secure("S2", "node1")], near(S1), ""),
    ("the first of a series", four_nodes(), [], near(S1, labels={"security": "S1"}), "node1 node2 node3 node4"),
    ("the second follows", four_nodes(), [secure("S1", "node3")], near(S1, labels={"security": "S1"}), "node3 node4"),
    ("the first, too, needs the key", ZONELESS, [], near(S1, labels={"security": "S1"}), "node1 node2"),
    ("both terms", four_nodes(), [secure("S1", "node1"), secure("S2", "node2")],
     pod("mypod", affinity=affinity(near=[term("node", S1), term("zone", S2)])), "node1"),
    ("another namespace does not count", four_nodes(), [secure("S1", "node1", namespace="x")], near(S1), ""),
    ("unless it is listed", four_nodes(), [secure("S1", "node1", namespace="x")], near(S1, namespaces=["x"]),
     "node1 node2"),
    ("or selected; {} selects all", four_nodes(), [secure("S1", "node1", namespace="x")],
     near(S1, namespaceSelector={}), "node1 node2"),
    ("an absent selector matches nothing", four_nodes(), [secure("S1", "node1")], near(None), ""),
    ("an empty one everything", four_nodes(), [secure("S1", "node1")], near({}), "node1 node2"),
    ("apart from S2", four_nodes(), [secure("S2", "node1")], apart(S2), "node3 node4"),
    ("apart where the key is missing: nothing to share", ZONELESS, [secure("S2", "node1")], apart(S2), "bare"),
    ("its own label is no hindrance", four_nodes(), [], apart(S2, labels={"security": "S2"}),
     "node1 node2 node3 node4"),
    ("a running pod keeps it away", four_nodes(),
     [pod("r", on="node1", affinity=affinity(apart=[term("zone", S1)]))], pod("mypod", labels={"security": "S1"}),
     "node3 node4"),
    ("a running pod's affinity asks nothing of it", four_nodes(),
     [pod("r", on="node1", affinity=affinity(near=[term("node", S1)]))], pod("mypod"), "node1 node2 node3 node4"),
    ("matchLabelKeys: my own revision", four_nodes(),
     [pod("p1", labels=V1, on="node1"), pod("p2", labels=V2, on="node3")],
     near(IS_FOO, labels=V2, matchLabelKeys=["rev"]), "node3 node4"),
    ("mismatchLabelKeys: away from other tenants", four_nodes(),
     [pod("a", labels={"tenant": "a"}, on="node1"), pod("b", labels={"tenant": "b"}, on="node3")],
     apart(TENANT, labels={"tenant": "a"}, mismatchLabelKeys=["tenant"]), "node1 node2"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "running", "new", "expected"), [row[1:] for row in AFFINITY], ids=[row[0] for row in AFFINITY]
)
def test_affinity(nodes: list[Json], running: list[Json], new: Json, expected: str) -> None:
    assert homes(nodes, running, new) == expected


def test_namespaces_are_selected_by_their_labels() -> None:
    running = [secure("S1", "node1", namespace="x"), secure("S1", "node3", namespace="y")]
    here = world(four_nodes(), [*running, near(S1, namespaceSelector=selector(team="red"))])
    here["namespaces"] = [namespace("x", team="red"), namespace("y", team="blue")]
    assert [n for n in ("node1", "node2", "node3", "node4") if not check(here, {"ml/mypod": n})] == ["node1", "node2"]


def test_three_caches_and_three_web_servers() -> None:
    """The layout that the affinity page draws: each web server beside a cache, on three nodes."""
    store, web = selector(app="store"), selector(app="web-store")
    caches = [
        pod(f"cache-{i}", labels={"app": "store"}, affinity=affinity(apart=[term(HOSTNAME, store)])) for i in "123"
    ]
    both = affinity(near=[term(HOSTNAME, store)], apart=[term(HOSTNAME, web)])
    servers = [pod(f"web-{i}", labels={"app": "web-store"}, affinity=both) for i in "123"]
    here = world([node(f"n{i}") for i in "1234"], [*servers, *caches])
    drawn = {f"ml/{kind}-{i}": f"n{i}" for kind in ("web", "cache") for i in "123"}
    assert check(here, drawn) == []
    assert check(here, {**drawn, "ml/web-3": "n2"}) != []
    assert check(here, {**drawn, "ml/web-3": "n4"}) != []
    assert check(here, {**drawn, "ml/cache-3": "n2"}) != []


def series(*names: str, near_own: str = "zone") -> list[Json]:
    return [pod(n, labels={"app": "x"}, affinity=affinity(near=[term(near_own, selector(app="x"))])) for n in names]


def test_a_series_starts_in_one_place_only() -> None:
    here = world(four_nodes(), series("a", "b", "c"))
    assert check(here, {"ml/a": "node1", "ml/b": "node2", "ml/c": "node1"}) == []
    assert len(check(here, {"ml/a": "node1", "ml/b": "node2", "ml/c": "node3"})) == 1


def test_the_first_of_a_series_may_have_to_come_before_a_stranger() -> None:
    """`b` matches a's term but sits elsewhere. a, then b is an order that works; b first would shut a out."""
    here = world(four_nodes(), [*series("a"), pod("b", labels={"app": "x"})])
    assert check(here, {"ml/b": "node3", "ml/a": "node1"}) == []
    assert check(here, {"ml/b": "node3", "ml/a": "node1"}, steps=[["ml/b"], ["ml/a"]]) != []


def test_pods_that_need_each_other_cannot_start() -> None:
    """Neither matches its own term, so no order is possible, although both sit together in the end."""
    a = pod("a", labels={"app": "a"}, affinity=affinity(near=[term("zone", selector(app="b"))]))
    b = pod("b", labels={"app": "b"}, affinity=affinity(near=[term("zone", selector(app="a"))]))
    assert len(check(world(four_nodes(), [a, b]), {"ml/a": "node1", "ml/b": "node1"})) == 2


def test_an_order_may_need_a_stranger_first() -> None:
    """y needs an x, a needs a y: only b, then y, then a works, though a matches its own term."""
    x, y = term("zone", selector(app="x")), term("zone", selector(app="y"))
    a = pod("a", labels={"app": "x"}, affinity=affinity(near=[x, y]))
    b, other = pod("b", labels={"app": "x"}), pod("y", labels={"app": "y"}, affinity=affinity(near=[x]))
    assert check(world(four_nodes(), [a, b, other]), {"ml/a": "node1", "ml/b": "node2", "ml/y": "node1"}) == []
    # If a must share b's very node, b has spoilt its place.
    strict = pod("a", labels={"app": "x"}, affinity=affinity(near=[term("node", selector(app="x")), y]))
    assert check(world(four_nodes(), [strict, b, other]), {"ml/a": "node1", "ml/b": "node2", "ml/y": "node1"}) != []


def test_what_runs_is_not_judged_again() -> None:
    hostile = [pod(n, labels={"app": "x"}, on="node1", affinity=affinity(apart=[term("zone", IS_X)])) for n in "ab"]
    assert check(world(four_nodes(), [*hostile, mypod()]), {"ml/mypod": "node1"}) == []


def test_spread_is_judged_at_the_end_of_its_own_step() -> None:
    """A later pod without the constraint may pile up where the first one had spread."""
    here = world(four_nodes(), [mypod(BY_ZONE), pod("later", labels=FOO)])
    both = {"ml/mypod": "node1", "ml/later": "node1"}
    assert check(here, both) != []
    assert check(here, both, steps=[["ml/mypod"], ["ml/later"]]) == []
