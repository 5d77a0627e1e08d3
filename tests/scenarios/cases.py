"""Files of objects in a scenario: applied as `kubectl apply` would, with what the API server and controllers add.

Admission fills in the overhead and the node selector of a RuntimeClass; controllers make their pods; what the judge
must know of a gang is read from the object here, not by gangpool.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from gangpool.files.manifests import read_objects
from gangpool.workloads import registry
from tests.scenarios.parts import NAMESPACE
from tests.scenarios.play import Group, Play

Json = dict[str, Any]
FOLDER = Path(__file__).parent
GROUP_NAME = "scheduling.k8s.io/group-name"


def apply(play: Play, file: str) -> None:
    """All objects of one file, in order."""
    for located in read_objects([str(FOLDER / file)]):
        obj = deepcopy(located.object)
        kind = obj["kind"]
        if kind == "Pod":
            _apply_pod(play, obj)
        elif registry.dialect_of(obj) is None:
            play.put(obj)
        elif kind == "PodGroup":
            _apply_group(play, obj)
        else:
            _apply_owner(play, obj)


def _apply_pod(play: Play, pod: Json) -> None:
    metadata = pod["metadata"]
    metadata.setdefault("namespace", NAMESPACE)
    pod.setdefault("status", {"phase": "Pending"})
    written = deepcopy(pod)
    if pod["spec"].get("nodeName"):
        play.group_of[f"{metadata['namespace']}/{metadata['name']}"] = metadata["name"]
        play.put(pod)
        return
    _admit(play, pod)
    name = (metadata.get("annotations") or {}).get(GROUP_NAME, metadata["name"])
    group = play.groups.setdefault(name, Group(name, metadata["namespace"], []))
    group.pods.append(metadata["name"])
    if group.gang is not None:
        group.gang["members"].append(metadata["name"])
    play.group_of[f"{metadata['namespace']}/{metadata['name']}"] = name
    play.put(pod)
    play.given([written], [pod])


def _admit(play: Play, pod: Json) -> None:
    """RuntimeClass admission: overhead and node selector."""
    found = play.stage.objects.get(("node.k8s.io", "RuntimeClass", "", pod["spec"].get("runtimeClassName", "")))
    if found is not None:
        pod["spec"]["overhead"] = dict(found["overhead"]["podFixed"])
        selector = found.get("scheduling", {}).get("nodeSelector", {})
        pod["spec"]["nodeSelector"] = {**pod["spec"].get("nodeSelector", {}), **selector}


def _apply_group(play: Play, obj: Json) -> None:
    name = obj["metadata"]["name"]
    gang = {"key": f"{NAMESPACE}/{name}", "members": [], "minimum": obj["spec"]["minMember"]}
    play.groups[name] = Group(name, NAMESPACE, [], gang, [obj])
    play.put(obj)
    play.given([obj], [])


def _apply_owner(play: Play, obj: Json) -> None:
    obj["metadata"].setdefault("namespace", NAMESPACE)
    found = [member for _, member in registry.expand(obj).members]
    pods = [deepcopy(member.pod) for member in sorted(found, key=lambda member: member.rank)]
    names = [pod["metadata"]["name"] for pod in pods]
    gang = None
    if obj["apiVersion"].startswith("batch.volcano.sh/"):
        tasks = obj["spec"]["tasks"]
        roles = {
            task["name"]: {
                "members": [n for n in names if n.startswith(f"{obj['metadata']['name']}-{task['name']}-")],
                "minimum": task.get("minAvailable", 0),
            }
            for task in tasks
        }
        gang = {
            "key": f"{NAMESPACE}/{obj['metadata']['name']}",
            "members": names,
            "minimum": obj["spec"]["minAvailable"],
            "roles": roles,
        }
        tier = obj["spec"].get("networkTopology", {}).get("highestTierAllowed")
        if tier:
            keys = list(play.levels.keys.values())
            gang["required"] = keys[: len(keys) + 1 - tier]
    group = Group(obj["metadata"]["name"], NAMESPACE, names, gang, [obj])
    play.enter(group, pods, are_bare=False)
