"""The tasks of a Volcano Job as values, and what is wrong with them.

Called by `volcano_job`. Volcano's own admission refuses the same things; here they become findings of the code
`invalid-object` with the field at fault, and the first is the reason for which the gang waits.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from gangpool.core.model import Block
from gangpool.workloads import fields, levels, subject, templates
from gangpool.workloads.base import Finding, Object, WorkloadError
from gangpool.workloads.findings import NOT_SUPPORTED, TASK_NAME_MISSING
from gangpool.workloads.levels import Asks
from gangpool.workloads.subject import LABEL_LENGTH, Subject
from gangpool.workloads.templates import Template


class Partition(Struct, frozen=True):
    """partitionPolicy: a task's pods in `total` groups of `size`."""

    size: int
    total: int
    least: int
    asks: Asks


class Task(Struct, frozen=True):
    """One task. `minimum` None: not written (nor by its partitions)."""

    path: str
    name: str
    named: bool
    replicas: int
    minimum: int | None
    template: Template
    asks: Asks
    later: bool
    partition: Partition | None


def read(obj: Object, scheduler: str) -> list[Task]:
    """The tasks in order; WorkloadError when there is none."""
    tasks = [_task(path, task, i, scheduler) for i, (path, task) in enumerate(fields.items(obj, "spec.tasks"))]
    if not tasks:
        raise WorkloadError("spec.tasks", "a job needs at least one task")
    return tasks


def _task(path: str, task: Object, i: int, scheduler: str) -> Task:
    written = fields.text(task, "name", path)
    template = templates.with_scheduler(templates.read(task, "template", path), scheduler)
    partition = _partition(task, path) if fields.mapping(task, "partitionPolicy", path) else None
    asks = levels.of_template(template.annotations, template.path)
    least = fields.optional_integer(task, "minAvailable", path)
    if least is None and partition and partition.least:
        least = partition.least * partition.size
    return Task(
        path=path,
        name=written or f"default{i}",
        named=bool(written),
        replicas=fields.integer(task, "replicas", path, default=1),
        minimum=least,
        template=template,
        asks=levels.with_blocks(asks, _blocks(partition)),
        later=bool(fields.mapping(task, "dependsOn", path)),
        partition=partition,
    )


def _partition(task: Object, path: str) -> Partition:
    where = f"{path}.partitionPolicy"
    policy = fields.mapping(task, "partitionPolicy", path)
    return Partition(
        size=fields.integer(policy, "partitionSize", where, default=1, within=(1, fields.MAX_PODS)),
        total=fields.integer(policy, "totalPartitions", where, default=1, within=(1, fields.MAX_PODS)),
        least=fields.integer(policy, "minPartitions", where),
        asks=levels.network(policy, "networkTopology", where),
    )


def _blocks(partition: Partition | None) -> tuple[Block, ...]:
    required = partition.asks.required if partition else None
    return (Block(size=partition.size, level=required),) if partition and required else ()


def doubts(head: Subject, tasks: list[Task]) -> Iterator[Finding]:
    """Everything that is wrong with names, minima and partitions of the tasks, contradictions first."""
    yield from _names(head, tasks)
    for task in tasks:
        if task.minimum is not None and task.minimum > task.replicas:
            text = f"is {task.minimum}, but the task has {task.replicas} replicas"
            field = "partitionPolicy.minPartitions" if _from_partitions(task) else "minAvailable"
            yield head.invalid(f"{task.path}.{field}", text)
        part = task.partition
        if part and part.size * part.total != task.replicas:
            text = f"{part.total} partitions of {part.size} are {part.size * part.total}, replicas are {task.replicas}"
            yield head.invalid(f"{task.path}.partitionPolicy", text)
        if part and part.asks.preferred:
            text = "a soft level for partitions cannot be said; it is left out"
            yield head.finding(f"{task.path}.partitionPolicy.networkTopology.mode", NOT_SUPPORTED, text)
    for task in tasks:
        if not task.named:
            text = f"a task without a name; it is called {task.name}"
            yield head.finding(f"{task.path}.name", TASK_NAME_MISSING, text)


def _from_partitions(task: Task) -> bool:
    return task.partition is not None and task.partition.least * task.partition.size == task.minimum


def _names(head: Subject, tasks: list[Task]) -> Iterator[Finding]:
    """Volcano writes the job's name into a label, the service and the host names JOB-TASK-INDEX."""
    if len(head.name) > LABEL_LENGTH:
        text = f"has {len(head.name)} characters, {LABEL_LENGTH} fit into the label and the service made from it"
        yield head.invalid("metadata.name", text)
    seen: set[str] = set()
    for task in tasks:
        if task.name in seen:
            yield head.invalid(f"{task.path}.name", f"the name {task.name!r} is taken by another task")
        elif not subject.is_label(task.name):
            text = f"{task.name[:LABEL_LENGTH]!r} is no DNS label of at most {LABEL_LENGTH} characters"
            yield head.invalid(f"{task.path}.name", text)
        elif len(head.name) <= LABEL_LENGTH:
            pod = f"{head.name}-{task.name}-{max(task.replicas - 1, 0)}"
            if len(pod) > LABEL_LENGTH:
                text = f"leaves no room: pod {pod} has {len(pod)} characters, {LABEL_LENGTH} are allowed"
                yield head.invalid("metadata.name", text)
        seen.add(task.name)
