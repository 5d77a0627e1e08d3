"""Which files are read, and what is refused before it is read."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from gangpool.files import sources
from gangpool.files.failure import InputError
from gangpool.files.sources import MIB, TEXT_MAX, begins_as_json, names_of, read_bytes, text_of


def put(path: Path, data: bytes = b"a: 1\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def refusal(name: str) -> InputError:
    with pytest.raises(InputError) as refused:
        read_bytes(name, None)
    assert refused.value.file == name
    return refused.value


def test_folders_are_searched_in_sorted_order(tmp_path: Path) -> None:
    wanted = [put(tmp_path / name) for name in ("a.yml", "b/a.json", "b/c/d.yaml", "z.yaml")]
    put(tmp_path / "b/notes.txt")
    put(tmp_path / "b/yaml")
    (tmp_path / "empty").mkdir()
    assert list(names_of([str(tmp_path)])) == wanted
    assert list(names_of(str(tmp_path / "b"))) == wanted[1:3]


def test_files_are_read_whatever_their_ending_and_missing_ones_later(tmp_path: Path) -> None:
    assert list(names_of(["-", "missing", put(tmp_path / "a.txt")])) == ["-", "missing", str(tmp_path / "a.txt")]


def test_a_folder_without_manifests(tmp_path: Path) -> None:
    put(tmp_path / "a.txt")
    with pytest.raises(InputError, match=r"the folder has no file that ends in \.yaml, \.yml, \.json"):
        list(names_of([str(tmp_path)]))


def test_missing(tmp_path: Path) -> None:
    assert refusal(str(tmp_path / "none.yaml")).cause == "No such file or directory"
    (tmp_path / "link.yaml").symlink_to(tmp_path / "none.yaml")
    assert refusal(str(tmp_path / "link.yaml")).cause == "No such file or directory"
    assert refusal(put(tmp_path / "file") + "/below").cause == "Not a directory"


def test_folders_pipes_and_devices_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # would block for ever
    assert "pipe or device" in refusal(str(tmp_path / "pipe")).cause
    assert "pipe or device" in refusal("/dev/zero").cause  # would never end
    assert "folder" in refusal(str(tmp_path)).cause


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the system's answer is played."""

    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    name = put(tmp_path / "a.yaml")
    monkeypatch.setattr(Path, "open", refuse)
    assert refusal(name).cause == "Permission denied"


@pytest.mark.parametrize(
    ("data", "place", "cause"),
    [
        (b"\x7fELF\0\0", "byte 4", "binary, not text"),
        (b"\x1f\x8b\x08\0", "byte 0", "compressed (gzip), not text; unpack it first"),
    ],
)
def test_what_is_no_text(tmp_path: Path, data: bytes, place: str, cause: str) -> None:
    error = refusal(put(tmp_path / "a.yaml", data))
    assert (error.place, error.cause) == (place, cause)
    with pytest.raises(InputError, match="standard input"):
        read_bytes("-", io.BytesIO(data))


def sparse(path: Path, head: bytes, size: int) -> str:
    """A large file that takes no room on the disk."""
    with path.open("wb") as file:
        file.write(head + b"a" * 4096)
        file.truncate(size)
    return str(path)


def test_a_gigabyte_in_one_line_is_not_read(tmp_path: Path) -> None:
    assert refusal(sparse(tmp_path / "a", b"a", 1024 * MIB)).cause == "1,024 MiB, and manifests may have at most 64 MiB"
    assert "manifests" in refusal(sparse(tmp_path / "b", b'{"a": "', 1024 * MIB)).cause


def test_only_what_begins_as_a_dump_may_be_large(tmp_path: Path) -> None:
    dump = sparse(tmp_path / "a", b'{"apiVersion": "v1", "items": [', 65 * MIB)
    assert len(read_bytes(dump, None, 66 * MIB)) == 65 * MIB
    with pytest.raises(InputError, match="65 MiB, and dumps may have at most"):
        read_bytes(dump, None, TEXT_MAX + 1)
    with pytest.raises(InputError, match="manifests"):
        read_bytes(sparse(tmp_path / "b", b'{"x": [', 65 * MIB), None, 66 * MIB)


class Endless(io.RawIOBase):
    """A stream that never ends; counts what was taken."""

    def __init__(self) -> None:
        self.taken = 0

    def read(self, size: int = -1) -> bytes:
        self.taken += size
        return b"a" * size


def test_an_endless_stream_is_read_to_the_limit_only() -> None:
    stream = Endless()
    with pytest.raises(InputError, match="standard input: more than 64 MiB"):
        read_bytes("-", stream)  # type: ignore[arg-type]
    assert stream.taken <= TEXT_MAX + MIB


def test_a_file_that_grows_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system says 0 bytes of this one, and gives more."""
    monkeypatch.setattr(sources, "MIB", 4)
    assert refusal("/proc/version").cause == "grows while it is read"


TEXT = "apiVersion: v1\nkind: Pod\nmetadata: {name: ä}\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
    ],
)
def test_encodings(tmp_path: Path, data: bytes) -> None:
    name = put(tmp_path / "a.yaml", data)
    assert text_of(name, read_bytes(name, None)) == TEXT


@pytest.mark.parametrize(
    ("data", "place", "cause"),
    [
        (b"a: 1\nb: caf\xe9\n", "line 2, byte 11", "not text: byte 0xe9 is not UTF-8"),
        (TEXT.encode("utf-16")[:-1], "line 3, byte 90", "not text: byte 0x0a is not UTF-16-LE"),
    ],
)
def test_broken_encodings(data: bytes, place: str, cause: str) -> None:
    with pytest.raises(InputError) as refused:
        text_of("f", data)
    assert (refused.value.place, refused.value.cause) == (place, cause)


@pytest.mark.parametrize(
    ("data", "wanted"),
    [(b" \n\t{", True), (b"[", True), (b"\xef\xbb\xbf{", True), (b"a: {", False), (b"", False), (b"- [", False)],
)
def test_begins_as_json(data: bytes, wanted: bool) -> None:
    assert begins_as_json(data) is wanted
