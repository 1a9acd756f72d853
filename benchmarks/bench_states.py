"""CPU of the state of a site: written whole, ten new pages of it, read back; and of opening a log.

Sites are stored ones, and generated forums of 1,000 and 3,000 pages. `bare` of ten new pages is the whole
state: what they would cost without events in its place. A log has 300,000 events behind a snapshot.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.generated_site import site_pages
from benchmarks.pages import Corpus, Page
from benchmarks.table import Row
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import FeedbackGiven, ModelActivated, PageFetched, decode, encode
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.hashing import hash64
from linkscore_scoring.site.learning import run as learn
from linkscore_server.residency import MemoryBudget, ResidentCrawl
from linkscore_server.storage.base import Snapshot
from linkscore_server.storage.files import FileLog
from linkscore_server.storage.sites import SiteStates

PAGES, NEW, FORUMS = 240, 10, (1_000, 3_000)
_EVENTS, _GROUP = 300_000, 10
_ROUNDS = 3


def run(corpus: Corpus) -> list[Row]:
    """Return rows for each site and forum, and for the log."""
    rows = [row for name in corpus.names for row in _of_site(name, corpus.pages(name, PAGES))]
    for count in FORUMS:
        pages = [Page(url, "text/html", body) for url, body in site_pages(count)]
        rows += _of_site(f"forum of {count:,}", pages)
    with tempfile.TemporaryDirectory() as folder:
        return [*rows, _of_log(Path(folder))]


def _of_site(name: str, pages: Sequence[Page]) -> list[Row]:
    """Crawl a site, and evict it before its last pages and after: each round by another crawl of one site."""
    events = _events(pages)
    whole, new, back = [], [], []
    for _ in range(_ROUNDS):
        crawl = ResidentCrawl(CrawlConfig("c"), ticket_key=b"key", store=SiteStates(), budget=MemoryBudget(0))
        _apply(crawl, events[:-NEW])
        whole.append(_checkpoint_ms(crawl))
        _apply(crawl, events[-NEW:])
        new.append(_checkpoint_ms(crawl))
        _apply(crawl, [encode(FeedbackGiven("", "other.test", "http://other.test/", b"", 1.0, 0.0))])
        crawl.sites.enforce_budget()
        back.append(_cpu_ms(partial(crawl.sites.__getitem__, next(iter(crawl.sites)))))
    return [
        Row("State of a site, written", name, min(whole), "ms CPU"),
        Row(f"{NEW} new pages, written", name, min(new), "ms CPU", min(whole)),
        Row(f"State and {NEW} pages, read back", name, min(back), "ms CPU"),
    ]


def _of_log(folder: Path) -> Row:
    event = encode(FeedbackGiven("event-id", "forum.test", "https://forum.test/thread/1", b"", 1.0, 0.0))
    log = FileLog(folder, segment_bytes=4 << 20)
    for _ in range(_EVENTS // _GROUP):
        log.append([event] * _GROUP)
    log.save(Snapshot(log.last_seq, b"state"))
    log.close()

    def opened() -> None:
        again = FileLog(folder)
        assert not list(again.read(_EVENTS))
        again.close()

    took = min(_cpu_ms(opened) for _ in range(_ROUNDS))
    return Row("Log opened behind a snapshot", f"{_EVENTS:,} events", took, "ms CPU", target=1_000)


def _events(pages: Sequence[Page]) -> list[bytes]:
    """Return pages as events of one site."""
    extractor, found = Extractor(), []
    for page in pages:
        features = extractor.extract(page.body, url=page.url, content_type=page.content_type)
        event_id = f"{hash64(page.url):x}"
        found.append(
            encode(PageFetched(event_id, "site.test", page.url, features.key, 200, "", b"", 0.0, features))
        )
    return found


def _apply(crawl: ResidentCrawl, events: Sequence[bytes]) -> None:
    for raw in events:
        crawl.apply(crawl.seq + 1, decode(raw), raw=raw)
        for job in crawl.take_jobs():
            learned = learn(job)
            activated = ModelActivated(job.site, job.built_from_seq, learned.digest(), learned.to_state())
            crawl.apply(crawl.seq + 1, activated, learned, encode(activated))


def _checkpoint_ms(crawl: ResidentCrawl) -> float:
    crawl.sites.checkpoint.begin()
    took = _cpu_ms(lambda: crawl.sites.checkpoint.copy_on_write(crawl.sites.checkpoint.pending))
    crawl.sites.checkpoint.end()
    return took


def _cpu_ms(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1e3
