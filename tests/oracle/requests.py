"""What a pod asks of its node and what a node gives, as whole numbers per resource.

Rules, from the Kubernetes documentation:
- A container that has a limit but no request for a resource requests its limit (Resource Management).
- Containers and sidecars (init containers with restartPolicy Always) run together: their requests add up.
  A plain init container runs beside the sidecars before it; the pod needs the largest such moment
  (Sidecar Containers, KEP-753).
- Pod-level requests replace what the containers add up to, for CPU, memory and huge pages. A pod-level limit
  without a request counts as one where no container requests the resource (KEP-2837).
- The overhead comes on top (Pod Overhead).
- While a resize is pending or under way, a container counts with the largest of what it asks, what is allocated
  and what it has; an infeasible resize does not count what it asks (Resize CPU and Memory Resources).
- Every pod also takes one unit of `pods`.

Units: milli-CPU for `cpu`, else the unit of the resource; fractions are rounded up, once per pod.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

from tests.oracle.quantity import ceiling, quantity

Json = dict[str, Any]
Amounts = dict[str, Fraction]

UNITS = {"cpu": 1000}
"""Resources that are counted in a finer unit than their own."""


def whole(amounts: Amounts) -> dict[str, int]:
    """Amounts as whole numbers of our units, rounded up."""
    return {resource: ceiling(amount * UNITS.get(resource, 1)) for resource, amount in amounts.items()}


def effective_requests(pod: Json) -> dict[str, int]:
    """What the pod takes of a node, `pods` included; resources with nothing asked are left out."""
    spec = pod["spec"]
    status = pod.get("status") or {}
    amounts = _containers_together(spec, status)
    level = spec.get("resources") or {}
    for resource, limit in _read(level.get("limits")).items():
        if _pod_level(resource):
            amounts.setdefault(resource, limit)
    for resource, request in _read(level.get("requests")).items():
        if _pod_level(resource):
            amounts[resource] = request
    _add(amounts, _read(spec.get("overhead")))
    asked = {resource: amount for resource, amount in whole(amounts).items() if amount > 0}
    return {**asked, "pods": 1}


def allocatable(node: Json) -> dict[str, int]:
    """What the node can give to pods in all."""
    return whole(_read((node.get("status") or {}).get("allocatable")))


def _containers_together(spec: Json, status: Json) -> Amounts:
    running: Amounts = {}
    for container in spec.get("containers") or []:
        _add(running, _of_container(container, status))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or []:
        own = _of_container(container, status)
        if container.get("restartPolicy") == "Always":
            _add(running, own)
            _add(sidecars, own)
        else:
            moment = dict(sidecars)
            _add(moment, own)
            for resource, amount in moment.items():
                peak[resource] = max(amount, peak.get(resource, Fraction(0)))
    return {r: max(running.get(r, Fraction(0)), peak.get(r, Fraction(0))) for r in {*running, *peak}}


def _of_container(container: Json, status: Json) -> Amounts:
    resources = container.get("resources") or {}
    asked = {**_read(resources.get("limits")), **_read(resources.get("requests"))}
    told = [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]
    own: Json = next((s for s in told if s.get("name") == container.get("name")), {})
    actual = _read((own.get("resources") or {}).get("requests"))
    allocated = _read(own.get("allocatedResources"))
    if (actual or allocated) and _resize_is_infeasible(status):
        asked = {}
    largest: defaultdict[str, Fraction] = defaultdict(Fraction)
    for amounts in (asked, allocated, actual):
        for resource, amount in amounts.items():
            largest[resource] = max(largest[resource], amount)
    return dict(largest)


def _resize_is_infeasible(status: Json) -> bool:
    return any(
        c.get("type") == "PodResizePending" and c.get("reason") == "Infeasible" for c in status.get("conditions") or []
    )


def _pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def _read(written: Json | None) -> Amounts:
    return {resource: quantity(text) for resource, text in (written or {}).items()}


def _add(total: Amounts, more: Amounts) -> None:
    for resource, amount in more.items():
        total[resource] = total.get(resource, Fraction(0)) + amount
