"""What a pod's state means for the books: whether it holds room, and who made it.

Called by intake for every pod of a pool. Pure questions about one Pod; each is O(1) or O(its owners).
"""

from __future__ import annotations

from gangpool.objects.pod import Pod

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
"""Written by the kubelet on the API's image of a static pod."""


def is_terminal(pod: Pod) -> bool:
    """Finished for good: it holds nothing on its node, whatever else is written on it."""
    return pod.status.phase in ("Succeeded", "Failed")


def is_terminating(pod: Pod) -> bool:
    """Deletion was asked for. It holds its room until it is gone or finished, however long that takes."""
    return pod.metadata.deletionTimestamp is not None


def is_leaving(pod: Pod) -> bool:
    """Deletion was asked for before it got a node: the API server lets nobody bind it any more."""
    return is_terminating(pod) and not pod.spec.nodeName


def is_gated(pod: Pod) -> bool:
    """Scheduling gates are left: nobody may place it, and it holds nothing."""
    return bool(pod.spec.schedulingGates)


def is_mirror(pod: Pod) -> bool:
    """The image of a static pod, which the kubelet of its node starts by itself; nobody schedules or evicts it."""
    annotations = pod.metadata.annotations
    return annotations is not None and MIRROR_ANNOTATION in annotations


def is_daemon(pod: Pod) -> bool:
    """Made by a DaemonSet: one for each node, bound to it by a node affinity of its own."""
    owners = pod.metadata.ownerReferences
    return owners is not None and any(owner.controller and owner.kind == "DaemonSet" for owner in owners)


def holds(pod: Pod) -> bool:
    """It has a node and has not finished: what it asks for is taken there. Terminating, mirror, DaemonSet pods and
    those of other schedulers hold like any other; a pending or gated pod holds nothing."""
    return bool(pod.spec.nodeName) and not is_terminal(pod) and not is_gated(pod)
