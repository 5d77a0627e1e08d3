"""The judge finds each violation in a small bad history, and none in the good one beside it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.audit import Request
from tests.faults import judge
from tests.faults.history import Change
from tests.faults.judge import GANG, LEADER, Gang

G2 = {"g": Gang("g", 2, 2)}


class Story:
    """A history line by line; the time is in seconds, each line is one revision."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.requests: list[Request] = []

    def _add(self, at_s: float, kind: str, key: str, obj: Any) -> Story:
        self.changes.append(Change(len(self.changes) + 1, at_s, kind, key, obj))
        return self

    def node(self, at_s: float, name: str, cards: int, leaf: str = "") -> Story:
        """A node with so many cards."""
        status = {"allocatable": {"nvidia.com/gpu": str(cards), "cpu": "8", "memory": "16Gi", "pods": "3"}}
        return self._add(at_s, "Node", name, {"metadata": {"name": name, "labels": {"leaf": leaf}}, "status": status})

    def lease(self, at_s: float, holder: str) -> Story:
        """The holder changes."""
        return self._add(at_s, "Lease", "gangpool-scheduler", {"spec": {"holderIdentity": holder}})

    def pod(self, at_s: float, name: str, node: str = "", **more: Any) -> Story:
        """A pod of gang `g` with one card; `more`: cards, cpu, leader, phase, init_cpu, gang."""
        requests = {"nvidia.com/gpu": more.get("cards", 1), "cpu": more.get("cpu", "1"), "memory": "1Gi"}
        spec: dict[str, Any] = {"containers": [{"resources": {"requests": requests}}], "nodeName": node}
        if "init_cpu" in more:
            spec["initContainers"] = [{"resources": {"requests": {"cpu": more["init_cpu"]}}}]
        annotations = {LEADER: more["leader"]} if "leader" in more else {}
        meta = {"name": name, "namespace": "ml", "uid": name, "labels": {GANG: more.get("gang", "g")}}
        if node:
            self.requests.append(_request("pods/binding", name, at_s, {"target": {"name": node}}))
        obj = {"metadata": {**meta, "annotations": annotations}, "spec": spec, "status": {"phase": more.get("phase")}}
        return self._add(at_s, "Pod", f"ml/{name}", obj)

    def gone(self, at_s: float, name: str) -> Story:
        """The pod is deleted."""
        return self._add(at_s, "Pod", f"ml/{name}", None)


def _request(resource: str, name: str, at_s: float, body: Any) -> Request:
    return Request(at_s, "create", resource, "ml", name, "scheduler", "", 201, body, "", False, False)


def texts(found: list[judge.Violation]) -> list[str]:
    return [f"{violation.rule}@{violation.revision}" for violation in found]


# ---- over-commit


def test_more_cards_than_the_node_has() -> None:
    story = Story().node(0, "n", 2).pod(1, "a", "n").pod(2, "b", "n", cards=2)
    assert texts(judge.over_commits(story.changes)) == ["over-commit@3"]


def test_a_finished_or_deleted_pod_gives_room() -> None:
    story = Story().node(0, "n", 2).pod(1, "a", "n", cards=2).pod(2, "a", "n", cards=2, phase="Succeeded")
    story.pod(3, "b", "n", cards=2).gone(4, "b").pod(5, "c", "n", cards=2)
    assert judge.over_commits(story.changes) == []


def test_room_that_comes_one_revision_too_late() -> None:
    story = Story().node(0, "n", 2).pod(1, "a", "n", cards=2).pod(2, "b", "n").pod(3, "a", "n", phase="Failed")
    assert texts(judge.over_commits(story.changes)) == ["over-commit@3"]


@pytest.mark.parametrize("more", [{"cpu": "7500m"}, {"init_cpu": "8"}])
def test_cpu_counts_also_that_of_init_containers(more: dict[str, str]) -> None:
    story = Story().node(0, "n", 8).pod(1, "a", "n").pod(2, "b", "n", **more)
    assert texts(judge.over_commits(story.changes)) == ["over-commit@3"]


def test_a_fourth_pod_where_three_are_allowed() -> None:
    story = Story().node(0, "n", 8)
    for name in "abcd":
        story.pod(1, name, "n")
    assert texts(judge.over_commits(story.changes)) == ["over-commit@5"]


def test_a_node_made_anew_with_less() -> None:
    story = Story().node(0, "n", 8).node(1, "n", 1).pod(2, "a", "n").pod(3, "b", "n")
    assert texts(judge.over_commits(story.changes)) == ["over-commit@4"]


# ---- stale leaders


def test_a_bind_after_the_successors_first() -> None:
    story = Story().lease(0, "a/1").pod(0.1, "p", "n", leader="a/1").lease(1, "b/2").pod(1.1, "q", "n", leader="b/2")
    assert judge.stale_binds(story.changes) == []
    assert texts(judge.stale_binds(story.pod(1.2, "r", "n", leader="a/1").changes)) == ["stale-bind@5"]


