"""Inter-pod rules as counters per node: who matches a selector, who carries a rule, who holds a host port.

A claim moves a handful of counters on its node and a release moves them back, so a rollback costs nothing extra.
What a rule means for a node is read off the counters when a kind is planned: one numpy pass per rule, only for
kinds that have rules. Called by `kind` and `room`; the ledger moves the counters.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

import numpy as np
from msgspec import Struct

from gangpool.core.columns import Column, Columns
from gangpool.core.match import matches
from gangpool.core.model import Pairs, Requirement, Selector, Shape, Term
from gangpool.core.vec import Ints, Vec

Pair = tuple[str, str]
MatchKey = tuple[Selector, tuple[str, ...], Selector]
ANY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 - the wildcard of hostIP, nothing is bound here
TERMINATING = "gangpool.io/terminating"
"""Label that intake puts on terminating pods: topology spread leaves them out, inter-pod affinity does not."""


class Counter:
    """Members per node that have one property. `total` over all nodes; `version` moves with every change."""

    __slots__ = ("of", "total", "version")

    def __init__(self, capacity: int) -> None:
        self.of = Vec(capacity)
        self.total = 0
        self.version = 0

    def move(self, i: int, k: int) -> None:
        """`k` more members (fewer when negative) on node `i`."""
        self.of.at[i] += k
        self.total += k
        self.version += 1

    def by_value(self, column: Column) -> Ints:
        """Members per value of a label, O(nodes); one entry more for nodes without the label (index -1)."""
        ids = column.of.view
        n = len(column.values)
        if not self.total:
            return np.zeros(n + 1, dtype=np.int64)
        where = np.nonzero(self.of.view)[0]  # few nodes hold members that match a given selector
        counts: Ints = np.bincount(
            np.where(ids[where] < 0, n, ids[where]), weights=self.of.view[where], minlength=n + 1
        ).astype(np.int64)
        counts[n] = 0
        return counts


class Carry(Counter):
    """Members that carry one required anti-affinity term, with the column of its topology key."""

    __slots__ = ("column",)

    def __init__(self, capacity: int, column: Column) -> None:
        super().__init__(capacity)
        self.column = column


class Match(Counter):
    """Members that a selector matches. `carries`: anti-affinity terms with this selector, which repel them."""

    __slots__ = ("carries", "key", "number")

    def __init__(self, capacity: int, key: MatchKey, number: int) -> None:
        super().__init__(capacity)
        self.key = key
        self.number = number
        self.carries: list[Carry] = []


class PortUse(Counter):
    """Members that hold one host port on one address."""

    __slots__ = ("address",)

    def __init__(self, capacity: int, address: str) -> None:
        super().__init__(capacity)
        self.address = address


class Tag(Struct, eq=False, gc=False):
    """Namespace and labels of members, interned; `matches` are the counters that such a member moves, in the order
    in which they were interned. `n_claims`: registered claims with this tag, kept by the ledger. Mutable."""

    namespace: str
    labels: Pairs
    matches: tuple[Match, ...] = ()
    n_claims: int = 0


class Terms:
    """Interns selectors, terms, ports and tags. `recount(match, tags)` is called when a new selector has to
    count the members that are already there.

    Selectors and tags find each other by one label pair: most selectors have a requirement `key In (value, …)`,
    and hardly any tag has that pair. Without that, a thousand jobs that each repel themselves would cost a million
    comparisons."""

    def __init__(self, columns: Columns, recount: Callable[[Match, set[Tag]], None]) -> None:
        self._columns = columns
        self._recount = recount
        self._matches: dict[MatchKey, Match] = {}
        self._carries: dict[Term, Carry] = {}
        self._ports: dict[tuple[str, int], dict[str, PortUse]] = {}
        self._tags: dict[str, dict[Pairs, Tag]] = {}
        """By namespace and labels: no key is made for each, which the garbage collector would have to look at."""
        self.asked: set[str] = set()
        """Label keys that some selector looks at; members that differ in others only, such as their index, are of
        one kind."""
        self._leads: set[str] = set()
        """Label keys by which selectors are found."""
        self._tags_with: dict[Pair, dict[Tag, None]] = {}
        self._matches_by: dict[Pair, list[Match]] = {}
        self._matches_of_any: list[Match] = []
        """Selectors without such a requirement: every tag is compared with them."""
        self.namespaces: dict[str, dict[str, str]] = {}
        self.n_matches = 0
        """Selectors interned so far: kinds made before the last one may lack its counter."""
        self.n_counters = 0
        """Counters there are."""

    def grow(self, capacity: int) -> None:
        for counter in self.counters():
            counter.of.grow(capacity)

    def counters(self) -> Iterable[Counter]:
        yield from self._matches.values()
        yield from self._carries.values()
        for addresses in self._ports.values():
            yield from addresses.values()

    def tag(self, namespace: str, labels: Pairs) -> Tag:
        """The tag of members with these labels. O(labels) when it is new, and the selectors that they lead to."""
        tags = self._tags.get(namespace)
        if tags is None:
            tags = self._tags[namespace] = {}
        tag = tags.get(labels)
        if tag is None:
            tag = tags[labels] = Tag(namespace, labels)
            if self._matches:
                for pair in labels:
                    if pair[0] in self._leads:
                        self._tags_with.setdefault(pair, {})[tag] = None
                tag.matches = self.matches_of(namespace, labels)
        return tag

    def forget(self, tag: Tag) -> None:
        """The last claim with this tag is gone. Members mostly have their index among their labels, so that nearly
        every one brings a tag: a process that lives must not keep them."""
        if self._tags[tag.namespace].get(tag.labels) is tag:
            del self._tags[tag.namespace][tag.labels]
            for pair in tag.labels:
                tags = self._tags_with.get(pair, {})
                tags.pop(tag, None)
                if not tags:
                    self._tags_with.pop(pair, None)

    def sweep(self, read: Container[Match], moved: Container[Counter]) -> set[Tag]:
        """Keep the selectors that are read, and the rules and host ports whose counters are moved; forget all others,
        and tags without a claim. Returns the tags that lost a counter. O(tags + counters)."""
        self._matches = {key: match for key, match in self._matches.items() if match in read}
        self._matches_of_any = [match for match in self._matches_of_any if match in read]
        self._matches_by = {
            pair: kept for pair, them in self._matches_by.items() if (kept := [m for m in them if m in read])
        }
        self.asked = {requirement.key for selector, _, _ in self._matches for requirement in selector or ()}
        self._carries = {term: carry for term, carry in self._carries.items() if carry in moved}
        for match in self._matches.values():
            match.carries = [carry for carry in match.carries if carry in moved]
        for port, uses in list(self._ports.items()):
            self._ports[port] = {address: use for address, use in uses.items() if use in moved}
            if not self._ports[port]:
                del self._ports[port]
        self.n_counters = sum(1 for _ in self.counters())
        changed = set()
        for tag in list(self._all_tags()):
            if not tag.n_claims:
                self.forget(tag)
            elif not all(match in read for match in tag.matches):
                tag.matches = tuple(match for match in tag.matches if match in read)
                changed.add(tag)
        self._tags = {namespace: tags for namespace, tags in self._tags.items() if tags}
        self._leads.clear()
        self._tags_with.clear()
        for key, _ in self._matches_by:
            self._lead(key)
        return changed

    def matches_of(self, namespace: str, labels: Pairs) -> tuple[Match, ...]:
        """The selectors that match these labels, in the order in which they were interned."""
        if not self._matches:
            return ()
        candidates = self._matches_of_any
        for pair in labels:
            found = self._matches_by.get(pair)
            if found:
                candidates = candidates + found
        if not candidates:
            return ()
        text = dict(labels)
        hit = [match for match in candidates if self._is_match(match.key, namespace, text)]
        return tuple(sorted(hit, key=lambda match: match.number))

    def match(self, key: MatchKey) -> Match:
        """The counter of a selector; members already there are counted once, O(tags that it may match, claims)."""
        found = self._matches.get(key)
        if found is None:
            found = self._matches[key] = Match(self._columns.capacity, key, self.n_matches)
            self.n_matches += 1
            self.n_counters += 1
            self.asked.update(requirement.key for requirement in key[0] or ())
            pairs = leading_pairs(key[0])
            if pairs is None:
                self._matches_of_any.append(found)
                self._attach(found, self._all_tags())
            else:
                for pair in pairs:
                    self._lead(pair[0])
                    self._matches_by.setdefault(pair, []).append(found)
                self._attach(found, [tag for pair in pairs for tag in self._tags_with.get(pair, ())])
        return found

    def _all_tags(self) -> Iterable[Tag]:
        for tags in self._tags.values():
            yield from tags.values()

    def _lead(self, key: str) -> None:
        """From now on selectors are found by this label key. O(tags) when it is new."""
        if key not in self._leads:
            self._leads.add(key)
            for tag in self._all_tags():
                for pair in tag.labels:
                    if pair[0] == key:
                        self._tags_with.setdefault(pair, {})[tag] = None

    def _attach(self, match: Match, tags: Iterable[Tag]) -> None:
        hit = {t for t in tags if match not in t.matches and self._is_match(match.key, t.namespace, dict(t.labels))}
        for tag in hit:
            tag.matches += (match,)
        if hit:
            self._recount(match, hit)

    def _is_match(self, key: MatchKey, namespace: str, labels: dict[str, str]) -> bool:
        selector, names, by_label = key
        is_named = namespace in names or (
            by_label is not None and matches(by_label, self.namespaces.get(namespace, {}))
        )
        return is_named and matches(selector, labels)

    def term(self, term: Term) -> tuple[Match, Column]:
        """Counter and column of an affinity term."""
        match = self.match((term.selector, term.namespaces, term.namespace_selector))
        return match, self._columns.column(term.key)

    def anti(self, term: Term) -> tuple[Match, Column, Carry]:
        """The same for a required anti-affinity term, with the counter of those who carry it."""
        match, column = self.term(term)
        carry = self._carries.get(term)
        if carry is None:
            carry = self._carries[term] = Carry(self._columns.capacity, column)
            match.carries.append(carry)
            self.n_counters += 1
        return match, column, carry

    def spread(self, selector: Selector, namespace: str) -> Match:
        """Counter of a spread constraint: terminating pods are left out, as in kube-scheduler."""
        if selector is not None:
            selector = (*selector, Requirement(TERMINATING, "DoesNotExist"))
        return self.match((selector, (namespace,), None))

    def ports(self, shape: Shape) -> tuple[PortUse, ...]:
        """Counters of host ports that the shape moves."""
        own: list[PortUse] = []
        for address, protocol, port in shape.host_ports:
            uses = self._ports.setdefault((protocol, port), {})
            if address not in uses:
                uses[address] = PortUse(self._columns.capacity, address)
                self.n_counters += 1
            own.append(uses[address])
        return tuple(own)

    def clashes(self, shape: Shape) -> tuple[PortUse, ...]:
        """Counters that must be zero on the shape's node; another shape may bring more of them at any time."""
        return tuple(
            use
            for address, protocol, port in shape.host_ports
            for use in self._ports[(protocol, port)].values()
            if use.address == address or address in ANY_ADDRESS or use.address in ANY_ADDRESS
        )

    def set_namespace(self, name: str, labels: dict[str, str] | None) -> list[Tag]:
        """Labels of a namespace changed: returns the tags whose counters must be counted anew."""
        self.namespaces[name] = labels or {}
        if not any(m.key[2] is not None for m in self._matches.values()):
            return []
        return [tag for tag in self._tags.get(name, {}).values() if self.matches_of(name, tag.labels) != tag.matches]

    def retag(self, tag: Tag) -> None:
        """Match the tag anew (after its claims were taken off the counters)."""
        tag.matches = self.matches_of(tag.namespace, tag.labels)


def leading_pairs(selector: Selector) -> tuple[Pair, ...] | None:
    """Label pairs of which whatever the selector matches has one: those of its In requirement with the fewest
    values. None: it has no such requirement.

    >>> leading_pairs((Requirement("tier", "Exists"), Requirement("app", "In", ("web",))))
    (('app', 'web'),)
    """
    if selector is None:
        return ()
    found = [r for r in selector if r.operator == "In"]
    if not found:
        return None
    fewest = min(found, key=lambda r: len(r.values))
    return tuple((fewest.key, value) for value in dict.fromkeys(fewest.values))
