"""From archives to a `StoredSite`: read once, parse on all cores; and what spreads work over cores."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from linkscore_lab.archives import ArchiveRecord, open_archive
from linkscore_lab.datasets.relevance import read_labels
from linkscore_lab.datasets.site import Site, facts_of, identity, identity_or_none
from linkscore_lab.replay.stored import Blobs, StoredRecord, StoredSite, location_key, packed
from linkscore_scoring.engine.events import PageFetched, encode
from linkscore_scoring.errors import InvalidInput, LinkscoreError
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import Words
from linkscore_scoring.hashing import hash64, hash_of

_In = TypeVar("_In")
_Out = TypeVar("_Out")
# Items under way for each process: one at work, two waiting. Chosen, not measured.
_PER_WORKER = 3
_work: Callable[[Any], Any] = id


def cores() -> int:
    """Return how many processes may work at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(work: Callable[[_In], _Out], items: Iterable[_In], workers: int) -> Iterator[_Out]:
    """Yield ``work(item)`` for each item in order, computed by `workers` forked processes; 1 forks none.

    `work` and what it holds is there in the workers without being sent; items and results are sent.
    """
    global _work
    if workers <= 1:
        yield from map(work, items)
        return
    _work = work
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("fork")) as pool:
        pending: deque[Future[_Out]] = deque()
        try:
            for item in items:
                pending.append(pool.submit(_call, item))
                if len(pending) >= _PER_WORKER * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _call(item: Any) -> Any:
    return _work(item)


# Records sent to a worker at a time: sending costs little beside parsing. Chosen, not measured.
_CHUNK = 32
# Bytes of a file hashed at a time.
_DIGEST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _Parsed:
    """What a worker sends back of a record: everything but where its bytes lie."""

    record: StoredRecord
    event: bytes = b""
    body: bytes = b""
    links: bytes = b""


@dataclass(frozen=True, slots=True)
class SiteSource:
    """Where a site comes from: archives read as one, and labels of its pages."""

    archives: Sequence[Path]
    labels: Path | None = None


def prepare_site(
    sources: Sequence[SiteSource],
    *,
    workers: int = 0,
    seen_page: Callable[[int], None] = lambda n: None,
    layout: bool = False,
    words: Words = Words.NONE,
) -> StoredSite:
    """Read sources as one crawl with an entry each; `seen_page` is called with the records read so far.

    With `layout` pages come with the signals of their layout, with `words` with their `PageWords`, for
    policies that read them.
    """
    blobs = Blobs()
    reading = _Reading(partial(_parse_all, layout=layout, words=words), workers or cores(), seen_page)
    try:
        return _read(sources, blobs, reading)
    except BaseException:
        blobs.close()
        raise


def prepare_generated(
    site: Site, *, workers: int = 1, layout: bool = False, seen_page: Callable[[int], None] = lambda n: None
) -> StoredSite:
    """Return a generated site as one crawled whole; its pages are what it labels, the entry first."""
    answers = (ArchiveRecord(url, *site.respond(url)) for url in site.labels())
    reading = _Reading(partial(_parse_all, layout=layout), workers or cores(), seen_page)
    records, hashes, blobs = _parsed(answers, Blobs(), reading)
    stored = StoredSite(site.name, [identity(site.entry)], records, [], site.labels(), "", 0, blobs)
    stored.links = _linked(stored, hashes)
    return stored


@dataclass(frozen=True, slots=True)
class _Reading:
    """How records are read: by what, in how many processes, and who hears of them."""

    parse_all: Callable[[Sequence[ArchiveRecord]], list[_Parsed]]
    workers: int
    seen_page: Callable[[int], None]


def _parsed(
    answers: Iterable[ArchiveRecord], blobs: Blobs, reading: _Reading
) -> tuple[list[StoredRecord], list[array[int]], Blobs]:
    """Return records, and the hashes of the links of each, whose bytes are kept."""
    records: list[StoredRecord] = []
    hashes: list[array[int]] = []
    for chunk in spread(reading.parse_all, _chunks(answers), reading.workers):
        records += [_kept(parsed, blobs) for parsed in chunk]
        hashes += [array("Q", parsed.links) for parsed in chunk]
        reading.seen_page(len(records))
    return records, hashes, blobs


