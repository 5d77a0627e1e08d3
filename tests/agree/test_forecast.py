"""The comparison itself: it finds what differs, and reads a pod's cards and a state's reasons."""

from __future__ import annotations

from typing import Any

from tests.agree.forecast import Outcome, differences, outcome, waiting

REASON = {"code": "cannot-fit", "message": "0 of 2", "next_step": ""}


def pod(name: str, node: str = "", **metadata: Any) -> dict[str, Any]:
    placed = {"nodeName": node} if node else {}
    meta = {"namespace": "ml", "name": name, **metadata}
    return {"kind": "Pod", "metadata": meta, "spec": {"schedulerName": "gangpool", **placed}, "status": {}}


def test_a_pod_elsewhere_other_cards_or_another_reason_differ() -> None:
    dry = Outcome({("ml", "a"): ("n1", (0, 1))}, {(("ml", "b"),): REASON})
    assert differences(dry, dry) == []
    assert len(differences(dry, Outcome({("ml", "a"): ("n2", (0, 1))}, dry.waits))) == 1
    assert len(differences(dry, Outcome({("ml", "a"): ("n1", (0, 2))}, dry.waits))) == 1
    assert len(differences(dry, Outcome({}, dry.waits))) == 1
    assert len(differences(dry, Outcome(dry.seats, {(("ml", "b"),): {**REASON, "message": "1 of 2"}}))) == 1
    assert len(differences(dry, Outcome(dry.seats, {}))) == 1


def test_the_live_result_is_read_from_pods_and_state() -> None:
    devices = '{"v": 1, "containers": {"a": {"cards": [3]}, "b": {"cards": [1, 2]}}}'
    pods = [pod("a", "n1", annotations={"gangpool.io/devices": devices}), pod("old", "n1"), pod("b"), pod("c")]
    state = {
        "pending": [
            {"namespace": "ml", "gang": None, "pods": ["b", "c"], "reason": REASON},
            {"namespace": "ml", "gang": "ml/g", "pods": ["g-0", "g-1"], "reason": REASON},
        ]
    }
    found = outcome(pods, state, [("ml", "a"), ("ml", "b")])
    assert found.seats == {("ml", "a"): ("n1", (1, 2, 3))}
    assert sorted(found.waits) == [(("ml", "b"),), (("ml", "c"),), (("ml", "g-0"), ("ml", "g-1"))]


def test_who_waits() -> None:
    leaving = pod("leaving", deletionTimestamp="2026-01-01T00:00:00Z")
    ended = {**pod("ended"), "status": {"phase": "Failed"}}
    other = {**pod("other"), "spec": {"schedulerName": "default-scheduler"}}
    assert waiting({"items": [pod("a"), pod("b", "n1"), leaving, ended, other]}) == [("ml", "a")]
