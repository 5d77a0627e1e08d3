"""What claims say about nodes: rules of the Kubernetes documentation on volumes, binding modes and local volumes."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.intake.storage import claim_of, class_of, volume_of
from gangpool.objects.faults import ObjectError
from tests.intake.build import Json, ask, codes, node, obj, pod, reason, template, where

ZONE = "topology.kubernetes.io/zone"
POOL = [node("a1", labels={ZONE: "a"}), node("a2", labels={ZONE: "a"}), node("b1", labels={ZONE: "b"})]
FIRST_CONSUMER = {"volumeBindingMode": "WaitForFirstConsumer"}


def claim(name: str, **spec: object) -> Json:
    meta = {key: spec.pop(key) for key in ("annotations",) if key in spec}
    return obj("v1", "PersistentVolumeClaim", name, **meta, spec=spec)  # type: ignore[arg-type]


def volume(name: str, *, labels: Json | None = None, phase: str = "Available", **spec: object) -> Json:
    return obj("v1", "PersistentVolume", name, None, labels=labels or {}, spec=spec, status={"phase": phase})


def storage_class(name: str, **more: object) -> Json:
    made: Json = {"provisioner": "csi.example", **more}
    return obj("storage.k8s.io/v1", "StorageClass", name, None, **made)


def on(*values: str, key: str = "kubernetes.io/hostname") -> Json:
    """Node affinity of a volume."""
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def user(claim: str = "data", name: str = "p", **more: Any) -> Json:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    return pod(name, volumes=volumes, **more)


def nodes_for(*objects: Json, given: Json | None = None) -> set[str]:
    """Every node on which the pod could be placed alone."""
    return {n["metadata"]["name"] for n in POOL if where(ask([n, *objects], given or user()))}


def test_a_pod_without_volumes_goes_anywhere() -> None:
    assert nodes_for(given=pod("p", volumes=[{"name": "v", "emptyDir": {}}])) == {"a1", "a2", "b1"}


def test_without_any_claim_in_the_input_all_count_as_there() -> None:
    answer = ask(POOL, user())
    assert set(where(answer)) == {"p"}
    assert [(w.object, w.field, w.code) for w in answer.warnings] == [
        ("Pod/ml/p", "spec.volumes[0].persistentVolumeClaim.claimName", "reference-unchecked")
    ]
    assert "data" in answer.warnings[0].message


def test_with_other_claims_a_missing_one_refuses() -> None:
    found = reason(ask([*POOL, claim("other")], user()), "p")
    assert (found.code, found.message) == ("claim-missing", "persistentvolumeclaim data not found")


def test_a_claim_of_another_namespace_is_another_claim() -> None:
    other = obj("v1", "PersistentVolumeClaim", "data", "web", spec={"volumeName": "pv"})
    assert reason(ask([*POOL, other], user()), "p").code == "claim-missing"


def test_a_claim_that_is_being_deleted_is_missing() -> None:
    gone = claim("data", volumeName="pv")
    gone["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert "is being deleted" in reason(ask([*POOL, gone], user()), "p").message


def test_a_bound_claim_ties_the_pod_to_its_volumes_nodes() -> None:
    bound = claim("data", volumeName="pv")
    assert nodes_for(bound, volume("pv", nodeAffinity=on("b", key=ZONE))) == {"b1"}
    assert nodes_for(bound, volume("pv", labels={ZONE: "a"})) == {"a1", "a2"}
    assert nodes_for(bound, volume("pv", labels={ZONE: "a__b"})) == {"a1", "a2", "b1"}
    assert nodes_for(bound, volume("pv", labels={ZONE: "a"}, nodeAffinity=on("a1", "b1"))) == {"a1"}
    assert nodes_for(bound, volume("pv")) == {"a1", "a2", "b1"}


def test_the_reason_names_where_the_volume_is() -> None:
    found = reason(ask([POOL[0], claim("data", volumeName="pv"), volume("pv", labels={ZONE: "b"})], user()), "p")
    assert found.code == "cannot-fit"
    assert f"1 do not match {ZONE}=b" in found.message


def test_a_bound_claim_whose_volume_is_not_there() -> None:
    bound = claim("data", volumeName="pv")
    assert codes(ask([*POOL, bound], user())) == ["reference-unchecked"]
    assert reason(ask([*POOL, bound, volume("other")], user()), "p").code == "claim-missing"


def test_two_claims_must_both_be_reachable() -> None:
    two = pod("p", volumes=[{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in ("x", "y")])
    objects = [
        claim("x", volumeName="px"),
        claim("y", volumeName="py"),
        volume("px", labels={ZONE: "a"}),
        volume("py", nodeAffinity=on("a2", "b1")),
    ]
    assert nodes_for(*objects, given=two) == {"a2"}


def test_an_unbound_claim_of_a_class_that_binds_at_once_waits() -> None:
    found = reason(ask([*POOL, claim("data", storageClassName="fast"), storage_class("fast")], user()), "p")
    assert (found.code, found.message) == ("claim-unbound", "persistentvolumeclaim data is not bound yet")


def test_a_class_that_waits_for_its_consumer_lets_the_pod_choose() -> None:
    unbound = claim("data", storageClassName="fast")
    assert nodes_for(unbound, storage_class("fast", **FIRST_CONSUMER)) == {"a1", "a2", "b1"}
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b", "c"]}]}]
    assert nodes_for(unbound, storage_class("fast", allowedTopologies=allowed, **FIRST_CONSUMER)) == {"b1"}


def test_the_node_that_was_chosen_for_a_volume_counts_by_its_name() -> None:
    """The annotation holds the node's name, which need not be its host name label."""
    chosen = claim("data", storageClassName="fast", annotations={"volume.kubernetes.io/selected-node": "b1"})
    renamed = node("b1", labels={"kubernetes.io/hostname": "host-17"})
    answer = ask([POOL[0], renamed, chosen, storage_class("fast", **FIRST_CONSUMER)], user())
    assert where(answer) == {"p": "b1"}


