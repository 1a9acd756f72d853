"""The default store: a folder per crawl with numbered log segments and one snapshot.

::

    DATA_DIR/ticket.key
    DATA_DIR/LOCK
    DATA_DIR/crawls/NAME/00000000000000000001.log     named by the first event number, at most 64 MiB each
    DATA_DIR/crawls/NAME/browse/                         visits of browse logs, kept by their annex
    DATA_DIR/crawls/NAME/sites.db                        states of sites at some event, see `storage.sites`
    DATA_DIR/crawls/NAME/snapshot                     magic, crc32 of what follows, sequence number, zstd;
                                                      written only if the log may be cut
    DATA_DIR/crawls/NAME/snapshot.previous            the one before, if the log may be cut
    DATA_DIR/crawls/NAME/cut                          what was cut, see `storage.cutting`
    DATA_DIR/crawls/NAME/3-of-8/                         of a crawl of several groups: that of each
    DATA_DIR/instead-NAME/                            a crawl that takes the place of another, see `replace`

`storage.formats` has the number of each format. The log is the only truth unless it was cut; a snapshot that
is missing or damaged only makes the start slower then. A sound one that knows more events than the log says
that the end of the log is missing. Segments whose events it knows are not read when the log is opened, but
beside serving, see `FileLog.check_trusted`.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import shutil
import stat
import struct
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

import zstandard

from linkscore_scoring.engine.groups import Shard, is_crawl_name, shards_of
from linkscore_scoring.errors import CorruptState, LimitExceeded
from linkscore_server.storage import failpoints
from linkscore_server.storage.base import CrawlLog, Snapshot, Store, T
from linkscore_server.storage.cutting import cut, cut_seq, delete_leftovers, kept_segments
from linkscore_server.storage.disk import (
    PRIVATE,
    ensure_folder,
    replace_file,
    sync,
    write_all,
)
from linkscore_server.storage.formats import (
    SEGMENT_HEADER,
    SITES,
    SNAPSHOT,
    SNAPSHOT_MAGIC,
    TICKET_KEY,
)
from linkscore_server.storage.frames import EventFrame, frames, pack, unpack
from linkscore_server.storage.secret_files import secret_of
from linkscore_server.storage.sites import SiteStates, remove

SEGMENT_BYTES = 64 << 20
"""Bytes after which a segment is followed by the next. Chosen, not measured: a start reads one at a time."""

TICKET_KEY_LOST = (
    "put that of a backup there, or delete it: then tickets given out before say nothing any more"
)
"""What to do about a damaged secret of tickets."""

SITES_FILE = Path(SITES.path).name
"""The states of sites in the folder of their crawl."""

_INSTEAD = "instead-"
"""Begins the name of a folder whose crawl takes the place of the one of that name."""

_PIECE_BYTES = 1 << 20
"""Of a segment that is checked beside serving: some milliseconds at a time, of small events. Chosen."""

_SNAPSHOT = struct.Struct(">8sIQ")
_SNAPSHOT_LEVEL = 3  # of zstd, its default: snapshots are rare, and read once
_log = logging.getLogger(__name__)


class _Place(NamedTuple):
    """Where the first event lies that a snapshot does not know: there a replay begins."""

    path: Path
    offset: int
    seq: int


class FileLog(CrawlLog):
    """The log of one crawl in its folder.

    Parameters
    ----------
    folder
        Of the crawl.
    segment_bytes
        Bytes after which a segment is followed by the next.
    cuts
        Whether to keep two snapshots, and to cut the segments whose events both hold.
    checked
        Segments that this process has read in full; others are added as they are.
    """

    def __init__(
        self,
        folder: Path,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        cuts: bool = False,
        checked: set[Path] | None = None,
    ) -> None:
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._cuts = cuts
        self._fd = -1
        self._size = 0
        self._broken = ""
        self._checked = set() if checked is None else checked
        self._trusted: list[tuple[Path, int]] = []
        self._unknown = _Place(folder, 0, 0)
        self.needs_whole_snapshots = cuts
        self.states = open_states(folder / SITES_FILE)
        try:
            self._recover()
        except BaseException:
            self.states.close()
            raise

    def append(self, events: Sequence[bytes]) -> None:
        """See `CrawlLog.append`; after a failed sync or repair it takes nothing more until it is reopened."""
        if self._broken:
            raise OSError(self._broken)
        if self._fd < 0 or self._size >= self._segment_bytes:
            self._start_segment()
        frame = pack(self.last_seq + 1, events)
        try:
            write_all(self._fd, frame)
        except OSError as failure:
            try:
                self._take_back()
            except OSError as exc:
                self._break("repair", exc)
            raise failure
        failpoints.reached("log.written")
        try:
            os.fdatasync(self._fd)
        except OSError as exc:
            self._break("sync", exc)
            raise
        failpoints.reached("log.synced")
        self._size += len(frame)
        self.last_seq += len(events)

    def read(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """See `CrawlLog.read`."""
        if after < (last := cut_seq(self._folder)):
            raise CorruptState(
                f"{self._folder}: events 1 to {last} were cut from the log (keep_log = snapshots), and no "
                "snapshot that this version can read holds them: the crawl cannot be rebuilt from its log; "
                "restore its folder from a backup, or open it with the version that wrote the snapshots"
            )
        segments = kept_segments(self._folder)
        segments = segments[_count_known(segments, after) :]
        expected = min([after + 1, *(int(path.stem) for path in segments)])
        for path in segments:
            data, start = memoryview(path.read_bytes()), 0
            if path == self._unknown.path and self._unknown.seq <= after + 1:
                start, expected = self._unknown.offset, self._unknown.seq
            for frame in frames(data, str(path), is_last=path is segments[-1], start=start):
                expected = _next_seq(path, frame, expected)
                if frame.last_seq > after:
                    events = enumerate(unpack(data, frame), start=frame.first_seq)
                    yield from ((seq, event) for seq, event in events if seq > after)

    def save(self, snapshot: Snapshot) -> int:
        """See `CrawlLog.save`; the file is replaced atomically."""
        body = zstandard.ZstdCompressor(level=_SNAPSHOT_LEVEL).compress(snapshot.state)
        header = _SNAPSHOT.pack(
            SNAPSHOT_MAGIC[SNAPSHOT.number], _snapshot_crc(snapshot.seq, body), snapshot.seq
        )
        path = self._folder / "snapshot"
        if self._cuts and _sound_snapshot(path):
            path.replace(self._folder / "snapshot.previous")  # which counts while there is no other
        replace_file(path, header + body, draft=self._folder / "snapshot.tmp")
        return self._cut() if self._cuts and self._fd >= 0 else 0

    def snapshot(self) -> Snapshot | None:
        """See `CrawlLog.snapshot`; a damaged one is logged and passed over, the log has it all."""
        found = self._stored_snapshot()
        return Snapshot(found[0], zstandard.ZstdDecompressor().decompress(found[1])) if found else None

    def _stored_snapshot(self) -> tuple[int, bytes] | None:
        """Return number and compressed state of the snapshot, None if there is none that is whole."""
        for path in snapshots_of(self._folder):
            if found := _sound_snapshot(path):
                return found
            _log.warning("snapshot %s is damaged or of another format: more of the log is replayed", path)
        return None

    def place(self, seq: int) -> str:
        """See `CrawlLog.place`."""
        found = ((path, offset) for path, offset, n, _ in read_segments(self._folder) if n == seq)
        path, offset = next(found, (self._folder, 0))
        return f"{path} at offset {offset}"

    def close(self) -> None:
        """See `CrawlLog.close`."""
        self._close_segment()
        self.states.close()

    def _close_segment(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _cut(self) -> int:
        """Cut what both snapshots hold, read back from where they were written; returns the bytes."""
        found = [_sound_snapshot(path) for path in snapshots_of(self._folder)]
        held = [snapshot[0] for snapshot in found if snapshot]
        return cut(self._folder, min(held)) if len(held) > 1 else 0

    def check_trusted(self) -> Iterator[str]:
        """See `CrawlLog.check_trusted`; each segment once in a process: a closed one is never written to."""
        while self._trusted:
            path, last_seq = self._trusted.pop()
            self._checked.add(path)
            try:
                yield from _pieces_of(path, last_seq)
            except FileNotFoundError:
                continue  # cut meanwhile, or deleted with its crawl
            except (CorruptState, OSError) as exc:
                yield str(exc)

    def _recover(self) -> None:
        """Find the end of the log, cut a torn tail and check that no event is missing.

        Segments before the last that a snapshot knows are left to `check_trusted`: should the snapshot turn
        out not to be readable, `read` checks them.
        """
        delete_leftovers(self._folder)
        segments, may_be_torn = kept_segments(self._folder), True
        if segments and segments[-1].stat().st_size < len(SEGMENT_HEADER):
            segments.pop().unlink()  # the crash came between making the file and its header
            may_be_torn = False
        stored = self._stored_snapshot()
        known = max(stored[0] if stored else 0, self.states.seq)
        expected, unknown = self._trust(segments, known), (self._folder, 0, 0)
        for path in segments[_count_known(segments, known) :]:
            data = memoryview(path.read_bytes())
            is_last = path is segments[-1]
            end = len(SEGMENT_HEADER)
            for frame in frames(data, str(path), is_last=is_last and may_be_torn):
                expected = _next_seq(path, frame, expected)
                end = frame.end
                if frame.last_seq <= known:
                    unknown = (path, end, expected)
            if not is_last:
                self._checked.add(path)
        self.last_seq, self._unknown = expected - 1, _Place(*unknown)
        if known > self.last_seq:
            where = f"{segments[-1]} at offset {end}" if segments else f"{self._folder}"
            raise CorruptState(
                f"{where}: the log ends with event {self.last_seq}, the snapshot knows {known}"
            )
        if segments:
            self._fd = os.open(segments[-1], os.O_WRONLY)
            self._size = end
            if len(data) > end:
                _log.warning("%s: torn end cut at offset %d (%d bytes)", segments[-1], end, len(data) - end)
            self._take_back()
            os.fdatasync(self._fd)

    def _trust(self, segments: Sequence[Path], known: int) -> int:
        """Note which segments a snapshot knows in full; returns the number of the first event after them."""
        firsts, count = [int(path.stem) for path in segments], _count_known(segments, known)
        expected = cut_seq(self._folder) + 1
        if not count:
            return expected
        if firsts[0] != expected:
            raise _gap(segments[0], len(SEGMENT_HEADER), firsts[0], expected)
        spans = zip(segments[:count], firsts[1:], strict=False)
        self._trusted = [(path, later - 1) for path, later in spans if path not in self._checked]
        return firsts[count]

    def _start_segment(self) -> None:
        self._close_segment()
        path = self._folder / f"{self.last_seq + 1:020d}.log"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            write_all(fd, SEGMENT_HEADER)
            os.fdatasync(fd)
            failpoints.reached("segment.headed")
            sync(self._folder)
        except OSError:
            os.close(fd)  # the next append begins the segment anew
            raise
        self._fd, self._size = fd, len(SEGMENT_HEADER)

    def _break(self, what: str, error: OSError) -> None:
        self._broken = f"log of {self._folder.name}: {what} failed ({error}), restart to recover"

    def _take_back(self) -> None:
        """Cut the segment to what is known to be sound and go on writing there."""
        os.ftruncate(self._fd, self._size)
        os.lseek(self._fd, self._size, os.SEEK_SET)


class FileStore(Store):
    """Logs below one folder; one server at a time, whose processes have shards of their own.

    Parameters
    ----------
    folder
        The data folder.
    segment_bytes, cuts
        As of `FileLog`.
    lock
        Descriptor of the lock, if one that holds it started this process: it holds as long as either does.

    Raises
    ------
    LimitExceeded
        If another process has the folder open.
    """

    def __init__(
        self,
        folder: Path,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        cuts: bool = False,
        lock: int | None = None,
    ) -> None:
        self._crawls = folder / "crawls"
        ensure_folder(self._crawls)
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._cuts = cuts
        self._checked: set[Path] = set()
        if lock is not None:
            self._lock: IO[str] = os.fdopen(lock, "w")
            return
        (folder / "LOCK").touch(PRIVATE)
        self._lock = (folder / "LOCK").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            self._lock.close()
            raise LimitExceeded(
                f"{folder}: in use by another linkscore server; stop it first, or name another folder"
            ) from exc
        for whole in folder.glob(f"{_INSTEAD}*"):
            self._put_in_place(whole)

    @property
    def lock(self) -> int:
        """Descriptor of the lock."""
        return self._lock.fileno()

    @property
    def folder(self) -> Path:
        """The data folder."""
        return self._folder

    def crawl_folder(self, crawl: str) -> Path:
        """Return the folder of a crawl or of a shard of one, which need not exist."""
        shard = Shard.of(crawl)
        return self._crawls / shard.crawl / (shard.part if shard.groups > 1 else "")

    def shards(self) -> list[str]:
        """See `Store.shards`."""
        return sorted(key for path in self._crawls.iterdir() for key, _ in shards_in(path, path.name))

    def open(self, shard: str) -> CrawlLog:
        """See `Store.open`."""
        folder = self.crawl_folder(shard)
        ensure_folder(folder)
        return FileLog(folder, segment_bytes=self._segment_bytes, cuts=self._cuts, checked=self._checked)

    def delete(self, crawl: str) -> None:
        """See `Store.delete`; the folder is renamed first, so a crash leaves no half crawl."""
        folder = self.crawl_folder(crawl)
        if folder.exists():
            self._doom(crawl)
            sync(folder.parent)
            failpoints.reached("crawl.doomed")
        self._erase_doomed()

    def replace(self, crawl: str, folder: Path) -> None:
        """Let a folder with a whole crawl be this crawl from now on, in one step, and erase what it was.

        The step is a name. Killed after it, the next to open the data folder does the rest.

        Parameters
        ----------
        crawl
            A crawl that is not open.
        folder
            In the data folder; everything in it is durable.
        """
        whole = self._folder / f"{_INSTEAD}{crawl}"
        folder.rename(whole)
        sync(self._folder)
        self._put_in_place(whole)

    def _put_in_place(self, whole: Path) -> None:
        crawl = whole.name.removeprefix(_INSTEAD)
        if not _is_grouped(whole, crawl):
            _log.warning("%s: holds no whole crawl of several groups, left alone", whole)
            return
        if (folder := self.crawl_folder(crawl)).exists():
            self._doom(crawl)
        whole.rename(folder)
        sync(self._crawls)
        sync(self._folder)
        try:
            self._erase_doomed()
        except OSError as exc:  # what opens the data folder must not fail for what is no crawl any more
            _log.warning("%s: %s: erased with the next crawl that is deleted", self._folder, exc)

    def _doom(self, crawl: str) -> None:
        """Give the folder of a crawl a name under which it is none, and may be erased at any time."""
        folder = self.crawl_folder(crawl)
        folder.rename(self._folder / f"deleted-{crawl}-{secrets.token_hex(4)}")
        self._checked = {path for path in self._checked if folder not in path.parents}

    def _erase_doomed(self) -> None:
        for leftover in self._folder.glob("deleted-*"):
            with suppress(FileNotFoundError):  # another process over this folder deletes it too
                shutil.rmtree(leftover)

    def disk_bytes(self, shard: str) -> int:
        """See `Store.disk_bytes`."""
        return sum(_size_of(path) for path in self.crawl_folder(shard).rglob("*"))

    def space(self) -> tuple[int, int]:
        """See `Store.space`."""
        found = os.statvfs(self._folder)
        return found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize

    def beside(self, shard: str, name: str, kept: Callable[[Path | None], T]) -> T:
        """See `Store.beside`."""
        return kept(self.crawl_folder(shard) / name)

    def folders_beside(self, name: str) -> list[Path]:
        """Return the folders of an annex beside all shards, also those without a log here."""
        return [*self._crawls.glob(f"*/{name}"), *self._crawls.glob(f"*/*-of-*/{name}")]

    def ticket_key(self) -> bytes:
        """See `Store.ticket_key`; made at the first call, readable by the owner only.

        Raises
        ------
        CorruptState
            If the file does not hold a key: a new one would make every ticket that is out there foreign.
        """
        return secret_of(self._folder / TICKET_KEY.path, TICKET_KEY_LOST)

    def close(self) -> None:
        """Let another process have the folder."""
        self._lock.close()


def _is_grouped(folder: Path, crawl: str) -> bool:
    """Say whether a folder holds a log of each group of a crawl of several."""
    if not crawl.strip(".") or not is_crawl_name(crawl):  # a name of a folder that holds others
        return False
    found = [Shard.of(key) for key, _ in shards_in(folder, crawl)]
    return bool(found) and found[0].groups > 1 and sorted(found) == sorted(shards_of(crawl, found[0].groups))


def shards_in(folder: Path, crawl: str) -> Iterator[tuple[str, Path]]:
    """Yield key and folder of each shard in the folder of a crawl that has a log."""
    if any(folder.glob("*.log")):
        yield crawl, folder
    for path in sorted(folder.glob("*-of-*")):
        group, _, groups = path.name.partition("-of-")
        if group.isdecimal() and groups.isdecimal() and any(path.glob("*.log")):
            yield Shard(crawl, int(group), int(groups)).key, path


def _size_of(path: Path) -> int:
    """Return the bytes of a file; 0 of a folder, and of a file that is deleted meanwhile."""
    with suppress(FileNotFoundError):
        found = path.stat()
        return found.st_size if stat.S_ISREG(found.st_mode) else 0
    return 0


def open_states(path: Path, kind: Callable[[Path], SiteStates] = SiteStates) -> SiteStates:
    """Open the states of sites; a damaged file makes room for a new one, the log has it all."""
    try:
        return kind(path)
    except CorruptState as exc:
        _log.warning("snapshot %s: %s: more of the log is replayed", path, exc)
        remove(path)
        return kind(path)


def read_segments(folder: Path) -> Iterator[tuple[Path, int, int, bytes]]:
    """Yield file, offset of the frame, number and bytes of every event of a log; changes nothing.

    Raises
    ------
    CorruptState
        If a frame is damaged or events are missing before it, naming file and offset; a torn end is none.
    """
    segments, expected = kept_segments(folder), cut_seq(folder) + 1
    for path in segments:
        data = memoryview(path.read_bytes())
        if path is segments[-1] and len(data) < len(SEGMENT_HEADER):
            return  # the crash came between making the file and its header
        for frame in frames(data, str(path), is_last=path is segments[-1]):
            expected = _next_seq(path, frame, expected)
            for seq, event in enumerate(unpack(data, frame), start=frame.first_seq):
                yield path, frame.start, seq, event


def snapshots_of(folder: Path) -> list[Path]:
    """Return the files of a crawl's snapshots, the newest first."""
    return [path for name in ("snapshot", "snapshot.previous") if (path := folder / name).exists()]