def _read(sources: Sequence[SiteSource], blobs: Blobs, reading: _Reading) -> StoredSite:
    archives = [open_archive(source.archives) for source in sources]
    answers = (record for archive in archives for record in archive.records())
    records, hashes, _ = _parsed(answers, blobs, reading)
    if not any(record.is_page for record in records):
        rule = f"needs at least one page, got {len(records)} records{archives[0].told()}"
        raise InvalidInput(f"{archives[0].name}: {rule}", field="warc")
    site = StoredSite(
        name="+".join(archive.name for archive in archives),
        entries=[identity(archive.entry) for archive in archives],
        records=records,
        links=[],
        types=_types(sources),
        digest=digest_of(path for source in sources for path in source.archives),
        damaged=sum(len(archive.damage) for archive in archives),
        blobs=blobs,
    )
    site.links = _linked(site, hashes)
    return site


def _types(sources: Iterable[SiteSource]) -> dict[str, str]:
    return {
        key: kind for source in sources if source.labels for key, kind in read_labels(source.labels).items()
    }


def digest_of(files: Iterable[Path]) -> str:
    """Return the sha256 of some files one after the other, in hex."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            while block := stream.read(_DIGEST_BYTES):
                digest.update(block)
    return digest.hexdigest()


def _chunks(answers: Iterable[ArchiveRecord]) -> Iterator[list[ArchiveRecord]]:
    records = iter(answers)
    while chunk := list(islice(records, _CHUNK)):
        yield chunk


def _parse_all(records: Sequence[ArchiveRecord], *, layout: bool, words: Words = Words.NONE) -> list[_Parsed]:
    found = (_parse(record, layout=layout, words=words) for record in records)
    return [parsed for parsed in found if parsed is not None]


def _parse(record: ArchiveRecord, *, layout: bool, words: Words) -> _Parsed | None:
    """Read one record; None if its URL cannot be parsed."""
    key = identity_or_none(record.url)
    if key is None:
        return None
    headers = {name.lower(): value for name, value in record.headers.items()}
    content_type, location = headers.get("content-type", ""), headers.get("location", "")
    stored = StoredRecord(record.url, key, record.status, content_type)
    if 300 <= record.status < 400 and location:
        return _Parsed(replace(stored, location=location_key(record.url, location)))
    if record.status >= 400:
        return _Parsed(stored)
    return _parse_page(record, stored, layout=layout, words=words)


def _parse_page(record: ArchiveRecord, stored: StoredRecord, *, layout: bool, words: Words) -> _Parsed:
    try:
        features = extract(
            record.body, url=record.url, content_type=stored.content_type, layout=layout, words=words
        )
    except LinkscoreError:
        return _Parsed(replace(stored, status=599))
    facts = facts_of(features)
    event = PageFetched("", "", record.url, stored.key, record.status, "", b"", 0.0, features)
    keys = dict.fromkeys(features.links.keys)
    keys.pop("", None)
    links = array("Q", map(hash_of, keys)).tobytes()
    return _Parsed(replace(stored, facts=facts), packed(encode(event)), packed(record.body), links)


def _kept(parsed: _Parsed, blobs: Blobs) -> StoredRecord:
    if not parsed.event:
        return parsed.record
    return replace(parsed.record, event=blobs.add(parsed.event), body=blobs.add(parsed.body))


def kept_record(record: ArchiveRecord, blobs: Blobs) -> StoredRecord:
    """Return one record whose bytes are kept; raises ValueError if its URL cannot be parsed."""
    parsed = _parse(record, layout=False, words=Words.NONE)
    if parsed is None:
        raise ValueError(record.url)
    return _kept(parsed, blobs)


def _linked(site: StoredSite, hashes: Sequence[array[int]]) -> list[array[int]]:
    """Return the links of each record as numbers of the records they end at."""
    ends = {hash64(key): n for key, n in site.ends.items() if n >= 0}
    known = (filter(ends.__contains__, keys) for keys in hashes)
    return [array("L", dict.fromkeys(map(ends.__getitem__, keys))) for keys in known]
