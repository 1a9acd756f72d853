"""Crawls of stored sites by the letter of a paper: verdicts obeyed, or a sample that is free."""

from __future__ import annotations

from collections.abc import Sequence

from linkscore_lab.datasets.site import identity_or_none
from linkscore_lab.replay.crawl import CrawlPlan, Frontier, StoredCrawl, Trace, Waiting
from linkscore_lab.replay.in_process import CrawlScorer, InProcessScorer, PageScores
from linkscore_lab.replay.prepare import StoredSite
from linkscore_scoring.policies.base import SKIP

MAX_WAYS = 6
"""A bound: links by which a record is remembered to have been found. Chosen, not measured."""


def obedient(site: StoredSite, plan: CrawlPlan, scorer: CrawlScorer) -> Trace:
    """Crawl, fetching nothing that the policy says to skip at that moment."""
    assert isinstance(scorer, InProcessScorer)
    return _Obedient(site, plan, scorer).run()


def seeded(site: StoredSite, plan: CrawlPlan, scorer: CrawlScorer) -> Trace:
    """Crawl as `obedient` does, fetching the seeds that the policy names first (`linkscore seeds`)."""
    assert isinstance(scorer, InProcessScorer)
    return _Seeded(site, plan, scorer).run()


def sampling_free(site: StoredSite, plan: CrawlPlan, scorer: CrawlScorer) -> Trace:
    """Crawl, charging nothing before the site is learned (the protocol of Xu 2018)."""
    assert isinstance(scorer, InProcessScorer)
    return _SamplingFree(site, plan, scorer).run()


def is_learned(scorer: InProcessScorer) -> bool:
    """Say whether any site of a crawl is learned."""
    return any(shard.model.templates is not None for shard in scorer.model.sites.values())


class _SamplingFree(StoredCrawl):
    scorer: InProcessScorer

    def is_charged(self, key: str) -> bool:
        return is_learned(self.scorer) and super().is_charged(key)


class _Obedient(StoredCrawl):
    scorer: InProcessScorer
    frontier: VerdictFrontier

    def __init__(self, site: StoredSite, plan: CrawlPlan, scorer: InProcessScorer) -> None:
        super().__init__(site, plan, scorer)
        self.frontier = VerdictFrontier(self.frontier, scorer)

    def offer(self, answer: PageScores) -> None:
        answer.skip = ()
        super().offer(answer)


class _Seeded(_Obedient):
    def next(self) -> Waiting | None:
        for shard in self.scorer.model.sites.values():
            for seed in shard.served.suggest_seeds(6, shard.model):
                key = identity_or_none(seed.url) or ""
                if (number := self.site.ends.get(key, -1)) >= 0 and number not in self.done:
                    self.frontier.taken(number)
                    return Waiting(number, key, b"")
        return self.frontier.pop()


class VerdictFrontier(Frontier):
    """A frontier that asks about a link once more before it hands it out, and keeps aside what is to skip.

    A link is handed out unless every way it was found by is to skip at that moment: a link that was taken
    for good before the policy knew better is left, one that was to skip and no longer is comes back. What is
    kept aside is asked about again when nothing else waits.
    """

    def __init__(self, inner: Frontier, scorer: InProcessScorer) -> None:
        self._inner, self._scorer = inner, scorer
        self._ways: dict[int, dict[bytes, Waiting]] = {}
        self._aside: dict[int, Waiting] = {}

    def offer(self, link: Waiting, bucket: str, score: float) -> None:
        ways = self._ways.setdefault(link.number, {})
        if len(ways) < MAX_WAYS:
            ways.setdefault(link.ticket, link)
        self._inner.offer(link, bucket, score)

    def rescore(self, number: int, score: float) -> None:
        self._inner.rescore(number, score)

    def taken(self, number: int) -> None:
        self._aside.pop(number, None)
        self._ways.pop(number, None)
        self._inner.taken(number)

    def ended(self, number: int) -> None:
        self._inner.ended(number)

    def pop(self) -> Waiting | None:
        while (link := self._inner.pop()) is not None:
            if (chosen := self._allowed(link.number)) is not None:
                self._ways.pop(link.number, None)
                return chosen
            self._inner.ended(link.number)  # nothing of it is under way
            self._aside[link.number] = link
        for number in list(self._aside):
            if (chosen := self._allowed(number)) is not None:
                self.taken(number)
                return chosen
        return None

    def _allowed(self, number: int) -> Waiting | None:
        """Return a way by which a record is not to skip, None if there is none."""
        ways = list(self._ways.get(number, {}).values())
        skips = self._skips([way.key for way in ways], [way.ticket for way in ways])
        return next((way for way, skip in zip(ways, skips, strict=True) if not skip), None)

    def _skips(self, keys: Sequence[str], tickets: Sequence[bytes]) -> list[bool]:
        found = self._scorer.queries.score_links(keys, keys, tickets, [""] * len(keys))
        return [verdict == SKIP for verdict in found.verdicts or [0] * len(keys)]
