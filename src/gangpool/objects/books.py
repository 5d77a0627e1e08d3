"""What a pod asks for, equal to the books of the kubelet and of kube-scheduler 1.37.

Called by `objects.shape` and by intake. The rules, each from the Kubernetes documentation:

- A request that is absent defaults to the limit of the same resource; a request of 0 stays 0.
- Containers and native sidecars (init containers with restartPolicy Always) are added up. An ordinary init container
  runs before the containers and beside the sidecars that stand before it, so the pod needs at least that peak, and
  keeps it until it ends.
- Pod-level requests (`spec.resources`) replace the sum for CPU, memory and huge pages. Absent ones default to what
  the containers ask for (CPU and memory), else to the pod-level limit, where pod-level limits are set.
- In-place resize: the largest of what is wanted, what the kubelet has allocated and what the runtime has applied; a
  resize that the kubelet calls infeasible is not wanted any more.
- Overhead is added at the end.

Like the API server, each amount is rounded up to thousandths; sums are exact, and whole units are rounded up last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from gangpool.core.model import PODS
from gangpool.objects.faults import ObjectError
from gangpool.objects.pod import Container, ContainerStatus, Pod, Quantities
from gangpool.objects.quantity import AMOUNT_MAX, QuantityError, milli

Amounts = dict[str, int]
"""Resource to thousandths, inside this module only."""

CPU: Final = "cpu"
_MEASURED: Final = frozenset({CPU, "memory", "storage", "ephemeral-storage"})
_HUGE: Final = "hugepages-"

_CACHE_MAX = 100_000
_cache: dict[bytes, tuple[tuple[str, int], ...]] = {}
_encode = msgspec.msgpack.Encoder().encode


def requests(pod: Pod) -> dict[str, int]:
    """Resource to amount in the ledger's units, `pods: 1` included, amounts of 0 left out. Raises ObjectError.

    About 2 µs for a pod whose like was seen before.
    """
    return dict(sorted_requests(pod))


def sorted_requests(pod: Pod) -> tuple[tuple[str, int], ...]:
    """`requests` as the sorted pairs that a Shape holds; equal for equal templates."""
    try:
        key = _encode(books_key(pod))
    except OverflowError:  # a number beyond 64 bits is a mistake, told where its field is read
        return _sorted_requests(pod)
    known = _cache.get(key)
    if known is None:
        known = _sorted_requests(pod)
        if len(_cache) >= _CACHE_MAX:
            _cache.clear()
        _cache[key] = known
    return known


def books_key(pod: Pod) -> tuple[object, ...]:
    """Everything in the pod that its books depend on, for caches."""
    spec, status = pod.spec, pod.status
    return (
        spec.containers,
        spec.initContainers,
        spec.overhead,
        spec.resources,
        status.containerStatuses,
        status.initContainerStatuses,
        status.allocatedResources,
        status.resources,
        is_resize_infeasible(pod),
    )


def is_resize_infeasible(pod: Pod) -> bool:
    """The kubelet has said that the wanted resize can never be done on this node."""
    if pod.status.conditions is not None:
        for condition in pod.status.conditions:
            if condition.type == "PodResizePending":
                return condition.reason == "Infeasible"
    return pod.status.resize == "Infeasible"  # how it was told before 1.33


def is_measured(resource: str) -> bool:
    """Is it an amount (CPU, bytes), which may have a fraction, or else a count of whole things."""
    return resource in _MEASURED or resource.startswith(_HUGE)


def amount_of(resource: str, quantity: str | int | float) -> int:
    """One quantity in thousandths. QuantityError where it is negative or counts parts of things."""
    amount = milli(quantity)
    if amount < 0:
        raise QuantityError(quantity, "is negative")
    if amount % 1000 and not is_measured(resource):
        raise QuantityError(quantity, "is not whole: this resource is counted in whole units")
    return amount


def in_ledger_units(resource: str, amount: int) -> int:
    """From thousandths to what the ledger counts: CPU stays, all else is rounded up to whole units."""
    return amount if resource == CPU else -(-amount // 1000)


def _sorted_requests(pod: Pod) -> tuple[tuple[str, int], ...]:
    total = _with_pod_level(pod, _of_containers(pod))
    _add(total, _read(pod.spec.overhead, "spec.overhead"))
    asked = {resource: in_ledger_units(resource, amount) for resource, amount in total.items() if amount}
    for resource, amount in asked.items():
        if amount > AMOUNT_MAX:
            raise ObjectError("spec", f"asks for {amount} of {resource} in all, more than any node can have")
    asked[PODS] = 1
    return tuple(sorted(asked.items()))


def _of_containers(pod: Pod) -> Amounts:
    """The containers' books: what is wanted, and what their statuses say is still held after a resize."""
    status, infeasible = pod.status, is_resize_infeasible(pod)
    wanted = _aggregate(pod, _wanted)
    held: tuple[Amounts, ...] = ()
    if status.allocatedResources is not None and status.resources is not None and status.resources.requests is not None:
        held = (
            _read(status.allocatedResources, "status.allocatedResources"),
            _read(status.resources.requests, "status.resources.requests"),
        )
    elif status.containerStatuses or status.initContainerStatuses:
        statuses = {s.name: s for s in (*(status.initContainerStatuses or ()), *(status.containerStatuses or ()))}
        held = (
            _aggregate(pod, lambda c, field: _allocated(c, statuses.get(c.name), infeasible, field)),
            _aggregate(pod, lambda c, field: _applied(c, statuses.get(c.name), infeasible, field)),
        )
    if infeasible and held:
        return _largest(held)
    return _largest((wanted, *held))