def read_snapshot(path: Path) -> Snapshot | None:
    """Return the snapshot of a file, None if it is missing, damaged or of another format."""
    found = _sound_snapshot(path)
    return Snapshot(found[0], zstandard.ZstdDecompressor().decompress(found[1])) if found else None


def _sound_snapshot(path: Path) -> tuple[int, bytes] | None:
    """Return number and compressed state of a snapshot, None if there is none that is whole."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(raw) < _SNAPSHOT.size:
        return None
    magic, crc, seq = _SNAPSHOT.unpack(raw[: _SNAPSHOT.size])
    body = raw[_SNAPSHOT.size :]
    is_read = magic in SNAPSHOT_MAGIC.values()
    return (seq, body) if is_read and _snapshot_crc(seq, body) == crc else None


def _snapshot_crc(seq: int, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(seq.to_bytes(8, "big")))


def _count_known(segments: Sequence[Path], seq: int) -> int:
    """Return how many segments before the last hold no event after `seq`."""
    return bisect_right([int(later.stem) - 1 for later in segments[1:]], seq)


def _pieces_of(path: Path, last_seq: int) -> Iterator[str]:
    """Check a closed segment, and yield after each piece of it; `last_seq` must be its last event."""
    data, expected, piece = memoryview(path.read_bytes()), int(path.stem), 0
    for frame in frames(data, str(path), is_last=False):
        expected = _next_seq(path, frame, expected)
        if frame.end // _PIECE_BYTES > piece:
            piece = frame.end // _PIECE_BYTES
            yield ""
    if expected != last_seq + 1:
        raise _gap(path, len(data), last_seq + 1, expected)


def _next_seq(path: Path, frame: EventFrame, expected: int) -> int:
    if frame.first_seq != expected:
        raise _gap(path, frame.start, frame.first_seq, expected)
    return frame.last_seq + 1


def _gap(path: Path, offset: int, found: int, expected: int) -> CorruptState:
    return CorruptState(f"{path} at offset {offset}: event {found} where {expected} should be")