def test_a_missing_class_refuses_and_without_classes_it_is_a_doubt() -> None:
    unbound = claim("data", storageClassName="fast")
    assert codes(ask([*POOL, unbound], user())) == ["reference-unchecked"]
    found = reason(ask([*POOL, unbound, storage_class("slow")], user()), "p")
    assert (found.code, found.message) == (
        "claim-missing",
        "storageclass fast of persistentvolumeclaim data not found",
    )


def test_a_claim_without_class_gets_the_default_one_the_youngest_of_several() -> None:
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    at_once = storage_class("at-once", created="2025-01-01T00:00:00Z", **default)
    waits = storage_class("waits", created="2026-01-01T00:00:00Z", **default, **FIRST_CONSUMER)
    assert nodes_for(claim("data"), at_once, waits) == {"a1", "a2", "b1"}
    assert reason(ask([*POOL, claim("data"), at_once], user()), "p").code == "claim-unbound"


def test_the_class_may_stand_in_the_old_annotation() -> None:
    old = claim("data", annotations={"volume.beta.kubernetes.io/storage-class": "fast"})
    assert nodes_for(old, storage_class("fast", **FIRST_CONSUMER)) == {"a1", "a2", "b1"}


def test_an_unbound_claim_that_asks_for_no_class_waits_for_somebody_to_bind_it() -> None:
    for unbound in (claim("data", storageClassName=""), claim("data")):
        assert reason(ask([*POOL, unbound, storage_class("fast")], user()), "p").code == "claim-unbound"


def local(name: str, where_: str, **spec: object) -> Json:
    return volume(name, storageClassName="local", nodeAffinity=on(where_), **spec)  # type: ignore[arg-type]


LOCAL = storage_class("local", provisioner="kubernetes.io/no-provisioner", **FIRST_CONSUMER)


def test_local_volumes_offer_the_nodes_of_those_that_are_free() -> None:
    unbound = claim("data", storageClassName="local")
    free = [local("l1", "a1"), local("l2", "b1"), local("l3", "a2", claimRef={"namespace": "x", "name": "y"})]
    assert nodes_for(unbound, LOCAL, *free) == {"a1", "b1"}
    assert nodes_for(unbound, LOCAL, local("l1", "a1", phase="Released"), free[1]) == {"b1"}
    found = reason(ask([*POOL, unbound, LOCAL, free[2]], user()), "p")
    assert (found.code, "no free volume of storageclass local" in found.message) == ("claim-unbound", True)


