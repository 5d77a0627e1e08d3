"""Namespaces that forbid: a quota that refuses pods, a policy that refuses binds. The reasons name them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.judge import QUIET_S, Gang
from tests.faults.load import SPACE, Work, indexed, native, pod_spec, volcano
from tests.faults.stage import Stage

POLICY = "no-binds-on-fridays"
QUOTA = "two-pods-only"


def works(stage: Stage, name: str, kinds: str) -> list[Work]:
    """A gang of four per kind: v(olcano), i(ndexed), n(ative)."""
    spec = {**pod_spec(stage.rng, 2), "initContainers": []}
    made = []
    for kind in kinds:
        gang = Gang(f"{name}-{kind}", 4, 4)
        if kind == "n":
            made.append(Work(gang, native(gang, spec), is_remade=False))
        else:
            made.append(Work(gang, ({"v": volcano, "i": indexed}[kind](gang, spec),), is_remade=True))
    return made


async def forbid(stage: Stage, expression: str) -> list[dict[str, Any]]:
    """A policy on Bindings in the namespace of the load, once the server heeds it."""
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": POLICY},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
                ]
            },
            "validations": [{"expression": expression, "message": f"{POLICY} says no"}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": POLICY},
        "spec": {"policyName": POLICY, "validationActions": ["Deny"]},
    }
    for thing in (policy, binding):
        await stage.api.create(thing)
    probe = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "refused-1"}, "target": {"name": "x"}}
    path = f"/api/v1/namespaces/{SPACE}/pods/refused-1/binding"
    for _ in range(500):
        if (await stage.api.request("POST", path, probe, dryRun="All")).status == 422:
            return [policy, binding]
        await asyncio.sleep(0.02)
    raise AssertionError("the policy is not heeded")


def said(stage: Stage, prefix: str) -> list[str]:
    """What the waiting pods of some work say, each text once."""
    found = []
    for key in stage.waiting():
        pod = stage.history.pods.get(key)
        if pod is not None and key.startswith(f"{SPACE}/{prefix}"):
            found += [
                c.get("message", "") for c in pod["status"].get("conditions") or () if c["type"] == "PodScheduled"
            ]
    return sorted(set(found))


def names_policy(stage: Stage, *prefixes: str) -> Callable[[], bool]:
    """Whether a pod of each of these says the policy's name, as a question to ask again and again."""
    return lambda: all(any(POLICY in text for text in said(stage, prefix)) for prefix in prefixes)


async def refused_everywhere(folder: Path, seed: int) -> list[str]:
    """1. Every bind is refused: nothing is bound, the reason names the policy. 2. It goes away: all is bound.
    3. One member of a gang is refused: it is undone, and not bound by half again. 4. The policy goes away: all is
    bound."""
    async with Stage(folder, seed) as stage:
        stage.start("jobs-controller", "jobs")
        stage.start("scheduler", "a")
        await stage.leader()
        things = await forbid(stage, "false")
        await stage.create(works(stage, "all", "vin"))
        await stage.until(names_policy(stage, *(f"all-{kind}" for kind in "vin")), f"all name {POLICY}")
        assert stage.n_binds() == 0
        for thing in things:
            await stage.api.delete(thing)
        await stage.until_done()

        things = await forbid(stage, "!object.metadata.name.matches('-1(-[a-z0-9]{5})?$')")
        await stage.create(works(stage, "one", "v"))
        await stage.until(names_policy(stage, "one-v"), f"it names {POLICY}")
        await stage.until(lambda: not stage.on_nodes("one-v"), "it is undone")
        n_binds, n_refused = stage.n_binds(), stage.n_refused()
        await stage.until(lambda: stage.n_refused() > n_refused, "it is tried again")
        assert stage.n_binds() == n_binds, "by dry run, and not by half again"
        for thing in things:
            await stage.api.delete(thing)
        return await stage.judged(QUIET_S)


async def over_quota(folder: Path, seed: int) -> list[str]:
    """1. A quota of two pods; gangs of four. The Volcano Job has no pods and names the quota; the Indexed Job has two,
    and they say that two are missing. 2. The quota is raised: all is bound."""
    async with Stage(folder, seed) as stage:
        stage.start("jobs-controller", "jobs")
        stage.start("scheduler", "a")
        await stage.leader()
        quota = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": QUOTA, "namespace": SPACE},
            "spec": {"hard": {"pods": "2"}},
        }
        await stage.api.create(quota)
        while not (await stage.api.get(quota)).get("status", {}).get("hard"):
            await asyncio.sleep(0.02)
        await stage.create(works(stage, "q", "iv"))
        job = stage.works[-1].objects[0]
        while QUOTA not in str((await stage.api.get(job)).get("status")):
            await asyncio.sleep(0.05)
        missing = "members-missing: 2 of 4 members exist"
        await stage.until(lambda: any(missing in text for text in said(stage, "q-i")), missing)
        assert stage.n_binds() == 0
        await stage.api.patch(quota, {"spec": {"hard": {"pods": "20"}}})
        return await stage.judged(QUIET_S)


@pytest.mark.cluster
@pytest.mark.timeout(200)
def test_a_policy_that_refuses_binds(tmp_path: Path, seed: int) -> None:
    """Said, undone, and never tried on half a gang again."""
    assert asyncio.run(refused_everywhere(tmp_path, seed)) == []


@pytest.mark.cluster
@pytest.mark.timeout(200)
def test_a_quota_that_refuses_pods(tmp_path: Path, seed: int) -> None:
    """Said by whoever knows it."""
    assert asyncio.run(over_quota(tmp_path, seed)) == []
