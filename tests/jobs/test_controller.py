"""What the controller asks of the server for one Job, and what it makes of refusals and of gaps in its watches."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.intake.config import Config
from gangpool.jobs.controller import AGAIN_MOST_S, AGAIN_S, JOBS, JobsController
from gangpool.kube.client import ApiError, Client
from gangpool.kube.transport import Unreachable
from tests.kube.standin import StandIn, in_loop, json_of, served, status

KEY = ("ml", "a")
PODS = "/api/v1/namespaces/ml/pods"
STATUS = f"{JOBS.replace('/jobs', '/namespaces/ml/jobs')}/a/status"


def job(**state: Any) -> dict[str, Any]:
    """A Job of two pods; `state` of its status."""
    template = {"spec": {"containers": [{"name": "main", "image": "x"}]}}
    spec = {"minAvailable": 2, "tasks": [{"name": "w", "replicas": 2, "template": template}]}
    found = {"metadata": {"name": "a", "namespace": "ml", "uid": "u"}, "spec": spec}
    return {**found, "status": {"state": state}} if state else found


def controller(api: StandIn, client: Client, **state: Any) -> JobsController:
    """One that knows the Job, before a server that accepts everything."""
    api.on("POST", "/apis/scheduling.volcano.sh/v1beta1/namespaces/ml/podgroups", json_of({}, 201))
    api.on("POST", PODS, json_of({}, 201))
    api.on("PATCH", STATUS, json_of({}))
    made = JobsController(client, Config())
    made.jobs[KEY] = job(**state)
    return made


@in_loop
async def test_a_refused_pod_is_said_in_the_status() -> None:
    async with served() as (api, client):
        jobs = controller(api, client)
        api.on("POST", PODS, json_of({}, 201), status(403, "Forbidden", "exceeded quota: q"))
        with pytest.raises(ApiError):
            await jobs._reconcile(KEY)
        (patch,) = await api.until("PATCH", STATUS, 1)
        assert patch.body["status"]["state"]["message"] == "a pod was refused: exceeded quota: q"


@in_loop
async def test_a_message_that_is_over_is_taken_away() -> None:
    """A merge patch keeps what it does not name."""
    async with served() as (api, client):
        jobs = controller(api, client, phase="Pending", message="exceeded quota: q")
        await jobs._reconcile(KEY)
        (patch,) = await api.until("PATCH", STATUS, 1)
        assert patch.body["status"]["state"]["message"] is None


@in_loop
async def test_pods_that_came_and_went_in_a_gap_are_made_again() -> None:
    """1. Two pods are made; the watch does not show them. 2. Not made twice. 3. A list, after a gap, has none."""
    async with served() as (api, client):
        jobs = controller(api, client)
        await jobs._reconcile(KEY)
        await jobs._reconcile(KEY)
        assert api.count("POST", PODS) == 2
        jobs.reflectors[2]._sink.replace([])
        await jobs._reconcile(KEY)
        assert api.count("POST", PODS) == 4


@in_loop
async def test_refusals_are_tried_less_and_less_often_and_absence_is_not() -> None:
    async with served() as (api, client):
        jobs = controller(api, client)
        refusal = ApiError(403, "Forbidden", "quota")
        waits = [jobs._again_s(KEY, refusal) for _ in range(7)]
        assert waits == [AGAIN_S, 4.0, 8.0, 16.0, 32.0, AGAIN_MOST_S, AGAIN_MOST_S]
        assert jobs._again_s(KEY, Unreachable("x")) == AGAIN_S
        await jobs._reconcile(KEY)
        assert jobs._again_s(KEY, refusal) == AGAIN_S
