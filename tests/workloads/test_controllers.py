"""Deployment, ReplicaSet, StatefulSet, DaemonSet."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.workloads import registry
from gangpool.workloads.base import WorkloadError
from tests.workloads.objects import Objects, codes, decoded, names, obj, template, the_gang


def deployment(annotations: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    return obj("apps/v1 Deployment", {"replicas": 3, "template": template(1, annotations)}, **metadata)


def stateful(**spec: Any) -> dict[str, Any]:
    return obj("apps/v1 StatefulSet", {"template": template(1), **spec})


def test_a_deployment_pod_is_a_replica_sets() -> None:
    found = registry.expand(deployment())
    assert names(found) == ["a-0", "a-1", "a-2"]
    metadata = found.members[0][1].pod["metadata"]
    assert metadata["labels"] == {"pod-template-hash": "0"}
    assert (metadata["ownerReferences"][0]["kind"], metadata["ownerReferences"][0]["name"]) == ("ReplicaSet", "a-0")


def test_replicas_default_to_one() -> None:
    assert names(registry.expand(obj("apps/v1 ReplicaSet", {"template": template()}))) == ["a-0"]
    assert names(registry.expand(obj("apps/v1 Deployment", {"template": template(), "replicas": 0}))) == []


@pytest.mark.parametrize(
    "found",
    [
        deployment({"gangpool.io/min-member": "2"}),
        deployment(annotations=None)
        | {"metadata": {"name": "a", "namespace": "ml", "annotations": {"gangpool.io/min-member": "2"}}},
        # As Volcano reads it, on the owner.
        {
            **deployment(),
            "metadata": {
                "name": "a",
                "namespace": "ml",
                "annotations": {"scheduling.volcano.sh/group-min-member": "2"},
            },
        },
    ],
)
def test_a_minimum_makes_the_whole_deployment_a_gang(found: dict[str, Any]) -> None:
    gang = the_gang(found)
    assert (gang.key, gang.minimum, gang.total) == ("ml/a", 2, 3)


def test_all_revisions_of_a_deployment_are_one_gang() -> None:
    """A surge pod of a new revision counts beside the pods of the old one (field case S22)."""
    found = deployment()
    found["metadata"]["annotations"] = {"scheduling.volcano.sh/group-min-member": "2"}
    for revision in ("5d9c", "77bb"):
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"a-{revision}", "controller": True}
        metadata = {
            "name": f"a-{revision}-x",
            "namespace": "ml",
            "labels": {"pod-template-hash": revision},
            "ownerReferences": [owner],
        }
        link, _ = registry.link(decoded({"metadata": metadata}))
        assert link is not None
        assert (link.key, link.certain) == ("ml/a", False)
        gang, _ = registry.resolve(link, "ml", Objects([found]))
        assert gang is not None
        assert gang.minimum == 2
        assert registry.resolve(link, "ml", Objects([deployment()])) == (None, ()), "plain Deployments are no gangs"
        assert registry.resolve(link, "ml", Objects([])) == (None, ()), "and nobody guesses that they are"


@pytest.mark.parametrize(
    ("labels", "annotations", "key"),
    [
        ({}, {"scheduling.k8s.io/group-name": "g"}, "ml/g"),
        ({}, {"scheduling.volcano.sh/group-name": "g"}, "ml/g"),
        ({"scheduling.x-k8s.io/pod-group": "g"}, {}, "ml/g"),
        ({"kueue.x-k8s.io/pod-group-name": "g"}, {"kueue.x-k8s.io/pod-group-total-count": "3"}, "ml/g"),
        ({}, {"pod-group-name": "g"}, "ml/g"),
    ],
)
def test_a_template_that_names_a_group_joins_it(labels: dict[str, str], annotations: dict[str, str], key: str) -> None:
    found = deployment(annotations)
    found["spec"]["template"]["metadata"]["labels"] = labels
    assert {member for member, _ in registry.expand(found).members} == {key}


def test_stateful_pods_have_ordinals_from_the_start_and_claims_of_their_own() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}
    found = registry.expand(
        stateful(
            replicas=2,
            ordinals={"start": 5},
            volumeClaimTemplates=[claim],
            template=template(1, volumes=[{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]),
        )
    )
    assert names(found) == ["a-5", "a-6"]
    pods = [spec.pod for _, spec in found.members]
    assert pods[1]["metadata"]["labels"] == {
        "statefulset.kubernetes.io/pod-name": "a-6",
        "apps.kubernetes.io/pod-index": "6",
    }
    # A claim goes before a volume of the same name.
    assert pods[1]["spec"]["volumes"] == [
        {"name": "tmp", "emptyDir": {}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-a-6"}},
    ]
    assert [(c["metadata"], c["spec"]) for c in found.claims] == [
        ({"name": "data-a-5", "namespace": "ml"}, {"storageClassName": "fast"}),
        ({"name": "data-a-6", "namespace": "ml"}, {"storageClassName": "fast"}),
    ]


def test_a_stateful_gang_must_be_created_at_once() -> None:
    ordered = stateful(replicas=3, template=template(1, {"gangpool.io/min-member": "3"}))
    assert codes(registry.expand(ordered)) == [("ordered-ready", "spec.podManagementPolicy")]
    ordered["spec"]["podManagementPolicy"] = "Parallel"
    assert codes(registry.expand(ordered)) == []
    assert the_gang(ordered).minimum == 3


def test_a_stateful_set_with_a_level_is_admitted_whole() -> None:
    level = template(1, {"kueue.x-k8s.io/podset-required-topology": "rack"})
    gang = the_gang(stateful(replicas=3, podManagementPolicy="Parallel", template=level))
    assert (gang.minimum, gang.total) == (None, 3)


def test_one_pod_stands_for_the_pods_of_a_daemon_set() -> None:
    found = registry.expand(
        obj("apps/v1 DaemonSet", {"template": template(tolerations=[{"key": "mine"}], hostNetwork=True)})
    )
    ((key, spec),) = found.members
    assert (key, spec.role) == ("", "daemon")
    tolerations = spec.pod["spec"]["tolerations"]
    assert tolerations[0] == {"key": "mine"}
    tolerated = {(t["key"], t["effect"]) for t in tolerations[1:]}
    # What the DaemonSet controller adds: not ready, unreachable, three pressures, cordon; for host network one more.
    assert ("node.kubernetes.io/unschedulable", "NoSchedule") in tolerated
    assert ("node.kubernetes.io/not-ready", "NoExecute") in tolerated
    assert ("node.kubernetes.io/network-unavailable", "NoSchedule") in tolerated
    assert len(tolerated) == 7


def test_a_label_that_is_no_text_is_named() -> None:
    found = deployment()
    found["spec"]["template"]["metadata"]["labels"] = {"tier": True}
    with pytest.raises(WorkloadError, match=r"spec\.template\.metadata\.labels\[tier\]: must be text, found true"):
        registry.expand(found)
