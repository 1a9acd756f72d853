"""A disk that forgets: which files may be there after a power cut, made from a record of all calls.

A file is durable up to its last fsync, a name in a folder up to the last fsync of that folder. Of what came
after, a cut keeps anything: nothing, all, a beginning, or any part, writes torn at sectors. A rename is there
as a whole or not at all.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TypeVar

SECTOR = 512  # bytes that a disk writes as a whole, at least
_RECORD = struct.Struct("=qqqqq")


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was recorded: `kind` is a letter, see `recorder.c`."""

    kind: str
    a: int
    b: int
    first: bytes
    second: bytes


def calls(trace: bytes) -> Iterator[Call]:
    """Yield what was recorded; a record that is not whole, of a process that was killed, ends it."""
    at = 0
    while at + _RECORD.size <= len(trace):
        kind, a, b, n, m = _RECORD.unpack_from(trace, at)
        at += _RECORD.size
        if at + n + m > len(trace):
            return
        yield Call(chr(kind), a, b, trace[at : at + n], trace[at + n : at + n + m])
        at += n + m


@dataclass(slots=True, eq=False)
class File:
    """What a file holds: on the disk, and what was written since and not synced."""

    durable: bytes = b""
    now: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Offset and data of each write; of a truncation the new size, and no data."""

    def change(self, at: int, data: bytes | None) -> None:
        """Write, or truncate."""
        self.pending.append((at, data))
        _apply(self.now, at, data)

    def sync(self) -> None:
        """Make all of it durable."""
        self.durable, self.pending = bytes(self.now), []

    def after_cut(self, rng: random.Random) -> bytes:
        """Return what may be left of it."""
        kept = bytearray(self.durable)
        for at, data in _kept(rng, self.pending):
            if data is None or rng.random() < 0.5:
                _apply(kept, at, data)
                continue
            for start in range(at - at % SECTOR, at + len(data), SECTOR):
                if rng.random() < 0.5:
                    first = max(start, at)
                    _apply(kept, first, data[first - at : start + SECTOR - at])
        return bytes(kept)


@dataclass(slots=True, eq=False)
class Folder:
    """Names of a folder: on the disk, and now."""

    durable: dict[str, File | Folder] = field(default_factory=dict)
    now: dict[str, File | Folder] = field(default_factory=dict)


_Names = list[tuple[Folder, str, "File | Folder | None"]]
_T = TypeVar("_T")


class Disk:
    """All below one folder, as some calls left it.

    Parameters
    ----------
    root
        The folder that the calls name.
    source
        What it held before them, all of it durable.
    """

    def __init__(self, root: Path, source: Path) -> None:
        self._root = root
        self._top = _read(source)
        self._pending: list[_Names] = []
        self._open: dict[int, File | Folder] = {}

    def do(self, call: Call) -> None:
        """Do what was recorded.

        Raises
        ------
        NotImplementedError
            If it is a call that is not known here.
        """
        match call.kind:
            case "O":
                self._opened(call)
            case "C":
                self._open.pop(call.a, None)
            case "W":
                self._file(call.a).change(call.b, call.first)
            case "T":
                self._file(call.a).change(call.b, None)
            case "S":
                self._sync(self._open[call.a])
            case "R":
                node = self._node(call.first)
                self._name((*self._entry(call.first), None), (*self._entry(call.second), node))
            case "U":
                self._name((*self._entry(call.first), None))
            case "M":
                self._name((*self._entry(call.first), Folder()))
            case "K":
                pass
            case _:
                raise NotImplementedError(f"{call.first.decode()}: not a call that can be replayed")

    def now(self) -> dict[str, bytes]:
        """Return all files by path, as a process sees them."""
        return dict(_files(self._top, ""))

    def cut(self, rng: random.Random, target: Path) -> None:
        """Make the folder that a power cut may leave."""
        left = {id(folder): (folder, dict(folder.durable)) for folder in self._folders()}
        for names in _kept(rng, self._pending):
            for folder, name, node in names:
                entries = left.setdefault(id(folder), (folder, dict(folder.durable)))[1]
                if node is None:
                    entries.pop(name, None)
                else:
                    entries[name] = node
        _write(self._top, {key: entries for key, (_, entries) in left.items()}, rng, target)

    def _folders(self) -> Iterator[Folder]:
        waiting = [self._top]
        while waiting:
            folder = waiting.pop()
            yield folder
            nodes = {id(node): node for node in (*folder.durable.values(), *folder.now.values())}
            waiting += [node for node in nodes.values() if isinstance(node, Folder)]

    def _opened(self, call: Call) -> None:
        folder, name = self._entry(call.first)
        if not name:
            self._open[call.a] = self._top
            return
        if name not in folder.now:
            self._name((folder, name, File()))
        node = folder.now[name]
        if isinstance(node, File) and call.b & os.O_TRUNC and node.now:
            node.change(0, None)
        self._open[call.a] = node

    def _file(self, fd: int) -> File:
        found = self._open[fd]
        assert isinstance(found, File)
        return found

    def _sync(self, node: File | Folder) -> None:
        if isinstance(node, File):
            node.sync()
            return
        left = []
        for names in self._pending:
            if any(folder is node for folder, _, _ in names):
                for folder, name, named in names:
                    _set(folder.durable, name, named)
            else:
                left.append(names)
        self._pending = left

    def _name(self, *names: tuple[Folder, str, File | Folder | None]) -> None:
        for folder, name, node in names:
            _set(folder.now, name, node)
        self._pending.append(list(names))

    def _entry(self, path: bytes) -> tuple[Folder, str]:
        """Return the folder of a path, and the name there; the top has none."""
        parts = PurePosixPath(os.path.normpath(path.decode())).relative_to(self._root).parts
        folder = self._top
        for part in parts[:-1]:
            found = folder.now[part]
            assert isinstance(found, Folder)
            folder = found
        return folder, parts[-1] if parts else ""

    def _node(self, path: bytes) -> File | Folder:
        folder, name = self._entry(path)
        return folder.now[name]


def _kept(rng: random.Random, pending: list[_T]) -> list[_T]:
    """Return what a cut keeps of some changes, in their order."""
    match rng.randrange(4):
        case 0:
            return []
        case 1:
            return pending
        case 2:
            return pending[: rng.randrange(len(pending) + 1)]
        case _:
            return [change for change in pending if rng.random() < 0.5]


def _apply(data: bytearray, at: int, piece: bytes | None) -> None:
    end = at if piece is None else at + len(piece)
    if len(data) < end:
        data.extend(bytes(end - len(data)))
    if piece is None:
        del data[at:]
    else:
        data[at:end] = piece


def _set(entries: dict[str, File | Folder], name: str, node: File | Folder | None) -> None:
    if node is None:
        entries.pop(name, None)
    else:
        entries[name] = node


def _read(folder: Path) -> Folder:
    found: dict[str, File | Folder] = {}
    for path in folder.iterdir():
        if path.is_dir():
            found[path.name] = _read(path)
        else:
            raw = path.read_bytes()
            found[path.name] = File(raw, bytearray(raw))
    return Folder(dict(found), found)


def _files(folder: Folder, place: str) -> Iterator[tuple[str, bytes]]:
    for name, node in folder.now.items():
        if isinstance(node, File):
            yield place + name, bytes(node.now)
        else:
            yield from _files(node, f"{place}{name}/")


def _write(
    folder: Folder, entries: dict[int, dict[str, File | Folder]], rng: random.Random, target: Path
) -> None:
    target.mkdir()
    for name, node in sorted(entries.get(id(folder), folder.durable).items()):
        if isinstance(node, File):
            (target / name).touch(0o600)
            (target / name).write_bytes(node.after_cut(rng))
        else:
            _write(node, entries, rng, target / name)
