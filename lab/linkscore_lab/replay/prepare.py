"""From archives to a `StoredSite`: read once, parse on all cores; and what spreads work over cores."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple, TypeVar

import zstandard

from linkscore_lab.archives import ArchiveRecord, Damage, open_archive, told
from linkscore_lab.datasets.site import (
    PageFacts,
    Reply,
    Site,
    facts_of,
    identity,
    identity_or_none,
    read_labels,
    resolve,
)
from linkscore_scoring.engine.events import PageFetched, decode, encode
from linkscore_scoring.errors import InvalidInput, LinkscoreError
from linkscore_scoring.features.html import extract
from linkscore_scoring.hashing import hash64, hash_of

# Redirects followed. Chosen, not measured.
MAX_REDIRECTS = 10
# zstd's fastest regular level: pages are packed once and thrown away with the process. Chosen, not measured.
_LEVEL = 1


class Blob(NamedTuple):
    """Where some bytes lie: offset and compressed length."""

    offset: int
    length: int


NOTHING = Blob(0, 0)


def packed(data: bytes) -> bytes:
    """Return some bytes as `Blobs` keeps them."""
    return zstandard.compress(data, _LEVEL)


class Blobs:
    """An append-only file of compressed byte strings that vanishes with the process.

    Reading moves no file position: processes and threads may read at the same time.
    """

    def __init__(self) -> None:
        self._file = TemporaryFile(prefix="linkscore-replay-", buffering=0)  # noqa: SIM115 - lives as long as this
        self._end = 0

    def add(self, data: bytes) -> Blob:
        """Keep bytes that are `packed`."""
        self._file.write(data)
        blob = Blob(self._end, len(data))
        self._end += len(data)
        return blob

    def read(self, blob: Blob) -> bytes:
        """Return bytes as they were before they were packed; nothing for `NOTHING`."""
        if not blob.length:
            return b""
        return zstandard.decompress(os.pread(self._file.fileno(), blob.length, blob.offset))

    def __getstate__(self) -> bytes:
        return os.pread(self._file.fileno(), self._end, 0)

    def __setstate__(self, state: bytes) -> None:
        self.__init__()  # type: ignore[misc]
        self._file.write(state)
        self._end = len(state)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One response of the archive."""

    url: str  # Its URL as stored, and the identity of that
    key: str
    status: int  # Of the response
    content_type: str
    location: str = ""  # Identity it redirects to, empty if it does not
    event: Blob = NOTHING  # Where its features and its body lie; nothing without a usable page
    body: Blob = NOTHING
    # What the metrics need of it, without links
    facts: PageFacts = field(default_factory=lambda: PageFacts((), ""))

    @property
    def is_page(self) -> bool:
        """Whether it is a page: no redirect, no error."""
        return not self.location and self.status < 400


@dataclass(slots=True)
class StoredSite:
    """The records of one or several archives by number; a context manager that gives their bytes back.

    Of several records with one identity the first counts, of those without an error if there are any.
    """

    name: str  # File name without ``.warc.gz``; several joined by ``+``
    entries: list[str]  # Identity of the entry page of each archive
    records: list[StoredRecord]  # All responses
    # For each record the records its distinct links lead to, redirects followed, document order
    links: list[array[int]]
    types: Mapping[str, str]  # Page type by identity, as the labels say
    digest: str  # sha256 of the archives
    damage: Sequence[Damage]  # What could not be read
    blobs: Blobs
    # Number of the record a request for an identity ends at, redirects followed; -1 out of the archive
    ends: dict[str, int] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)  # Number of the record of an identity

    def __post_init__(self) -> None:
        # A page wins over an error of the same URL, whichever came first.
        numbered = sorted(enumerate(self.records), key=lambda row: row[1].status >= 400)
        self.first = {record.key: n for n, record in reversed(numbered)}
        self.ends = {key: self._end(n) for key, n in self.first.items()}

    def __enter__(self) -> StoredSite:
        return self

    def __exit__(self, *error: object) -> None:
        self.blobs.close()

    @property
    def entry(self) -> str:
        """URL of the first entry page, as stored."""
        return self.records[self.first[self.entries[0]]].url

    def labels(self) -> Mapping[str, str]:
        """Return the page type of each labelled page, by identity."""
        return self.types

    def respond(self, url: str) -> Reply:
        """Answer as the site did, by identity: a page, a redirect, an error without its body; else a 404."""
        number = self.first.get(identity_or_none(url) or "", -1)
        if number < 0:
            return Reply(404, {"Content-Type": "text/plain"}, b"no record of this URL\n")
        record = self.records[number]
        headers = {"Content-Type": record.content_type} if record.content_type else {}
        headers |= {"Location": record.location} if record.location else {}
        return Reply(record.status, headers, self.body(number))

    def number(self, key: str) -> int:
        """Return the number of the record a request for `key` ends at, -1 if it leads out of the archive."""
        return self.ends.get(key, -1)

    def event(self, number: int) -> PageFetched | None:
        """Return a page as the event of its fetch, None for an error; costs a decoding."""
        blob = self.records[number].event
        event = decode(self.blobs.read(blob)) if blob.length else None
        return event if isinstance(event, PageFetched) else None

    def body(self, number: int) -> bytes:
        return self.blobs.read(self.records[number].body)

    def reachable(self) -> list[int]:
        """Return the pages that can be reached from the entries, in breadth-first order."""
        first = list(map(self.number, self.entries))
        seen = dict.fromkeys(n for n in first if n >= 0)
        frontier = deque(seen)
        while frontier:
            for target in self.links[frontier.popleft()]:
                if target not in seen:
                    seen[target] = None
                    frontier.append(target)
        return [n for n in seen if self.records[n].is_page]

    def _end(self, number: int) -> int:
        for _ in range(MAX_REDIRECTS):
            location = self.records[number].location
            if not location:
                return number
            number = self.first.get(location, -1)
            if number < 0:
                return -1
        return -1


