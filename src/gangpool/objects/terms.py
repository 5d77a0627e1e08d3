"""Inter-pod rules of a pod in the core's words: affinity and anti-affinity, required and preferred, and spread.

Called by `objects.shape`. Names of namespaces and the pod's own labels are put in here, so that the core need not
know whose rule a term is. What the API server would refuse raises ObjectError with the path of the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gangpool.core.model import Requirement, Selector, Spread, Term
from gangpool.objects.faults import ObjectError
from gangpool.objects.pod import Pod, PodAffinity, PodAffinityTerm, TopologySpreadConstraint
from gangpool.objects.selectors import in_order, selector_of

DEFAULT_NAMESPACE = "default"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_POLICIES = ("Honor", "Ignore")


def required_terms(pod: Pod, affinity: PodAffinity | None, path: str) -> tuple[Term, ...]:
    """The rules that must hold, in the order in which they stand."""
    if affinity is None or not affinity.requiredDuringSchedulingIgnoredDuringExecution:
        return ()
    return tuple(
        _term(pod, term, f"{path}.{_REQUIRED}[{i}]")
        for i, term in enumerate(affinity.requiredDuringSchedulingIgnoredDuringExecution)
    )


def soft_terms(pod: Pod, affinity: PodAffinity | None, path: str, sign: int) -> Iterator[tuple[int, Term]]:
    """The preferences with their weights; `sign` is -1 for anti-affinity."""
    if affinity is None:
        return
    for i, weighted in enumerate(affinity.preferredDuringSchedulingIgnoredDuringExecution or ()):
        where = f"{path}.{_PREFERRED}[{i}]"
        if weighted.podAffinityTerm is None:
            raise ObjectError(f"{where}.podAffinityTerm", "is missing")
        term = _term(pod, weighted.podAffinityTerm, f"{where}.podAffinityTerm")
        yield sign * weight_of(weighted.weight, f"{where}.weight"), term


def weight_of(weight: int, path: str) -> int:
    """The weight of a preference, 1 to 100."""
    if not 1 <= weight <= 100:
        raise ObjectError(path, f"must be between 1 and 100, not {weight}")
    return weight


def spreads(pod: Pod) -> tuple[Spread, ...]:
    """`topologySpreadConstraints`, with the API's defaults filled in."""
    constraints = pod.spec.topologySpreadConstraints or ()
    return tuple(_spread(pod, c, f"spec.topologySpreadConstraints[{i}]") for i, c in enumerate(constraints))


def _term(pod: Pod, term: PodAffinityTerm, path: str) -> Term:
    if not term.topologyKey:
        raise ObjectError(f"{path}.topologyKey", "is missing")
    selector = _with_own_labels(
        pod,
        selector_of(term.labelSelector, f"{path}.labelSelector"),
        match=term.matchLabelKeys or (),
        mismatch=term.mismatchLabelKeys or (),
    )
    names = tuple(sorted(set(term.namespaces or ())))
    if not names and term.namespaceSelector is None:
        names = (_namespace(pod),)
    return Term(
        key=term.topologyKey,
        selector=selector,
        namespaces=names,
        namespace_selector=selector_of(term.namespaceSelector, f"{path}.namespaceSelector"),
    )


def _spread(pod: Pod, constraint: TopologySpreadConstraint, path: str) -> Spread:
    hard = constraint.whenUnsatisfiable == "DoNotSchedule"
    if not hard and constraint.whenUnsatisfiable != "ScheduleAnyway":
        message = f"{constraint.whenUnsatisfiable!r} is neither DoNotSchedule nor ScheduleAnyway"
        raise ObjectError(f"{path}.whenUnsatisfiable", message)
    if not constraint.topologyKey:
        raise ObjectError(f"{path}.topologyKey", "is missing")
    if constraint.maxSkew < 1:
        raise ObjectError(f"{path}.maxSkew", f"must be at least 1, not {constraint.maxSkew}")
    min_domains = 1 if constraint.minDomains is None else constraint.minDomains
    if min_domains < 1:
        raise ObjectError(f"{path}.minDomains", f"must be at least 1, not {min_domains}")
    if constraint.minDomains is not None and not hard:
        raise ObjectError(f"{path}.minDomains", "goes only with whenUnsatisfiable: DoNotSchedule")
    if constraint.matchLabelKeys and constraint.labelSelector is None:
        raise ObjectError(f"{path}.matchLabelKeys", "goes only with a labelSelector")
    selector = selector_of(constraint.labelSelector, f"{path}.labelSelector")
    return Spread(
        key=constraint.topologyKey,
        max_skew=constraint.maxSkew,
        selector=_with_own_labels(pod, selector, match=constraint.matchLabelKeys or ()),
        namespace=_namespace(pod),
        hard=hard,
        min_domains=min_domains,
        honor_affinity=_honors(constraint.nodeAffinityPolicy, "Honor", f"{path}.nodeAffinityPolicy"),
        honor_taints=_honors(constraint.nodeTaintsPolicy, "Ignore", f"{path}.nodeTaintsPolicy"),
    )


def _honors(policy: str | None, default: str, path: str) -> bool:
    if policy is not None and policy not in _POLICIES:
        raise ObjectError(path, f"{policy!r} is neither Honor nor Ignore")
    return (policy or default) == "Honor"


def _with_own_labels(pod: Pod, selector: Selector, match: Iterable[str] = (), mismatch: Iterable[str] = ()) -> Selector:
    """`matchLabelKeys` and `mismatchLabelKeys`: the pod's own value of each label joins the selector. The API server
    has done so on live pods already. A key that the pod lacks counts for nothing, and nothing stays nothing."""
    if selector is None:
        return None
    labels = pod.metadata.labels or {}
    own = {Requirement(key, "In", (labels[key],)) for key in match if key in labels}
    others = {Requirement(key, "NotIn", (labels[key],)) for key in mismatch if key in labels}
    return in_order({*selector, *own, *others})


def _namespace(pod: Pod) -> str:
    return pod.metadata.namespace or DEFAULT_NAMESPACE
