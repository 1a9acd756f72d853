"""What is wrong with a data folder: everything is read, nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgpack

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, decode
from linkscore_scoring.errors import CorruptState, LinkscoreError
from linkscore_server.storage.files import TICKET_KEY_LOST, FileStore, read_segments, read_snapshot
from linkscore_server.storage.formats import SNAPSHOT, TICKET_KEY, unreadable
from linkscore_server.storage.secret_files import read_secret
from linkscore_server.storage.visits.files import FileReader, check


def problems_of_store(store: FileStore) -> Iterator[str]:
    """Yield what is wrong with a data folder, one line a place: secret, logs, snapshots, visits."""
    try:
        if (key := store.folder / TICKET_KEY.path).exists():
            read_secret(key, TICKET_KEY_LOST)
    except CorruptState as exc:
        yield str(exc)
    for crawl in store.crawls():
        yield from problems_of_crawl(store.crawl_folder(crawl), crawl)


def problems_of_crawl(folder: Path, crawl: str) -> Iterator[str]:
    """Yield what is wrong with the folder of one crawl."""
    try:
        last_seq = _read_log(folder, crawl)
        _read_snapshot(folder, last_seq)
    except CorruptState as exc:
        yield str(exc)
    browse = folder / "browse"
    salt = browse / "salt"
    try:
        if salt.exists():
            read_secret(salt)
    except CorruptState as exc:
        yield str(exc)
    staged = sorted(browse.glob("staged/*/*.parquet"))
    for part in [*staged, *FileReader(browse / "days").parts(-(1 << 31), 1 << 31)]:
        try:
            check([part])
        except CorruptState as exc:
            yield str(exc)


def _read_log(folder: Path, crawl: str) -> int:
    """Read every event and return the number of the last one."""
    last = 0
    for path, offset, seq, raw in read_segments(folder):
        if seq != last + 1 and last:
            raise CorruptState(f"{path} at offset {offset}: event {seq} where {last + 1} should be")
        try:
            event = decode(raw)
        except CorruptState as exc:
            raise CorruptState(unreadable(f"{path} at offset {offset}", seq, exc)) from exc
        if isinstance(event, ConfigChanged) and event.config.get("name") != crawl:
            own = event.config.get("name")
            raise CorruptState(
                f"{path} at offset {offset}: the log of crawl {own!r} in the folder of {crawl!r}"
            )
        last = seq
    return last


def _read_snapshot(folder: Path, last_seq: int) -> None:
    path = folder / "snapshot"
    if not path.exists():
        return
    snapshot = read_snapshot(path)
    if snapshot is None:
        raise CorruptState(f"{path}: damaged, or not of format {SNAPSHOT.number}; the log has all it holds")
    if snapshot.seq > last_seq:
        raise CorruptState(f"{path}: knows event {snapshot.seq}, the log ends with {last_seq}")
    try:
        state = msgpack.unpackb(snapshot.state, strict_map_key=False)
        CrawlModel(CrawlConfig.from_state(state["config"]), ticket_key=b"").load_state(state)
    except (LinkscoreError, ValueError, LookupError, TypeError) as exc:
        raise CorruptState(f"{path}: cannot be read: {exc}; the log has all it holds") from exc
