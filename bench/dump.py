"""A dump of a large pool as `kubectl get nodes,pods -A -o json | jq -c` writes it: 5,000 nodes, 140,000 pods of at
least 3 KiB. Written once to a file, used by `bench_dump`. The same bytes on every machine.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

N_NODES = 5_000
N_RACKS = 50
N_DAEMONS = 8
REPLICAS = 40
N_DEPLOYMENTS = 2_000
N_JOBS = 1_250
JOB_SIZE = 8
N_DONE = 10_000
N_PODS = N_NODES * N_DAEMONS + N_DEPLOYMENTS * REPLICAS + N_JOBS * JOB_SIZE + N_DONE
N_HOLDING = N_PODS - N_DONE
CARDS_IN_USE = N_JOBS * JOB_SIZE * 2
NAME, NODE, UID, INDEX = "@name@", "@node@", "@uid@", "@index@"
_MARKER = re.compile(rb"(@name@|@node@|@uid@|@index@)")
"""What differs between the pods of one owner."""
CREATED = "2026-11-01T08:00:00Z"
CACHE = Path(__file__).resolve().parent.parent / ".cache"


def dump_file() -> Path:
    """The file; written when it is not there or this module has changed."""
    path = CACHE / f"bench-dump-{zlib.crc32(Path(__file__).read_bytes()):08x}.json"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        for old in CACHE.glob("bench-dump-*"):
            old.unlink()
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            file.write(b'{"apiVersion":"v1","items":[')
            for number, item in enumerate(_items()):
                file.write(b"," + item if number else item)
            file.write(b'],"kind":"List","metadata":{"resourceVersion":""}}')
        part.rename(path)
    return path


def _items() -> Iterator[bytes]:
    yield from (msgspec.json.encode(_node(i)) for i in range(N_NODES))
    yield from _pods()


def _node_name(i: int) -> str:
    return f"gpu-{i:05d}.pool.example.com"


def _node(i: int) -> dict[str, Any]:
    amounts = {
        "cpu": "192",
        "ephemeral-storage": "3476892345344",
        "hugepages-2Mi": "0",
        "memory": "2113512492Ki",
        "nvidia.com/gpu": "8",
        "pods": "250",
        "rdma/ib": "64",
    }
    name = _node_name(i)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "creationTimestamp": CREATED,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/arch": "amd64",
                "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
                "topology.kubernetes.io/zone": "zone-a",
                "topology.kubernetes.io/rack": f"rack-{i * N_RACKS // N_NODES}",
            },
            "name": name,
            "resourceVersion": "81234567",
            "uid": f"00000000-0000-4000-9000-{i:012d}",
        },
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": CREATED}],
        },
    }


def _pods() -> Iterator[bytes]:
    """Eight DaemonSets, then Deployments, jobs with two cards a member, and pods that have finished."""
    number = 0
    for owner in range(N_DAEMONS):
        pieces = _pieces(_pod("DaemonSet", f"agent-{owner}", {"cpu": "100m", "memory": "200Mi"}))
        for i in range(N_NODES):
            yield _filled(pieces, f"agent-{owner}", number, i, i)
            number += 1
    for owner in range(N_DEPLOYMENTS):
        name = f"service-{owner}"
        asked = {"cpu": ("250m", "500m", "1", "2")[owner % 4], "memory": f"{1 + owner % 7}Gi"}
        pieces = _pieces(_pod("ReplicaSet", name, asked, apart=owner % 20 == 0))
        for i in range(REPLICAS):
            yield _filled(pieces, name, number, (owner * 977 + i * 131) % N_NODES, i)
            number += 1
    for owner in range(N_JOBS):
        name = f"train-{owner}"
        pieces = _pieces(_pod("Job", name, {"cpu": "24", "memory": "200Gi", "nvidia.com/gpu": "2"}))
        for i in range(JOB_SIZE):
            yield _filled(pieces, name, number, (owner * 4 + i // 2) % N_NODES, i)
            number += 1
    for owner in range(N_DONE // 100):
        pieces = _pieces(_pod("Job", f"done-{owner}", {"cpu": "4", "memory": "16Gi"}, phase="Succeeded"))
        for i in range(100):
            yield _filled(pieces, f"done-{owner}", number, number % N_NODES, i)
            number += 1


def _pieces(pod: dict[str, Any]) -> list[bytes]:
    """The text of a pod, cut at every place where its own name, node, uid and index go."""
    return re.split(_MARKER, msgspec.json.encode(pod))


def _filled(pieces: list[bytes], owner: str, number: int, node: int, index: int) -> bytes:
    own = {
        b"@name@": f"{owner}-{index}".encode(),
        b"@node@": _node_name(node).encode(),
        b"@uid@": f"{number:08x}-0000-4000-8000-{number:012d}".encode(),
        b"@index@": str(index).encode(),
    }
    return b"".join([own[piece] if p % 2 else piece for p, piece in enumerate(pieces)])


def _pod(
    kind: str, owner: str, asked: dict[str, str], *, apart: bool = False, phase: str = "Running"
) -> dict[str, Any]:
    """A pod as an API server prints it, with what controllers, admission and the kubelet add."""
    labels = {
        "app.kubernetes.io/name": owner,
        "app.kubernetes.io/part-of": "platform",
        "app.kubernetes.io/managed-by": "Helm",
        "controller-revision-hash": "6b8f7d5c44",
        "team.example.com/cost-centre": "cc-1042",
    }
    annotations = {
        "cni.projectcalico.org/podIP": "10.12.44.17/32",
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "9102",
    }
    if kind == "Job":
        labels["batch.kubernetes.io/job-name"] = owner
        annotations["batch.kubernetes.io/job-completion-index"] = INDEX
    limits = {key: amount for key, amount in asked.items() if "/" in key}
    spec: dict[str, Any] = {
        "containers": [
            {
                "command": ["/bin/sh", "-c", "exec /opt/example/bin/run --config /etc/example/config.yaml"],
                "env": [{"name": f"EXAMPLE_SETTING_{i}", "value": f"value-of-setting-{i}"} for i in range(2)],
                "image": "registry.example.com/platform/worker:2026.11.1",
                "imagePullPolicy": "IfNotPresent",
                "name": "main",
                "ports": [{"containerPort": 9102, "name": "metrics", "protocol": "TCP"}],
                "resources": {"limits": limits, "requests": asked} if limits else {"requests": asked},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "volumeMounts": [
                    {"mountPath": "/etc/example", "name": "config", "readOnly": True},
                    {
                        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                        "name": "kube-api-access-x7k2p",
                        "readOnly": True,
                    },
                ],
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "nodeName": NODE,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Never" if kind == "Job" else "Always",
        "schedulerName": "gangpool" if kind == "Job" else "default-scheduler",
        "securityContext": {},
        "serviceAccount": "default",
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {
                "effect": "NoExecute",
                "key": f"node.kubernetes.io/{what}",
                "operator": "Exists",
                "tolerationSeconds": 300,
            }
            for what in ("not-ready", "unreachable")
        ],
        "volumes": [
            {"configMap": {"defaultMode": 420, "name": f"{owner}-config"}, "name": "config"},
            {
                "name": "kube-api-access-x7k2p",
                "projected": {
                    "defaultMode": 420,
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
                    ],
                },
            },
        ],
    }
    if apart:
        term = {"labelSelector": {"matchLabels": {"app.kubernetes.io/name": owner}}}
        spec["affinity"] = {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{**term, "topologyKey": "kubernetes.io/hostname"}]
            }
        }
    group = {"DaemonSet": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1"}[kind]
    state = {"terminated": {"exitCode": 0}} if phase == "Succeeded" else {"running": {"startedAt": CREATED}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": annotations,
            "creationTimestamp": CREATED,
            "generateName": f"{owner}-",
            "labels": labels,
            "name": NAME,
            "namespace": f"team-{zlib.crc32(owner.encode()) % 20}",
            "ownerReferences": [
                {
                    "apiVersion": group,
                    "blockOwnerDeletion": True,
                    "controller": True,
                    "kind": kind,
                    "name": owner,
                    "uid": f"{zlib.crc32(owner.encode()):08x}-0000-4000-a000-000000000000",
                }
            ],
            "resourceVersion": "81234567",
            "uid": UID,
        },
        "spec": spec,
        "status": {
            "conditions": [
                {"lastProbeTime": None, "lastTransitionTime": CREATED, "status": "True", "type": kind_of}
                for kind_of in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "containerStatuses": [
                {
                    "containerID": "containerd://9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                    "image": "registry.example.com/platform/worker:2026.11.1",
                    "name": "main",
                    "ready": phase == "Running",
                    "restartCount": 0,
                    "state": state,
                }
            ],
            "hostIP": "10.1.20.33",
            "phase": phase,
            "podIP": "10.12.44.17",
            "qosClass": "Burstable",
            "startTime": CREATED,
        },
    }
