"""Objects as `explain` and `jobs` read them, and the questions asked."""

from __future__ import annotations

from collections.abc import Iterable

from gangpool.intake import load
from gangpool.intake.config import Config
from gangpool.intake.explained import explain
from gangpool.intake.explanation import ExplainAnswer
from gangpool.intake.load import PoolItem
from gangpool.intake.seen import Seen
from gangpool.intake.target import Target, read_target
from gangpool.objects.typed import as_node, as_pod
from tests.intake.build import CONFIG, Json


def items(objects: Iterable[Json]) -> list[PoolItem]:
    """As the readers of dumps and clusters give them: nodes and pods as structs, pods last."""
    found = list(objects)
    nodes: list[PoolItem] = [as_node(one) for one in found if one["kind"] == "Node"]
    others: list[PoolItem] = [one for one in found if one["kind"] not in ("Node", "Pod")]
    return [*nodes, *others, *(as_pod(one) for one in found if one["kind"] == "Pod")]


def target(text: str, space: str = "ml") -> Target:
    return read_target(text.split(), space)


def why(text: str, *objects: Json, space: str = "ml", config: Config = CONFIG) -> ExplainAnswer:
    """What `explain` says of an object in namespace ml."""
    named = target(text, space)
    seen = Seen(lambda pod: pod.metadata.namespace == space, named.name if named.is_node else "")
    return explain(load(seen.watch(items(objects)), config), seen, named)


def codes(answer: ExplainAnswer) -> list[str]:
    """The code of the reason, "" for none, then those of what else is said."""
    return ["" if answer.reason is None else answer.reason.code, *(entry.code for entry in answer.also)]
