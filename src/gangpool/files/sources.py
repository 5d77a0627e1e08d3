"""Which files a user means, and their bytes: paths, folders, stdin, with limits before anything is read.

Called by the readers of manifests and pools. Promises InputError with file and cause for what is missing, forbidden,
not a file, too large or not text, before more than a few KiB of it are read.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from gangpool.files.failure import InputError

STDIN: Final = "-"
STDIN_NAME: Final = "standard input"
MIB: Final = 1024 * 1024
TEXT_MAX: Final = 64 * MIB
"""YAML, and JSON that is read as manifests; the largest object that an API server takes has 3 MiB."""
DUMP_MAX: Final = 2048 * MIB
"""JSON dumps of a pool: 140,000 pods have about 450 MB."""

_ENDINGS = (".yaml", ".yml", ".json")
_SNIFF = 4096
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
BOM: Final = b"\xef\xbb\xbf"
_DUMP_HEAD = re.compile(rb'"(apiVersion|kind|items)"[ \t\r\n]*:')
_SPACE = b" \t\r\n"


def names_of(paths: str | Iterable[str]) -> Iterator[str]:
    """Every file that the paths name; folders are searched for manifests at every depth, in sorted order."""
    for path in [paths] if isinstance(paths, str) else paths:
        if path != STDIN and os.path.isdir(path):
            found = sorted(_manifests(path))
            if not found:
                raise InputError(path, "", f"the folder has no file that ends in {', '.join(_ENDINGS)}")
            yield from found
        else:
            yield path


def _manifests(folder: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise InputError(error.filename or folder, "", error.strerror or str(error))

    for root, _, names in os.walk(folder, onerror=refuse):
        yield from (os.path.join(root, name) for name in names if name.endswith(_ENDINGS))


def read_bytes(name: str, stdin: BinaryIO | None, dump_max: int = TEXT_MAX) -> bytes | bytearray:
    """The bytes of a file or of stdin: at most `dump_max` of what begins as a JSON dump, else at most `TEXT_MAX`.
    They are text, or at least not obviously something else."""
    try:
        if name == STDIN:
            return _read_stream(stdin or sys.stdin.buffer, dump_max)
        return _read_file(name, dump_max)
    except OSError as error:
        raise InputError(shown(name), "", error.strerror or str(error)) from None


def _read_stream(stream: BinaryIO, dump_max: int) -> bytearray:
    """In small steps, since nobody knows how much there is."""
    data = bytearray()
    limit = TEXT_MAX
    while more := stream.read(MIB):
        if not data:
            limit = _limit(STDIN, more[:_SNIFF], dump_max)
        data += more
        if len(data) > limit:
            raise _too_large(STDIN, f"more than {limit // MIB:,} MiB", limit)
    return data


def _read_file(name: str, dump_max: int) -> bytes:
    status = os.stat(name)
    if stat.S_ISDIR(status.st_mode):
        raise InputError(name, "", "is a folder")
    if not stat.S_ISREG(status.st_mode):  # it could block or never end
        raise InputError(name, "", "is not a file but a pipe or device; pipe it in and name it -")
    with Path(name).open("rb") as file:
        limit = _limit(name, file.read(_SNIFF), dump_max)
        if status.st_size > limit:
            raise _too_large(name, f"{status.st_size / MIB:,.0f} MiB", limit)
        file.seek(0)
        data = file.read(status.st_size + MIB)
    if len(data) == status.st_size + MIB:
        raise InputError(name, "", "grows while it is read")
    return data


def _limit(name: str, head: bytes, dump_max: int) -> int:
    """How much to read of what begins so. Refuses what is not text."""
    if head[:2] == b"\x1f\x8b":
        raise InputError(shown(name), "byte 0", "compressed (gzip), not text; unpack it first")
    if head[:2] not in _UTF16 and b"\0" in head:
        raise InputError(shown(name), f"byte {head.index(0)}", "binary, not text")
    return dump_max if begins_as_json(head) and _DUMP_HEAD.search(head) else TEXT_MAX


def _too_large(name: str, size: str, limit: int) -> InputError:
    what = "manifests" if limit == TEXT_MAX else "dumps"
    return InputError(shown(name), "", f"{size}, and {what} may have at most {limit // MIB:,} MiB")


def text_of(name: str, data: bytes | bytearray) -> str:
    """The text: UTF-8 or, with its byte order mark, UTF-16."""
    encoding = _UTF16.get(bytes(data[:2]), "utf-8-sig")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        cause = f"not text: byte 0x{data[error.start]:02x} is not {encoding.upper().removesuffix('-SIG')}"
        raise InputError(shown(name), f"line {line}, byte {error.start}", cause) from None
    return text.removeprefix("\ufeff")


def begins_as_json(data: bytes | bytearray) -> bool:
    """Is the first character that is not blank one with which JSON objects and lists begin?"""
    start = data[:_SNIFF].removeprefix(BOM).lstrip(_SPACE)
    return start[:1] in (b"{", b"[")


def shown(name: str) -> str:
    """The name of a source for people."""
    return STDIN_NAME if name == STDIN else name