def test_a_bind_long_after_the_end_of_the_term() -> None:
    story = Story().lease(0, "a/1").lease(1, "b/2").pod(1.3, "p", "n", leader="a/1")
    assert judge.stale_binds(story.changes) == []
    assert texts(judge.stale_binds(story.pod(2.5, "q", "n", leader="a/1").changes)) == ["stale-bind@4"]


def test_a_bind_when_nobody_holds_the_lease() -> None:
    story = Story().lease(0, "a/1").lease(1, "").pod(3, "p", "n", leader="a/1")
    assert texts(judge.stale_binds(story.changes)) == ["stale-bind@3"]


def test_a_bind_in_a_name_that_never_led() -> None:
    story = Story().lease(0, "a/1").pod(1, "p", "n", leader="a/2")
    assert texts(judge.stale_binds(story.changes)) == ["stale-bind@2"]


def test_the_same_identity_leads_twice() -> None:
    story = Story().lease(0, "a/1").lease(1, "b/2").lease(2, "a/1").pod(9, "p", "n", leader="a/1")
    assert judge.stale_binds(story.changes) == []


def test_an_eviction_by_an_old_leader() -> None:
    story = Story().lease(0, "a/1").lease(5, "b/2")
    body = {"metadata": {"annotations": {LEADER: "a/1"}}}
    in_time, late = (_request("pods/eviction", "p", at_s, body) for at_s in (3.0, 9.0))
    assert judge.stale_evictions(story.changes, [in_time]) == []
    assert texts(judge.stale_evictions(story.changes, [late])) == ["stale-eviction@0"]


def test_a_node_without_a_binding_in_the_log() -> None:
    story = Story().pod(0, "p").pod(1, "p", "n")
    assert judge.unrecorded_binds(story.changes, story.requests) == []
    assert texts(judge.unrecorded_binds(story.changes, [])) == ["unrecorded-bind@2"]
    assert texts(judge.unrecorded_binds(story.changes, [], [5.0])) == ["unrecorded-bind@2"]
    assert judge.unrecorded_binds(story.changes, [], [1.5]) == []


# ---- whole gangs


def test_half_a_gang_for_longer_than_30_seconds() -> None:
    story = Story().pod(0, "a").pod(0, "b").pod(1, "a", "n").pod(32, "b", "n")
    assert texts(judge.partial_gangs(story.changes, G2)) == ["partial@3"]


def test_half_a_gang_for_a_moment() -> None:
    story = Story().pod(0, "a").pod(0, "b").pod(1, "a", "n").pod(2, "b", "n").pod(90, "c", gang="other")
    assert judge.partial_gangs(story.changes, G2) == []


def test_half_a_gang_at_rest() -> None:
    story = Story().pod(0, "a").pod(0, "b").pod(1, "a", "n")
    assert texts(judge.partial_gangs(story.changes, G2)) == ["partial@3"]


def test_a_gang_undone_is_none() -> None:
    story = Story().pod(0, "a", "n").gone(8, "a").pod(9, "a")
    assert judge.partial_gangs(story.changes, G2) == []


def test_a_member_lost_and_not_replaced_in_time() -> None:
    story = Story().pod(0, "a", "n").pod(0, "b", "n").gone(10, "b").pod(11, "b").pod(50, "b", "n")
    assert texts(judge.partial_gangs(story.changes, G2)) == ["partial@3"]


def test_members_that_ended_one_by_one_were_whole() -> None:
    story = Story().pod(0, "a", "n").pod(0, "b", "n").pod(1, "a", "n", phase="Succeeded").pod(99, "c", gang="other")
    assert judge.partial_gangs(story.changes, G2) == []


# ---- nothing left waiting


def test_a_gang_that_would_fit() -> None:
    story = Story().node(0, "n", 2).pod(1, "a").pod(1, "b")
    assert texts(judge.left_waiting(story.changes, G2)) == ["left-waiting@0"]


def test_a_gang_of_which_only_half_would_fit() -> None:
    story = Story().node(0, "n", 1).pod(1, "a").pod(1, "b")
    assert judge.left_waiting(story.changes, G2) == []


def test_a_surplus_member_that_would_fit() -> None:
    story = Story().node(0, "n", 3).pod(1, "a", "n").pod(1, "b", "n").pod(1, "c")
    assert texts(judge.left_waiting(story.changes, {"g": Gang("g", 2, 3)})) == ["left-waiting@0"]


def test_room_that_lies_in_two_domains() -> None:
    story = Story().node(0, "n", 1, "l1").node(0, "m", 1, "l2").pod(1, "a").pod(1, "b")
    assert texts(judge.left_waiting(story.changes, G2)) == ["left-waiting@0"]
    assert judge.left_waiting(story.changes, {"g": Gang("g", 2, 2, "leaf")}) == []


def test_a_gang_not_all_of_whose_pods_are_there() -> None:
    story = Story().node(0, "n", 8).pod(1, "a")
    assert judge.left_waiting(story.changes, G2) == []
