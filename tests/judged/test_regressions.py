"""Worlds in which gangpool was wrong once, each as small as it goes, with its story. Judged by the oracle too."""

from __future__ import annotations

from typing import Any

from gangpool.intake import place
from gangpool.intake.config import Config
from gangpool.objects.located import Located
from tests.judged.judging import missed, objections, plan
from tests.oracle.world_parts import CARD, HOSTNAME, RACK, RANK, ZONE, gang, node, pod, selector, spread, world

Json = dict[str, Any]


def placed(here: Json) -> dict[str, str]:
    """Pod name to node; fails where the oracle objects."""
    outcome = plan(here)
    assert objections(outcome) == []
    assert missed(outcome) == []
    return {key.split("/")[1]: at for key, at in outcome.seats.items()}


def group(name: str, n: int, cards: int = 0, **spec: Any) -> list[Json]:
    """The pods of a gang of scheduler-plugins."""
    labels = {"app": name, "scheduling.x-k8s.io/pod-group": name}
    asks = {CARD: str(cards)} if cards else {}
    return [pod(f"{name}-{i}", asks, labels, **spec) for i in range(n)]


def tasks(name: str, **roles: tuple[int, int, Json]) -> tuple[list[Json], Json]:
    """Pods and gang of a Volcano group; roles are (minimum, members, spec with `asks`). All minima are the gang's."""
    pods: list[Json] = []
    split: dict[str, Json] = {}
    for role, (least, n, spec) in roles.items():
        labels = {"app": name, "volcano.sh/task-spec": role}
        names = [f"{name}-{role}-{i}" for i in range(n)]
        pods += [pod(member, labels=labels, **spec) for member in names]
        split[role] = {"members": names, "minimum": least}
    for made in pods:
        made["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": name}
    least = sum(role["minimum"] for role in split.values())
    return pods, gang(f"ml/{name}", [made["metadata"]["name"] for made in pods], least, roles=split)


def volume_in(zone: str) -> list[Json]:
    """Claim `data`, bound to a volume that only one zone reaches."""
    where = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    named: Json = {"namespace": "ml", "name": "data"}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": named,
            "spec": {"volumeName": "pv"},
            "status": {"phase": "Bound"},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "pv"},
            "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [where]}}},
            "status": {"phase": "Bound"},
        },
    ]


def test_a_volume_does_not_narrow_what_a_spread_counts() -> None:
    """1. Two zones; three members that spread over zones with a skew of at most 2. 2. Their volume is reached from
    zone b only. 3. Zone a counts all the same (only the pod's own selectors leave a zone out), so that a third
    member in b would be 3 above it: the gang waits. It was placed, as if zone a were not there."""
    claim: Json = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    rule: Json = {"topologySpreadConstraints": [spread(ZONE, selector(app="g"), 2)]}
    nodes = [node("a", {ZONE: "a"}), node("b", {ZONE: "b"})]
    members = group("g", 3, **claim, **rule)
    here = world(nodes, members, [gang("ml/g", ["g-0", "g-1", "g-2"])], volumes=volume_in("b"))
    assert placed(here) == {}
    here["gangs"][0]["minimum"] = 2
    assert placed(here) == {"g-0": "b", "g-1": "b"}


def test_a_preference_does_not_narrow_what_a_spread_counts() -> None:
    """1. Four members that spread over zones with a skew of 1, and would rather be in zone a. 2. A preference is
    tried as if it were required; zone b was then left out of the count and all four went to a."""
    wish = {"weight": 1, "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}}
    near: Json = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}}
    rule: Json = {"topologySpreadConstraints": [spread(ZONE, selector(app="g"))]}
    nodes = [node("a", {ZONE: "a"}), node("b", {ZONE: "b"})]
    here = world(nodes, group("g", 4, 1, **near, **rule), [gang("ml/g", [f"g-{i}" for i in range(4)])])
    assert sorted(placed(here).values()) == ["a", "a", "b", "b"]


