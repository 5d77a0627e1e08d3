"""One sentence about an object that is not there, with names that may have been meant. Called by `explain`. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from gangpool.intake.seen import Seen
from gangpool.intake.store import name_of
from gangpool.intake.target import Target
from gangpool.intake.world import World

CLOSE_MOST = 3


def not_there_text(world: World, seen: Seen, target: Target) -> str:
    """`pod/ml/tran-0 is not there; did you mean train-0?`"""
    known = set(_names(world, seen, target))
    if (target.namespace, target.name) in known:  # by its gang's key, which another kind of object has given
        return f"{target.text} is not there, but a gang of that name is: ask for gang/{target.name}"
    elsewhere = sorted({space for space, name in known if name == target.name})[:CLOSE_MOST]
    if elsewhere and not target.is_node:
        which = f"namespace {elsewhere[0]} has" if len(elsewhere) == 1 else f"namespaces {', '.join(elsewhere)} have"
        return f"{target.text} is not there, but {which} one of that name: give -n"
    here = {name: name for space, name in known if target.is_node or space == target.namespace}
    for names in (here, {name: f"{name} in namespace {space}" for space, name in sorted(known)}):
        near = difflib.get_close_matches(target.name, sorted(names), CLOSE_MOST)
        if near:
            return f"{target.text} is not there; did you mean {' or '.join(names[name] for name in near)}?"
    return f"{target.text} is not there"


def _names(world: World, seen: Seen, target: Target) -> Iterator[tuple[str, str]]:
    """(namespace, name) of everything of that kind."""
    if target.is_node:
        yield from (("", facts.name) for _, facts in world.pool.ledger.alive())
        return
    for kind in target.kinds:
        yield from map(name_of, world.store.all_of(*kind))
    for unit in world.pool.units.values():
        if target.is_pod:
            yield from ((m.namespace, m.name) for m in (*unit.waiting.values(), *unit.seated.values()))
        elif unit.gang is not None:
            space, _, name = unit.key.partition("/")
            yield space, name
    if target.is_pod:
        yield from ((pod.metadata.namespace, pod.metadata.name) for pod in seen.pods.values())
