"""Commands that change the cluster: workloads come, end and lose pods, nodes come and go, gangpool dies."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from msgspec.structs import replace

from tests.scenarios import cases, parts
from tests.scenarios.ask import GangAsk, read_gang
from tests.scenarios.controllers import DIALECTS
from tests.scenarios.play import Group, Play, verb
from tests.scenarios.trace import Line

Json = dict[str, Any]
NOTHING: list[Line] = []


@verb("submit")
def submit(play: Play, text: str) -> list[Line]:
    """`submit gang …` (see `ask`), `submit N gangs NAME …` (NAME-1 to NAME-N), `submit pod NAME CARDS [RES=…]`."""
    kind, _, rest = text.partition(" ")
    if kind == "pod":
        name, cards, *more = rest.split()
        pod = parts.pod(play.worn(name), parts.spec({parts.CARD: cards, **parts.pairs(more)}), {"app": name})
        play.enter(Group(play.worn(name), parts.NAMESPACE, [play.worn(name)]), [pod], are_bare=True)
    elif kind == "gang":
        submit_gang(play, read_gang(rest))
    elif kind.isdigit() and rest.startswith("gangs "):
        name, _, words = rest.removeprefix("gangs ").partition(" ")
        for i in range(1, int(kind) + 1):
            submit_gang(play, read_gang(f"{name}-{i} {words}"))
            play.now_s += 1
    else:
        raise ValueError(f"submit {text!r}: submit gang …, N gangs …, or pod …")
    return NOTHING


def submit_gang(play: Play, ask: GangAsk) -> Group:
    """A gang appears, in the dialect of this playing unless it names its own."""
    worn = replace(ask, name=play.worn(ask.name))
    dialect = ask.dialect or play.dialect
    made = DIALECTS[dialect](worn, play.levels)
    names = [pod["metadata"]["name"] for pod in made.pods]
    group = Group(worn.name, parts.NAMESPACE, names, made.gang, made.objects)
    here = made.pods[: len(made.pods) - ask.n_late]
    play.enter(group, here, are_bare=dialect in ("podgroup", "native"))
    if ask.n_late:
        play.late[group.name] = made.pods[len(here) :]
        play.changed()  # a file would bring all of them
    return group


@verb("arrive")
def arrive(play: Play, text: str) -> list[Line]:
    """`arrive GANG`: its late members are made."""
    group = play.group(text)
    play.appear(group, play.late.pop(group.name))
    play.changed()
    return NOTHING


@verb("apply")
def apply(play: Play, text: str) -> list[Line]:
    """`apply FILE…`: the objects of files, pods of controllers as these would make them."""
    for file in text.split():
        cases.apply(play, file)
    return NOTHING


@verb("run")
def run(play: Play, text: str) -> list[Line]:
    """One cycle: what is bound and what waits. `run quietly` shows nothing; `run and die after N` and `run and die`
    (at a random moment) end gangpool in the middle of its bindings, then start it anew."""
    if not text:
        return play.shown(play.cycle())
    if text == "quietly":
        play.cycle()
    elif text == "and die":
        play.cycle(lambda n: sorted(play.rng.sample(range(n), play.rng.randint(0, n))))
    elif text.startswith("and die after "):
        count = int(text.removeprefix("and die after "))
        play.cycle(lambda n: list(range(min(n, count))))
    else:
        raise ValueError(f"run {text!r}: run, run quietly, run and die, run and die after N")
    return NOTHING


@verb("fresh")
def fresh(play: Play, text: str) -> list[Line]:
    """Back to the world as the page describes it."""
    play.fresh()
    return NOTHING


@verb("restart")
def restart(play: Play, text: str) -> list[Line]:
    """gangpool ends and starts anew: it lists what there is."""
    play.stage.deliver()
    play.stage.restart()
    play.changed()
    return NOTHING


@verb("wait")
def wait(play: Play, text: str) -> list[Line]:
    """`wait 60s`: nothing happens for so long."""
    play.now_s += float(text.removesuffix("s"))
    return NOTHING


# ---- pods


@verb("finish")
def finish(play: Play, text: str) -> list[Line]:
    """`finish NAME`: its pods end well."""
    _phase(play, text, "Succeeded")
    return NOTHING


def _phase(play: Play, name: str, phase: str) -> None:
    for pod in play.pods_of(play.group(name)):
        changed = deepcopy(pod)
        changed["status"]["phase"] = phase
        play.stage.put(changed)
    play.changed()


@verb("delete")
def delete(play: Play, text: str) -> list[Line]:
    """`delete NAME`: its pods and objects are gone."""
    if ("", "Pod", parts.NAMESPACE, play.worn(text)) in play.stage.objects and play.worn(text) not in play.groups:
        play.stage.drop(play.stage.objects["", "Pod", parts.NAMESPACE, play.worn(text)])
        play.changed()
        return NOTHING
    group = play.group(text)
    for pod in play.pods_of(group):
        play.stage.drop(pod)
    for obj in group.objects:
        play.stage.drop(obj)
    del play.groups[group.name]
    play.changed()
    return NOTHING


@verb("terminate")
def terminate(play: Play, text: str) -> list[Line]:
    """`terminate POD`: deletion was asked for, the pod is still there."""
    pod = deepcopy(play.stage.objects["", "Pod", parts.NAMESPACE, play.worn(text)])
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    play.stage.put(pod)
    play.changed()
    return NOTHING


@verb("lose")
def lose(play: Play, text: str) -> list[Line]:
    """`lose GANG RANK…` or `lose GANG on NODE`: members die, their controller makes them again, with the same index."""
    name, *words = text.split()
    group = play.group(name)
    if words[:1] == ["on"]:
        lost = [pod for pod in play.pods_of(group) if pod["spec"].get("nodeName") == play.worn(words[1])]
    else:
        lost = [pod for pod in play.pods_of(group) if group.pods.index(pod["metadata"]["name"]) in map(int, words)]
    for pod in lost:
        play.stage.drop(pod)
        again = deepcopy(pod)
        again["metadata"].pop("uid")
        again["metadata"].get("annotations", {}).pop("gangpool.io/devices", None)
        again["spec"].pop("nodeName", None)
        again["status"] = {"phase": "Pending"}
        again["metadata"].pop("creationTimestamp")
        play.put(again)
    if group.gang is not None:
        play.wounded.add(group.gang["key"])
    play.changed()
    return NOTHING


@verb("ungate")
def ungate(play: Play, text: str) -> list[Line]:
    """`ungate NAME`: whoever set gates on its pods removes them."""
    for pod in play.pods_of(play.group(text)):
        if pod["spec"].get("schedulingGates"):
            changed = deepcopy(pod)
            del changed["spec"]["schedulingGates"]
            play.stage.put(changed)
    play.changed()
    return NOTHING


# ---- nodes


@verb("add")
def add(play: Play, text: str) -> list[Line]:
    """`add node n9 rack=r2: 8`: as in a world block."""
    for obj in parts.read_line(text.removeprefix("node "), play.levels, play.worn):
        play.put(obj)
    play.changed()
    return NOTHING


@verb("remove")
def remove(play: Play, text: str) -> list[Line]:
    """`remove node NAME…`: the Node objects are gone."""
    for name in text.removeprefix("node ").split():
        play.stage.drop(play.stage.objects["", "Node", "", play.worn(name)])
    play.changed()
    return NOTHING


@verb("cordon")
def cordon(play: Play, text: str) -> list[Line]:
    """`cordon NODE…`: as kubectl does; the node controller adds the taint."""
    for name in text.split():
        changed = _node(play, name)
        changed["spec"]["unschedulable"] = True
        changed["spec"]["taints"] = [*_other_taints(changed), {"key": CORDON, "effect": "NoSchedule"}]
        play.stage.put(changed)
    play.changed()
    return NOTHING


@verb("uncordon")
def uncordon(play: Play, text: str) -> list[Line]:
    """`uncordon NODE…`."""
    for name in text.split():
        changed = _node(play, name)
        changed["spec"].pop("unschedulable", None)
        changed["spec"]["taints"] = _other_taints(changed)
        play.stage.put(changed)
    play.changed()
    return NOTHING


@verb("label")
def label(play: Play, text: str) -> list[Line]:
    """`label NODE KEY=VALUE…`: an empty value takes the label away."""
    name, *words = text.split()
    changed = _node(play, name)
    for word, value in parts.pairs(words).items():
        key = play.levels.key(word)
        if value:
            changed["metadata"]["labels"][key] = play.worn(value) if word in play.levels.keys else value
        else:
            changed["metadata"]["labels"].pop(key, None)
    play.stage.put(changed)
    play.changed()
    return NOTHING


CORDON = "node.kubernetes.io/unschedulable"


def _node(play: Play, name: str) -> Json:
    changed = deepcopy(play.stage.objects["", "Node", "", play.worn(name)])
    changed.setdefault("spec", {})
    return changed


def _other_taints(node: Json) -> list[Json]:
    return [taint for taint in node["spec"].get("taints") or () if taint["key"] != CORDON]
