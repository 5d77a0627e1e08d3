"""A Pod by itself: one member, of the gang that it names outright.

Which gang that is, only `registry` knows, where all kinds meet; it hands in the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from gangpool.objects.pod import Pod
from gangpool.workloads import fields, subject
from gangpool.workloads.base import Context, Expansion, Finding, GangOf, Object, PodLink, PodSpecOf, WorkloadError
from gangpool.workloads.dialect import Reader

Question = Callable[[Pod, Context], tuple[PodLink | None, tuple[Finding, ...]]]
"""Which gang is this pod in?"""


class PlainPod(Reader):
    """v1 Pod."""

    name = "pod"
    kinds = (("", "Pod"),)

    def gangs(self, obj: Object, context: Context) -> tuple[GangOf, ...]:
        """None: a pod names a gang, it defines none."""
        return ()

    def __init__(self, question: Question) -> None:
        self._question = question

    def expand(self, obj: Object, context: Context) -> Expansion:
        """The pod itself, with its name and namespace filled in. A gang that only its owner could tell is one only
        where that owner is there and says so."""
        head = subject.read(obj)
        spec = {k: v for k, v in fields.required(obj, "spec").items() if v is not None}
        pod = {**obj, "metadata": {**obj["metadata"], "name": head.name, "namespace": head.namespace}, "spec": spec}
        found, findings = self._question(decoded(pod), context)
        if found is None:
            return Expansion(members=(("", PodSpecOf(pod, "", 0, "")),), findings=findings)
        return Expansion(members=((found.key, PodSpecOf(pod, found.role, found.rank, "")),), findings=findings)

    def templates(self, obj: Object) -> Iterable[tuple[str, Object]]:
        """The pod is its own template, at the path ""."""
        return [("", obj)]


def decoded(pod: Object) -> Pod:
    """A pod as structs; WorkloadError with the field path where it is none."""
    try:
        return msgspec.convert(pod, Pod)
    except msgspec.ValidationError as problem:
        message, _, path = str(problem).partition(" - at `$")
        raise WorkloadError(path.removesuffix("`").removeprefix("."), message.replace("`", "'")) from None
