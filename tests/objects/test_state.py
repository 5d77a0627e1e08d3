"""What a pod's state means: who holds room, and whose pod it is."""

from __future__ import annotations

from typing import Any

import pytest

from gangpool.objects.state import holds, is_daemon, is_gated, is_mirror, is_terminal, is_terminating
from gangpool.objects.typed import as_pod


def pod(phase: str = "Running", node: str = "n1", **more: Any) -> dict[str, Any]:
    return {
        "metadata": more.get("metadata", {}),
        "spec": {"nodeName": node, **more.get("spec", {})},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (pod(), True),
        (pod("Pending"), True),  # bound, its images are being pulled
        (pod("Unknown"), True),  # the node is silent; its pods are not known to have ended
        (pod("Succeeded"), False),
        (pod("Failed"), False),
        (pod("Pending", node=""), False),
        (pod(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), True),  # terminating holds until it is gone
        (pod("Failed", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), False),
        (pod("Pending", spec={"schedulingGates": [{"name": "x"}]}), False),
        (pod("Running", spec={"schedulingGates": []}), True),
    ],
)
def test_holds(made: dict[str, Any], wanted: bool) -> None:
    assert holds(as_pod(made)) is wanted


def test_single_questions() -> None:
    plain = as_pod(pod())
    assert not (is_terminal(plain) or is_terminating(plain) or is_gated(plain) or is_mirror(plain) or is_daemon(plain))
    assert is_terminal(as_pod(pod("Failed")))
    assert is_terminating(as_pod(pod(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})))
    assert is_gated(as_pod(pod(spec={"schedulingGates": [{"name": "x"}]})))
    assert is_mirror(as_pod(pod(metadata={"annotations": {"kubernetes.io/config.mirror": "hash"}})))
    assert not is_mirror(as_pod(pod(metadata={"annotations": {"kubernetes.io/config.source": "api"}})))


@pytest.mark.parametrize(
    ("owner", "wanted"),
    [
        ({"kind": "DaemonSet", "controller": True}, True),
        ({"kind": "DaemonSet", "controller": False}, False),
        ({"kind": "DaemonSet"}, False),
        ({"kind": "ReplicaSet", "controller": True}, False),
    ],
)
def test_is_daemon(owner: dict[str, Any], wanted: bool) -> None:
    assert is_daemon(as_pod(pod(metadata={"ownerReferences": [owner]}))) is wanted
