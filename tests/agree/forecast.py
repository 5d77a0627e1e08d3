"""What `gangpool place` says of a cluster's waiting pods, asked on a dump as `kubectl get … -A -o json` prints it, and
what the live scheduler made of them.

Called by `rounds`. The dump holds every kind that the scheduler follows; the command wants a file for -f, and a
Namespace plans nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from gangpool.cli.main import cli
from gangpool.live.resources import RESOURCES
from tests.cluster.client import Api

Json = dict[str, Any]
Pod = tuple[str, str]
"""(namespace, name)."""
ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Outcome:
    """Where pods went, and why others wait. `seats`: node and whole cards; `waits`: the reason by the unit's pods."""

    seats: dict[Pod, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    waits: dict[tuple[Pod, ...], Json] = field(default_factory=dict)


def differences(dry: Outcome, live: Outcome) -> list[str]:
    """A sentence for each pod that went elsewhere and each unit that waits for another reason; none: they agree."""
    found = [
        f"{'/'.join(pod)}: dry {dry.seats.get(pod)}, live {live.seats.get(pod)}"
        for pod in sorted({*dry.seats, *live.seats})
        if dry.seats.get(pod) != live.seats.get(pod)
    ]
    for pods in sorted({*dry.waits, *live.waits}):
        if dry.waits.get(pods) != live.waits.get(pods):
            names = ", ".join("/".join(pod) for pod in pods)
            found.append(f"{names}:\n  dry  {dry.waits.get(pods)}\n  live {live.waits.get(pods)}")
    return found


async def dump(api: Api, served: dict[str, str]) -> Json:
    """Every object of every kind that is followed. `served`: list paths with their apiVersion and kind."""
    items: list[Json] = []
    for path, versioned in served.items():
        api_version, _, kind = versioned.partition(" ")
        items += [{"apiVersion": api_version, "kind": kind, **obj} for obj in await api.items(path)]
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}


async def served_kinds(api: Api) -> dict[str, str]:
    """`APIVERSION KIND` by list path, of the first version of each kind that this server has."""
    found = {"/api/v1/nodes": "v1 Node", "/api/v1/pods": "v1 Pod"}
    for resource in RESOURCES:
        for path, version in zip(resource.paths(), resource.versions, strict=True):
            if (await api.request("GET", path, limit="1")).is_ok:
                found[path] = f"{resource.group}/{version} {resource.kind}".lstrip("/")
                break
    return found


def versions(world: Json) -> dict[str, str]:
    """Resource versions by object: two dumps are of the same moment when these are equal."""
    found = {}
    for obj in world["items"]:
        meta = obj["metadata"]
        found[f"{obj['apiVersion']} {obj['kind']} {meta.get('namespace', '')}/{meta['name']}"] = meta["resourceVersion"]
    return found


def forecast(world: Json, folder: Path, config: Path | None, kubeconfig: Path | None = None) -> Outcome:
    """The dry run, on the dump or, with a kubeconfig, on the cluster itself."""
    pool, nothing = folder / "dump.json", folder / "namespace.json"
    pool.write_text(json.dumps(world), encoding="utf-8")
    named = [o for o in world["items"] if o["kind"] == "Namespace" and o["metadata"]["name"] == "ml"]
    nothing.write_text(json.dumps(named[0]), encoding="utf-8")
    configured = [] if config is None else ["--config", str(config)]
    source = ["--pool", str(pool)] if kubeconfig is None else ["--kubeconfig", str(kubeconfig)]
    arguments = ["-f", str(nothing), *source, "-o", "json", *configured]
    result = CliRunner().invoke(cli, ["place", *arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    answer = json.loads(result.stdout)
    seats = {(it["namespace"], it["pod"]): (it["node"], tuple(it["cards"])) for it in answer["placed"]}
    return Outcome(seats, _waits(answer["pending"]))


def outcome(pods: Iterable[Json], state: Json, asked: Iterable[Pod]) -> Outcome:
    """The live result for the pods that waited when the dump was made."""
    by_name = {(pod["metadata"]["namespace"], pod["metadata"]["name"]): pod for pod in pods}
    seats = {}
    for name in asked:
        pod = by_name.get(name)
        if pod is not None and pod["spec"].get("nodeName"):
            seats[name] = (pod["spec"]["nodeName"], _cards(pod))
    return Outcome(seats, _waits(state["pending"]))


def waiting(world: Json, scheduler: str = "gangpool") -> list[Pod]:
    """Pods of ours that wait for a node."""
    return [
        (pod["metadata"]["namespace"], pod["metadata"]["name"])
        for pod in world["items"]
        if pod["kind"] == "Pod"
        and pod["spec"].get("schedulerName") == scheduler
        and not pod["spec"].get("nodeName")
        and "deletionTimestamp" not in pod["metadata"]
        and pod["status"].get("phase") not in ENDED
    ]


def _waits(pending: Iterable[Json]) -> dict[tuple[Pod, ...], Json]:
    found = {}
    for entry in pending:
        pods = [(entry["namespace"], name) for name in entry["pods"]]
        for unit in [tuple(pods)] if entry["gang"] else [(pod,) for pod in pods]:
            found[unit] = entry["reason"]
    return found


def _cards(pod: Json) -> tuple[int, ...]:
    text = (pod["metadata"].get("annotations") or {}).get("gangpool.io/devices")
    if text is None:
        return ()
    return tuple(sorted({card for part in json.loads(text)["containers"].values() for card in part["cards"]}))
