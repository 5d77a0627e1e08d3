"""Shapes: what each part of a pod becomes, that equal templates are one object, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.core.model import Requirement, Shape, Spread, Term, Toleration
from gangpool.objects.faults import ObjectError
from gangpool.objects.shape import footprint_of, shape_of
from gangpool.objects.typed import as_pod

Json = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOST = "kubernetes.io/hostname"
APP = (Requirement("app", "In", ("a",)),)


def pod(labels: Json | None = None, namespace: str = "ml", **spec: Any) -> Json:
    containers = [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]
    return {"metadata": {"namespace": namespace, "labels": labels}, "spec": {"containers": containers, **spec}}


def shape(made: Json) -> Shape:
    return shape_of(as_pod(made))


def refused(made: Json) -> ObjectError:
    with pytest.raises(ObjectError) as error:
        shape_of(as_pod(made))
    return error.value


def term(key: str = HOST, selector: Json | None = None, **more: Any) -> Json:
    return {
        "topologyKey": key,
        "labelSelector": {"matchLabels": {"app": "a"}} if selector is None else selector,
        **more,
    }


def test_a_plain_pod() -> None:
    assert shape(pod()) == Shape(requests=(("nvidia.com/gpu", 1), ("pods", 1)))


def test_equal_templates_are_one_object() -> None:
    one = pod(labels={"rank": "0"}, nodeSelector={"a": "1", "b": "2"}, nodeName="n1", priority=3)
    two = pod(labels={"rank": "1"}, namespace="other", nodeSelector={"b": "2", "a": "1"})
    assert shape(one) is shape(two)
    assert shape(one) is shape(pod(nodeSelector={"a": "1", "b": "2"}))
    assert shape(one) is not shape(pod(nodeSelector={"a": "1"}))


def test_namespace_and_labels_count_where_a_rule_between_pods_uses_them() -> None:
    rule = {"podAntiAffinity": {REQUIRED: [term()]}}
    assert shape(pod(affinity=rule)) is not shape(pod(namespace="other", affinity=rule))
    assert shape(pod(labels={"rank": "0"}, affinity=rule)) is shape(pod(labels={"rank": "1"}, affinity=rule))


def test_selectors_each_stand_by_themselves() -> None:
    """nodeSelector and node affinity must both hold; the alternatives are inside the affinity."""
    in_zone = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [in_zone, {}]}}}
    volume = ((Requirement("disk", "Exists"),),)
    found = shape_of(as_pod(pod(nodeSelector={"gpu": "h100"}, affinity=affinity)), (volume,))
    assert found.node_selectors == (
        ((Requirement("gpu", "In", ("h100",)),),),
        ((Requirement("zone", "In", ("a",)),), ()),
    )
    assert found.held_to == (volume,)


def test_preferred_nodes_leave_out_what_asks_nothing() -> None:
    terms = [
        {"weight": 5, "preference": {"matchExpressions": [{"key": "ssd", "operator": "Exists"}]}},
        {"weight": 100, "preference": {}},
        {"weight": 1},
    ]
    found = shape(pod(affinity={"nodeAffinity": {PREFERRED: terms}}))
    assert found.preferred == ((5, (Requirement("ssd", "Exists"),)),)
    assert found.node_selectors == ()


def test_tolerations_in_any_order_are_the_same() -> None:
    one = {"key": "a", "value": "x", "effect": "NoSchedule"}
    two = {"key": "b", "operator": "Exists", "value": "ignored"}
    every = {"operator": "Exists"}
    found = shape(pod(tolerations=[two, one, every, one]))
    assert found.tolerations == (
        Toleration("", "Exists"),
        Toleration("a", "Equal", "x", "NoSchedule"),
        Toleration("b", "Exists"),
    )
    assert found is shape(pod(tolerations=[every, one, two]))


def test_terms_between_pods() -> None:
    affinity = {
        "podAffinity": {REQUIRED: [term("rack")], PREFERRED: [{"weight": 10, "podAffinityTerm": term("zone")}]},
        "podAntiAffinity": {REQUIRED: [term()], PREFERRED: [{"weight": 20, "podAffinityTerm": term()}]},
    }
    found = shape(pod(affinity=affinity))
    assert found.affinity == (Term("rack", APP, ("ml",)),)
    assert found.anti_affinity == (Term(HOST, APP, ("ml",)),)
    assert found.soft_terms == ((10, Term("zone", APP, ("ml",))), (-20, Term(HOST, APP, ("ml",))))


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (term(), Term(HOST, APP, ("ml",))),  # nothing said: the pod's own namespace
        (term(namespaces=["b", "a", "b"]), Term(HOST, APP, ("a", "b"))),
        (term(namespaceSelector={}), Term(HOST, APP, (), ())),  # every namespace
        (
            term(namespaces=["a"], namespaceSelector={"matchLabels": {"team": "x"}}),
            Term(HOST, APP, ("a",), (Requirement("team", "In", ("x",)),)),
        ),
        ({"topologyKey": HOST}, Term(HOST, None, ("ml",))),  # no selector matches no pod
        ({"topologyKey": HOST, "labelSelector": {}}, Term(HOST, (), ("ml",))),  # an empty one every pod
    ],
)
def test_whom_a_term_means(made: Json, wanted: Term) -> None:
    assert shape(pod(affinity={"podAntiAffinity": {REQUIRED: [made]}})).anti_affinity == (wanted,)


def test_a_pod_without_namespace_is_in_the_default_one() -> None:
    made = pod(namespace="", affinity={"podAffinity": {REQUIRED: [term()]}})
    assert shape(made).affinity[0].namespaces == ("default",)


def test_own_labels_join_the_selector() -> None:
    """matchLabelKeys adds the pod's own value, mismatchLabelKeys excludes it; keys that it lacks count for nothing."""
    made = term(matchLabelKeys=["hash", "none"], mismatchLabelKeys=["tenant", "none"])
    found = shape(pod({"hash": "h1", "tenant": "t1"}, affinity={"podAffinity": {REQUIRED: [made]}}))
    assert found.affinity[0].selector == (
        *APP,
        Requirement("hash", "In", ("h1",)),
        Requirement("tenant", "NotIn", ("t1",)),
    )
    other = shape(pod({"hash": "h2", "tenant": "t1"}, affinity={"podAffinity": {REQUIRED: [made]}}))
    assert other is not found