def _aggregate(pod: Pod, ask: Callable[[Container, str], Amounts]) -> Amounts:
    """Sum of containers and sidecars, at least the peak while init containers run."""
    total: Amounts = {}
    for i, container in enumerate(pod.spec.containers):
        _add(total, ask(container, f"spec.containers[{i}]"))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for i, container in enumerate(pod.spec.initContainers or ()):
        asked = ask(container, f"spec.initContainers[{i}]")
        if container.restartPolicy == "Always":
            _add(total, asked)
            _add(sidecars, asked)
            running = sidecars
        else:
            running = dict(sidecars)
            _add(running, asked)
        peak = _largest((peak, running))
    return _largest((total, peak))


def _wanted(container: Container, field: str) -> Amounts:
    resources = container.resources
    if resources is None:
        return {}
    asked = _read(resources.limits, f"{field}.resources.limits")
    asked.update(_read(resources.requests, f"{field}.resources.requests"))
    return asked


def _allocated(container: Container, status: ContainerStatus | None, infeasible: bool, field: str) -> Amounts:
    """What the kubelet has set aside; before it has said so, what is wanted."""
    if status is not None and status.allocatedResources is not None:
        return _read(status.allocatedResources, f"status of {field}: allocatedResources")
    return {} if infeasible else _wanted(container, field)


def _applied(container: Container, status: ContainerStatus | None, infeasible: bool, field: str) -> Amounts:
    """What the runtime gives it now; before that is known, what the kubelet has set aside."""
    if status is not None and status.resources is not None and status.resources.requests is not None:
        return _read(status.resources.requests, f"status of {field}: resources.requests")
    return _allocated(container, status, infeasible, field)


def _with_pod_level(pod: Pod, total: Amounts) -> Amounts:
    """Pod-level requests in place of the containers' where the pod has any. Changes and returns `total`."""
    resources = pod.spec.resources
    if resources is None:
        return total
    asked = _pod_level(_read(resources.requests, "spec.resources.requests"))
    limits = _pod_level(_read(resources.limits, "spec.resources.limits"))
    if resources.limits:
        wanted = _aggregate(pod, _wanted)
        defaults = {r: amount for r, amount in wanted.items() if r in (CPU, "memory")}
        asked = {**limits, **defaults, **asked}
    status = pod.status
    if asked and status.resources is not None:
        held = (
            _read(status.resources.requests, "status.resources.requests"),
            _read(status.allocatedResources, "status.allocatedResources"),
        )
        asked = _pod_level(_largest(held if is_resize_infeasible(pod) else (asked, *held)))
    total.update(asked)
    return total


def _pod_level(amounts: Amounts) -> Amounts:
    """Only what may be asked for by the pod as a whole."""
    return {r: amount for r, amount in amounts.items() if r in (CPU, "memory") or r.startswith(_HUGE)}


def _read(quantities: Quantities | None, field: str) -> Amounts:
    amounts: Amounts = {}
    for resource, quantity in (quantities or {}).items():
        try:
            amounts[resource] = amount_of(resource, quantity)
        except QuantityError as error:
            raise ObjectError(f"{field}[{resource}]", str(error)) from None
    return amounts


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for resource, amount in more.items():
        total[resource] = total.get(resource, 0) + amount


def _largest(several: tuple[Amounts, ...]) -> Amounts:
    """For each resource the largest of the amounts."""
    first, *others = several
    largest = dict(first)
    for amounts in others:
        for resource, amount in amounts.items():
            if amount > largest.get(resource, -1):
                largest[resource] = amount
    return largest
