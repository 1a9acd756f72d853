"""What a page changes beyond its links reaches the crawler, for policies whose values move per URL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.policies import answers
from linkscore_scoring.policies.answers import KnownUrl
from linkscore_scoring.policies.base import Explanation, Policy, Scored, Scores
from linkscore_scoring.policies.registry import register
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch, PageObservation
from support.recorded_crawls import model, page

A, B, C, D = (f"http://h/{name}" for name in "abcd")
FIRST_WAITING = PolicyChoice("toy_waiting")


class Waiting(Policy):
    """URLs gain a point whenever a page that does not link to them is fetched."""

    name = "toy_waiting"
    per_url = True

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.points: dict[int, int] = {}
        self.urls: dict[int, str] = {}
        self.moved: list[KnownUrl] = []

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        self.urls |= dict(zip(page.links.keys, page.links.urls, strict=True))
        waiting = [
            key for key in self.points if key not in page.links.keys and not site.memory.is_fetched(key)
        ]
        self.points = dict.fromkeys(self.urls, 0) | {key: self.points[key] + 1 for key in waiting}
        self.moved = [(key, self.urls[key]) for key in waiting]

    def rescored(self, site: SiteModel) -> list[KnownUrl]:
        return self.moved

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        points = [self.points.get(key, 0) for key in links.keys]
        return Scored(np.array(points) / 10.0, [f"w{n}" for n in points])

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        return np.array([int(bucket[1:]) for bucket in buckets]) / 10.0

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        return [Explanation("waiting", []) for _ in links.urls]


register(Waiting)


def waiting(**changes: Any) -> CrawlModel:
    return model(**{"policy": FIRST_WAITING, "extra_policies": (), **changes})


def test_no_more_urls_are_named_than_the_cap() -> None:
    many = [f"http://h/{n}" for n in range(answers.MAX_RESCORED + 5)]
    crawl = waiting()
    crawl.apply(1, page(A, *many))
    outcome = crawl.apply(2, page(A))
    assert outcome.rescored_urls == many[: answers.MAX_RESCORED]
    assert len(outcome.rescored.scores) == answers.MAX_RESCORED == 1_000
