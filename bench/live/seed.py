"""Many running pods in seconds: copies of one that the API server itself has stored, written into its etcd.

Called by `large`. Creating 135,000 pods and their status through the API would take minutes and tell nothing. The API
server has to store JSON for this (`STORE`); what it then serves is what it serves of any pod. etcd is reached by its
own JSON gateway.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

import aiohttp

from bench.live.stage import Stage, each
from bench.live.things import ASKS, SPACE

STORE = ("--storage-media-type=application/json",)
BATCH = 100
"""Writes in one transaction; etcd takes 128."""
NAME, NODE, APP, UID = "sample-of-a-pod", "sample-of-a-node", "sample-of-an-app", "5a6d01e0-5a6d-01e0-5a6d-01e0"
N_APPS = 500


async def running(on: Stage, n: int, n_nodes: int, n_with_card: int) -> None:
    """So many running pods in turn over the nodes; of those of one node the first `n_with_card` have a card each."""
    base = f"http://127.0.0.1:{on.plane.site.ports.etcd}/v3/kv"
    async with aiohttp.ClientSession() as etcd:
        samples = [await _sample(on, etcd, base, has_card) for has_card in (True, False)]

        async def write(numbers: list[int]) -> None:
            puts = []
            for i in numbers:
                sample = samples[i // n_nodes >= n_with_card]
                name, uid = f"run-{i}", f"{i:08x}-5a6d-4000-8000-{i:012x}"
                text = sample.replace(NAME, name).replace(NODE, f"n{i % n_nodes}").replace(UID, uid)
                text = text.replace(APP, f"app-{i % N_APPS}")
                puts.append({"requestPut": {"key": _coded(_key(name)), "value": _coded(text)}})
            await _post(etcd, f"{base}/txn", {"success": puts})

        await each(_batches(range(n)), write)
        await on.until_served(f"run-{n - 1}")


def _batches(numbers: range) -> Iterable[list[int]]:
    return (list(numbers[i : i + BATCH]) for i in range(0, len(numbers), BATCH))


async def _sample(on: Stage, etcd: aiohttp.ClientSession, base: str, has_card: bool) -> str:
    """The stored text of one pod, with placeholders; the pod itself is gone again."""
    pod = _pod(has_card)
    await on.api.create(pod)
    await on.api.patch(pod, {"status": _status()}, "/status")
    key = _key(pod["metadata"]["name"])
    found = await _post(etcd, f"{base}/range", {"key": _coded(key)})
    stored = json.loads(base64.b64decode(found["kvs"][0]["value"]))
    await on.api.delete(pod)
    stored["metadata"]["uid"] = UID
    return json.dumps(stored, separators=(",", ":"))


async def _post(etcd: aiohttp.ClientSession, url: str, body: Any) -> Any:
    async with etcd.post(url, json=body) as response:
        assert response.status == 200, await response.text()
        return await response.json()


def _key(name: str) -> str:
    return f"/registry/pods/{SPACE}/{name}"


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _pod(has_card: bool) -> dict[str, Any]:
    """As a controller would make it: some 3 KiB with what the server adds."""
    container = {
        "name": "main",
        "image": "registry.example.com/team/train:2026.11.30",
        "command": ["python", "-m", "train", "--config=/etc/train/config.yaml"],
        "env": [{"name": f"SETTING_{i}", "value": f"value-{i}"} for i in range(12)],
        "ports": [{"containerPort": 8080, "name": "http"}, {"containerPort": 9090, "name": "metrics"}],
        "resources": {"limits": ASKS if has_card else {"cpu": "1", "memory": "1Gi"}},
        "volumeMounts": [{"name": name, "mountPath": f"/mnt/{name}"} for name in ("config", "scratch", "shm")],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": NAME,
            "namespace": SPACE,
            "labels": {"app": APP, "app.kubernetes.io/part-of": "load", "pod-template-hash": "59d5958c9b"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": APP, "uid": "1", "controller": True}
            ],
        },
        "spec": {
            "nodeName": NODE,
            "containers": [container],
            "volumes": [
                {"name": "config", "configMap": {"name": APP}},
                {"name": "scratch", "emptyDir": {}},
                {"name": "shm", "emptyDir": {"medium": "Memory"}},
            ],
        },
    }


def _status() -> dict[str, Any]:
    at = "2026-11-30T12:00:00Z"
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "phase": "Running",
        "startTime": at,
        "hostIP": "10.0.0.1",
        "podIP": "10.1.0.1",
        "podIPs": [{"ip": "10.1.0.1"}],
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": at} for kind in kinds],
        "containerStatuses": [
            {
                "name": "main",
                "image": "registry.example.com/team/train:2026.11.30",
                "imageID": "registry.example.com/team/train@sha256:" + "0" * 64,
                "containerID": "containerd://" + "0" * 64,
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": at}},
            }
        ],
    }
