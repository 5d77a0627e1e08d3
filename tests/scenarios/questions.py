"""Commands that only look: where a gang sits, its domains, its ranks, the numbers of a reason."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.scenarios.parts import CARD, natural
from tests.scenarios.play import Play, counted, name_of, verb
from tests.scenarios.trace import Line

Json = dict[str, Any]


@verb("nodes")
def nodes(play: Play, text: str) -> list[Line]:
    """`nodes NAME`: where its pods run now."""
    where = Counter(play.worn.off(node) for _, node in _seated(play, text))
    return [Line(f"nodes {text}: {counted(where) or 'none'}")]


@verb("domains")
def domains(play: Play, text: str) -> list[Line]:
    """`domains NAME LEVEL`: in which domains of a level its pods run."""
    name, level = text.split()
    found = {_domain(play, node, level) for _, node in _seated(play, name)}
    return [Line(f"domains {text}: {' '.join(sorted(found, key=natural)) or 'none'}")]


@verb("ranks")
def ranks(play: Play, text: str) -> list[Line]:
    """`ranks NAME LEVEL`: which ranks share a domain of a level, the lowest first."""
    name, level = text.split()
    of_domain: dict[str, list[int]] = {}
    for rank, node in _seated(play, name):
        of_domain.setdefault(_domain(play, node, level), []).append(rank)
    return [Line(f"ranks {text}: {' '.join(_ranges(found) for found in of_domain.values())}")]


@verb("hops")
def hops(play: Play, text: str) -> list[Line]:
    """`hops NAME LEVEL`: in a ring of its ranks, how many neighbours sit in different domains."""
    name, level = text.split()
    ring = [_domain(play, node, level) for _, node in _seated(play, name)]
    return [Line(f"hops {text}: {sum(a != b for a, b in zip(ring, ring[1:] + ring[:1], strict=True))}")]


@verb("numbers")
def numbers(play: Play, text: str) -> list[Line]:
    """`numbers NAME`: the numbers of the reason for which it waits."""
    group = play.group(text)
    for wait in play.plan.waits:
        if play.group_of.get(f"{wait.members[0].namespace}/{wait.members[0].name}") == group.name:
            said = wait.reason.numbers
            return [Line(f"numbers {text}: needed {said['needed']}, best {said['best']}, unit {said['unit']}")]
    return [Line(f"numbers {text}: none, it does not wait")]


@verb("free")
def free(play: Play, text: str) -> list[Line]:
    """`free`: cards that nobody holds, by the objects."""
    offered = sum(int(node["status"]["allocatable"].get(CARD, 0)) for node in play.stage.of_kind("Node"))
    held = sum(
        int(container["resources"]["limits"].get(CARD, 0))
        for pod in play.stage.of_kind("Pod")
        if pod["spec"].get("nodeName") and pod["status"]["phase"] == "Running"
        for container in pod["spec"]["containers"]
    )
    return [Line(f"free: {offered - held} cards")]


@verb("whole")
def whole(play: Play, text: str) -> list[Line]:
    """`whole NAME`: of the gangs NAME-1, NAME-2, …, how many are bound whole, partly, and not at all."""
    count: Counter[str] = Counter()
    for group in play.groups.values():
        if play.worn.off(group.name).rpartition("-")[0] == text:
            pods = play.pods_of(group)
            n_bound = sum("nodeName" in pod["spec"] for pod in pods)
            count["whole" if n_bound == len(pods) else "partly" if n_bound else "waiting"] += 1
    return [Line(f"whole {text}: {count['whole']} whole, {count['partly']} partly, {count['waiting']} waiting")]


def _seated(play: Play, name: str) -> list[tuple[int, str]]:
    """(rank, node) of the pods that run, in the order of ranks."""
    group = play.group(name)
    ordered = {name_of(pod): pod for pod in play.pods_of(group)}
    return [
        (rank, ordered[key]["spec"]["nodeName"])
        for rank, key in enumerate(f"{group.namespace}/{pod}" for pod in group.pods)
        if key in ordered and ordered[key]["spec"].get("nodeName")
    ]


def _domain(play: Play, node: str, level: str) -> str:
    labels = play.stage.objects["", "Node", "", node]["metadata"]["labels"]
    return play.worn.off(labels.get(play.levels.key(level), "-"))


def _ranges(found: list[int]) -> str:
    """`0-3`, or `0,2-4` where ranks are not consecutive."""
    texts, start = [], found[0]
    for here, following in zip(found, [*found[1:], -1], strict=True):
        if following != here + 1:
            texts.append(str(here) if here == start else f"{start}-{here}")
            start = following
    return ",".join(texts)
