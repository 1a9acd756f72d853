"""Crawlers of the FoCUS paper as scorers of a replay: generic ones, and its own breadth-first order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from protego import Protego

from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.scorer import CrawlScorer, PageScores, ReplayVisit, best_first
from linkscore_lab.replay.stored import StoredSite
from linkscore_scoring.features.types import Links

Refuses = Callable[[StoredSite, Links, int], bool]
"""Says of the link in a row of a page whether a crawler leaves it."""

_QUEUE = "queue"


class FirstInFirstOut(CrawlScorer):
    """A crawler that follows links in the order it finds them, but for those it refuses."""

    def __init__(self, refuses: Refuses) -> None:
        self._refuses = refuses

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        event = site.event(visit.number)
        links = event.features.links if event and event.features else Links()
        all_refused = bool(event and event.features and event.features.nofollow)
        n = len(links)
        skip = [all_refused or self._refuses(site, links, row) for row in range(n)]
        return PageScores(links.keys, [0.0] * n, [_QUEUE], [0] * n, (b"",), [0] * n, skip)


def obeys_hints(robots: str = "") -> FirstInFirstOut:
    """Return the generic crawler of section 5.2.1: breadth-first, and it obeys nofollow and robots.txt."""
    rules = Protego.parse(robots)

    def refuses(site: StoredSite, links: Links, row: int) -> bool:
        return "nofollow" in links.rels[row].split() or not rules.can_fetch(links.urls[row], "*")

    return FirstInFirstOut(refuses)


def only_kinds(kinds: Mapping[str, str], wanted: frozenset[str]) -> FirstInFirstOut:
    """Return a crawler that follows links to pages of some kinds alone, which it knows beforehand."""

    def refuses(site: StoredSite, links: Links, row: int) -> bool:
        number = site.number(links.keys[row])
        return number < 0 or kinds.get(site.types.get(site.records[number].key, "")) not in wanted

    return FirstInFirstOut(refuses)


class InOrderFound(InProcessScorer):
    """What a policy does not skip, breadth-first: the online crawl of the FoCUS paper (section 4.4)."""

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        answer = super().visit(site, visit)
        return replace(answer, bucket_names=[_QUEUE], buckets=[0] * len(answer.keys))

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        """See `CrawlScorer.plan`: there is one queue."""
        return best_first([0.0] * len(buckets), waiting, n)
