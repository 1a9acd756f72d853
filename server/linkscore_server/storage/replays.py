"""Whether the snapshots of a data folder say what a replay of its logs says; nothing is changed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgpack

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import decode
from linkscore_scoring.engine.groups import Shard
from linkscore_server.pieces import packed_in_pieces
from linkscore_server.residency import ResidentCrawl
from linkscore_server.storage.cutting import cut_seq
from linkscore_server.storage.files import (
    SITES_FILE,
    FileStore,
    read_segments,
    read_snapshot,
    snapshots_of,
)
from linkscore_server.storage.formats import TICKET_KEY
from linkscore_server.storage.secret_files import read_secret
from linkscore_server.storage.sites import SiteStates, reading_copy

_DIGEST_BYTES = 16
"""Of BLAKE2b, against differences that come by chance."""


def unlike_their_replay(store: FileStore, domain_of: Callable[[str], str]) -> Iterator[str]:
    """Yield each shard whose newest snapshot, with the log after it, gives another state than its whole log.

    A log that was cut has no beginning to replay, and is passed over. Costs a replay of every log, and the
    memory of one crawl.

    Parameters
    ----------
    store
        A folder without damage, see `problems_of_store`.
    domain_of
        Gives the registrable domain of a host, as it does to the server.
    """
    for key in store.shards():
        folder = store.crawl_folder(key)
        if cut_seq(folder):
            continue
        digests = []
        for from_log in (False, True):
            with crawl_in(store, key, domain_of=domain_of, from_log=from_log) as model:
                digests.append(digest_of(model))
        if digests[0] != digests[1]:
            yield f"{folder}: the snapshot and the log after it give another state than the log alone"


@contextmanager
def crawl_in(
    store: FileStore,
    key: str,
    *,
    domain_of: Callable[[str], str],
    from_log: bool = False,
    until: float = math.inf,
) -> Iterator[ResidentCrawl]:
    """Give a shard as its newest snapshot and the log after it say, or its log alone, up to some event."""
    folder, key_file = store.crawl_folder(key), store.folder / TICKET_KEY.path
    with _newest_states(folder, from_log=from_log) as states:
        model = ResidentCrawl(
            CrawlConfig(Shard.of(key).crawl),
            ticket_key=read_secret(key_file) if key_file.exists() else b"",
            domain_of=domain_of,
            store=states,
        )
        if not from_log:
            _load_newest(model, folder, states)
        for _, _, seq, raw in read_segments(folder):
            if model.seq < seq <= until:
                with suppress(Exception):  # what the server could not apply is in the log all the same
                    model.apply(seq, decode(raw))
                model.take_jobs()
        yield model


def digest_of(model: ResidentCrawl) -> str:
    """Return a checksum of all that a crawl knows."""
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for piece in packed_in_pieces(model.to_state()):
        digest.update(piece)
    return digest.hexdigest()


@contextmanager
def _newest_states(folder: Path, *, from_log: bool) -> Iterator[SiteStates]:
    """Give a copy of the states of sites, or none yet."""
    path = folder / SITES_FILE
    if path.exists() and not from_log:
        with reading_copy(path) as states:
            yield states
        return
    states = SiteStates()
    yield states
    states.close()


def _load_newest(model: ResidentCrawl, folder: Path, states: SiteStates) -> None:
    whole = next((found for path in snapshots_of(folder) if (found := read_snapshot(path))), None)
    if whole is not None and whole.seq > states.seq:
        states.clear()
        model.load_state(msgpack.unpackb(whole.state, strict_map_key=False))
    elif states.seq:
        model.load_core(msgpack.unpackb(states.core(), strict_map_key=False), states.sites())
