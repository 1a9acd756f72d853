"""CPU of a crawl that is told in words what it wants, beside one by `harvest` on the same pages."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

from benchmarks.pages import Corpus, Page
from benchmarks.table import Row
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, PageFetched
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import PageFeatures, Words
from linkscore_scoring.wanted import Wanted, WantedQuery

ROUNDS, _PAGES = 5, 200
# Of common words, so that links and pages have signs to weigh.
_WANTED = Wanted((WantedQuery("how to build and run the editor"),))


def run(corpus: Corpus) -> list[Row]:
    """Return CPU a page and a link, in turns, so that both have the same machine."""
    return [row for site in corpus.names for row in _rows(site, corpus.pages(site, _PAGES))]


def _rows(site: str, pages: Sequence[Page]) -> list[Row]:
    plain, counted, spoken = _in_turns([partial(_features, pages, words) for words in Words])
    read = _features(pages, Words.COUNTED)
    links = sum(len(page.links) for page in read)
    harvest, topic = _in_turns([partial(_crawl, read, None), partial(_crawl, read, _WANTED)])
    n, per_page = len(pages), "ms CPU/page"
    return [
        Row("Reading a page with its words", site, 1e3 * counted / n, per_page, 1e3 * plain / n),
        Row("Reading a page, its language too", site, 1e3 * spoken / n, per_page, 1e3 * plain / n),
        Row("Taking in by topic, to harvest", site, 1e3 * topic / n, per_page, 1e3 * harvest / n),
        Row("The same a link", site, 1e6 * topic / links, "us CPU/link", 1e6 * harvest / links),
    ]


def _in_turns(works: Sequence[Callable[[], object]]) -> list[float]:
    """Return seconds of CPU of each, the median of its rounds; the first round warms caches."""
    spent: list[list[float]] = [[] for _ in works]
    for _ in range(1 + ROUNDS):
        for work, times in zip(works, spent, strict=True):
            began = time.process_time()
            work()
            times.append(time.process_time() - began)
    return [median(times[1:]) for times in spent]


def _features(pages: Sequence[Page], words: Words) -> list[PageFeatures]:
    extractor = Extractor()
    return [
        extractor.extract(page.body, url=page.url, content_type=page.content_type, words=words)
        for page in pages
    ]


def _crawl(pages: Sequence[PageFeatures], wanted: Wanted | None) -> None:
    """Apply each page as the event a server would write; its links are scored with it."""
    config = CrawlConfig("bench", PolicyChoice("topic" if wanted else "harvest"), wanted=wanted)
    model = CrawlModel(config, ticket_key=b"bench")
    model.apply(1, ConfigChanged(config.to_state()))
    for seq, page in enumerate(pages, 2):
        model.apply(
            seq, PageFetched("", model.site_of(page.url), page.url, page.key, 200, "", b"", 0.0, page)
        )
