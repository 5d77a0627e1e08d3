"""Trees of the fabric: which nodes share a domain, at every level, for every set of levels that somebody names.

A tree orders the nodes so that every domain is a range of nodes and a range of child domains; level 0 is the
whole pool. Nodes without a label are outside that level: they sit in a domain that is not real, is never chosen
for a level and never counts as one. Trees are built when first asked for and after nodes or labels changed.
Called by the planner, tallies and the explanation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from gangpool.core.ledger import Ledger
from gangpool.core.model import HOSTNAME, Level, NodeFacts
from gangpool.core.presets import pool_levels
from gangpool.core.vec import Bools, Ints

Path = tuple[str | None, ...]


class HyperNode(Struct, frozen=True):
    """A domain that an object names: `tier` 1 is the nearest; members are node names or other HyperNodes."""

    name: str
    tier: int
    nodes: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    tier_name: str = ""


class Tree:
    """One tree over all node slots. Level 0 is the pool; `keys[l - 1]` names level l, widest first.

    `dom[l][i]` is the domain of slot i; `start[l][d]:start[l][d + 1]` its range in `order`;
    `child[l][d]:child[l][d + 1]` its domains one level down; `up[l][d]` its domain one level up. `position[i]` is the
    place of slot i in `order`: slots are numbers by arrival, so nothing may be chosen by them."""

    def __init__(
        self, keys: tuple[str, ...], paths: Sequence[Path | None], n_slots: int, names: Sequence[str] = ()
    ) -> None:
        """`names` of the nodes by slot: equal nodes are chosen in the order of their names, not in that of their
        arrival, so that a dump and a restart give the answer of the live cluster."""
        self.keys = keys
        self.depth = len(keys)
        alive = [i for i in range(n_slots) if paths[i] is not None]
        alive.sort(key=lambda i: (_sort_key(paths[i]), _part_key(names[i] if names else None)))
        self.order: Ints = np.array(alive, dtype=np.int64)
        self.position: Ints = np.full(n_slots, -1, dtype=np.int64)
        self.position[self.order] = np.arange(len(alive))
        self.is_identity = bool(len(alive) == n_slots and np.array_equal(self.order, np.arange(n_slots)))
        self.names: list[list[Path]] = [[()]]
        self.start: list[list[int]] = [[0, len(alive)]]
        self.child: list[list[int]] = []
        self.up: list[list[int]] = [[-1]]
        self.dom: list[list[int]] = [[0] * n_slots]
        for level in range(1, self.depth + 1):
            self._add_level(level, alive, paths)
        self.dom_of: list[Ints] = [np.array(d, dtype=np.int64) for d in self.dom]
        self.starts: list[Ints] = [np.array(s, dtype=np.int64) for s in self.start]
        self.up_of: list[Ints] = [np.array(u, dtype=np.int64) for u in self.up]
        self.real: list[Bools] = [
            np.array([not path or path[-1] is not None for path in names], dtype=np.bool_) for names in self.names
        ]
        self.all_real = [bool(r.all()) for r in self.real]

    def _add_level(self, level: int, alive: list[int], paths: Sequence[Path | None]) -> None:
        names: list[Path] = []
        start: list[int] = []
        up: list[int] = []
        child: list[int] = []
        dom = [-1] * len(self.dom[0])
        upper = self.dom[level - 1]
        last: Path | None = None
        for position, i in enumerate(alive):
            path = paths[i]
            assert path is not None
            path = path[:level]
            if path != last or not names:
                if not up or upper[i] != up[-1]:
                    child.append(len(names))
                up.append(upper[i])
                names.append(path)
                start.append(position)
                last = path
            dom[i] = len(names) - 1
        self.child.append([*child, len(names)] if alive else [0, 0])
        self.names.append(names)
        self.start.append([*start, len(alive)])
        self.up.append(up)
        self.dom.append(dom)

    def nodes(self, level: int, domain: int) -> Ints:
        """Slots of a domain, in tree order."""
        return self.order[self.start[level][domain] : self.start[level][domain + 1]]

    def span(self, level: int, domain: int, below: int) -> tuple[int, int]:
        """The range of domains of level `below` that lie in a domain of `level`."""
        first, last = domain, domain + 1
        for lower in range(level, below):
            first, last = self.child[lower][first], self.child[lower][last]
        return first, last

    def above(self, level: int, domain: int, target: int) -> int:
        """The domain of the wider level `target` that a domain lies in."""
        while level > target:
            domain = self.up[level][domain]
            level -= 1
        return domain

    def name(self, level: int, domain: int) -> str:
        """`spine-0/leaf-3`; the pool is ``. Parts that are missing are written as `-`."""
        return "/".join("-" if part is None else part for part in self.names[level][domain])

    def path_of(self, i: int) -> tuple[tuple[str, str], ...]:
        """(level key, domain) of a slot, widest first; levels that it is outside of are left out."""
        found = []
        for level in range(1, self.depth + 1):
            domain = self.dom[level][i]
            if domain >= 0 and self.real[level][domain]:
                found.append((self.keys[level - 1], self.name(level, domain)))
        return tuple(found)


def _path(labels: dict[str, str], keys: tuple[str, ...]) -> Path:
    """Values of the keys, widest first; a missing or empty one ends the path (see `presets.domain_path`)."""
    path: list[str | None] = []
    for key in keys:
        value = labels.get(key)
        if not value:
            return (*path, *(None,) * (len(keys) - len(path)))
        path.append(value)
    return tuple(path)


def _names(facts: Sequence[NodeFacts | None]) -> list[str]:
    return ["" if f is None else f.name for f in facts]


def _sort_key(path: Path | None) -> tuple[tuple[bool, int, str, str], ...]:
    """Natural order (leaf-2 before leaf-10); nodes without the label last."""
    return tuple(_part_key(part) for part in path or ())


def _part_key(part: str | None) -> tuple[bool, int, str, str]:
    if part is None:
        return True, 0, "", ""
    stem = part.rstrip("0123456789")
    digits = part[len(stem) :]
    return False, len(digits) if not stem else 0, f"{stem}{int(digits or 0):020d}", part


class Forest:
    """All trees of a pool. `levels`: configured label keys, widest first; None: presets and objects decide."""

    def __init__(self, ledger: Ledger, levels: tuple[str, ...] | None = None) -> None:
        self._ledger = ledger
        self.levels = levels
        self.topologies: dict[str, tuple[str, ...]] = {}
        """Kueue and KAI Topology objects: name to label keys, widest first."""
        self.hypernodes: dict[str, HyperNode] = {}
        self._trees: dict[tuple[str, ...], Tree] = {}
        self._wanted: dict[tuple[Level, ...], tuple[Tree, list[int | None]]] = {}
        self._default: tuple[str, ...] | None = None
        self._version = -1

    def forget(self) -> None:
        """Levels or objects changed: all trees are built anew."""
        self._version = -1

    def _sync(self) -> None:
        if self._version != self._ledger.node_version:
            self._trees.clear()
            self._wanted.clear()
            self._default = None
            self._version = self._ledger.node_version

    def tree(self, keys: tuple[str, ...]) -> Tree:
        """The tree of these label keys, widest first. O(nodes log nodes) when it is new."""
        self._sync()
        tree = self._trees.get(keys)
        if tree is None:
            tree = self._trees[keys] = self._build(keys)
        return tree

    def _build(self, keys: tuple[str, ...]) -> Tree:
        facts = self._ledger.facts
        if any(key.startswith("tier:") for key in keys):
            return self._hyper_tree(keys)
        paths = [None if f is None else _path(f.labels, keys) for f in facts]
        return Tree(keys, paths, len(facts), _names(facts))

    def _hyper_tree(self, keys: tuple[str, ...]) -> Tree:
        """HyperNodes as levels `tier:N`, widest first; a node is in the HyperNode of a tier that holds it. Label
        keys that a gang names beside them stay what they are."""
        parent: dict[str, str] = {}
        for hyper in sorted(self.hypernodes.values(), key=lambda h: (-h.tier, h.name)):
            for child in hyper.children:
                parent[child] = hyper.name
        leaf: dict[str, str] = {}
        for hyper in sorted(self.hypernodes.values(), key=lambda h: (-h.tier, h.name)):
            for node in hyper.nodes:
                leaf[node] = hyper.name  # the nearest tier that names the node wins
        paths: list[Path | None] = []
        for facts in self._ledger.facts:
            if facts is None:
                paths.append(None)
                continue
            by_tier: dict[int, str] = {}
            name = leaf.get(facts.name, "")
            while name and name in self.hypernodes and self.hypernodes[name].tier not in by_tier:
                by_tier[self.hypernodes[name].tier] = name
                name = parent.get(name, "")
            labels = facts.labels
            paths.append(
                tuple(by_tier.get(int(k[5:])) if k.startswith("tier:") else labels.get(k) or None for k in keys)
            )
        return Tree(keys, paths, len(self._ledger.facts), _names(self._ledger.facts))

    def default_keys(self) -> tuple[str, ...]:
        """Configured levels, else HyperNodes, else the only Topology object, else the preset that most nodes
        carry, else none."""
        self._sync()
        if self._default is None:
            self._default = self._find_default()
        return self._default

    def _find_default(self) -> tuple[str, ...]:
        if self.levels is not None:
            return self.levels
        if self.hypernodes:
            return tuple(f"tier:{t}" for t in sorted({h.tier for h in self.hypernodes.values()}, reverse=True))
        if len(self.topologies) == 1:
            return without_hostname(next(iter(self.topologies.values())))
        found = pool_levels(facts.labels for _, facts in self._ledger.alive())
        return found[1] if found else ()

    def tree_for(self, wanted: Sequence[Level]) -> tuple[Tree, list[int | None]]:
        """The tree that knows all these levels, and the depth of each in it: 0 is the whole pool, None is a level
        that no node has. Keys that no known tree has together make a tree of their own, the key with the fewest
        values widest."""
        default = self.default_keys()
        key = tuple(wanted)
        found = self._wanted.get(key)
        if found is None:
            found = self._wanted[key] = self._find_tree(wanted, default)
        return found

    def _find_tree(self, wanted: Sequence[Level], default: tuple[str, ...]) -> tuple[Tree, list[int | None]]:
        named = [self._key(level, default) for level in wanted]
        keys = tuple(dict.fromkeys(key for key in named if key))
        tree = self.tree(self._known(keys, wanted, default))
        depths: list[int | None] = []
        for level, key in zip(wanted, named, strict=True):
            if key is None:
                depths.append(0 if level.tier > tree.depth > 0 else None)
            else:
                depth = tree.keys.index(key) + 1
                depths.append(depth if bool(tree.real[depth].any()) else None)
        return tree, depths

    def _known(self, keys: tuple[str, ...], wanted: Sequence[Level], default: tuple[str, ...]) -> tuple[str, ...]:
        if not set(keys) - set(default):
            return default
        if set(keys) - set(default) == {HOSTNAME}:
            return (*default, HOSTNAME)
        for level in wanted:
            named = without_hostname(self.topologies.get(level.topology, ()))
            if named and not set(keys) - set(named):
                return named
        for named in sorted(self.topologies.values()):
            if not set(keys) - set(without_hostname(named)):
                return without_hostname(named)
        columns = self._ledger.columns
        return tuple(sorted(keys, key=lambda key: (len(set(columns.column(key).of.view.tolist())), keys.index(key))))

    def _key(self, level: Level, default: tuple[str, ...]) -> str | None:
        """The label key that a level means; None where there is no such level."""
        if level.key:
            return level.key
        if level.tier_name:
            tiers = {h.tier for h in self.hypernodes.values() if h.tier_name == level.tier_name}
            return f"tier:{min(tiers)}" if tiers else None
        if default and default[0].startswith("tier:"):
            below = [key for key in default if int(key[5:]) <= level.tier]
            return below[0] if below and int(default[0][5:]) >= level.tier else None
        return default[-level.tier] if 0 < level.tier <= len(default) else None


def without_hostname(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The node itself is no domain of nodes."""
    return tuple(key for key in keys if key != HOSTNAME)
