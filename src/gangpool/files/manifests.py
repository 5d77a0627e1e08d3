"""Kubernetes objects from files as people write them: YAML or JSON, one or many documents, Lists, folders, stdin.

Called by the CLI (`-f`, `--pool` of hand-written dumps) and `files.pool`. Whatever the input, the answer is objects
with their place or one InputError that names file, place and cause; never a crash, and bounded time and memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Final

from gangpool.files import json_text, yaml_text
from gangpool.files.failure import InputError
from gangpool.files.sources import MIB, begins_as_json, names_of, read_bytes, shown, text_of
from gangpool.files.yaml_text import Document
from gangpool.objects.located import Located

_LIST: Final = "List"


def read_objects(paths: str | Iterable[str], stdin: BinaryIO | None = None) -> list[Located]:
    """All objects of these files and folders (`-`: stdin, by default the process's own), in order, Lists taken apart.

    A source without any object is an error: somebody meant something by it.
    """
    found: list[Located] = []
    for name in names_of(paths):
        of_this = list(objects_of(name, read_bytes(name, stdin)))
        if not of_this:
            raise InputError(shown(name), "", "no objects in it")
        found += of_this
    return found


def objects_of(name: str, data: bytes | bytearray) -> Iterator[Located]:
    """The objects of one source."""
    for document in documents_of(name, data):
        yield from flattened(shown(name), document)


def documents_of(name: str, data: bytes | bytearray) -> Iterator[Document]:
    """JSON where it begins as such, else YAML. A flow mapping of YAML begins as JSON does, and so do JSON documents
    with `---` between them: what fails as JSON is tried as YAML while it is small."""
    text = text_of(name, data)
    if not begins_as_json(text[:4096].encode()):
        yield from yaml_text.documents(shown(name), text)
        return
    try:
        yield from _all(json_text.documents(shown(name), text))
    except InputError as error:
        if len(data) > MIB or not error.cause.startswith("not JSON"):
            raise
        try:
            yield from _all(yaml_text.documents(shown(name), text))
        except InputError as as_yaml:
            raise (error if as_yaml.cause.startswith("not YAML") else as_yaml) from None


def flattened(file: str, document: Document) -> Iterator[Located]:
    """The objects of a document: itself, or the items of a List. Raises InputError where it is no object."""
    value = document.value
    place = f"document {document.number} (line {document.line})"
    if not isinstance(value, dict):
        raise InputError(file, place, f"not a Kubernetes object but {_sort_of(value)}")
    kind = _word(value, "kind", file, place)
    version = _word(value, "apiVersion", file, place)
    if not kind.endswith(_LIST) or not ("items" in value or kind == _LIST):
        yield Located(file, value, document.number, document.line)
        return
    items = value.get("items")
    if not isinstance(items, list | None):
        raise InputError(file, f"{place}, items", f"not a list but {_sort_of(items)}")
    of_kind = kind.removesuffix(_LIST)
    for i, item in enumerate(items or ()):
        where = f"{place}, items[{i}]"
        if not isinstance(item, dict):
            raise InputError(file, where, f"not a Kubernetes object but {_sort_of(item)}")
        if of_kind and "kind" not in item:
            item = {"apiVersion": version, "kind": of_kind, **item}  # as the API server lists them
        _word(item, "kind", file, where)
        _word(item, "apiVersion", file, where)
        yield Located(file, item, document.number, document.line, i)


def _word(value: dict[str, Any], key: str, file: str, place: str) -> str:
    word = value.get(key)
    if not isinstance(word, str) or not word:
        wrong = "has no" if word is None or word == "" else f"{_sort_of(word)} as its"
        raise InputError(file, place, f"not a Kubernetes object: {wrong} {key}")
    return word


def _sort_of(value: Any) -> str:
    """What a value is, in words."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return "null" if value is None else f"the value {value}"


def _all(documents: Iterator[Document]) -> list[Document]:
    """Read to the end, so that an error comes before the first object is used."""
    return list(documents)
