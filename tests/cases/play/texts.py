"""Finds what the product says about pods: conditions, events, status of group and job; and matches words in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tests.cases.play.api import Obj
from tests.cases.play.context import Context
from tests.cases.play.history import key, matches

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/{ns}/jobs"
GROUPS = (
    "/apis/scheduling.volcano.sh/v1beta1/namespaces/{ns}/podgroups",
    "/apis/scheduling.k8s.io/v1beta1/namespaces/{ns}/podgroups",
    "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{ns}/podgroups",
)
# Where a pod names its group; besides, groups that share an owner with the pod or are owned by its owner.
GROUP_KEYS = (
    "scheduling.k8s.io/group-name",
    "scheduling.volcano.sh/group-name",
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "scheduling.x-k8s.io/pod-group-name",
)


def contains(text: str, word: str) -> bool:
    """Without regard to case; a word that begins or ends with a digit does not match inside a longer number or name.

    >>> (
    ...     contains("asks 16, free 8", "8"),
    ...     contains("gpu-8 of 18", "8"),
    ...     contains("1 of 20", "1 of 2"),
    ...     contains("20GiB", "20"),
    ... )
    (True, False, False, True)
    """
    pattern = re.escape(str(word))
    if str(word)[:1].isdigit():
        pattern = r"(?<![\w.-])" + pattern
    if str(word)[-1:].isdigit():
        pattern += r"(?!\d|\.\d)"
    return re.search(pattern, text, re.IGNORECASE) is not None


def agrees(text: str, wanted: dict[str, Any]) -> bool:
    """``contains_all`` and ``contains_any`` hold in this one text."""
    return all(contains(text, w) for w in wanted.get("contains_all") or ()) and (
        not wanted.get("contains_any") or any(contains(text, w) for w in wanted["contains_any"])
    )


def condition_text(pod: Obj) -> str:
    """Reason and message of PodScheduled while it is False; empty otherwise."""
    for c in (pod.get("status") or {}).get("conditions") or []:
        if c["type"] == "PodScheduled" and c["status"] == "False":
            return f"{c.get('reason', '')}: {c.get('message', '')}"
    return ""


def strings(value: Any) -> Iterable[str]:
    """All texts below a status, ``reason: message`` of one condition kept together."""
    if isinstance(value, dict):
        flat = [str(v) for v in value.values() if isinstance(v, str)]
        if flat:
            yield " ".join(flat)
        for v in value.values():
            if isinstance(v, (dict, list)):
                yield from strings(v)
    elif isinstance(value, list):
        for v in value:
            yield from strings(v)


async def jobs_of(ctx: Context, selector: str, pods: list[Obj]) -> list[Obj]:
    """Volcano Jobs that own the pods, or whose template carries the labels (when no pod exists)."""
    assert ctx.api
    owners = {r["uid"] for p in pods for r in p["metadata"].get("ownerReferences") or []}
    spaces = {key(p)[0] for p in pods} or {"default"}

    def by_template(job: Obj) -> bool:
        return any(
            matches(selector, {"metadata": {"name": "", **(t.get("template", {}).get("metadata") or {})}})
            for t in job["spec"].get("tasks") or []
        )

    found = [j for ns in spaces for j in await ctx.api.items(JOBS.format(ns=ns))]
    return [j for j in found if j["metadata"]["uid"] in owners or by_template(j)]


async def groups_of(ctx: Context, pods: list[Obj], jobs: list[Obj]) -> list[Obj]:
    """Pod groups that the pods name, or that belong to their job."""
    assert ctx.api
    named = {
        v
        for p in pods
        for where in ("labels", "annotations")
        for k, v in (p["metadata"].get(where) or {}).items()
        if k in GROUP_KEYS
    }
    named |= {str(v) for p in pods for v in (p["spec"].get("schedulingGroup") or {}).values() if isinstance(v, str)}
    owners = {r["uid"] for p in pods for r in p["metadata"].get("ownerReferences") or []} | {
        j["metadata"]["uid"] for j in jobs
    }
    spaces = {key(o)[0] for o in [*pods, *jobs]}
    found = [g for ns in spaces for path in GROUPS for g in await ctx.api.items(path.format(ns=ns))]
    return [
        g
        for g in found
        if g["metadata"]["name"] in named or any(r["uid"] in owners for r in g["metadata"].get("ownerReferences") or [])
    ]


async def about(ctx: Context, selector: str) -> tuple[list[Obj], set[tuple[str, str]], list[Obj]]:
    """(pods, names of everything that an event about them may regard, jobs and groups)."""
    assert ctx.history
    pods = ctx.history.select(selector)
    jobs = await jobs_of(ctx, selector, pods)
    groups = await groups_of(ctx, pods, jobs)
    names = {("Pod", p["metadata"]["name"]) for p in pods} | {("Job", j["metadata"]["name"]) for j in jobs}
    names |= {("PodGroup", g["metadata"]["name"]) for g in groups}
    names |= {(r["kind"], r["name"]) for p in pods for r in p["metadata"].get("ownerReferences") or []}
    return pods, names, jobs + groups


async def all_texts(ctx: Context, selector: str) -> list[str]:
    """Every text of the product about the pods of a selector, one per condition, event or status entry."""
    assert ctx.history
    pods, names, objects = await about(ctx, selector)
    texts = [t for p in pods if (t := condition_text(p))]
    texts += [f"{c.object.get('reason', '')}: {c.object.get('message', '')}" for c in ctx.history.events_about(names)]
    return texts + [t for o in objects for t in strings(o.get("status") or {})]
