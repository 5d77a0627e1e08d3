"""A gang in words, written as the objects that people write: groups with bare pods.

Each writer gives the objects, the pods as their maker would make them (nobody makes bare pods) and what the judge
must know of the gang. `DIALECTS` in `controllers` lists all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from tests.scenarios import parts
from tests.scenarios.ask import GangAsk, RoleAsk
from tests.scenarios.vocabulary import Vocabulary

Json = dict[str, Any]
OURS = "gangpool.io"


class Made(Struct):
    """`pods` in the order of ranks. `gang`: for the judge (`tests.oracle`)."""

    objects: list[Json]
    pods: list[Json]
    gang: Json


Writer = Callable[[GangAsk, Vocabulary], Made]


def judged(ask: GangAsk, levels: Vocabulary, pods: Iterable[Json], key: str = "") -> Json:
    """The gang as the independent judge reads it, from the words, not from the objects."""
    names = [pod["metadata"]["name"] for pod in pods]
    gang: Json = {"key": key or f"{parts.NAMESPACE}/{ask.name}", "members": names, "minimum": ask.minimum}
    if ask.required:
        gang["required"] = levels.path(ask.required)
    if ask.blocks:
        gang["blocks"] = {"size": ask.blocks[0], "keys": levels.path(ask.blocks[1])}
    return gang


def body(ask: GangAsk, role: RoleAsk) -> Json:
    """The pod spec of a role's members."""
    made = parts.spec(ask.asks(role))
    if ask.priority:
        made["priority"] = ask.priority
    if ask.apart:
        term = {"labelSelector": {"matchLabels": {"app": ask.name}}, "topologyKey": parts.HOSTNAME}
        made["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return made


def labels(ask: GangAsk) -> dict[str, str]:
    """Labels that users write on their pods."""
    return {"app": ask.name}


def notes(ask: GangAsk, levels: Vocabulary, required: bool = True, preferred: bool = True) -> dict[str, str]:
    """Levels as our annotations: for kinds that have no field for them."""
    said = {}
    if ask.required and required:
        said[f"{OURS}/required-topology"] = levels.key(ask.required)
    if ask.preferred and preferred:
        said[f"{OURS}/preferred-topology"] = ",".join(levels.key(word) for word in ask.preferred)
    if ask.blocks:
        said[f"{OURS}/block-size"] = str(ask.blocks[0])
        said[f"{OURS}/block-topology"] = levels.key(ask.blocks[1])
    return said


def template(ask: GangAsk, role: RoleAsk, said: dict[str, str] | None = None) -> Json:
    """A pod template."""
    metadata: Json = {"labels": labels(ask)}
    if said:
        metadata["annotations"] = said
    return {"metadata": metadata, "spec": body(ask, role)}


def podgroup(ask: GangAsk, levels: Vocabulary) -> Made:
    """scheduler-plugins: a PodGroup, pods that name it by a label. It has no word for levels: annotations."""
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": ask.name, "namespace": parts.NAMESPACE},
        "spec": {"minMember": ask.minimum},
    }
    mark = {**labels(ask), "scheduling.x-k8s.io/pod-group": ask.name}
    pods = [parts.pod(name, body(ask, role), mark, notes(ask, levels)) for name, role in _named(ask)]
    return Made([group], pods, judged(ask, levels, pods))


def native(ask: GangAsk, levels: Vocabulary) -> Made:
    """Kubernetes 1.37: a PodGroup with one required level, pods that name it. What is preferred: its annotations."""
    group: Json = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": ask.name,
            "namespace": parts.NAMESPACE,
            "annotations": notes(ask, levels, required=False),
        },
        "spec": {"schedulingPolicy": {"gang": {"minCount": ask.minimum}}},
    }
    if ask.required:
        group["spec"]["schedulingConstraints"] = {"topology": [{"key": levels.key(ask.required)}]}
    pods = [parts.pod(name, body(ask, role), labels(ask)) for name, role in _named(ask)]
    for pod in pods:
        pod["spec"]["schedulingGroup"] = {"podGroupName": ask.name}
    return Made([group], pods, judged(ask, levels, pods))


def _named(ask: GangAsk) -> Iterator[tuple[str, RoleAsk]]:
    """Bare pods are numbered through; the number is their rank."""
    roles = [role for role in ask.roles for _ in range(role.count)]
    return ((f"{ask.name}-{i}", role) for i, role in enumerate(roles))