def test_a_wished_spread_does_not_narrow_what_a_required_one_counts() -> None:
    """1. Members must spread over zones and would like to over racks. 2. Zone b has no racks. 3. A required spread
    counts the nodes that have its own key; the wished one's key was asked of them too, zone b was not counted, and
    all members went to zone a."""
    rules = [spread(ZONE, selector(app="g")), spread("rack", selector(app="g"), whenUnsatisfiable="ScheduleAnyway")]
    nodes = [node("a1", {ZONE: "a", "rack": "a1"}), node("a2", {ZONE: "a", "rack": "a2"}), node("b", {ZONE: "b"})]
    members = group("g", 4, 1, topologySpreadConstraints=rules)
    here = world(nodes, members, [gang("ml/g", [f"g-{i}" for i in range(4)])])
    assert sorted(at[0] for at in placed(here).values()) == ["a", "a", "b", "b"]


def test_a_trial_that_failed_leaves_no_trace_in_the_next_domain() -> None:
    """1. A gang of two kinds must share a zone. 2. Its narrower rack passes every bound, is tried first, and fails.
    3. The room of the zone was still read as it was during that trial: too small, and the gang was refused with a
    proof although it fits."""
    few, many = {"asks": {CARD: "1", "cpu": "3"}}, {"asks": {CARD: "4", "cpu": "1"}}
    members, whole = tasks("g", master=(2, 2, few), worker=(3, 3, many))
    whole["required"] = [ZONE]
    nodes = [
        node("n1", {ZONE: "a"}, {CARD: "2"}),
        node("n2", {ZONE: "a", RACK: "a2"}, {"cpu": "8500m"}),
        node("n3", {ZONE: "a", RACK: "a2"}),
        *(node(name, {HOSTNAME: ""}, {CARD: "", "cpu": "", "memory": "", "pods": ""}) for name in ("n0", "n4")),
    ]
    runs = pod("other", {CARD: "2", "cpu": "2"}, on="n2", namespace="ops", schedulerName="default-scheduler")
    found = placed(world(nodes, [runs, *members], [whole]))
    assert [found[f"g-master-{i}"] for i in range(2)] == ["n1", "n1"]


def test_a_lost_member_of_a_block_returns_to_its_block_whoever_is_nearer() -> None:
    """1. Blocks of two share a rack; of ranks 0 to 3 all run but 2. 2. Rank 3, in rack a1, holds rank 2 there. 3. Rank
    1, in rack a2, is as near by number; rank 2 was sent to its rack, which its block forbids, and waited for ever."""
    notes = {"gangpool.io/block-size": "2", "gangpool.io/block-topology": RACK}
    members = group("g", 4, 1)
    for rank, (made, at) in enumerate(zip(members, ("a2", "a2", "", "a1"), strict=True)):
        made["metadata"]["annotations"] = notes
        made["metadata"]["labels"][RANK] = str(rank)
        if at:
            made["spec"]["nodeName"] = at
    whole = gang("ml/g", [f"g-{i}" for i in range(4)], blocks={"size": 2, "keys": [ZONE, RACK]})
    nodes = [node(name, {ZONE: "a", RACK: name}) for name in ("a1", "a2")]
    assert placed(world(nodes, members, [whole])) == {"g-2": "a1"}


BLOCKS = {"gangpool.io/block-size": "2", "gangpool.io/block-topology": RACK}


def ranked(members: list[Json]) -> list[Json]:
    """The members with their ranks, in blocks of two that share a rack."""
    for rank, made in enumerate(members):
        made["metadata"]["annotations"] = dict(BLOCKS)
        made["metadata"]["labels"][RANK] = str(rank)
    return members


def in_racks(*cards: int) -> list[Json]:
    """A node of so many cards in each of several racks."""
    return [node(f"r{i}", {ZONE: "a", RACK: f"r{i}"}, {CARD: str(n)}) for i, n in enumerate(cards)]


