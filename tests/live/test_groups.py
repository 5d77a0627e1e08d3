"""Status of the PodGroups: each project's words, and no write where they stand there already."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.live.course import Counts
from gangpool.live.groups import GangView, is_group, status
from tests.live.stage import KAI, NATIVE, PLUGINS, VOLCANO, group_of

FULL = "cannot-fit: 1 of 2 members fit in the pool"
MISSING = "members-missing: 1 of 2 members exist"
RUNS = GangView(True, 2, "")
WALL = 60.0
NOW = "1970-01-01T00:01:00Z"


def view(n_bound: int, running: int = 0, succeeded: int = 0, failed: int = 0) -> GangView:
    """A gang that has started."""
    return GangView(True, n_bound, "", Counts(running, succeeded, failed))


def waits(text: str) -> GangView:
    return GangView(False, 0, text)


def patch(dialect: str, gang: GangView, old: dict[str, Any] | None = None) -> dict[str, Any] | None:
    write = status(group_of(dialect, "g", 2, old), gang, WALL)
    return None if write is None else write.body["status"]


@pytest.mark.parametrize("dialect", [VOLCANO, PLUGINS, NATIVE])
@pytest.mark.parametrize("gang", [RUNS, view(1, 1, 1), waits(FULL), waits(MISSING), waits("suspended: x")])
def test_what_is_said_is_not_written_again(dialect: str, gang: GangView) -> None:
    said = patch(dialect, gang)
    assert said is not None
    assert patch(dialect, gang, said) is None


@pytest.mark.parametrize("dialect", [VOLCANO, PLUGINS, NATIVE, KAI])
def test_gang_about_which_nothing_is_known_is_left_alone(dialect: str) -> None:
    """Fewer than its minimum, and none that waits: its members are on their way."""
    assert patch(dialect, GangView(False, 1, "")) is None


@pytest.mark.parametrize("dialect", [VOLCANO, PLUGINS, NATIVE])
def test_where_it_is_written(dialect: str) -> None:
    write = status(group_of(dialect, "g", 2), RUNS, WALL)
    assert write is not None
    assert write.path == f"/apis/{dialect}/namespaces/ml/podgroups/g/status"
    assert write.body["metadata"] == {"uid": "uid-group-g"}
    kind = "strategic-merge-patch" if dialect == NATIVE else "merge-patch"  # CRDs know no strategic patch
    assert write.content_type == f"application/{kind}+json"


def test_other_objects_are_left_alone() -> None:
    assert status(group_of("example.com/v1", "g", 2), RUNS, WALL) is None
    gone = group_of(NATIVE, "g", 2)
    gone["metadata"]["deletionTimestamp"] = NOW
    assert status(gone, RUNS, WALL) is None
    assert is_group("scheduling.volcano.sh", "PodGroup")
    assert not is_group("scheduling.volcano.sh", "Queue")
    assert is_group("scheduling.run.ai", "PodGroup")
    assert not is_group("example.com", "PodGroup")


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


def test_volcano_counts_and_completes() -> None:
    """Bound, running, half done, over; and again when its job is run again."""
    said = patch(VOLCANO, RUNS)
    assert patch(VOLCANO, view(2, running=2), said) == {"running": 2}
    said = {**said, "running": 2} if said else {}
    assert patch(VOLCANO, view(1, running=1, succeeded=1), said) == {"running": 1, "succeeded": 1}
    said |= {"running": 1, "succeeded": 1}
    assert patch(VOLCANO, view(0, succeeded=1, failed=1), said) == {"phase": "Completed", "running": 0, "failed": 1}
    over = {"phase": "Completed", "conditions": said["conditions"]}
    assert patch(VOLCANO, RUNS, over) == {"phase": "Running"}


def test_volcano_part_of_which_runs_and_the_rest_waits_is_unknown() -> None:
    part = GangView(False, 1, FULL, Counts(running=1))
    said = patch(VOLCANO, part)
    assert said is not None
    assert (said["phase"], said["running"]) == ("Unknown", 1)


def test_volcano_lost_members_are_counted_before_others_wait() -> None:
    assert patch(VOLCANO, GangView(False, 1, "", Counts(running=1)), {"phase": "Running", "running": 2}) == {
        "running": 1
    }


def test_volcano_ignores_how_many_more_came() -> None:
    said = patch(VOLCANO, RUNS)
    assert patch(VOLCANO, GangView(True, 7, ""), said) is None


# ---- scheduler-plugins


@pytest.mark.parametrize(
    ("gang", "said"),
    [
        (waits(MISSING), {"phase": "Pending"}),
        (waits(FULL), {"phase": "Scheduling"}),
        (RUNS, {"phase": "Scheduling"}),  # bound, and not begun
        (view(2, running=1), {"phase": "Scheduling", "running": 1}),
        (view(2, running=2), {"phase": "Running", "running": 2}),
        (view(1, running=1, succeeded=1), {"phase": "Running", "running": 1, "succeeded": 1}),
        (view(0, succeeded=2), {"phase": "Finished", "succeeded": 2}),
        (view(1, running=1, failed=1), {"phase": "Failed", "running": 1, "failed": 1}),
        (view(0, failed=1), {"phase": "Scheduling", "failed": 1}),  # fewer than the minimum have begun
    ],
)
def test_plugins_phase_and_numbers(gang: GangView, said: dict[str, Any]) -> None:
    """As that project's controller, which may run too, has them."""
    assert patch(PLUGINS, gang) == said


