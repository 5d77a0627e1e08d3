"""Gangs and pods of the oracle's random worlds as a cluster takes them, each in one of the dialects that are live.

Called by `hands`. The oracle's worlds say what a gang asks; here it becomes a PodGroup of Volcano, of
scheduler-plugins or of Kubernetes with its pods, a Volcano Job, an Indexed Job, or pods that name only their group.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.oracle.world_gangs import add_gang, add_single, chance
from tests.oracle.world_parts import RANK, pod
from tests.oracle.worlds import Knobs

Json = dict[str, Any]

EVERYTHING = Knobs(max_members=6, running_members=False)
EASY = Knobs(
    max_members=6,
    running_members=False,
    affinity=False,
    anti_affinity=False,
    cross_gang=False,
    spread=False,
    host_ports=False,
    gates=False,
)
"""Gangs that mostly fit: a pool in which all wait shows nothing of where pods go."""
PLUGINS_LABEL = "scheduling.x-k8s.io/pod-group"
VOLCANO_GROUP = "scheduling.k8s.io/group-name"
VOLCANO_MINIMUM = "scheduling.volcano.sh/group-min-member"
PRIORITIES = ("low", "high")
TIGHT, TIGHT_PODS = "tight", 3
"""A namespace whose quota lets so many pods be."""


@dataclass
class Unit:
    """What comes and goes as one. `things` in the order of their making; `n_pods` that are to be there in the end;
    `is_remade`: a controller makes each pod anew."""

    name: str
    things: list[Json] = field(default_factory=list)
    n_pods: int = 0
    is_remade: bool = False
    group: Json | None = None
    """Its PodGroup, where it can be changed later."""


def crd(group: str, version: str, kind: str, plural: str) -> Json:
    """A kind of others that takes any fields."""
    is_open = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": is_open, "status": is_open}}
    served = {"name": version, "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{**served, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def thing(kind: str, name: str, spec: Json, **metadata: Any) -> Json:
    """An object of namespace ml; `kind` with its apiVersion: `batch/v1 Job`."""
    api_version, _, short = kind.rpartition(" ")
    meta = {"name": name, "namespace": "ml", **metadata}
    return {"apiVersion": api_version, "kind": short, "metadata": meta, "spec": spec}


def short(rng: Random, name: str) -> Unit:
    """A gang for the namespace with the quota: its controller makes as many pods as there may be; of a Volcano Job
    none where the minimum cannot be."""
    n, cards = rng.randint(2, 5), rng.choice([1, 2])
    made = pod(name, {"nvidia.com/gpu": str(cards), "cpu": "1", "memory": "1Gi"}, {"app": name})
    made["spec"]["containers"][0]["image"] = "train:1"
    template = _template(made)
    if chance(rng, 50):
        spec: Json = {"completions": n, "parallelism": n, "completionMode": "Indexed", "template": template}
        return Unit(name, [thing("batch/v1 Job", name, spec, namespace=TIGHT)], min(n, TIGHT_PODS), is_remade=True)
    least = rng.randint(2, n)
    spec = {"minAvailable": least, "tasks": [{"name": "worker", "replicas": n, "template": template}]}
    job = thing("batch.volcano.sh/v1alpha1 Job", name, spec, namespace=TIGHT)
    return Unit(name, [job], min(n, TIGHT_PODS) if least <= TIGHT_PODS else 0, is_remade=True)


def single(rng: Random, name: str, others: list[Json]) -> Unit:
    """A pod of no gang."""
    scratch = _scratch(others)
    add_single(rng, scratch, name, _knobs(rng))
    made = _clean(scratch["pods"][-1])
    _prioritise(rng, [made])
    return Unit(name, [made], 1)


def gang(rng: Random, name: str, others: list[Json]) -> Unit:
    """A gang in a dialect that can say what it asks. `others`: pods that its rules may be about."""
    scratch = _scratch(others)
    add_gang(rng, scratch, name, _knobs(rng))
    asked, pods = scratch["gangs"][-1], [_clean(made) for made in scratch["pods"][len(others) :]]
    _prioritise(rng, pods)
    if chance(rng, 15):
        for made in pods:
            made["metadata"].setdefault("annotations", {})["gangpool.io/preferred-topology"] = rng.choice(
                ["topology.kubernetes.io/zone", "topology.kubernetes.io/rack"]
            )
    unit = _in_dialect(rng, name, asked, pods)
    unit.things = [*(_volume(it, name) for it in scratch["volumes"]), *unit.things]
    return unit


def _knobs(rng: Random) -> Knobs:
    return EASY if chance(rng, 65) else EVERYTHING


def _scratch(others: list[Json]) -> Json:
    return {"nodes": [], "pods": list(others), "gangs": [], "volumes": []}


def _clean(made: Json) -> Json:
    """A pod that an API server takes: without what it writes itself, every container with an image."""
    made = deepcopy(made)
    made["metadata"].pop("uid")
    made.pop("status")
    made["spec"].pop("overhead", None)  # only a RuntimeClass may set it
    for container in (*made["spec"]["containers"], *made["spec"].get("initContainers", ())):
        container["image"] = "train:1"
    return made


def _prioritise(rng: Random, pods: list[Json]) -> None:
    if chance(rng, 40):
        name = rng.choice(PRIORITIES)
        for made in pods:
            made["spec"]["priorityClassName"] = name


def _volume(obj: Json, unit: str) -> Json:
    """A claim and its volume that the controller can bind to each other."""
    obj = deepcopy(obj)
    obj.pop("status")
    size = {"storage": "1Gi"}
    obj["spec"] |= {"accessModes": ["ReadWriteMany"], "storageClassName": "zonal"}
    if obj["kind"] == "PersistentVolumeClaim":
        obj["spec"]["resources"] = {"requests": size}
    else:
        claim = {"namespace": "ml", "name": unit}
        obj["spec"] |= {"capacity": size, "claimRef": claim, "hostPath": {"path": "/none"}}
    return obj


# ---- dialects


def _in_dialect(rng: Random, name: str, asked: Json, pods: list[Json]) -> Unit:
    has_roles = bool(asked.get("roles"))
    is_even = len({str(made["spec"]) for made in pods}) == 1
    choices = [_volcano_group, _volcano_job] if has_roles else [_volcano_group, _plugins_group, _native_group, _by_word]
    if is_even and not has_roles:
        choices += [_indexed_job, _volcano_job]
    for made in pods:
        made["metadata"]["labels"].pop(PLUGINS_LABEL, None)
        made["metadata"].setdefault("annotations", {}).pop(VOLCANO_GROUP, None)
    unit = rng.choice(choices)(name, asked, pods)
    if chance(rng, 30) and unit.group is not None:
        unit.things = [*unit.things[1:], unit.things[0]]  # the group comes after its pods
    return unit


def _with_group(name: str, group: Json, pods: list[Json]) -> Unit:
    return Unit(name, [group, *pods], len(pods), group=group)


def _notes(asked: Json, pods: list[Json]) -> Json:
    """Levels of a gang with roles stand on its group: on a pod they would speak for the role."""
    if not asked.get("roles"):
        return {}
    from tests.oracle.world_gangs import level_notes

    for made in pods:
        made["metadata"]["annotations"].pop("gangpool.io/preferred-topology", None)
    return level_notes(asked)


def _volcano_group(name: str, asked: Json, pods: list[Json]) -> Unit:
    spec: Json = {"minMember": asked["minimum"]}
    if asked.get("roles"):
        spec["minTaskMember"] = {role: it["minimum"] for role, it in asked["roles"].items()}
    for made in pods:
        made["metadata"]["annotations"][VOLCANO_GROUP] = name
    notes = _notes(asked, pods)
    return _with_group(name, thing("scheduling.volcano.sh/v1beta1 PodGroup", name, spec, annotations=notes), pods)


def _plugins_group(name: str, asked: Json, pods: list[Json]) -> Unit:
    for made in pods:
        made["metadata"]["labels"][PLUGINS_LABEL] = name
    return _with_group(
        name, thing("scheduling.x-k8s.io/v1alpha1 PodGroup", name, {"minMember": asked["minimum"]}), pods
    )


def _native_group(name: str, asked: Json, pods: list[Json]) -> Unit:
    spec: Json = {"schedulingPolicy": {"gang": {"minCount": asked["minimum"]}}}
    for made in pods:
        made["spec"]["schedulingGroup"] = {"podGroupName": name}
    return _with_group(name, thing("scheduling.k8s.io/v1beta1 PodGroup", name, spec), pods)


def _by_word(name: str, asked: Json, pods: list[Json]) -> Unit:
    """Pods as Volcano's controllers would mark them, and no group."""
    for made in pods:
        made["metadata"]["annotations"] |= {VOLCANO_GROUP: name, VOLCANO_MINIMUM: str(asked["minimum"])}
    return Unit(name, pods, len(pods))