def test_a_block_is_known_by_its_ranks_not_by_who_is_free() -> None:
    """1. Six members in blocks of two, five of which are the minimum; rank 1 waits behind a gate. 2. The free ones
    were taken two by two as they came: ranks 0 and 2 as a block, and ranks 2 and 3 sat in different racks."""
    members = ranked(group("g", 6, 1))
    members[1]["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    whole = gang("ml/g", [f"g-{i}" for i in range(6)], 5, blocks={"size": 2, "keys": [ZONE, RACK]})
    found = placed(world(in_racks(1, 2, 2), members, [whole]))
    assert (found["g-0"], found["g-2"], found["g-4"]) == ("r0", found["g-3"], found["g-5"])


def test_a_block_stays_together_whatever_its_members_ask_for() -> None:
    """1. Rank 0 asks for two cards, the others for one. 2. Members were planned by what they ask for, rank 0 as a
    block of its own, and it sat in another rack than rank 1."""
    members = ranked(group("g", 4, 1))
    members[0] = ranked(group("g", 1, 2))[0]
    whole = gang("ml/g", [f"g-{i}" for i in range(4)], blocks={"size": 2, "keys": [ZONE, RACK]})
    found = placed(world(in_racks(2, 3), members, [whole]))
    assert found == {"g-0": "r1", "g-1": "r1", "g-2": "r0", "g-3": "r0"}


def test_a_block_goes_on_from_role_to_role() -> None:
    """1. A master and three workers in blocks of two: the master and the first worker are one. 2. Two racks have room
    for a master and a worker, or two workers. 3. The master was a block by itself."""
    members, whole = tasks("g", master=(1, 1, {"asks": {CARD: "2"}}), worker=(3, 3, {"asks": {CARD: "1"}}))
    whole["blocks"] = {"size": 2, "keys": [ZONE, RACK]}
    found = placed(world(in_racks(3, 2), members, [whole]))
    assert found == {"g-master-0": "r0", "g-worker-0": "r0", "g-worker-1": "r1", "g-worker-2": "r1"}


def test_other_members_start_where_the_first_do_not_fit() -> None:
    """1. One master and three workers; any three of them are the minimum. 2. No node has the master's eight cards.
    3. The master was taken first and the gang waited, although its workers are enough."""
    members, whole = tasks("g", master=(0, 1, {"asks": {CARD: "8"}}), worker=(0, 3, {"asks": {CARD: "1"}}))
    whole["minimum"] = 3
    found = placed(world(in_racks(4), members, [whole]))
    assert sorted(found) == ["g-worker-0", "g-worker-1", "g-worker-2"]


def test_a_level_on_the_pods_of_a_group_is_heard() -> None:
    """1. A PodGroup has no template, so its pods carry the level. 2. Nobody read it: the gang sat in two racks."""
    members = group("g", 3, 1)
    for made in members:
        made["metadata"]["annotations"] = {"gangpool.io/required-topology": RACK}
    whole = gang("ml/g", [f"g-{i}" for i in range(3)], required=[ZONE, RACK])
    assert placed(world(in_racks(2, 2), members, [whole])) == {}
    assert set(placed(world(in_racks(2, 3), members, [whole])).values()) == {"r1"}


def test_subgroups_of_a_leader_and_workers_sit_apart_and_each_together() -> None:
    """1. A LeaderWorkerSet of four in subgroups of two, each with a rack for itself; the leader asks for more cards.
    2. The first subgroup is the leader and a worker. Leader and workers were told apart as groups of the exclusive
    level, so these two kept each other out of their rack, and the set waited for ever."""

    def template(cards: int) -> Json:
        return {"spec": {"containers": [{"name": "main", "resources": {"limits": {CARD: cards}}}]}}

    prefix = "leaderworkerset.sigs.k8s.io/"
    policy = {"subGroupSize": 2, "subGroupPolicyType": "LeaderWorker"}
    inner = {"size": 4, "leaderTemplate": template(2), "workerTemplate": template(1), "subGroupPolicy": policy}
    lws = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "s", "namespace": "ml", "annotations": {f"{prefix}subgroup-exclusive-topology": RACK}},
        "spec": {"replicas": 1, "leaderWorkerTemplate": inner},
    }
    answer = place(in_racks(4, 8), [Located("s.yaml", lws)], 0.0, Config())
    found = {entry.pod: entry.node for entry in answer.placed}
    assert found == {"s-0": found["s-0"], "s-0-1": found["s-0"], "s-0-2": found["s-0-2"], "s-0-3": found["s-0-2"]}
    assert found["s-0"] != found["s-0-2"]
