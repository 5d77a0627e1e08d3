"""Dumps of a pool: what `kubectl get nodes,pods,… -A -o json` prints, up to 2 GiB, with little memory.

Called by the CLI for `--pool`. Nodes and other objects are decoded at once; pods, of which there may be 140,000, stay
where they lie in the bytes and are decoded one by one as they are asked for. Only the fields that we read are built.
YAML, several documents, files and folders work too, by the way of `files.manifests` and within its limits.

A key that stands twice in an object of a JSON dump is not told: the last one counts, as it does for the API server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Final, TypeVar, cast

import msgspec
from msgspec import Struct

from gangpool.files.failure import InputError
from gangpool.files.json_text import is_too_deep
from gangpool.files.manifests import documents_of, flattened
from gangpool.files.sources import BOM, DUMP_MAX, MIB, TEXT_MAX, begins_as_json, names_of, read_bytes, shown
from gangpool.files.yaml_text import DEPTH_MAX
from gangpool.objects.faults import ObjectError
from gangpool.objects.located import Located
from gangpool.objects.node import Node
from gangpool.objects.pod import Pod
from gangpool.objects.terms import DEFAULT_NAMESPACE
from gangpool.objects.typed import as_node, as_pod, wrong_type

ITEM_MAX: Final = 16 * MIB
"""Bytes of one object; an API server takes 3 MiB at most."""

Kind = TypeVar("Kind", Pod, Node)
KindKey = tuple[str, str]
"""API group and kind: ("", "Pod"), ("batch", "Job")."""
POD: Final[KindKey] = ("", "Pod")
NODE: Final[KindKey] = ("", "Node")

_TOO_DEEP = f"nested deeper than {DEPTH_MAX} levels"
_HEAD = 96
_POD_HEAD = re.compile(rb'\{\s*"apiVersion":\s*"v1",\s*"kind":\s*"Pod"\s*,')
_BYTE = re.compile(r" \(byte (\d+)\)")


class _List(Struct, gc=False):
    kind: str = ""
    apiVersion: str = ""
    items: list[msgspec.Raw] | None = None


class _Head(Struct, gc=False):
    kind: str = ""
    apiVersion: str = ""


_decode_list = msgspec.json.Decoder(_List).decode
_decode_head = msgspec.json.Decoder(_Head).decode
_decode_pod = msgspec.json.Decoder(Pod).decode
_decode_node = msgspec.json.Decoder(Node).decode


class PoolDump:
    """Mutable while it is read: the objects of a pool. `nodes` with their file; `others` are all kinds but nodes and
    pods, in order."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, Node]] = []
        self.others: list[Located] = []
        self._pods: list[tuple[str, str, msgspec.Raw | dict[str, Any]]] = []

    @property
    def n_pods(self) -> int:
        """How many pods there are; nothing is decoded for it."""
        return len(self._pods)

    def pods(self) -> Iterator[tuple[str, Pod]]:
        """Every pod with its file, in order, decoded now; may be asked for again. One that names no namespace, as a
        person may write it, is in `default`, where its group is too. Raises InputError."""
        for file, pod in self._decoded():
            pod.metadata.namespace = pod.metadata.namespace or DEFAULT_NAMESPACE
            yield file, pod

    def _decoded(self) -> Iterator[tuple[str, Pod]]:
        for file, place, pod in self._pods:
            if type(pod) is msgspec.Raw:
                try:
                    yield file, _decode_pod(pod)
                    continue
                except msgspec.MsgspecError:
                    pod = _decode_object(file, place, pod)
            yield file, _typed(as_pod, file, place, pod)

    def add(self, found: Located) -> None:
        """An object that is decoded already."""
        key = key_of(found.object)
        if key == POD:
            self._pods.append((found.file, found.place, found.object))
        elif key == NODE:
            self.nodes.append((found.file, _typed(as_node, found.file, found.place, found.object)))
        else:
            self.others.append(found)

    def add_item(self, file: str, index: int, item: msgspec.Raw, of_list: _Head) -> None:
        """An item of a JSON List that is not decoded yet; one without a kind has that of its list."""
        view = memoryview(item)
        place = f"items[{index}]"
        if view.nbytes > ITEM_MAX:
            raise InputError(file, place, f"{view.nbytes / MIB:,.0f} MiB; an object has at most {ITEM_MAX // MIB} MiB")
        if _POD_HEAD.match(view[:_HEAD]):
            self._pods.append((file, place, item))
            return
        head = _head_of(file, place, item, of_list)
        key = key_of({"apiVersion": head.apiVersion, "kind": head.kind})
        if key == POD:
            self._pods.append((file, place, item))
            return
        if key == NODE:
            try:
                self.nodes.append((file, _decode_node(item)))
                return
            except msgspec.MsgspecError:
                pass  # read the slow way, which takes null for absent and names the field that is wrong
        decoded = _decode_object(file, place, item)
        self.add(Located(file, {"apiVersion": head.apiVersion, "kind": head.kind, **decoded}, item=index))


def read_pool(paths: str | Iterable[str], stdin: BinaryIO | None = None) -> PoolDump:
    """All objects of a dump: a file, a folder or `-` (stdin, by default the process's own), or several of them.

    Raises InputError. A List without items is no error here: an empty namespace is printed so.
    """
    dump = PoolDump()
    for name in names_of(paths):
        _read_into(dump, shown(name), read_bytes(name, stdin, DUMP_MAX))
    return dump


