"""What others do with a fetched page, and what it costs them: ``python -m benchmarks.peers NAME < pages``.

Each peer runs in a process of its own, because not all can be installed into one environment. It reads pages
as JSON, a list of ``[url, body]`` with a body's bytes as Latin-1, works on them as a crawler that uses it
would, and prints the CPU milliseconds a page of its work and of parsing the same pages with lxml, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from statistics import median
from typing import Any

Work = Callable[[str, bytes], object]
"""What is done with a page, by its URL and body."""

ROUNDS = 3
"""Rounds that alternate between a peer and the bare parse; medians are printed."""


def bare_parse() -> Work:
    """Parse a page with lxml, the least that anything which reads links pays."""
    import lxml.html

    return lambda url, body: lxml.html.document_fromstring(
        body, parser=lxml.html.HTMLParser(encoding="utf-8")
    )


def scrapy_links() -> Work:
    """Find the links of a page with Scrapy's LinkExtractor, as a CrawlSpider does; nothing is scored."""
    from scrapy.http import HtmlResponse
    from scrapy.linkextractors import LinkExtractor

    extractor = LinkExtractor()
    return lambda url, body: extractor.extract_links(HtmlResponse(url, body=body, encoding="utf-8"))


def hashed_link_text() -> Work:
    """Score links by a linear model over hashed characters of their text, learned online from each page.

    This is the loop of deep-deep with its own sizes: n-grams of 3 to 5 characters in 2^20 columns and
    SGDRegressor. Its experience replay, 300 older pages a step, is left out: this is the least it costs.
    """
    import numpy as np
    from scrapy.http import HtmlResponse
    from scrapy.linkextractors import LinkExtractor
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDRegressor

    extractor = LinkExtractor()
    columns = HashingVectorizer(
        analyzer="char", ngram_range=(3, 5), n_features=1 << 20, binary=True, norm="l2"
    )
    model = SGDRegressor(penalty="l2", alpha=1e-6, learning_rate="constant", eta0=0.1)
    model.partial_fit(columns.transform(["seed"]), np.zeros(1))

    def work(url: str, body: bytes) -> object:
        links = extractor.extract_links(HtmlResponse(url, body=body, encoding="utf-8"))
        if not links:
            return None
        rows = columns.transform([link.text for link in links])
        scores = model.predict(rows)
        best = int(scores.argmax())
        model.partial_fit(rows[best], np.ones(1))  # the reward's value costs nothing; learning from it does
        return scores

    return work


def crawl4ai_scorers() -> Work:
    """Scrape a page with Crawl4AI's own strategy and score its links, as its best-first crawl does."""
    from crawl4ai.content_scraping_strategy import LXMLWebScrapingStrategy
    from crawl4ai.deep_crawling.scorers import (
        CompositeScorer,
        FreshnessScorer,
        KeywordRelevanceScorer,
        PathDepthScorer,
    )

    strategy = LXMLWebScrapingStrategy()
    scorer: Any = CompositeScorer(
        [KeywordRelevanceScorer(["topic", "question", "thread"]), PathDepthScorer(), FreshnessScorer()]
    )

    def work(url: str, body: bytes) -> object:
        links = strategy.scrap(url, body.decode("utf-8", "replace")).links
        return [scorer.score(link.href) for link in (*links.internal, *links.external)]

    return work


PEERS: dict[str, tuple[str, Callable[[], Work]]] = {
    "scrapy_links": ("scrapy", scrapy_links),
    "hashed_link_text": ("scikit-learn", hashed_link_text),
    "crawl4ai_scorers": ("crawl4ai", crawl4ai_scorers),
}
"""By name: the package it needs, and what prepares its work."""


def measure(work: Work, pages: Sequence[tuple[str, bytes]]) -> tuple[float, float]:
    """Return CPU milliseconds a page of `work` and of the bare parse, medians of `ROUNDS` rounds."""
    parse = bare_parse()
    for each in (work, parse):
        _round(each, pages[:10])
    spent = [(_round(work, pages), _round(parse, pages)) for _ in range(ROUNDS)]
    return median(its for its, _ in spent), median(bare for _, bare in spent)


def _round(work: Work, pages: Sequence[tuple[str, bytes]]) -> float:
    started = time.process_time()
    for url, body in pages:
        work(url, body)
    return (time.process_time() - started) / len(pages) * 1e3


def main() -> None:
    """Measure the peer that the first argument names."""
    package, prepare = PEERS[sys.argv[1]]
    pages = [(url, body.encode("latin-1")) for url, body in json.load(sys.stdin)]
    its, bare = measure(prepare(), pages)
    print(json.dumps({"ms": its, "parse_ms": bare, "version": f"{package} {version(package)}"}))


if __name__ == "__main__":
    main()