def test_own_labels_are_not_joined_twice() -> None:
    """The API server has joined them on live pods already."""
    joined = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "h", "operator": "In", "values": ["1"]}]}
    found = shape(pod({"h": "1"}, affinity={"podAffinity": {REQUIRED: [term(selector=joined, matchLabelKeys=["h"])]}}))
    assert found.affinity[0].selector == (*APP, Requirement("h", "In", ("1",)))


def test_own_labels_do_not_make_an_absent_selector_match() -> None:
    made = {"topologyKey": HOST, "matchLabelKeys": ["h"]}
    assert shape(pod({"h": "1"}, affinity={"podAffinity": {REQUIRED: [made]}})).affinity[0].selector is None


def test_spread_with_the_defaults_of_the_api() -> None:
    constraint = {**term("zone"), "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}
    assert shape(pod(topologySpreadConstraints=[constraint])).spread == (Spread("zone", 2, APP, "ml"),)


def test_spread_with_everything_said() -> None:
    soft = {
        **term("zone"),
        "maxSkew": 1,
        "whenUnsatisfiable": "ScheduleAnyway",
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["h"],
    }
    hard = {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "minDomains": 3}
    selector = (*APP, Requirement("h", "In", ("1",)))
    assert shape(pod({"h": "1"}, topologySpreadConstraints=[soft, hard])).spread == (
        Spread("zone", 1, selector, "ml", hard=False, honor_affinity=False, honor_taints=True),
        Spread("rack", 1, None, "ml", min_domains=3),
    )


def ports(*made: Json) -> list[Json]:
    return [{"name": "main", "ports": list(made)}]


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"containers": ports({"containerPort": 80})}, ()),
        ({"containers": ports({"containerPort": 80, "hostPort": 8080})}, (("0.0.0.0", "TCP", 8080),)),
        (
            {"containers": ports({"containerPort": 80, "hostPort": 81, "hostIP": "10.0.0.1", "protocol": "UDP"})},
            (("10.0.0.1", "UDP", 81),),
        ),
        ({"containers": ports({"containerPort": 80}), "hostNetwork": True}, (("0.0.0.0", "TCP", 80),)),
        (
            {"containers": ports({"containerPort": 80, "hostPort": 80}, {"containerPort": 80}), "hostNetwork": True},
            (("0.0.0.0", "TCP", 80),),
        ),
        ({"containers": [], "initContainers": ports({"containerPort": 80, "hostPort": 80})}, ()),
        (
            {
                "containers": ports({"containerPort": 9, "hostPort": 9}),
                "initContainers": [{**ports({"containerPort": 8, "hostPort": 8})[0], "restartPolicy": "Always"}],
            },
            (("0.0.0.0", "TCP", 8), ("0.0.0.0", "TCP", 9)),
        ),
    ],
)
def test_host_ports(spec: Json, wanted: tuple[tuple[str, str, int], ...]) -> None:
    assert shape({"spec": spec}).host_ports == wanted


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"tolerations": [{"key": "a", "operator": "Like"}]}, "spec.tolerations[0].operator"),
        ({"tolerations": [{"operator": "Exists"}, {"value": "x"}]}, "spec.tolerations[1].operator"),
        ({"tolerations": [{"key": "a", "effect": "Never"}]}, "spec.tolerations[0].effect"),
        ({"affinity": {"nodeAffinity": {REQUIRED: {}}}}, f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"),
        (
            {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 0, "preference": {}}]}}},
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight",
        ),
        (
            {"affinity": {"podAffinity": {REQUIRED: [{"labelSelector": {}}]}}},
            f"spec.affinity.podAffinity.{REQUIRED}[0].topologyKey",
        ),
        (
            {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 101, "podAffinityTerm": term()}]}}},
            f"spec.affinity.podAntiAffinity.{PREFERRED}[0].weight",
        ),
        (
            {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 1}]}}},
            f"spec.affinity.podAntiAffinity.{PREFERRED}[0].podAffinityTerm",
        ),
        (
            {"affinity": {"podAffinity": {REQUIRED: [term(selector={"matchExpressions": [{"key": "a"}]})]}}},
            f"spec.affinity.podAffinity.{REQUIRED}[0].labelSelector.matchExpressions[0].operator",
        ),
        (
            {"affinity": {"podAffinity": {REQUIRED: [term(namespaceSelector={"matchExpressions": [{"key": "a"}]})]}}},
            f"spec.affinity.podAffinity.{REQUIRED}[0].namespaceSelector.matchExpressions[0].operator",
        ),
        ({"containers": ports({"hostPort": 65536})}, "spec.containers[0].ports[0]"),
        ({"containers": ports({"hostPort": -1})}, "spec.containers[0].ports[0]"),
        ({"containers": [{"resources": {"limits": {"cpu": "x"}}}]}, "spec.containers[0].resources.limits[cpu]"),
    ],
)
def test_impossible_values_name_their_field(spec: Json, field: str) -> None:
    assert refused({"spec": {"containers": [], **spec}}).field == field


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"whenUnsatisfiable": "Never"}, "whenUnsatisfiable"),
        ({"topologyKey": ""}, "topologyKey"),
        ({"maxSkew": 0}, "maxSkew"),
        ({"minDomains": 0}, "minDomains"),
        ({"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}, "minDomains"),
        ({"matchLabelKeys": ["a"]}, "matchLabelKeys"),
        ({"nodeAffinityPolicy": "Maybe"}, "nodeAffinityPolicy"),
        ({"nodeTaintsPolicy": ""}, "nodeTaintsPolicy"),
        ({"labelSelector": {"matchExpressions": [{"key": "a"}]}}, "labelSelector.matchExpressions[0].operator"),
    ],
)
def test_impossible_spread_names_its_field(change: Json, field: str) -> None:
    constraint = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **change}
    assert refused(pod(topologySpreadConstraints=[constraint])).field == f"spec.topologySpreadConstraints[0].{field}"


