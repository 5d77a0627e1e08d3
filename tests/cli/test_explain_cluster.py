"""`explain` and `jobs` beside a scheduler on a real API server: the words of the pods, and the answers of a dump."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gangpool.cli.main import run
from gangpool.core.model import Reason
from gangpool.intake.said import text_of
from gangpool.manifests import crds
from tests.cli.test_live_reads import DUMPED, STORAGE, answer, claim, group, grouped, pod, with_claim, with_nodes
from tests.cluster.client import Api
from tests.cluster.client import run as finish
from tests.cluster.plane import ControlPlane
from tests.live.test_report_cluster import scheduler_at, until_quiet

POLICY = "no-binds-on-fridays"
WAITS = ("big-0", "huge", "lost", "gated", "refused")


def policy() -> list[dict[str, Any]]:
    """The server refuses to bind the pod `refused`."""
    version = "admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    validation = {"expression": "object.metadata.name != 'refused'", "message": f"{POLICY} says no; ask on Monday"}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation]}
    return [
        {"apiVersion": version, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": POLICY}, "spec": spec},
        {
            "apiVersion": version,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": POLICY},
            "spec": {"policyName": POLICY, "validationActions": ["Deny"]},
        },
    ]


async def prepared(api: Api) -> None:
    """Four nodes with one in use, and pods that wait for five causes. The policy is heeded when this ends. There is a
    claim, because a dump without any could not tell that one is missing."""
    await api.namespace("ml")
    for thing in (*crds(), *policy(), STORAGE, claim("other")):
        await api.create(thing)
    await with_nodes(api)
    await api.create(pod("running", 5, nodeName="n1"))
    await api.create(group("big", 4))
    for i in range(4):
        await api.create(grouped(f"big-{i}", "big", 8))
    await api.create(pod("huge", 9))
    await api.create(with_claim("lost", "gone"))
    await api.create(pod("gated", 1, schedulingGates=[{"name": "example.com/quota"}]))
    await api.create(pod("refused", 0))
    await api.create(pod("fits", 1))
    probe = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "refused"}, "target": {"name": "n1"}}
    async with asyncio.timeout(30):
        while (await api.request("POST", "/api/v1/namespaces/ml/pods/refused/binding", probe, dryRun="All")).is_ok:
            await asyncio.sleep(0.05)


@pytest.mark.cluster(controllers=False)
def test_explain_says_what_the_scheduler_says(
    control_plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. Nobody schedules: what fits is told so. 2. A scheduler runs until it has said everything: each pod that waits
    says what `explain` says, also the one that the server refuses. 3. A dump of the cluster gives the same answers."""
    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig()))

    async def begin() -> None:
        async with control_plane.api() as api:
            await prepared(api)

    async def schedule() -> dict[str, str]:
        async with control_plane.api() as api, scheduler_at(control_plane, "scheduler-a") as scheduler:
            await until_quiet(scheduler)
            return {pod["metadata"]["name"]: word_of(pod) for pod in await api.items("/api/v1/namespaces/ml/pods")}

    finish(begin())
    assert answer(capsys, "explain", "pod/fits", "-n", "ml")["reason"]["code"] == "fits-now"

    words = finish(schedule())
    told = {name: answer(capsys, "explain", f"pod/{name}", "-n", "ml") for name in WAITS}
    assert {name: said_by(found) for name, found in told.items()} == {name: words[name] for name in WAITS}
    codes = {name: found["reason"]["code"] for name, found in told.items()}
    assert codes == {
        "big-0": "cannot-fit",
        "huge": "cannot-fit",
        "lost": "claim-missing",
        "gated": "gated",
        "refused": "bind-refused",
    }
    assert f"{POLICY} says no; ask on Monday" in told["refused"]["reason"]["message"]
    placed = answer(capsys, "explain", "pod/fits", "-n", "ml")
    assert (placed["state"], placed["reason"]) == ("placed", None)
    assert placed["devices"]["containers"]["main"]["cards"]
    assert placed["since"] is not None

    dump = tmp_path / "pool.json"
    dumped = control_plane.kubectl("get", DUMPED, "-A", "-o", "json")
    assert dumped.returncode == 0, dumped.stderr
    dump.write_text(dumped.stdout)
    for asked in (["pod/big-0"], ["pg", "big"], ["pod/refused"], ["pod/fits"], ["node/n1"]):
        question = ["explain", *asked, "-n", "ml"]
        assert answer(capsys, *question) == answer(capsys, *question, "--pool", str(dump))
    jobs = answer(capsys, "jobs", "-A")
    assert jobs == answer(capsys, "jobs", "--pool", str(dump))
    assert [(job["name"], job["state"], job["reason"]) for job in jobs["jobs"]] == [
        ("big", "pending", told["big-0"]["reason"])
    ]
    assert run(["explain", "pod/nobody", "-n", "ml"]) == 1
    assert capsys.readouterr().err == "gangpool: pod/ml/nobody is not there\n"


def word_of(made: dict[str, Any]) -> str:
    """What PodScheduled says."""
    found = (c for c in made["status"].get("conditions") or () if c["type"] == "PodScheduled")
    return next((c.get("message", "") for c in found), "")


def said_by(found: dict[str, Any]) -> str:
    """The reason of an answer in the words of a condition."""
    reason = found["reason"]
    return text_of(Reason(reason["code"], reason["message"], next_step=reason["next_step"]))
