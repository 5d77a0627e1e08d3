"""Status of the three PodGroups: each project's words, and no write where they stand there already."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.live.groups import GangView, is_group, status
from tests.live.stage import NATIVE, PLUGINS, VOLCANO, group_of

FULL = "cannot-fit: 1 of 2 members fit in the pool"
MISSING = "members-missing: 1 of 2 members exist"
RUNS = GangView(True, 2, "")
WALL = 60.0
NOW = "1970-01-01T00:01:00Z"


def waits(text: str) -> GangView:
    return GangView(False, 0, text)


def patch(dialect: str, gang: GangView, old: dict[str, Any] | None = None) -> dict[str, Any] | None:
    write = status(group_of(dialect, "g", 2, old), gang, WALL)
    return None if write is None else write.body["status"]


@pytest.mark.parametrize("dialect", [VOLCANO, PLUGINS, NATIVE])
@pytest.mark.parametrize("gang", [RUNS, waits(FULL), waits(MISSING), waits("suspended: x")])
def test_what_is_said_is_not_written_again(dialect: str, gang: GangView) -> None:
    said = patch(dialect, gang)
    assert said is not None
    assert patch(dialect, gang, said) is None


@pytest.mark.parametrize("dialect", [VOLCANO, PLUGINS, NATIVE])
def test_where_it_is_written(dialect: str) -> None:
    write = status(group_of(dialect, "g", 2), RUNS, WALL)
    assert write is not None
    assert write.path == f"/apis/{dialect}/namespaces/ml/podgroups/g/status"
    assert write.body["metadata"] == {"uid": "uid-group-g"}
    kind = "strategic-merge-patch" if dialect == NATIVE else "merge-patch"  # CRDs know no strategic patch
    assert write.content_type == f"application/{kind}+json"


def test_other_objects_are_left_alone() -> None:
    assert status(group_of("scheduling.run.ai/v2alpha2", "g", 2), RUNS, WALL) is None
    gone = group_of(NATIVE, "g", 2)
    gone["metadata"]["deletionTimestamp"] = NOW
    assert status(gone, RUNS, WALL) is None
    assert is_group("scheduling.volcano.sh", "PodGroup")
    assert not is_group("scheduling.volcano.sh", "Queue")
    assert not is_group("scheduling.run.ai", "PodGroup")


# ---- Volcano


@pytest.mark.parametrize(
    ("text", "phase", "reason"),
    [
        (FULL, "Inqueue", "NotEnoughResources"),
        (MISSING, "Inqueue", "NotEnoughTasks"),
        ("queue-closed: x", "Pending", "NotEnoughResources"),
        ("bind-refused: x", "Inqueue", "NotEnoughResources"),
    ],
)
def test_volcano_waits(text: str, phase: str, reason: str) -> None:
    assert patch(VOLCANO, waits(text)) == {
        "phase": phase,
        "conditions": [
            {
                "type": "Unschedulable",
                "status": "True",
                "reason": reason,
                "message": text,
                "lastTransitionTime": NOW,
            }
        ],
    }


def test_volcano_keeps_times_and_the_words_of_others() -> None:
    other = {"type": "Uninqueueable", "status": "True"}
    before = {
        "type": "Unschedulable",
        "status": "True",
        "message": "old",
        "lastTransitionTime": "T0",
        "transitionID": "7",
    }
    said = patch(VOLCANO, waits(FULL), {"phase": "Inqueue", "conditions": [other, before]})
    assert said is not None
    assert said["conditions"][0] == other
    assert said["conditions"][1] == {
        **before,
        "message": FULL,
        "reason": "NotEnoughResources",
    }


def test_volcano_runs_and_waits_again() -> None:
    waiting = patch(VOLCANO, waits(FULL))
    running = patch(VOLCANO, RUNS, waiting)
    assert running is not None
    assert running["phase"] == "Running"
    assert [(c["type"], c["status"]) for c in running["conditions"]] == [
        ("Unschedulable", "False"),
        ("Scheduled", "True"),
    ]
    again = patch(VOLCANO, waits(FULL), running)
    assert again is not None
    assert again["phase"] == "Inqueue"
    assert [(c["type"], c["status"]) for c in again["conditions"]] == [
        ("Unschedulable", "True"),
        ("Scheduled", "False"),
    ]


def test_volcano_phase_alone() -> None:
    said = patch(VOLCANO, waits(FULL))
    assert said is not None
    assert patch(VOLCANO, waits(FULL), {**said, "phase": "Pending"}) == {"phase": "Inqueue"}


def test_volcano_group_that_is_over_is_left_alone() -> None:
    assert patch(VOLCANO, RUNS, {"phase": "Completed"}) is None


def test_volcano_ignores_how_many_more_came() -> None:
    said = patch(VOLCANO, RUNS)
    assert patch(VOLCANO, GangView(True, 7, ""), said) is None


# ---- scheduler-plugins


@pytest.mark.parametrize(
    ("gang", "phase"), [(waits(MISSING), "Pending"), (waits(FULL), "Scheduling"), (RUNS, "Running")]
)
def test_plugins_phase(gang: GangView, phase: str) -> None:
    assert patch(PLUGINS, gang) == {"phase": phase}


@pytest.mark.parametrize("phase", ["Finished", "Failed"])
def test_plugins_group_that_is_over_is_left_alone(phase: str) -> None:
    assert patch(PLUGINS, RUNS, {"phase": phase}) is None


# ---- Kubernetes


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("v1beta1", "PodGroupInitiallyScheduled"),
        ("v1alpha3", "PodGroupInitiallyScheduled"),
        ("v1alpha2", "PodGroupScheduled"),
    ],
)
def test_native_condition(version: str, kind: str) -> None:
    dialect = f"scheduling.k8s.io/{version}"
    said = {"type": kind, "status": "False", "reason": "Unschedulable", "message": FULL, "lastTransitionTime": NOW}
    assert patch(dialect, waits(FULL)) == {"conditions": [said]}
    runs = patch(dialect, RUNS)
    assert runs is not None
    assert [(c["type"], c["status"], c["reason"]) for c in runs["conditions"]] == [(kind, "True", "Scheduled")]


def test_native_condition_keeps_its_time_with_its_status() -> None:
    old = {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable", "message": "old"}
    said = patch(NATIVE, waits(FULL), {"conditions": [{**old, "lastTransitionTime": "T0"}]})
    assert said is not None
    assert said["conditions"][0]["lastTransitionTime"] == "T0"


def test_native_condition_never_goes_back() -> None:
    """The API's own promise: once True it stays, also when members are lost."""
    runs = patch(NATIVE, RUNS)
    assert patch(NATIVE, waits(FULL), runs) is None
