"""Crawlers that go by words, to compare with: each scores links of a stored site from what it has fetched."""

from __future__ import annotations

import json
import subprocess
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import exp, sqrt
from pathlib import Path

import numpy as np

from linkscore_lab.replay.in_process import CrawlScorer, PageScores, ReplayVisit
from linkscore_lab.replay.prepare import StoredSite
from linkscore_scoring.features.types import Links, PageFeatures
from linkscore_scoring.features.words import text_hashes, url_hashes
from linkscore_scoring.wanted import Topic, Wanted, WordCounts

# What ACHE and deep-deep learn from: relevant is a page among the best fifth so far, and above this.
_LEAST_RELEVANT, _BEST = 0.3, 0.8
_RATE, _START = 0.5, 1e-2  # step of AdaGrad and what its sums begin with; as usual, not tuned
_LINK_SOURCES = 3  # in-links whose anchor counts; as in the simulator these were compared in

_CRAWL4AI = """
import json, sys
from crawl4ai import KeywordRelevanceScorer
for line in sys.stdin:
    asked = json.loads(line)
    scorer = KeywordRelevanceScorer(asked["keywords"], weight=1.0)
    print(json.dumps([scorer.score(url) for url in asked["urls"]]), flush=True)
"""


class Order(CrawlScorer):
    """A crawler that keeps one heap on scores: the base of all here."""

    per_url = True

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        event = site.event(visit.number)
        page = event.features if event else None
        links = page.links if page else Links()
        self.learn(visit.key, page)
        scores = self.scores(visit.key, links)
        return PageScores(links.keys, scores, ["all"], [0] * len(links), (b"",), [0] * len(links))

    def learn(self, key: str, page: PageFeatures | None) -> None:
        """Learn from a page."""

    @abstractmethod
    def scores(self, key: str, links: Links) -> list[float]:
        """Return the score of each link of the page `key`."""


class Crawl4Ai(Order):
    """`KeywordRelevanceScorer` of Crawl4AI as published, best first."""

    def __init__(self, known: Mapping[str, float]) -> None:
        self._known = known

    def scores(self, key: str, links: Links) -> list[float]:
        """Look the scores up: they depend on the URL alone."""
        return [self._known.get(url, 0.0) for url in links.urls]


def crawl4ai_scores(python: Path, query: str, urls: Iterable[str]) -> dict[str, float]:
    """Return what Crawl4AI's scorer gives each URL, run by a Python that has the package."""
    asked = list(urls)
    ran = subprocess.run(  # noqa: S603 - the script above
        [python, "-c", _CRAWL4AI],
        input=json.dumps({"keywords": query.lower().split(), "urls": asked}) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(asked, json.loads(ran.stdout.splitlines()[-1]), strict=True))


class PageRelevance(Order):
    """Classic best-first: a link is worth the relevance of the best page it stands on (De Bra 1994).

    Relevance is that of `topic`, so that the orders differ by what they make of it.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._wanted, self._counts = wanted, WordCounts()
        self._relevance = 0.0
        self._best: dict[str, float] = {}

    def topic(self) -> Topic:
        """Return what is wanted, by today's counts."""
        return Topic(self._wanted, self._counts, {})

    def learn(self, key: str, page: PageFeatures | None) -> None:
        """Count the words of a page."""
        self._relevance = 0.0
        if page is not None and page.words is not None:
            self._counts.add(page.words)
            self._relevance = self.topic().relevance(page.words)

    def scores(self, key: str, links: Links) -> list[float]:
        """Return the relevance of the best page that shows each link."""
        for target in links.keys:
            self._best[target] = max(self._best.get(target, 0.0), self._relevance)
        return [self._best[target] for target in links.keys]


class LinkClassifier(PageRelevance):
    """What ACHE and deep-deep do: logistic regression, online, on words of URL, anchor and place of a link.

    A page among the best fifth so far is an example of a link to follow. Words of the query in the link
    count beside it, so that it knows something before the first relevant page.
    """

    def __init__(self, wanted: Wanted) -> None:
        super().__init__(wanted)
        self._weights: defaultdict[object, float] = defaultdict(float)
        self._squares: defaultdict[object, float] = defaultdict(float)
        self._seen: list[float] = []
        self._anchors: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)

    def learn(self, key: str, page: PageFeatures | None) -> None:
        """Learn whether following the link was right."""
        super().learn(key, page)
        self._seen.append(self._relevance)
        least = max(_LEAST_RELEVANT, float(np.quantile(self._seen, _BEST)))
        features = self._features(key)
        step = 1.0 / (1.0 + exp(-self._logit(features))) - float(self._relevance >= least)
        for feature in features:
            self._squares[feature] += step * step
            self._weights[feature] -= _RATE * step / sqrt(_START + self._squares[feature])
        self._anchors.pop(key, None)

    def scores(self, key: str, links: Links) -> list[float]:
        """Return the probability of each link, squeezed into [0, 1]."""
        topic = self.topic()
        for target, anchor, link_path in zip(links.keys, links.anchors, links.link_paths, strict=True):
            if len(known := self._anchors[target]) < _LINK_SOURCES:
                known.append((anchor, links.link_path_table[link_path]))
        return [
            1.0 / (1.0 + exp(-self._logit(self._features(target)) - 2.0 * self._named(topic, target)))
            for target in links.keys
        ]

    def _named(self, topic: Topic, key: str) -> float:
        anchors = (text_hashes(anchor) for anchor, _ in self._anchors[key])
        return max(map(topic.coverage, [url_hashes(key), *anchors]))

    def _features(self, key: str) -> set[object]:
        found: set[object] = {("url", word) for word in url_hashes(key)}
        for anchor, link_path in self._anchors.get(key, ()):
            found |= {("anchor", word) for word in text_hashes(anchor)} | {("link_path", link_path)}
        return found

    def _logit(self, features: set[object]) -> float:
        return max(-30.0, min(30.0, sum(self._weights.get(feature, 0.0) for feature in features)))
