"""What `gangpool manifests` prints: rights for what is followed, no more; schemas that keep what we read."""

from __future__ import annotations

from gangpool.live.resources import RESOURCES
from gangpool.manifests import crds, fence, rbac
from gangpool.manifests.rbac import FOLLOWED, RIGHTS


def test_the_scheduler_may_read_exactly_what_it_follows() -> None:
    """A kind that is followed without a right would look like one that is not served."""
    may = {(group, name) for rule in FOLLOWED for group in rule["apiGroups"] for name in rule["resources"]}
    follows = {(r.group, r.plural) for r in RESOURCES} | {("", "pods"), ("", "nodes")}
    assert may == follows


def test_nobody_may_write_pods_but_the_jobs_controller() -> None:
    """Least rights: the scheduler binds and evicts through subresources only."""
    writers = {
        process
        for process, rules in RIGHTS.items()
        for rule in rules
        if "pods" in rule["resources"] and set(rule["verbs"]) - {"get", "list", "watch"}
    }
    assert writers == {"jobs-controller"}
    assert not any("*" in rule[part] for rules in RIGHTS.values() for rule in rules for part in rule)


def test_each_process_has_an_account_of_its_own() -> None:
    accounts = {obj["metadata"]["name"] for obj in rbac() if obj["kind"] == "ServiceAccount"}
    assert accounts == {f"gangpool-{process}" for process in RIGHTS}


def test_a_job_keeps_min_member_and_what_we_do_not_know() -> None:
    """The API server drops fields that a schema lacks before anybody sees them."""
    job = next(crd for crd in crds() if crd["spec"]["names"]["kind"] == "Job")
    (version,) = job["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["properties"]["minMember"]["type"] == "integer"
    assert spec["x-kubernetes-preserve-unknown-fields"]
    assert version["subresources"] == {"status": {}}


def test_the_fence_stands_open_where_the_lease_is_missing() -> None:
    policy, binding = fence()
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert binding["spec"]["paramRef"]["parameterNotFoundAction"] == "Allow"
    assert {"pods/binding", "pods/eviction"} == set(policy["spec"]["matchConstraints"]["resourceRules"][0]["resources"])
