"""Random waiting gangs and single pods for `worlds`: their templates, rules, roles, levels and blocks."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import TYPE_CHECKING, Any

from tests.oracle.brute import feasible
from tests.oracle.world_parts import CARD, HOSTNAME, RACK, RANK, ZONE, affinity, gang, pod, selector, spread, term

if TYPE_CHECKING:
    from tests.oracle.worlds import Knobs

Json = dict[str, Any]

LEVELS = ([ZONE], [ZONE, RACK])
"""Paths of the levels that gangs ask for."""


def chance(rng: Random, percent: int) -> bool:
    """True in so many of a hundred cases. Shrinks to False."""
    return rng.randrange(100) >= 100 - percent


def add_single(rng: Random, world: Json, name: str, knobs: Knobs) -> None:
    """A waiting pod of no gang."""
    asks = _asks(rng)
    world["pods"].append(
        pod(name, asks, {"app": name, "team": rng.choice(["red", "blue"])}, **_rules(rng, name, world, knobs))
    )


def add_gang(rng: Random, world: Json, name: str, knobs: Knobs) -> None:
    """A gang with its pods; with `running_members` some of them may sit where they could all sit."""
    size = rng.randint(2, knobs.max_members)
    has_roles = knobs.roles and chance(rng, 30)
    has_blocks = knobs.blocks and chance(rng, 25)
    is_uneven = knobs.uneven and not has_roles and chance(rng, 15)
    is_elastic = knobs.elastic and not (has_blocks and (has_roles or is_uneven)) and chance(rng, 30)
    n_least = rng.randint(1, size) if is_elastic else size
    labels = {"app": name, "team": rng.choice(["red", "blue"])}
    rules = _rules(rng, name, world, knobs)
    new = gang(f"ml/{name}", [f"{name}-{i}" for i in range(size)], n_least)
    if knobs.levels and chance(rng, 40):
        new["required"] = rng.choice(LEVELS)
    if has_blocks:
        new["blocks"] = {"size": rng.randint(2, 3), "keys": rng.choice(LEVELS)}
    if has_roles:
        pods = _pods_of_roles(rng, new, labels, rules, knobs)
    else:
        asks = _asks(rng)
        pods = [
            pod(member, asks, {**labels, RANK: str(i), "scheduling.x-k8s.io/pod-group": name}, **deepcopy(rules))
            for i, member in enumerate(new["members"])
        ]
        _dress(rng, pods, knobs)
        if is_uneven:
            made = rng.choice(pods)["spec"]["containers"][0]["resources"]
            made["requests"] = made["limits"] = {**asks, **_asks(rng)}
    if not has_roles:
        for made in pods:
            made["metadata"]["annotations"] = level_notes(new)
    if knobs.gates and chance(rng, 10):
        rng.choice(pods)["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    if knobs.volumes and chance(rng, 10):
        _claim(rng, world, name, pods)
    world["pods"] += pods
    world["gangs"].append(new)
    if knobs.running_members and chance(rng, 20):
        _let_some_run(rng, world, new)


def level_notes(gang: Json) -> dict[str, str]:
    """The gang's levels as annotations. On a pod they speak for its role, on the group for the whole gang."""
    notes = {}
    if gang.get("required"):
        notes["gangpool.io/required-topology"] = gang["required"][-1]
    if gang.get("blocks"):
        notes["gangpool.io/block-size"] = str(gang["blocks"]["size"])
        notes["gangpool.io/block-topology"] = gang["blocks"]["keys"][-1]
    return notes


def _pods_of_roles(rng: Random, new: Json, labels: Json, rules: Json, knobs: Knobs) -> list[Json]:
    """Two roles, each with its own requests; sometimes the master stays off the workers' nodes."""
    name = new["key"].split("/", 1)[1]
    n_masters = rng.randint(1, min(2, len(new["members"]) - 1))
    split = {"master": new["members"][:n_masters], "worker": new["members"][n_masters:]}
    if knobs.loose_roles and not new.get("blocks") and chance(rng, 30):
        least = {role: rng.randint(0, len(members)) for role, members in split.items()}
    else:
        least = {"master": n_masters, "worker": max(new["minimum"] - n_masters, 0)}
    new["minimum"] = max(new["minimum"], sum(least.values()))
    new["roles"] = {role: {"members": split[role], "minimum": least[role]} for role in split}
    pods = []
    for role, members in split.items():
        asks = _asks(rng)
        mine = deepcopy(rules)
        if role == "master" and "affinity" not in mine and knobs.anti_affinity and chance(rng, 30):
            apart = {"matchLabels": {"app": name, "volcano.sh/task-spec": "worker"}}
            mine["affinity"] = affinity(apart=[term(HOSTNAME, apart)])
        of_role = [pod(m, asks, {**labels, "volcano.sh/task-spec": role}, **deepcopy(mine)) for m in members]
        _dress(rng, of_role, knobs)
        for made in of_role:
            made["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": name}
        pods += of_role
    return pods


def _asks(rng: Random) -> Json:
    asks = {"cpu": rng.choice(["500m", "1", "3"]), "memory": rng.choice(["1Gi", "500M", "6Gi"])}
    if cards := rng.choice(["", "1", "1", "2", "2", "4", "8"]):
        asks[CARD] = cards
    return asks