def pool_of(file: str, data: bytes | bytearray) -> PoolDump:
    """The objects of a dump that is in memory already; `file` is its name in messages. Raises InputError."""
    dump = PoolDump()
    _read_into(dump, file, data)
    return dump


def iter_pool(dump: PoolDump) -> Iterator[tuple[KindKey, Node | Pod | dict[str, Any]]]:
    """Every object with its group and kind: nodes, then other kinds, then pods, so that who reads once can book."""
    yield from ((NODE, node) for _, node in dump.nodes)
    yield from ((key_of(found.object), found.object) for found in dump.others)
    yield from ((POD, pod) for _, pod in dump.pods())


def key_of(obj: dict[str, Any]) -> KindKey:
    """API group and kind of an object; the version is not looked at.

    >>> key_of({"apiVersion": "batch/v1", "kind": "Job"})
    ('batch', 'Job')
    """
    group, slash, _ = obj["apiVersion"].partition("/")
    return (group if slash else "", obj["kind"])


def _read_into(dump: PoolDump, file: str, data: bytes | bytearray) -> None:
    if not begins_as_json(data) or not _read_list(dump, file, data):
        _read_text(dump, file, data)


def _read_list(dump: PoolDump, file: str, data: bytes | bytearray) -> bool:
    """One JSON List, as a dump is; False where the text is something else and small enough for the other way."""
    view = memoryview(data)
    try:
        found = _decode_list(view[len(BOM) :] if data.startswith(BOM) else view)
    except (msgspec.MsgspecError, RecursionError) as error:
        if len(data) <= TEXT_MAX:
            return False
        raise _unreadable(file, data, error) from None
    if not found.kind.endswith("List") or found.items is None:
        if len(data) <= TEXT_MAX:
            return False
        raise InputError(file, "", f"{len(data) / MIB:,.0f} MiB that are no List of objects")
    of_list = _Head(found.kind.removesuffix("List"), found.apiVersion)
    for i, item in enumerate(found.items):
        dump.add_item(file, i, item, of_list)
    return True


def _read_text(dump: PoolDump, file: str, data: bytes | bytearray) -> None:
    """Everything else, within the limits of manifests."""
    if len(data) > TEXT_MAX:
        cause = f"{len(data) / MIB:,.0f} MiB; YAML is read up to {TEXT_MAX // MIB} MiB, write larger dumps with -o json"
        raise InputError(file, "", cause)
    n_documents = 0
    for document in documents_of(file, data):
        n_documents += 1
        for found in flattened(file, document):
            dump.add(found)
    if not n_documents:
        raise InputError(file, "", "no objects in it")


def _head_of(file: str, place: str, item: msgspec.Raw, of_list: _Head) -> _Head:
    try:
        head = _decode_head(item)
    except msgspec.ValidationError as error:
        raise InputError(file, place, f"not a Kubernetes object: {wrong_type(error)}") from None
    except msgspec.MsgspecError as error:
        raise InputError(file, place, f"not JSON: {error}") from None
    except RecursionError:
        raise InputError(file, place, _TOO_DEEP) from None
    if not head.kind and of_list.kind:
        return of_list
    if not head.kind or not head.apiVersion:
        raise InputError(file, place, f"not a Kubernetes object: has no {'apiVersion' if head.kind else 'kind'}")
    return head


def _decode_object(file: str, place: str, item: msgspec.Raw) -> dict[str, Any]:
    try:
        decoded = msgspec.json.decode(item)
    except msgspec.MsgspecError as error:
        raise InputError(file, place, f"not JSON: {error}") from None
    except RecursionError:
        raise InputError(file, place, _TOO_DEEP) from None
    if is_too_deep(decoded):
        raise InputError(file, place, _TOO_DEEP)
    return cast("dict[str, Any]", decoded)


def _typed(convert: Callable[[Mapping[str, Any]], Kind], file: str, place: str, obj: Mapping[str, Any]) -> Kind:
    try:
        return convert(obj)
    except ObjectError as error:
        raise InputError(file, f"{place}, {_name_of(obj)}", str(error)) from None


def _name_of(obj: Mapping[str, Any]) -> str:
    metadata = obj.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    return "/".join(str(part)[:80] for part in (obj.get("kind"), names.get("namespace"), names.get("name")) if part)


def _unreadable(file: str, data: bytes | bytearray, error: Exception) -> InputError:
    """The decoder's error with the line in place of the byte."""
    if isinstance(error, RecursionError):
        return InputError(file, "", _TOO_DEEP)
    if isinstance(error, msgspec.ValidationError):
        return InputError(file, "", f"not a List of Kubernetes objects: {wrong_type(error)}")
    found = _BYTE.search(str(error))
    cause = _BYTE.sub("", str(error)).removeprefix("JSON is malformed: ")
    if "truncated" in cause:
        return InputError(file, f"line {data.count(10) + 1}", "not JSON: it is cut off")
    place = "" if found is None else f"line {data.count(10, 0, int(found[1])) + 1}, byte {found[1]}"
    return InputError(file, place, f"not JSON: {cause}")
