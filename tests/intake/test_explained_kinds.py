"""Every workload of the examples, with the pods that its controller makes: `explain KIND/NAME` finds them all."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gangpool.intake.crew import PENDING
from gangpool.intake.store import Store, kind_of, name_of, subject_of
from gangpool.workloads import registry
from tests.e2e.terminal import EXAMPLES
from tests.intake.asked import why
from tests.intake.build import Json, node

ONE_PER_NODE_OR_LATER = ("Pod", "DaemonSet", "CronJob")


def documents() -> list[Json]:
    texts = (path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.rglob("*.yaml")))
    return [document for text in texts for document in yaml.safe_load_all(text) if document]


def stored(objects: list[Json]) -> Store:
    store = Store()
    for obj in objects:
        store.put(obj)
    return store


ALL = documents()
STORE = stored(ALL)
MAKERS = [obj for obj in ALL if obj["kind"] not in ONE_PER_NODE_OR_LATER and registry.expand(obj, STORE).members]


def as_made(obj: Json) -> list[Json]:
    """The pods of a workload as the API server would show them."""
    found = []
    for i, (_, member) in enumerate(registry.expand(obj, STORE).members):
        made: dict[str, Any] = {**member.pod, "apiVersion": "v1", "kind": "Pod", "status": {"phase": "Pending"}}
        made["metadata"] = {"namespace": name_of(obj)[0], **made["metadata"], "uid": f"u{i}"}
        made["spec"] = {**made["spec"], "schedulerName": "gangpool"}
        found.append(made)
    return found


@pytest.mark.parametrize("obj", MAKERS, ids=subject_of)
def test_all_pods_of_a_workload_are_found(obj: Json) -> None:
    pods, (space, name) = as_made(obj), name_of(obj)
    others = [other for other in ALL if other is not obj and other["kind"] != "Pod"]
    group, kind = kind_of(obj)
    answer = why(f"{kind.lower()}s.{group}/{name}", node("n1"), obj, *others, *pods, space=space)
    gangs = {gang.key for gang in registry.expand(obj, STORE).gangs}
    assert answer.members is not None and answer.members.exist == len(pods)
    assert (answer.state, answer.gang in gangs) == (PENDING, bool(gangs))
    of_one = why(f"pod/{pods[-1]['metadata']['name']}", node("n1"), obj, *others, *pods, space=space)
    assert (of_one.state, of_one.gang in gangs) == (PENDING, bool(gangs))


def test_there_are_examples_of_many_kinds() -> None:
    assert len({obj["kind"] for obj in MAKERS}) >= 8