def _rules(rng: Random, name: str, world: Json, knobs: Knobs) -> Json:
    """The parts of a pod's spec that say where it may sit; equal for all members."""
    rules: Json = {}
    if knobs.selectors and chance(rng, 15):
        rules["nodeSelector"] = {"board": rng.choice(["h100", "a100"])}
    if knobs.taints and chance(rng, 40):
        one = {"key": "dedicated", "operator": "Equal", "value": rng.choice(["ml", "ops"])}
        rules["tolerations"] = [rng.choice([one, {"operator": "Exists"}, {**one, "effect": "NoSchedule"}])]
    own = selector(app=name)
    if knobs.spread and chance(rng, 20):
        rules["topologySpreadConstraints"] = [_spread(rng, own)]
    near, apart = [], []
    if knobs.affinity and chance(rng, 15):
        near.append(term(rng.choice([ZONE, RACK, HOSTNAME]), own))
    if knobs.anti_affinity and chance(rng, 20):
        apart.append(term(rng.choice([HOSTNAME, HOSTNAME, RACK]), own))
    if knobs.cross_gang and chance(rng, 20):
        apps = sorted({p["metadata"]["labels"]["app"] for p in world["pods"]} - {name}) or ["web"]
        other = term(rng.choice([HOSTNAME, ZONE]), selector(app=rng.choice(apps)), namespaces=["ml", "ops"])
        (apart if near or chance(rng, 50) else near).append(other)
    on = [_node_term(rng)] if knobs.selectors and chance(rng, 15) else None
    if near or apart or on:
        rules["affinity"] = affinity(near, apart, on)
    if knobs.wishes:
        _wish(rng, rules, own)
    return rules


def _wish(rng: Random, rules: Json, own: Json) -> None:
    """Preferences beside the rules."""
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    wished: dict[str, list[Json]] = {}
    if chance(rng, 15):
        wished["nodeAffinity"] = [{"weight": rng.randint(1, 9), "preference": _node_term(rng)}]
    for kind in ("podAffinity", "podAntiAffinity"):
        if chance(rng, 10):
            who = rng.choice([own, selector(app=rng.choice(["web", "store"]))])
            where = term(rng.choice([HOSTNAME, ZONE, RACK]), who, namespaces=["ml", "ops"])
            wished[kind] = [{"weight": rng.randint(1, 9), "podAffinityTerm": where}]
    for kind, terms in wished.items():
        rules.setdefault("affinity", {}).setdefault(kind, {})[preferred] = terms
    if chance(rng, 10):
        soft = spread(rng.choice([ZONE, HOSTNAME, RACK]), own, 1, whenUnsatisfiable="ScheduleAnyway")
        rules.setdefault("topologySpreadConstraints", []).append(soft)


def _spread(rng: Random, own: Json) -> Json:
    more: Json = {}
    if chance(rng, 30):
        more["minDomains"] = rng.randint(1, 3)
    if chance(rng, 30):
        more["nodeAffinityPolicy"] = "Ignore"
    if chance(rng, 30):
        more["nodeTaintsPolicy"] = "Honor"
    return spread(rng.choice([ZONE, HOSTNAME, RACK]), own, rng.randint(1, 2), **more)


def _node_term(rng: Random) -> Json:
    requirement = rng.choice(
        [
            {"key": "board", "operator": "NotIn", "values": ["a100"]},
            {"key": RACK, "operator": "Exists"},
            {"key": "slot", "operator": "Gt", "values": ["1"]},
            {"key": ZONE, "operator": "In", "values": ["a"]},
        ]
    )
    return {"matchExpressions": [requirement]}


def _dress(rng: Random, pods: list[Json], knobs: Knobs) -> None:
    """The same extras for all pods of a template: a host port, helpers beside the main container."""
    if knobs.host_ports and chance(rng, 10):
        for made in pods:
            made["spec"]["containers"][0]["ports"] = [{"containerPort": 29500, "hostPort": 29500, "protocol": "TCP"}]
    if knobs.sidecars and chance(rng, 15):
        side = {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "250m"}}}
        init = {"name": "init", "resources": {"requests": {"cpu": "2", "memory": "2Gi"}}}
        for made in pods:
            made["spec"]["initContainers"] = deepcopy([side, init])
            made["spec"]["overhead"] = {"memory": "128Mi"}


def _claim(rng: Random, world: Json, name: str, pods: list[Json]) -> None:
    """All pods read one volume that lives in one zone."""
    where = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [rng.choice(["a", "b"])]}]}
    world["volumes"] += [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "ml"},
            "spec": {"volumeName": f"pv-{name}", "storageClassName": "zonal"},
            "status": {"phase": "Bound"},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{name}"},
            "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [where]}}},
            "status": {"phase": "Bound"},
        },
    ]
    for made in pods:
        made["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]


def _let_some_run(rng: Random, world: Json, new: Json) -> None:
    found = feasible(world, new["key"], limit=2_000)
    if not isinstance(found, dict) or len(found) < 2:
        return
    for key in rng.sample(sorted(found), rng.randint(1, len(found) - 1)):
        made = next(p for p in world["pods"] if f"ml/{p['metadata']['name']}" == key)
        made["spec"]["nodeName"] = found[key]
        made["status"]["phase"] = "Running"
