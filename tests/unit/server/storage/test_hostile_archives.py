"""Archives made to do harm: what they say of themselves bounds nothing, and each is refused by name.

A refused archive leaves nothing behind, writes no more than its manifest says, and ends in one line.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from linkscore_server.storage import archive
from linkscore_server.storage.formats import SEGMENT_HEADER, SNAPSHOT, SNAPSHOT_MAGIC
from support.command_line import run

_BLOCK = 512
_PAGE = bytes(1 << 20)


def described(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "blake2b": hashlib.blake2b(content).hexdigest()}


def member(name: str, content: bytes = b"", **says: Any) -> bytes:
    """A member as bytes of tar; `says` changes its header only."""
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    for key, value in says.items():
        setattr(entry, key, value)
    return entry.tobuf(tarfile.PAX_FORMAT) + content + bytes(-len(content) % _BLOCK)


def manifest(files: Any = None, **says: Any) -> bytes:
    return json.dumps({"format": 1, "crawl": "qa", "files": {} if files is None else files} | says).encode()


def stored(files: dict[str, bytes], **says: Any) -> list[bytes]:
    """An archive whose manifest is right about some files."""
    listed = manifest({name: described(content) for name, content in files.items()}, **says)
    return [member("manifest.json", listed), *(member(name, content) for name, content in files.items())]


def pax(size: int, records: bytes = b"") -> bytes:
    """The header of a PAX header that says it has `size` bytes."""
    entry = tarfile.TarInfo("PaxHeaders/x")
    entry.type, entry.size = tarfile.XHDTYPE, size
    return entry.tobuf(tarfile.USTAR_FORMAT) + records + bytes(-len(records) % _BLOCK)


def sparse(name: str, size: int) -> bytes:
    """A member that says in four blocks that it has `size` bytes."""
    records = b"".join(
        record(key, value)
        for key, value in (
            (b"GNU.sparse.major", b"1"),
            (b"GNU.sparse.minor", b"0"),
            (b"GNU.sparse.name", name.encode()),
            (b"GNU.sparse.realsize", str(size).encode()),
        )
    )
    return pax(len(records), records) + member(name, b"1\n0\n1\n".ljust(_BLOCK, b"\0") + b"x")


def record(key: bytes, value: bytes) -> bytes:
    bare = len(key) + len(value) + 3
    size = bare + len(str(bare + 2))
    return b"%d %s=%s\n" % (size, key, value)


def written(path: Path, parts: list[bytes]) -> Path:
    with path.open("wb") as out, zstandard.ZstdCompressor().stream_writer(out) as packed:
        for part in parts:
            packed.write(part)
        packed.write(bytes(2 * _BLOCK))
    return path


def frame(payload: bytes, *, events: int = 1, first: int = 1) -> bytes:
    """A frame of a log whose checksums fit, whatever it holds."""
    header = struct.pack(">IIIQI", 0x4C53464D, len(payload), events, first, zlib.crc32(payload))
    return header + struct.pack(">I", zlib.crc32(header)) + payload


def snapshot(body: bytes) -> bytes:
    crc = zlib.crc32(body, zlib.crc32((0).to_bytes(8, "big")))
    return struct.pack(">8sIQ", SNAPSHOT_MAGIC[SNAPSHOT.number], crc, 0) + body


FIRST_LOG = f"{1:020d}.log"
EMPTY_LOG = {FIRST_LOG: SEGMENT_HEADER}
PACKED = zstandard.compress
DEEP = b"[" * 200_000
# The header of a zstd frame that says it holds 2 GiB, and an empty last block.
ZSTD_OF_2_GB = b"\x28\xb5\x2f\xfd\xe0" + (2 << 30).to_bytes(8, "little") + b"\1\0\0"

HOSTILE: dict[str, Callable[[], list[bytes]]] = {
    "a member larger than the manifest says": lambda: [
        member("manifest.json", manifest({"a.log": described(b"0123456789")})),
        member("a.log", size=4 << 30),
        *[_PAGE] * 8,
    ],
    "a member smaller than the manifest says": lambda: [
        member("manifest.json", manifest({"a.log": described(b"0123456789")})),
        member("a.log", b"012"),
    ],
    "a manifest of many GB": lambda: [member("manifest.json", size=8 << 30), *[_PAGE] * 32],
    "a long header before the manifest": lambda: [pax(3 << 30), *[_PAGE] * 32],
    "a long header before a member": lambda: [*stored({"a.log": b"x"})[:1], pax(3 << 30), *[_PAGE] * 32],
    "a long name": lambda: [
        *stored({})[:1],
        member("././@LongLink", type=tarfile.GNUTYPE_LONGNAME, size=3 << 30),
        *[_PAGE] * 32,
    ],
    "a sparse member of 4 GB": lambda: [
        member("manifest.json", manifest({"a.log": {"bytes": 4 << 30, "blake2b": ""}})),
        sparse("a.log", 4 << 30),
    ],
    "a link": lambda: [
        member("manifest.json", manifest({"a.log": described(b"")})),
        member("a.log", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    ],
    "a folder": lambda: [
        member("manifest.json", manifest({"a": described(b"")})),
        member("a", type=tarfile.DIRTYPE),
    ],
    "one member twice": lambda: [*stored({"a.log": b"x"}), member("a.log", b"x")],
    "a time that is none": lambda: [
        *stored({"a.log": b"x"})[:1],
        pax(len(record(b"mtime", b"inf")), record(b"mtime", b"inf")),
        member("a.log", b"x"),
    ],
    "a time beyond time": lambda: [*stored({"a.log": b"x"})[:1], member("a.log", b"x", mtime=2**62)],
    "nested JSON": lambda: [member("manifest.json", DEEP)],
    "a list as manifest": lambda: [member("manifest.json", b"[]")],
    "a number of 5,000 digits": lambda: [member("manifest.json", b'{"format": ' + b"1" * 5_000 + b"}")],
    "no object of files": lambda: [member("manifest.json", manifest([1, 2]))],
    "no object of a file": lambda: [member("manifest.json", manifest({"a.log": 7}))],
    "a size that is none": lambda: [member("manifest.json", manifest({"a": {"bytes": -1, "blake2b": ""}}))],
    "a size of true": lambda: [member("manifest.json", manifest({"a": {"bytes": True, "blake2b": ""}}))],
    "a crawl that is no text": lambda: [member("manifest.json", manifest(crawl=7))],
    "a crawl elsewhere": lambda: [member("manifest.json", manifest(crawl="../qa"))],
    "a file elsewhere": lambda: stored({"../a.log": b"x"}),
    "a file at the root": lambda: stored({"/tmp/a.log": b"x"}),
    "a file of no name": lambda: stored({"a\0b": b"x"}),
    "a name that is no UTF-8": lambda: stored({"\udcff.log": b"x"}),
    "a name of 4,000 letters": lambda: stored({"a" * 4_000: b"x"}),
    "a thousand folders": lambda: stored({"a/" * 1_000 + "b": b"x"}),
    "a file below a file": lambda: stored({"a": b"x", "a/b": b"x"}),
    "a crawl larger than the disk": lambda: [
        member("manifest.json", manifest({"a.log": {"bytes": 1 << 60, "blake2b": ""}}))
    ],
    "a segment without a number": lambda: stored({"abc.log": b"x"}),
    "a frame that is no zstd": lambda: stored({FIRST_LOG: SEGMENT_HEADER + frame(b"x")}),
    "a frame that is no list": lambda: stored({FIRST_LOG: SEGMENT_HEADER + frame(PACKED(b"\xc1"))}),
    "a frame that is larger than a frame can be": lambda: stored(
        {FIRST_LOG: SEGMENT_HEADER + frame(ZSTD_OF_2_GB)}
    ),
    "a snapshot that is no zstd": lambda: stored(EMPTY_LOG | {"snapshot": snapshot(b"x")}),
    "a snapshot of something else": lambda: stored(EMPTY_LOG | {"snapshot": snapshot(PACKED(b"\x93\1\2\3"))}),
    "too many groups": lambda: stored({f"0-of-{10**12}/{FIRST_LOG}": SEGMENT_HEADER}),
    "sites that are none": lambda: stored(EMPTY_LOG | {"sites.db": b"SQLite format 3\0" + bytes(4_096)}),
    "no zstd in zstd": lambda: [b"x" * 4_096],
    "nothing": list,
}


@pytest.fixture
def bytes_written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each copy of a member wrote."""
    counts: list[int] = []

    def copy(source: Any, target: Any, piece: int) -> None:
        counts.append(0)
        while data := source.read(piece):
            counts[-1] += target.write(data)

    monkeypatch.setattr(archive.shutil, "copyfileobj", copy)
    return counts


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_refused_in_one_line_and_leaves_nothing(
    case: str, tmp_path: Path, bytes_written: list[int]
) -> None:
    file, target = written(tmp_path / "qa.tar.zst", HOSTILE[case]()), tmp_path / "data"
    got = run("data", "import", file, "--data-dir", target)
    assert (got.exit_code, type(got.exception)) == (1, SystemExit), got.output
    assert got.output.startswith("Error: "), got.output
    assert got.output.count("\n") == 1, got.output
    assert len(got.output) < 800, "what an archive says of itself is cut"
    assert not any((target / "crawls").iterdir())
    assert not list(target.glob("deleted-*"))
    assert sum(bytes_written) <= 1 << 20


def test_no_more_of_a_stream_is_read_than_its_member_was_allowed() -> None:
    """A header of 3 GB is given up within its first 64 KiB."""

    class Zeros(io.RawIOBase):
        read_bytes = 0

        def read(self, size: int = -1) -> bytes:
            Zeros.read_bytes += size
            return bytes(size)

    bounded = archive._Bounded(Zeros())
    bounded.allow(1_000)
    with pytest.raises(archive.CorruptState, match="headers of more than 65,536 bytes"):
        list(iter(lambda: bounded.read(10_240), b""))
    assert Zeros.read_bytes <= 1_000 + (64 << 10) + 1


def test_the_file_and_the_member_are_named(tmp_path: Path) -> None:
    file = written(tmp_path / "qa.tar.zst", HOSTILE["a member larger than the manifest says"]())
    got = run("data", "import", file, "--data-dir", tmp_path / "data")
    assert f"{file}: " in got.output
    assert "'a.log': has 4,294,967,296 bytes, 10 in the manifest" in got.output
