"""The disk that forgets: what was synced is there after every cut, and only what was written may be."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaigns.power.disk import SECTOR, Call, Disk

ROOT = Path("/root")
_CUTS = 60  # each draws other things to keep


def opened(fd: int, name: str) -> Call:
    return Call("O", fd, os.O_CREAT, f"/root/{name}".encode(), b"")


def written(fd: int, data: bytes, at: int = 0) -> Call:
    return Call("W", fd, at, data, b"")


def synced(fd: int) -> Call:
    return Call("S", fd, 0, b"", b"")


def renamed(name: str, to: str) -> Call:
    return Call("R", 0, 0, f"/root/{name}".encode(), f"/root/{to}".encode())


FOLDER = [opened(9, ""), synced(9)]
"""The top folder is synced."""


def left(folder: Path, *calls: Call, source: dict[str, bytes] | None = None) -> list[dict[str, bytes]]:
    """Return the files that each of many cuts leaves."""
    before = folder / "before"
    before.mkdir()
    for name, data in (source or {}).items():
        (before / name).write_bytes(data)
    return list(_cuts(folder, before, calls))


def _cuts(folder: Path, before: Path, calls: tuple[Call, ...]) -> Iterator[dict[str, bytes]]:
    for seed in range(_CUTS):
        disk = Disk(ROOT, before)
        for call in calls:
            disk.do(call)
        target = folder / str(seed)
        disk.cut(random.Random(seed), target)
        yield {str(p.relative_to(target)): p.read_bytes() for p in target.rglob("*") if p.is_file()}


def test_a_file_whose_folder_was_not_synced_may_be_gone(tmp_path: Path) -> None:
    found = left(tmp_path, opened(3, "a"), written(3, b"x"), synced(3))
    assert {"a" in files for files in found} == {True, False}
    assert all(files.get("a", b"x") == b"x" for files in found)


def test_what_was_synced_with_its_folder_is_there(tmp_path: Path) -> None:
    found = left(tmp_path, opened(3, "a"), written(3, b"x"), synced(3), *FOLDER)
    assert all(files == {"a": b"x"} for files in found)


def test_what_was_not_synced_may_be_there_in_part_and_in_any_order(tmp_path: Path) -> None:
    first, second = b"a" * SECTOR, b"b" * SECTOR
    found = left(tmp_path, opened(3, "a"), *FOLDER, written(3, first), written(3, second, SECTOR))
    kept = {files["a"] for files in found}
    assert {b"", first, first + second, bytes(SECTOR) + second} <= kept


def test_a_write_may_be_torn_at_sectors_only(tmp_path: Path) -> None:
    data = b"a" * SECTOR + b"b" * SECTOR
    found = left(tmp_path, opened(3, "a"), written(3, data), source={"a": bytes(2 * SECTOR)})
    sectors = {(files["a"][:SECTOR], files["a"][SECTOR:]) for files in found}
    assert sectors == {
        (first, second)
        for first in (bytes(SECTOR), b"a" * SECTOR)
        for second in (bytes(SECTOR), b"b" * SECTOR)
    }


def test_a_rename_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    found = left(tmp_path, renamed("new", "old"), source={"new": b"new", "old": b"old"})
    assert {tuple(sorted(files.items())) for files in found} == {
        (("old", b"new"),),
        (("new", b"new"), ("old", b"old")),
    }


def test_a_deleted_file_may_be_back(tmp_path: Path) -> None:
    found = left(tmp_path, Call("U", 0, 0, b"/root/a", b""), source={"a": b"x"})
    assert {"a" in files for files in found} == {True, False}


def test_a_call_that_is_not_known_ends_the_trial(tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="writev"):
        left(tmp_path, Call("?", 0, 0, b"writev", b""))