def location_key(base: str, location: str) -> str:
    """Return the identity a ``Location`` header leads to; one that names nothing to crawl leads nowhere."""
    target = resolve(base, location)
    return (identity_or_none(target) if target else None) or f"nowhere {location}"


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
    words: bool = False,
) -> StoredSite:
    """Read sources as one crawl with an entry each; `seen_page` is called with the records read so far.

    With `layout` pages come with the signals of their layout, with `words` with their `PageWords`, for
    policies that read them.
    """
    blobs, parse = Blobs(), partial(_parse, layout=layout, words=words)
    try:
        archives = [open_archive(source.archives) for source in sources]
        answers = (record for archive in archives for record in archive.records())
        records, hashes = _parsed(answers, blobs, parse, workers, seen_page)
        damage = [bad for archive in archives for bad in archive.damage]
        if not any(record.is_page for record in records):
            rule = f"needs at least one page, got {len(records)} records{told(damage)}"
            raise InvalidInput(f"{archives[0].name}: {rule}", field="warc")
        labels = [read_labels(source.labels) for source in sources if source.labels]
        site = StoredSite(
            name="+".join(archive.name for archive in archives),
            entries=[identity(archive.entry) for archive in archives],
            records=records,
            links=[],
            types={key: kind for of_source in labels for key, kind in of_source.items()},
            digest=digest_of(path for source in sources for path in source.archives),
            damage=damage,
            blobs=blobs,
        )
    except BaseException:
        blobs.close()
        raise
    site.links = _linked(site, hashes)
    return site


def prepare_generated(
    site: Site, *, workers: int = 1, layout: bool = False, seen_page: Callable[[int], None] = lambda n: None
) -> StoredSite:
    """Return a generated site as one crawled whole; its pages are what it labels, the entry first."""
    answers = (ArchiveRecord(url, *site.respond(url)) for url in site.labels())
    blobs, parse = Blobs(), partial(_parse, layout=layout, words=False)
    records, hashes = _parsed(answers, blobs, parse, workers, seen_page)
    stored = StoredSite(site.name, [identity(site.entry)], records, [], site.labels(), "", (), blobs)
    stored.links = _linked(stored, hashes)
    return stored


def _parsed(
    answers: Iterator[ArchiveRecord],
    blobs: Blobs,
    parse: Callable[[ArchiveRecord], _Parsed | None],
    workers: int,
    seen_page: Callable[[int], None],
) -> tuple[list[StoredRecord], list[array[int]]]:
    """Return records, and the hashes of the links of each, whose bytes are kept."""
    records: list[StoredRecord] = []
    hashes: list[array[int]] = []
    chunks = iter(lambda: list(islice(answers, _CHUNK)), [])
    for chunk in spread(lambda chunk: [*filter(None, map(parse, chunk))], chunks, workers or cores()):
        records += [_kept(parsed, blobs) for parsed in chunk]
        hashes += [array("Q", parsed.links) for parsed in chunk]
        seen_page(len(records))
    return records, hashes


def digest_of(files: Iterable[Path]) -> str:
    """Return the sha256 of some files one after the other, in hex."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            hashlib.file_digest(stream, lambda: digest)
    return digest.hexdigest()


def _parse(record: ArchiveRecord, *, layout: bool, words: bool) -> _Parsed | None:
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


def _parse_page(record: ArchiveRecord, stored: StoredRecord, *, layout: bool, words: bool) -> _Parsed:
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
    parsed = _parse(record, layout=False, words=False)
    if parsed is None:
        raise ValueError(record.url)
    return _kept(parsed, blobs)


def _linked(site: StoredSite, hashes: Sequence[array[int]]) -> list[array[int]]:
    """Return the links of each record as numbers of the records they end at."""
    ends = {hash64(key): n for key, n in site.ends.items() if n >= 0}
    known = (filter(ends.__contains__, keys) for keys in hashes)
    return [array("L", dict.fromkeys(map(ends.__getitem__, keys))) for keys in known]