def _template(made: Json) -> Json:
    metadata = {key: deepcopy(made["metadata"].get(key) or {}) for key in ("labels", "annotations")}
    metadata["labels"].pop(RANK, None)
    return {"metadata": metadata, "spec": {**deepcopy(made["spec"]), "restartPolicy": "Never"}}


def _indexed_job(name: str, asked: Json, pods: list[Json]) -> Unit:
    n = len(pods)
    template = _template(pods[0])
    if asked["minimum"] < n:
        template["metadata"]["annotations"]["gangpool.io/min-member"] = str(asked["minimum"])
    spec = {"completions": n, "parallelism": n, "completionMode": "Indexed", "template": template}
    return Unit(name, [thing("batch/v1 Job", name, spec)], n, is_remade=True)


def _volcano_job(name: str, asked: Json, pods: list[Json]) -> Unit:
    by_name = {made["metadata"]["name"]: made for made in pods}
    roles = asked.get("roles") or {"worker": {"members": list(by_name), "minimum": None}}
    notes = _notes(asked, pods)
    tasks = []
    for role, it in roles.items():
        task: Json = {"name": role, "replicas": len(it["members"]), "template": _template(by_name[it["members"][0]])}
        if it["minimum"] is not None:
            task["minAvailable"] = it["minimum"]
        tasks.append(task)
    spec = {"minAvailable": asked["minimum"], "schedulerName": "gangpool", "tasks": tasks}
    job = thing("batch.volcano.sh/v1alpha1 Job", name, spec, annotations=notes)
    return Unit(name, [job], len(pods), is_remade=True)
