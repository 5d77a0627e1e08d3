"""YAML to objects as kubectl reads it, in bounded time and memory whatever the text.

Called by `files.manifests`. PyYAML's parser (the C one where it is there) gives events; the objects are built here,
without recursion and without constructors, so that no tag can run anything. Promises InputError with line and column
for: what is not YAML, tags, keys that stand twice, aliases that are unknown, circular or blow up, and nesting beyond
`DEPTH_MAX`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import yaml
from msgspec import Struct

from gangpool.files.failure import InputError
from gangpool.files.scalars import NotFinite, plain_scalar

DEPTH_MAX: Final = 200
"""Objects of the API are at most about 60 deep (schemas of CRDs)."""
DOCUMENTS_MAX: Final = 100_000
VALUES_MAX: Final = 8_000_000
"""Keys and values of one file: what 64 MiB of ordinary manifests hold."""
ALIASED_MAX: Final = 1_000_000
"""Values that the aliases of one file may repeat."""

_CORE: Final = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset({"!", f"{_CORE}str", f"{_CORE}timestamp"})
_SCALAR_TAGS: dict[str, tuple[type, ...]] = {
    f"{_CORE}int": (int,),
    f"{_CORE}float": (int, float),
    f"{_CORE}bool": (bool,),
    f"{_CORE}null": (type(None),),
}
_MERGE: Final = "<<"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Document(Struct, frozen=True):
    """One document of a file: `number` and `line` count from 1; `value` is whatever stands there."""

    number: int
    line: int
    value: Any


class _Anchor(Struct, gc=False):
    """What an alias repeats: `size` counts its values, `depth` its levels of collections."""

    value: Any
    size: int
    depth: int


class _Open:
    """Mutable: a collection that is still being read. `key` waits for its value; `merged` is what `<<` brings."""

    __slots__ = ("anchor", "before", "depth", "key", "line", "merged", "merging", "value")

    def __init__(self, value: dict[str, Any] | list[Any], line: int, anchor: str | None, before: int) -> None:
        self.value: Any = value
        self.line = line
        self.anchor = anchor
        self.before = before
        self.key: str | None = None
        self.merging = False
        self.merged: list[dict[str, Any]] = []
        self.depth = 1


def documents(name: str, text: str) -> Iterator[Document]:
    """Every document of the text that is not empty, one after the other."""
    found = _FORBIDDEN.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - text.rfind("\n", 0, found.start())
        raise InputError(name, f"line {line}, column {column}", f"the character {found[0]!r} may not stand in YAML")
    builder = _Builder(name)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            done = builder.take(event)
            if done is not None:
                yield done
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
        raise InputError(name, place, f"not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise InputError(name, "", f"not YAML: {error}") from None


class _Builder:
    """Mutable: builds the documents of one file from events."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.number = 0
        self.line = 0
        self.root: Any = None
        self.count = 0
        self.aliased = 0
        self.stack: list[_Open] = []
        self.anchors: dict[str, _Anchor | None] = {}  # None: still open
        self.actions: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._begin,
            yaml.SequenceStartEvent: self._begin,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._begin_document,
        }

    def take(self, event: Any) -> Document | None:
        """One event in; the document out when it is complete and not empty."""
        action = self.actions.get(type(event))
        if action is not None:
            action(event)
        elif type(event) is yaml.DocumentEndEvent and self.root is not None:
            return Document(self.number, self.line, self.root)
        return None

    def _begin_document(self, event: Any) -> None:
        self.number += 1
        self.root = None
        self.anchors = {}
        if self.number > DOCUMENTS_MAX:
            raise self._refusal(event, f"more than {DOCUMENTS_MAX:,} documents")

    def _begin(self, event: Any) -> None:
        is_map = type(event) is yaml.MappingStartEvent
        if event.tag not in (None, "!", f"{_CORE}map" if is_map else f"{_CORE}seq"):
            raise self._refusal(event, f"the tag {event.tag} is not allowed")
        if len(self.stack) >= DEPTH_MAX:
            raise self._refusal(event, f"nested deeper than {DEPTH_MAX} levels")
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.stack.append(_Open({} if is_map else [], event.start_mark.line + 1, event.anchor, self.count))

    def _end(self, event: Any) -> None:
        done = self.stack.pop()
        for mapping in done.merged:
            for key, value in mapping.items():
                done.value.setdefault(key, value)
        self._count(event, 1)
        if done.anchor is not None:
            self.anchors[done.anchor] = _Anchor(done.value, self.count - done.before, done.depth)
        self._add(event, done.value, done.depth)
        if not self.stack:
            self.line = done.line

    def _scalar(self, event: Any) -> None:
        self._count(event, 1)
        tag, text = event.tag, event.value
        value: Any = text
        if tag is None:
            value = self._plain(event) if event.implicit[0] else text
        elif tag in _SCALAR_TAGS:
            value = self._plain(event)
            if type(value) not in _SCALAR_TAGS[tag]:
                raise self._refusal(event, f"{text[:40]!r} is no {tag.removeprefix(_CORE)}")
        elif tag not in _TEXT_TAGS:
            raise self._refusal(event, f"the tag {tag} is not allowed")
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchor(value, 1, 0)
        if text == _MERGE and tag is None and event.implicit[0] and self._awaits_key():
            self.stack[-1].merging = True
        else:
            self._add(event, value, 0)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            raise self._refusal(event, f"the alias *{event.anchor} has no anchor before it")
        anchor = self.anchors[event.anchor]
        if anchor is None:
            raise self._refusal(event, f"the alias *{event.anchor} stands inside what it repeats")
        self._count(event, anchor.size)
        self.aliased += anchor.size
        if self.aliased > ALIASED_MAX:
            raise self._refusal(event, f"aliases repeat more than {ALIASED_MAX:,} values")
        if len(self.stack) + anchor.depth > DEPTH_MAX:
            raise self._refusal(event, f"nested deeper than {DEPTH_MAX} levels")
        self._add(event, _copy(anchor.value), anchor.depth)

    def _add(self, event: Any, value: Any, depth: int) -> None:
        """A finished value goes into the collection that is open: as an element, a key or the value of a key."""
        if not self.stack:
            self.root = value
            self.line = event.start_mark.line + 1
            return
        parent = self.stack[-1]
        if parent.depth <= depth:
            parent.depth = depth + 1
        if isinstance(parent.value, list):
            parent.value.append(value)
        elif parent.merging:
            parent.merged += self._mappings(event, value)
            parent.merging = False
        elif parent.key is None:
            parent.key = self._key(event, value, parent.value)
        else:
            parent.value[parent.key] = value
            parent.key = None

    def _awaits_key(self) -> bool:
        if not self.stack:
            return False
        parent = self.stack[-1]
        return isinstance(parent.value, dict) and parent.key is None and not parent.merging

    def _key(self, event: Any, value: Any, mapping: dict[str, Any]) -> str:
        if value is None or isinstance(value, dict | list):
            raise self._refusal(event, "a key must be plain text, not null or a collection")
        key = str(value).lower() if isinstance(value, bool) else str(value)
        if key in mapping:
            raise self._refusal(event, f"the key {key[:80]!r} stands twice in one mapping")
        return key

    def _mappings(self, event: Any, value: Any) -> list[dict[str, Any]]:
        found = value if isinstance(value, list) else [value]
        if not all(isinstance(mapping, dict) for mapping in found):
            raise self._refusal(event, "<< takes a mapping or a list of mappings")
        return found

    def _plain(self, event: Any) -> Any:
        try:
            return plain_scalar(event.value)
        except NotFinite:
            raise self._refusal(event, f"{event.value} is no number that JSON can say") from None

    def _count(self, event: Any, more: int) -> None:
        self.count += more
        if self.count > VALUES_MAX:
            raise self._refusal(event, f"more than {VALUES_MAX:,} values")

    def _refusal(self, event: Any, cause: str) -> InputError:
        mark = event.start_mark
        return InputError(self.name, f"line {mark.line + 1}, column {mark.column + 1}", cause)


def _copy(value: Any) -> Any:
    """A copy of its own for each alias, so that nobody changes two places at once. Recursive: depth is limited."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value
