"""Decoding Pods: structs that hold only the fields we read, against plain dictionaries."""

from __future__ import annotations

from typing import Any

import msgspec

from bench.harness import Case, bench
from gangpool.objects.pod import Pod

N_PODS = 2_000


def _pods() -> bytes:
    """A list of pods as the API server sends them: most of their bytes are fields that we don't read."""
    labels = {f"example.com/label-{i}": f"value-{i}" for i in range(10)}
    container = {
        "name": "worker",
        "image": "registry.example.com/train:1",
        "env": [{"name": f"VARIABLE_{i}", "value": "x" * 40} for i in range(20)],
        "resources": {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"nvidia.com/gpu": "8"}},
        "volumeMounts": [{"name": f"volume-{i}", "mountPath": f"/mnt/{i}"} for i in range(6)],
    }
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"train-{i}", "namespace": "team", "uid": f"uid-{i}", "labels": labels},
            "spec": {"schedulerName": "gangpool", "containers": [container], "nodeName": f"node-{i % 100}"},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }
        for i in range(N_PODS)
    ]
    return msgspec.json.encode(pods)


@bench("pods-as-dicts")
def pods_as_dicts() -> Case:
    """The plain way, to compare with."""

    def check(_: bytes, pods: list[dict[str, Any]]) -> None:
        assert pods[-1]["metadata"]["name"] == f"train-{N_PODS - 1}"

    return Case(prepare=_pods, work=msgspec.json.Decoder().decode, check=check, count=N_PODS)


@bench("pods-as-structs", reference="pods-as-dicts", memory=True)
def pods_as_structs() -> Case:
    """Our way: unknown fields are skipped, not built."""

    def check(data: bytes, pods: list[Pod]) -> None:
        plain = msgspec.json.decode(data)
        assert [p.metadata.name for p in pods] == [p["metadata"]["name"] for p in plain]
        resources = [p.spec.containers[0].resources for p in pods]
        assert all(r is not None and r.limits == {"nvidia.com/gpu": "8"} for r in resources)

    return Case(prepare=_pods, work=msgspec.json.Decoder(list[Pod]).decode, check=check, count=N_PODS)
