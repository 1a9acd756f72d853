"""Memory and start-up beside a bare grpc.aio server's: at rest, for a learned site, and for a page of it."""

from __future__ import annotations

from statistics import median

from benchmarks.bench_ingest import await_learned, ingest
from benchmarks.pages import Corpus
from benchmarks.servers import bare, create_crawl, linkscore
from benchmarks.table import Row
from linkscore_scoring.kernels import KERNELS, PURE

STARTS = 3
FIRST, LAST = 300, 780
_MB = 1e6


def run(corpus: Corpus) -> list[Row]:
    """Return start-up seconds, megabytes at rest and of a learned site, kilobytes of a page."""
    return [*_at_rest(), *_of_sites(corpus)]


def _at_rest() -> list[Row]:
    ours, others, sizes = [], [], []
    for _ in range(STARTS):
        with linkscore() as mine, bare() as other:
            ours.append(mine.start_s)
            others.append(other.start_s)
            sizes.append((mine.rss_bytes() / _MB, other.rss_bytes() / _MB))
    rest, bare_rest = map(median, zip(*sizes, strict=True))
    return [
        Row("Start to SERVING", "empty folder", median(ours), "s", median(others)),
        Row("Memory at rest", "empty folder", rest, "MB", bare_rest),
    ]


def _of_sites(corpus: Corpus) -> list[Row]:
    """Learn one site after the other in one server, by each reader that is there."""
    readers = (False, True) if KERNELS is not PURE else (False,)
    return [row for native in readers for row in _learned(corpus, native=native)]


def _learned(corpus: Corpus, *, native: bool) -> list[Row]:
    reader = ", compiled reader" if native else ""
    rows = []
    with linkscore(native=native) as server:
        for site in corpus.names:
            pages = corpus.pages(site, LAST)
            crawl, empty = create_crawl(server, site), server.rss_bytes()
            ingest(server, crawl, pages[:FIRST], 10)
            await_learned(server, crawl)
            learned = server.rss_bytes()
            ingest(server, crawl, pages[FIRST:], 10)
            grown = (server.rss_bytes() - learned) / max(1, len(pages) - FIRST)
            rows.append(Row(f"Memory of a site, {FIRST} pages{reader}", site, (learned - empty) / _MB, "MB"))
            rows.append(Row(f"Memory of a page, {FIRST}-{len(pages)}{reader}", site, grown / 1e3, "KB/page"))
    return rows
