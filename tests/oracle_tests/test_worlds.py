"""The generator keeps its promises, and its worlds are varied enough to test anything."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields
from random import Random
from typing import Any

import pytest
from hypothesis import given

from tests.oracle.brute import feasible
from tests.oracle.checker import check
from tests.oracle.rules_gang import members_of, roles_of
from tests.oracle.view import View
from tests.oracle.world_parts import RACK, ZONE
from tests.oracle.worlds import Knobs, random_world, world_as_dump, worlds

Json = dict[str, Any]

FEATURES = {
    "missing_labels": lambda w: any(RACK not in n["metadata"]["labels"] for n in w["nodes"]),
    "taints": lambda w: any(n["spec"].get("taints") for n in w["nodes"]),
    "cordons": lambda w: any(n["spec"].get("unschedulable") for n in w["nodes"]),
    "running": lambda w: any(is_foreign(p) for p in w["pods"]),
    "running_repel": lambda w: any(is_foreign(p) and '"podAntiAffinity"' in json.dumps(p) for p in w["pods"]),
    "leaving": lambda w: any("deletionTimestamp" in p["metadata"] for p in w["pods"]),
    "running_members": lambda w: any(m in View(w).running for g in w["gangs"] for m in members_of(g)),
    "roles": lambda w: any(g.get("roles") for g in w["gangs"]),
    "levels": lambda w: any(g.get("required") for g in w["gangs"]),
    "blocks": lambda w: any(g.get("blocks") for g in w["gangs"]),
    "uneven": lambda w: any(is_uneven(w, g) for g in w["gangs"]),
    "wishes": lambda w: "preferredDuringScheduling" in json.dumps(w) or "ScheduleAnyway" in json.dumps(w),
    "selectors": lambda w: any(k in json.dumps(w["pods"]) for k in ('"nodeSelector"', '"nodeSelectorTerms"')),
    "spread": lambda w: "DoNotSchedule" in json.dumps(w),
    "host_ports": lambda w: "hostPort" in json.dumps(w),
    "gates": lambda w: "schedulingGates" in json.dumps(w),
    "volumes": lambda w: bool(w["volumes"]),
    "sidecars": lambda w: "initContainers" in json.dumps(w),
}


def is_uneven(world: Json, gang: Json) -> bool:
    """Not all members ask for the same, and no role explains it."""
    mine = [p for p in world["pods"] if p["metadata"]["name"] in gang["members"]]
    asks = {json.dumps(p["spec"]["containers"][0]["resources"], sort_keys=True) for p in mine}
    return len(asks) > 1 and not gang.get("roles")


def is_foreign(pod: Json) -> bool:
    return bool(pod["metadata"]["name"].startswith("run-"))


def some(n: int, knobs: Knobs | None = None) -> list[Json]:
    return [random_world(Random(i), 1 + i % 8, knobs) for i in range(n)]


@pytest.mark.parametrize("feature", FEATURES)
def test_every_knob_turns_its_feature(feature: str) -> None:
    assert any(FEATURES[feature](w) for w in some(60))
    assert not any(FEATURES[feature](w) for w in some(60, Knobs(**{feature: False})))


def test_every_knob_of_a_single_feature_is_tested_or_named() -> None:
    untested = {"loose_roles", "elastic", "affinity", "anti_affinity", "cross_gang"}
    assert {f.name for f in fields(Knobs) if f.type == "bool"} == {*FEATURES, *untested}


def test_equal_seeds_give_equal_worlds() -> None:
    assert random_world(Random(7), 5) == random_world(Random(7), 5) != random_world(Random(8), 5)


def test_gangs_that_fit_and_gangs_that_do_not_are_both_common() -> None:
    answers = Counter(feasible(w, g["key"]) is not None for w in some(60) for g in w["gangs"])
    assert min(answers.values()) > 25


@given(worlds())
def test_a_world_is_sound(here: Json) -> None:
    view = View(here)
    finished = sum(pod["status"]["phase"] in ("Succeeded", "Failed") for pod in here["pods"])
    assert len(view.pods) == len(here["pods"]) - finished
    assert check(here, {}) == []
    assert set(view.running.values()) <= view.nodes.keys()
    for labels in view.labels.values():
        assert RACK not in labels or (ZONE in labels and labels[RACK].startswith(labels[ZONE]))
    for gang in here["gangs"]:
        members = members_of(gang)
        assert set(members) <= view.pods.keys()
        assert 1 <= gang["minimum"] <= len(members)
        roles = roles_of(gang).values()
        assert not roles or sorted(m for pods, _ in roles for m in pods) == sorted(members)
        assert all(least <= len(pods) for pods, least in roles)
        assert sum(least for _, least in roles) <= gang["minimum"]
    assert all(len(view.affinity(pod)) <= 1 for pod in view.pods)


@given(worlds(max_nodes=3))
def test_a_dump_says_what_the_oracle_reads(here: Json) -> None:
    dump = json.loads(json.dumps(world_as_dump(here)))
    objects = [(o["apiVersion"], o["kind"], o["metadata"]["name"]) for o in dump["items"]]
    assert len(set(objects)) == len(objects)
    groups = {o["metadata"]["name"]: o for o in dump["items"] if o["kind"] == "PodGroup"}
    pods = {o["metadata"]["name"]: o["metadata"] for o in dump["items"] if o["kind"] == "Pod"}
    for gang in here["gangs"]:
        name = gang["key"].split("/")[1]
        assert groups[name]["spec"]["minMember"] == gang["minimum"]
        for member in gang["members"]:
            notes = pods[member].get("annotations", {})
            in_group = (
                notes.get("scheduling.k8s.io/group-name"),
                pods[member]["labels"].get("scheduling.x-k8s.io/pod-group"),
            )
            assert in_group == ((name, None) if gang.get("roles") else (None, name))
            levels = groups[name]["metadata"]["annotations"] if gang.get("roles") else notes
            assert levels.get("gangpool.io/required-topology") == (gang.get("required") or [None])[-1]
            assert levels.get("gangpool.io/block-topology") == (gang.get("blocks") or {"keys": [None]})["keys"][-1]
            assert not gang.get("roles") or "gangpool.io/required-topology" not in notes
        for role, it in (gang.get("roles") or {}).items():
            assert groups[name]["spec"]["minTaskMember"][role] == it["minimum"]
            assert all(pods[m]["labels"]["volcano.sh/task-spec"] == role for m in it["members"])
