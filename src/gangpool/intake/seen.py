"""What the world forgets of the objects that come in, and an answer about them needs.

The world keeps what a plan needs. Who explains needs more: phases and words of pods, finished pods, what a node has
beside what it offers. `Seen.watch` passes a pool's objects on to `load` and keeps that. Called by `explain` and `jobs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gangpool.intake.load import PoolItem
from gangpool.intake.said import BIND_REFUSED, code_of, said_on
from gangpool.objects.node import Node
from gangpool.objects.pod import Pod, PodSpec, PodStatus
from gangpool.objects.state import holds


def uid_of(pod: Pod) -> str:
    """The uid under which the world keeps a pod; a pod written by hand may have none."""
    return pod.metadata.uid or f"{pod.metadata.namespace}/{pod.metadata.name}"


class Seen:
    """Mutable while objects pass. `keep`: pods to remember; `node`: name of a node to remember."""

    def __init__(self, keep: Callable[[Pod], bool], node: str = "") -> None:
        self._keep = keep
        self._node_name = node
        self.pods: dict[str, Pod] = {}
        """By uid, in short: head, status, and who places them where."""
        self.refusals: dict[str, str] = {}
        """Of every pod that waits because the API server refuses its bind: what it says, by uid."""
        self.node: Node | None = None

    def watch(self, items: Iterable[PoolItem]) -> Iterator[PoolItem]:
        """The same objects, in the same order."""
        for item in items:
            if isinstance(item, Pod):
                self._pod(item)
            elif isinstance(item, Node) and item.metadata.name == self._node_name:
                self.node = item
            yield item

    def _pod(self, pod: Pod) -> None:
        if not holds(pod) and code_of(said := said_on(pod)) == BIND_REFUSED:
            self.refusals[uid_of(pod)] = said
        if self._keep(pod):
            self.pods[uid_of(pod)] = outline(pod)


def outline(pod: Pod) -> Pod:
    """A pod without what it asks for, which is most of it."""
    spec = pod.spec
    kept = PodSpec(
        nodeName=spec.nodeName,
        schedulerName=spec.schedulerName,
        schedulingGates=spec.schedulingGates,
        schedulingGroup=spec.schedulingGroup,
        workloadRef=spec.workloadRef,
    )
    return Pod(pod.metadata, kept, PodStatus(phase=pod.status.phase, conditions=pod.status.conditions))
