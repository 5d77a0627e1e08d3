"""KAI's PodGroup (`scheduling.run.ai`): a minimum, subgroups with minima and levels of their own, pods that name the
group by an annotation and their subgroup by a label.

Subgroups form a tree; a gang here has one layer of roles, so leaves become roles, and a level on an inner subgroup is
a finding unless it has a single leaf.
"""

from __future__ import annotations

from msgspec import Struct

from gangpool.core.model import Level, Role
from gangpool.objects.pod import Pod
from gangpool.workloads import fields, levels, subject
from gangpool.workloads.base import Context, Finding, GangOf, Object, PodLink
from gangpool.workloads.dialect import Reader, annotation, label, ordinal
from gangpool.workloads.findings import NOT_SUPPORTED
from gangpool.workloads.subject import Subject
from gangpool.workloads.templates import Reading

GROUP = "scheduling.run.ai"
ANNOTATION = "pod-group-name"
SUBGROUP = "kai.scheduler/subgroup-name"


class SubGroup(Struct, frozen=True):
    """One subgroup as written."""

    path: str
    name: str
    parent: str
    minimum: int | None
    required: Level | None
    preferred: tuple[Level, ...]


class Kai(Reader):
    """PodGroup of KAI."""

    name = "kai"
    kinds = ((GROUP, "PodGroup"),)
    marks = (ANNOTATION,)

    def read(self, obj: Object, context: Context) -> Reading:
        """One gang, no pods."""
        head = subject.read(obj)
        subs = [_subgroup(path, sub) for path, sub in fields.items(obj, "spec.subGroups")]
        inner = {s.parent for s in subs if s.parent}
        leaves = [s for s in subs if s.name not in inner]
        findings = _beyond(head, obj, subs, inner)
        required, preferred = _levels(obj, "spec")
        preferred = preferred or tuple(dict.fromkeys(level for s in leaves for level in s.preferred))
        scope = levels.scope(
            levels.joined(levels.Asks(required=required, preferred=preferred), levels.of_object(head)), ()
        )
        least = sum(s.minimum or 0 for s in leaves)
        written = fields.optional_integer(obj, "spec.minMember")
        gang = GangOf(
            key=head.key,
            minimum=max(written or least, least, 1),
            roles=tuple(Role(s.name, s.minimum or 0) for s in leaves),
            required=scope.required,
            preferred=scope.preferred,
            blocks=scope.blocks,
            role_levels=tuple((s.name, s.required) for s in leaves if s.required),
            queue=head.queue(fields.text(obj, "spec.queue")),
            priority_class=fields.text(obj, "spec.priorityClassName"),
        )
        return Reading(namespace=head.namespace, gangs=(gang,), findings=(*findings, *scope.findings(head)))

    def link(self, pod: Pod) -> PodLink | None:
        """By annotation."""
        name = annotation(pod, ANNOTATION)
        if not name:
            return None
        return PodLink(
            key=f"{pod.metadata.namespace}/{name}",
            source=self.name,
            role=label(pod, SUBGROUP),
            rank=ordinal(pod.metadata.name),
            defined_by=(GROUP, "PodGroup", name),
        )


def _subgroup(path: str, sub: Object) -> SubGroup:
    required, preferred = _levels(sub, path)
    return SubGroup(
        path=path,
        name=fields.text(sub, "name", path),
        parent=fields.text(sub, "parent", path),
        minimum=fields.optional_integer(sub, "minMember", path),
        required=required,
        preferred=preferred,
    )


def _levels(obj: Object, base: str) -> tuple[Level | None, tuple[Level, ...]]:
    relative = "spec.topologyConstraint" if base == "spec" else "topologyConstraint"
    shown = "" if base == "spec" else base
    constraint, where = fields.mapping(obj, relative, shown), fields.join(shown, relative)
    topology = fields.text(constraint, "topology", where)
    required = fields.text(constraint, "requiredTopologyLevel", where)
    preferred = fields.text(constraint, "preferredTopologyLevel", where)
    return (
        Level(key=required, topology=topology) if required else None,
        (Level(key=preferred, topology=topology),) if preferred else (),
    )


def _beyond(head: Subject, obj: Object, subs: list[SubGroup], inner: set[str]) -> list[Finding]:
    """What a gang with one layer of roles cannot say."""
    found = []
    for sub in subs:
        if sub.name in inner and sub.required:
            text = f"the level of subgroup {sub.name!r}, which has subgroups itself, is left out"
            found.append(head.finding(f"{sub.path}.topologyConstraint", NOT_SUPPORTED, text))
    if fields.optional_integer(obj, "spec.minSubGroup") is not None:
        text = "a minimum of subgroups is left out; each subgroup's own minimum counts"
        found.append(head.finding("spec.minSubGroup", NOT_SUPPORTED, text))
    return found