def test_a_refused_pod_is_refused_again() -> None:
    made = pod(tolerations=[{"key": "a", "operator": "Like"}])
    assert str(refused(made)) == str(refused(made))


def test_the_footprint_of_daemons_is_one_shape() -> None:
    """Each pod of a DaemonSet has an affinity to its own node; once it is there, that says nothing more."""

    def daemon(node: str) -> Json:
        field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        own = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [field]}}}
        return pod(affinity=own, tolerations=[{"operator": "Exists"}], nodeSelector={"a": node})

    one, two = as_pod(daemon("n1")), as_pod(daemon("n2"))
    assert shape_of(one) is not shape_of(two)
    assert footprint_of(one) is footprint_of(two)
    assert footprint_of(one) == Shape(requests=(("nvidia.com/gpu", 1), ("pods", 1)))


def test_the_footprint_keeps_what_bears_on_others() -> None:
    made = as_pod(
        pod(
            affinity={"podAntiAffinity": {REQUIRED: [term()], PREFERRED: [{"weight": 1, "podAffinityTerm": term()}]}},
            hostNetwork=True,
            containers=ports({"containerPort": 80}),
        )
    )
    full, held = shape_of(made), footprint_of(made)
    assert held.requests == full.requests
    assert held.anti_affinity == full.anti_affinity != ()
    assert held.soft_terms == full.soft_terms != ()
    assert held.host_ports == full.host_ports != ()
