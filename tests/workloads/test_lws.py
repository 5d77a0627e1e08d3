"""LeaderWorkerSet: one gang a group."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core.model import Block, Level, Role
from gangpool.workloads import registry
from tests.workloads.objects import Objects, codes, names, obj, pod, template, the_gang

PREFIX = "leaderworkerset.sigs.k8s.io/"
RACK, NVLINK = Level(key="rack"), Level(key="nvlink")


def lws(size: int = 3, annotations: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    inner = {"size": size, "workerTemplate": template(8), **more.pop("inner", {})}
    spec = {"replicas": 1, "leaderWorkerTemplate": inner, **more}
    return obj("leaderworkerset.x-k8s.io/v1 LeaderWorkerSet", spec, annotations=annotations or {})


def test_each_group_is_a_gang_of_its_size() -> None:
    found = registry.expand(lws(replicas=2))
    assert [(g.key, g.minimum, g.total) for g in found.gangs] == [("ml/a-0", None, 3), ("ml/a-1", None, 3)]
    assert names(found) == ["a-0", "a-0-1", "a-0-2", "a-1", "a-1-1", "a-1-2"]
    assert [(key, spec.role, spec.rank) for key, spec in found.members][3:] == [
        ("ml/a-1", "leader", 0),
        ("ml/a-1", "worker", 1),
        ("ml/a-1", "worker", 2),
    ]


def test_a_size_of_one_is_a_leader_alone() -> None:
    found = registry.expand(lws(1))
    assert (names(found), found.gangs[0].roles) == (["a-0"], (Role("leader", 1),))


def test_without_a_leader_template_the_leader_is_a_worker() -> None:
    found = registry.expand(lws())
    assert {spec.template_path for _, spec in found.members} == {"spec.leaderWorkerTemplate.workerTemplate"}
    own = registry.expand(lws(inner={"leaderTemplate": template(0)}))
    assert own.members[0][1].template_path == "spec.leaderWorkerTemplate.leaderTemplate"
    assert [path for path, _ in registry.templates(lws())] == ["spec.leaderWorkerTemplate.workerTemplate"]


def test_labels_and_annotations_of_leader_and_worker() -> None:
    leader, worker, _ = [spec.pod["metadata"] for _, spec in registry.expand(lws()).members]
    key = worker["labels"].pop(f"{PREFIX}group-key")
    assert leader["labels"] == {
        f"{PREFIX}name": "a",
        f"{PREFIX}group-index": "0",
        f"{PREFIX}worker-index": "0",
        f"{PREFIX}group-key": key,
    }
    assert worker["labels"] == {f"{PREFIX}name": "a", f"{PREFIX}group-index": "0", f"{PREFIX}worker-index": "1"}
    assert worker["annotations"] == {f"{PREFIX}size": "3", f"{PREFIX}leader-name": "a-0"}
    assert [leader["ownerReferences"][0]["name"], worker["ownerReferences"][0]["name"]] == ["a", "a-0"]


def test_exclusive_topology_is_a_domain_for_each_group_and_workers_follow() -> None:
    gang = the_gang(lws(annotations={f"{PREFIX}exclusive-topology": "rack"}))
    assert (gang.exclusive, gang.required) == ("rack", RACK)
    # The controller creates the workers when the leader has a node.
    assert gang.optional_roles == ("worker",)
    assert the_gang(lws(startupPolicy="LeaderReady")).optional_roles == ("worker",)
    assert the_gang(lws(startupPolicy="LeaderCreated")).optional_roles == ()


@pytest.mark.parametrize(
    ("size", "sub", "kind", "block", "indexes", "found"),
    [
        # Divides evenly: the leader is in the first subgroup.
        (4, 2, "LeaderWorker", ("", Block(2, NVLINK)), ["0", "0", "1", "1"], []),
        # One more than even: the leader is extra, and goes with the first.
        (5, 2, "LeaderWorker", ("worker", Block(2, NVLINK, 1)), ["0", "0", "0", "1", "1"], ["not-supported"]),
        (5, 2, "LeaderExcluded", ("worker", Block(2, NVLINK, 1)), ["0", "0", "0", "1", "1"], []),
    ],
)
def test_subgroups_are_blocks(
    size: int, sub: int, kind: str, block: object, indexes: list[str], found: list[str]
) -> None:
    policy = {"subGroupSize": sub, "subGroupPolicyType": kind}
    made = lws(size, {f"{PREFIX}subgroup-exclusive-topology": "nvlink"}, inner={"subGroupPolicy": policy})
    expansion = registry.expand(made)
    assert expansion.gangs[0].blocks == (block,)
    assert expansion.gangs[0].exclusive == "nvlink"
    labels = [spec.pod["metadata"]["labels"][f"{PREFIX}subgroup-index"] for _, spec in expansion.members]
    assert labels == indexes
    assert [code for code, _ in codes(expansion)] == found


def test_only_one_level_can_be_exclusive() -> None:
    both = {f"{PREFIX}exclusive-topology": "rack", f"{PREFIX}subgroup-exclusive-topology": "nvlink"}
    found = registry.expand(lws(4, both, inner={"subGroupPolicy": {"subGroupSize": 2}}))
    assert (found.gangs[0].exclusive, found.gangs[0].required) == ("rack", RACK)
    assert found.gangs[0].blocks == (("", Block(2, NVLINK)),)
    assert [code for code, _ in codes(found)] == ["not-supported"]


def test_kai_takes_the_size_of_segments_from_the_subgroups() -> None:
    notes = {"kai.scheduler/topology": "t", "kai.scheduler/segment-topology-required-placement": "rack"}
    inner = {"workerTemplate": template(8, notes), "subGroupPolicy": {"subGroupSize": 2}}
    assert the_gang(lws(4, inner=inner)).blocks == (("", Block(2, Level(key="rack", topology="t"))),)


def test_a_surge_group_of_a_rollout_is_a_gang_too() -> None:
    """During a rollout with maxSurge a group above the replicas exists; Volcano's provider names its PodGroup after
    group and revision."""
    labels = {f"{PREFIX}name": "a", f"{PREFIX}group-index": "1", f"{PREFIX}worker-index": "2"}
    notes = {f"{PREFIX}size": "3", "scheduling.k8s.io/group-name": "a-1-dd6699c7c"}
    link, findings = registry.link(pod("a-1-2", labels, metadata={"annotations": notes}))
    assert link is not None
    assert (link.key, link.role, link.rank, link.total, findings) == ("ml/a-1", "worker", 2, 3, ())
    gang, _ = registry.resolve(link, "ml", Objects([lws(replicas=1)]))
    assert gang is not None
    assert (gang.key, gang.total) == ("ml/a-1", 3)


def test_claims_of_every_pod() -> None:
    claim = {"metadata": {"name": "cache"}, "spec": {}}
    found = registry.expand(lws(2, inner={"volumeClaimTemplates": [claim]}))
    assert [c["metadata"]["name"] for c in found.claims] == ["cache-a-0", "cache-a-0-1"]
    volumes = [spec.pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] for _, spec in found.members]
    assert volumes == ["cache-a-0", "cache-a-0-1"]
