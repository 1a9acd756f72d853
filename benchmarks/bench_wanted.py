"""CPU of a crawl that is told in words what it wants, beside one that is not, on the same pages.

Reading a page: its features with words, with words and language, and with words and how well it reads, beside
features alone. Taking it in:
the event of a page through the whole library and its links scored, by `topic` beside `harvest`; what `topic`
adds to the state of the crawl is a row of its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgpack

from benchmarks.pages import Corpus, Page
from benchmarks.table import Row
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import PageFeatures, Words
from linkscore_scoring.features.words import language_of
from linkscore_scoring.wanted import Wanted, WantedQuery

_PAGES = 250
_ROUNDS = 3  # the best of them counts, as other work on the machine only adds
_READ = (Words.NONE, Words.COUNTED, Words.WITH_LANGUAGE, Words.COUNTED | Words.QUALITY)
# Words that stand on some pages of every stored site: a query of words that are nowhere would cost less.
_WANTED = Wanted((WantedQuery("how to build a list of new pages"),))


def run(corpus: Corpus) -> list[Row]:
    """Return rows for each site."""
    language_of("The first call loads the model of the library. " * 2)
    return [row for name in corpus.names for row in _rows(name, corpus.pages(name, _PAGES))]


def _rows(site: str, pages: Sequence[Page]) -> list[Row]:
    plain, counted, spoken, good = (min(_reading(pages, read) for _ in range(_ROUNDS)) for read in _READ)
    events = _events(pages)
    harvest = min(_taking_in(events, "harvest")[0] for _ in range(_ROUNDS))
    topic, state = min(_taking_in(events, "topic") for _ in range(_ROUNDS))
    return [
        Row("reading a page with its words", site, counted, "ms CPU/page", plain),
        Row("reading a page with words and language", site, spoken, "ms CPU/page", plain),
        Row("reading a page with words and how well it reads", site, good, "ms CPU/page", plain),
        Row(
            "taking a page in and scoring its links, topic beside harvest",
            site,
            topic,
            "ms CPU/page",
            harvest,
        ),
        Row("state of topic that all sites share", site, state, "KB"),
    ]


def _reading(pages: Sequence[Page], words: Words) -> float:
    extractor, started = Extractor(), time.process_time()
    for page in pages:
        _features(extractor, page, words)
    return _ms_each(started, pages)


def _events(pages: Sequence[Page]) -> list[PageFetched]:
    extractor = Extractor()
    found = [(page.url, _features(extractor, page, Words.COUNTED)) for page in pages]
    return [PageFetched("", "site", url, read.key, 200, "", b"", 0.0, read) for url, read in found if read]


def _features(extractor: Extractor, page: Page, words: Words) -> PageFeatures | None:
    try:
        return extractor.extract(page.body, url=page.url, content_type=page.content_type, words=words)
    except InvalidPage:
        return None


def _taking_in(events: Sequence[PageFetched], policy: str) -> tuple[float, float]:
    """Return ms a page and KB of what the policy shares between sites."""
    wanted = _WANTED if policy == "topic" else None
    model = CrawlModel(CrawlConfig("wanted", PolicyChoice(policy), wanted=wanted), ticket_key=b"key")
    started = time.process_time()
    for event in events:
        model.apply(model.seq + 1, event)
    cost = _ms_each(started, events)
    return cost, len(msgpack.packb(model.crawl_wide.to_state())) / 1e3


def _ms_each(started: float, items: Sequence[object]) -> float:
    return (time.process_time() - started) / len(items) * 1e3