def test_a_local_volume_must_suit_the_claim() -> None:
    unbound = claim(
        "data",
        storageClassName="local",
        accessModes=["ReadWriteOnce"],
        resources={"requests": {"storage": "100Gi"}},
        selector={"matchLabels": {"disk": "nvme"}},
    )
    right = {"capacity": {"storage": "100Gi"}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"]}
    nvme = {"labels": {"disk": "nvme"}}
    assert nodes_for(unbound, LOCAL, local("l", "a1", **right, **nvme)) == {"a1"}
    for wrong in (
        local("l", "a1", **{**right, "capacity": {"storage": "99Gi"}}, **nvme),
        local("l", "a1", **{**right, "accessModes": ["ReadOnlyMany"]}, **nvme),
        local("l", "a1", **right, labels={"disk": "hdd"}),
        local("l", "a1", **right, **nvme, volumeMode="Block"),
    ):
        assert reason(ask([*POOL, unbound, LOCAL, wrong], user()), "p").code == "claim-unbound"


def test_a_volume_that_is_kept_for_the_claim_may_be_taken() -> None:
    kept = local("l1", "b1", claimRef={"namespace": "ml", "name": "data"})
    assert nodes_for(claim("data", storageClassName="local"), LOCAL, kept) == {"b1"}


def test_a_claim_given_with_the_workload_is_made_and_bound_with_it() -> None:
    """What no cluster has yet cannot be bound yet; its class makes the volume as soon as it is there."""
    new = claim("data", storageClassName="fast")
    assert set(where(ask([*POOL, storage_class("fast")], new, user()))) == {"p"}
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
    assert where(ask([*POOL, storage_class("fast", allowedTopologies=allowed)], new, user())) == {"p": "b1"}


def test_a_claim_that_the_pool_has_already_keeps_its_volume() -> None:
    pool = [*POOL, claim("data", storageClassName="fast", volumeName="pv"), volume("pv", labels={ZONE: "b"})]
    assert where(ask([*pool, storage_class("fast")], claim("data", storageClassName="fast"), user())) == {"p": "b1"}


def test_ephemeral_volumes_ask_for_their_class() -> None:
    spec = {"storageClassName": "fast"}
    pod_ = pod("p", volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}])
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
    assert nodes_for(storage_class("fast", allowedTopologies=allowed, **FIRST_CONSUMER), given=pod_) == {"b1"}
    assert nodes_for(storage_class("fast"), given=pod_) == {"a1", "a2", "b1"}
    assert reason(ask([*POOL, storage_class("slow")], pod_), "p").code == "claim-missing"
    assert codes(ask(POOL, pod_)) == ["reference-unchecked"]


def stateful(n: int = 2) -> Json:
    spec = {
        "replicas": n,
        "serviceName": "s",
        "template": template(1, volumes=[]),
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}],
    }
    return obj("apps/v1", "StatefulSet", "db", spec=spec)


def test_claims_that_a_statefulset_makes_are_there_with_its_pods() -> None:
    assert where(ask([*POOL, storage_class("fast")], stateful())) == {"db-0": "b1", "db-1": "b1"}


def test_a_statefulsets_pod_returns_to_its_volume() -> None:
    pool = [*POOL, claim("data-db-1", volumeName="pv"), volume("pv", labels={ZONE: "a"}), storage_class("fast")]
    assert where(ask(pool, stateful())) == {"db-0": "b1", "db-1": "a1"}


def test_claims_that_a_statefulset_makes_do_not_make_others_missing() -> None:
    """1. The pool's dump has no claims. 2. A StatefulSet is given, whose controller makes claims. 3. A pod beside it
    uses a claim of its own: nobody knows whether it exists, so it counts as there."""
    answer = ask(POOL, stateful(1), user())
    assert set(where(answer)) == {"db-0", "p"}


def test_a_running_pod_asks_its_claims_nothing() -> None:
    answer = ask([*POOL, claim("other"), user(nodeName="a1")], pod("q", 8))
    assert where(answer) == {"q": "a2"}


@pytest.mark.parametrize(
    ("read", "spec", "field"),
    [
        (claim_of, {"volumeName": 5}, "spec.volumeName"),
        (claim_of, {"accessModes": "x"}, "spec.accessModes"),
        (claim_of, {"resources": {"requests": {"storage": "big"}}}, "spec.resources.requests[storage]"),
        (claim_of, {"selector": {"matchExpressions": [{"key": "a", "operator": "near"}]}}, "spec.selector."),
        (volume_of, {"capacity": {"storage": "-"}}, "spec.capacity[storage]"),
        (volume_of, {"nodeAffinity": {"required": {}}}, "spec.nodeAffinity.required.nodeSelectorTerms"),
        (volume_of, {"nodeAffinity": {"required": {"nodeSelectorTerms": [5]}}}, "spec.nodeAffinity.required"),
    ],
)
def test_what_cannot_be_read_names_its_field(read: object, spec: Json, field: str) -> None:
    with pytest.raises(ObjectError) as caught:
        read({"spec": spec})  # type: ignore[operator]
    assert caught.value.field.startswith(field)


def test_null_counts_as_absent() -> None:
    assert claim_of({"spec": {"volumeName": None, "storageClassName": None}}).class_name() is None
    assert class_of({"volumeBindingMode": None}).volumeBindingMode == "Immediate"