@pytest.mark.parametrize("phase", ["Finished", "Failed"])
def test_plugins_group_that_is_over_is_left_alone(phase: str) -> None:
    assert patch(PLUGINS, view(2, running=2), {"phase": phase}) is None


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


def test_native_object_that_cannot_be_read_is_an_error_of_scheduling() -> None:
    said = patch(NATIVE, waits("invalid-object: spec.x is no number"))
    assert said is not None
    assert said["conditions"][0]["reason"] == "SchedulerError"


def test_native_condition_says_which_generation_it_is_about() -> None:
    group = group_of(NATIVE, "g", 2)
    group["metadata"]["generation"] = 3
    write = status(group, waits(FULL), WALL)
    assert write is not None
    assert write.body["status"]["conditions"][0]["observedGeneration"] == 3


# ---- KAI


def kai(name: str, pool: str = "default") -> dict[str, Any]:
    return {"type": "UnschedulableOnNodePool", "nodePool": pool, "status": "True", "message": name, "transitionID": "4"}


def test_kai_waits_on_its_node_pool() -> None:
    assert patch(KAI, waits(FULL), {"schedulingConditions": [kai("old"), kai("x", "other")]}) == {
        "schedulingConditions": [
            kai("x", "other"),
            {
                "type": "UnschedulableOnNodePool",
                "nodePool": "default",
                "status": "True",
                "reason": "Unschedulable",
                "message": FULL,
                "reasons": [{"reason": "Unschedulable", "message": FULL}],
                "transitionID": "5",
                "lastTransitionTime": NOW,
            },
        ]
    }
    said = patch(KAI, waits(FULL))
    assert patch(KAI, waits(FULL), said) is None


def test_kai_runs() -> None:
    """Numbers are its controller's to say."""
    waiting = {"schedulingConditions": [kai("x", "other"), kai(FULL)]}
    assert patch(KAI, view(2, running=2), waiting) == {"schedulingConditions": [kai("x", "other")]}
    assert patch(KAI, view(2, running=2), {"schedulingConditions": [kai("x", "other")]}) is None
    assert patch(KAI, RUNS) is None


def test_kai_node_pool_comes_from_the_label() -> None:
    group = group_of(KAI, "g", 2)
    group["metadata"]["labels"] = {"kai.scheduler/node-pool": "a100"}
    write = status(group, waits(FULL), WALL)
    assert write is not None
    assert write.body["status"]["schedulingConditions"][0]["nodePool"] == "a100"
