"""What a crawler that knows the answers would do: bounds to read every other row against. Replay only.

`oracle_label` knows the label of every link's target and nothing of what lies behind it; `oracle_greedy` also
knows every page's links. Greedy is not a strict bound: it never gives a fetch away for a later gain.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Collection, Mapping, Sequence

from linkscore_lab.replay.results import ScoreExplanation
from linkscore_lab.replay.scorer import PageScores, ReplayVisit, best_first
from linkscore_lab.replay.stored import StoredSite

LABEL, GREEDY = "oracle_label", "oracle_greedy"
ORACLES = (LABEL, GREEDY)


class LabelOracle:
    """Wanted pages first, each kind first in, first out.

    Parameters
    ----------
    wanted
        Identities of the wanted pages.
    """

    per_url = False

    def __init__(self, wanted: Collection[str]) -> None:
        self._wanted = wanted

    def begins(self, site: StoredSite, number: int) -> Sequence[tuple[int, float]]:
        """See `CrawlScorer.begins`: a label does not change by it."""
        return ()

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        """See `CrawlScorer.visit`."""
        event = site.event(visit.number)
        keys = event.features.links.keys if event and event.features else []
        good = [self._is_wanted(site, key) for key in keys]
        return _answer(keys, [float(g) for g in good], ["other", "wanted"], [int(g) for g in good])

    def feedback(self, key: str, url: str, reward: float) -> None:
        """See `CrawlScorer.feedback`: it knows already."""

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        """See `CrawlScorer.plan`: all places are filled."""
        return best_first([float(bucket == "wanted") for bucket in buckets], waiting, n)

    def skips(self, links: Sequence[tuple[str, bytes]]) -> Sequence[bool]:
        """See `CrawlScorer.skips`: it never does."""
        return [False] * len(links)

    def explain(self, url: str, key: str, ticket: bytes) -> ScoreExplanation | None:
        """See `CrawlScorer.explain`."""
        return None

    def close(self) -> None:
        """See `CrawlScorer.close`."""

    def _is_wanted(self, site: StoredSite, key: str) -> bool:
        number = site.number(key)
        return number >= 0 and site.records[number].key in self._wanted


class GreedyOracle:
    """Wanted pages first, among equals the page that shows most wanted pages nobody has found yet.

    A page that shows nothing new is worth the more the fewer clicks lie between it and a wanted page. Score =
    (wanted + gain / (1 + gain)) / 2 with gain = wanted pages first seen there, plus half the nearness
    1 / (1 + clicks).

    Parameters
    ----------
    site
        The whole site.
    wanted
        Identities of the wanted pages.
    """

    per_url = True

    def __init__(self, site: StoredSite, wanted: Collection[str]) -> None:
        self._site = site
        self._wanted = [record.key in wanted for record in site.records]
        self._sources = _sources(site)
        self._gain = [sum(self._wanted[t] for t in targets) for targets in site.links]
        self._near = self._nearness()
        self._found = bytearray(len(site.records))
        self._waiting = bytearray(len(site.records))

    def begins(self, site: StoredSite, number: int) -> Sequence[tuple[int, float]]:
        """See `CrawlScorer.begins`: what a page shows is found as soon as it is on its way."""
        fallen = self._find(number).union(*(self._find(target) for target in site.links[number]))
        return [(n, self._score(n)) for n in fallen if self._waiting[n]]

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        """See `CrawlScorer.visit`."""
        event = site.event(visit.number)
        keys = event.features.links.keys if event and event.features else []
        for target in site.links[visit.number]:
            self._waiting[target] = 1
        scores = [self._score(site.number(key)) for key in keys]
        return _answer(keys, scores, ["oracle"], [0] * len(keys))

    def feedback(self, key: str, url: str, reward: float) -> None:
        """See `CrawlScorer.feedback`: it knows already."""

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        """See `CrawlScorer.plan`: all its links are scored one by one."""
        return best_first([0.0] * len(buckets), waiting, n)

    def skips(self, links: Sequence[tuple[str, bytes]]) -> Sequence[bool]:
        """See `CrawlScorer.skips`: it never does."""
        return [False] * len(links)

    def explain(self, url: str, key: str, ticket: bytes) -> ScoreExplanation | None:
        """See `CrawlScorer.explain`."""
        return None

    def close(self) -> None:
        """See `CrawlScorer.close`."""

    def _score(self, number: int) -> float:
        if number < 0:
            return 0.0
        gain = self._gain[number] + 0.5 * self._near[number]
        return (self._wanted[number] + gain / (1.0 + gain)) / 2.0

    def _find(self, number: int) -> set[int]:
        """Note that a page is known of; return the pages that thereby show one wanted page less."""
        if self._found[number] or not self._wanted[number]:
            return set()
        self._found[number] = 1
        for source in self._sources[number]:
            self._gain[source] -= 1
        return set(self._sources[number])

    def _nearness(self) -> list[float]:
        """Return 1 / (1 + clicks to the nearest wanted page) of every record, 0 if none can be reached."""
        clicks = {n: 0 for n, good in enumerate(self._wanted) if good}
        queue = deque(clicks)
        while queue:
            n = queue.popleft()
            for source in self._sources[n]:
                if source not in clicks:
                    clicks[source] = clicks[n] + 1
                    queue.append(source)
        return [1.0 / (1.0 + clicks[n]) if n in clicks else 0.0 for n in range(len(self._wanted))]


def _sources(site: StoredSite) -> list[array[int]]:
    sources = [array("L") for _ in site.records]
    for source, targets in enumerate(site.links):
        for target in targets:
            sources[target].append(source)
    return sources


def _answer(
    keys: Sequence[str], scores: Sequence[float], names: Sequence[str], buckets: Sequence[int]
) -> PageScores:
    return PageScores(keys, scores, names, buckets, (b"",), [0] * len(keys))
