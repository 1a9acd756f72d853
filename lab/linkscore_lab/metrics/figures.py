"""The figures of one crawl, each a function of the order in which pages came.

Sources: Xu, Gao and Callan 2018 (valid ratio, entropy, eq. 13); Jiang, Song, Yu and Lin 2013 (FoCUS:
effectiveness and coverage).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log2

from linkscore_lab.datasets.survey import PageFacts


def ratio(part: float, whole: float) -> float:
    """Return part / whole; 0 for an empty whole (Xu 2018 count 0/0 so)."""
    return part / whole if whole else 0.0


def valid_ratio(order: Sequence[str], wanted: Collection[str]) -> float:
    """Return wanted fetches / fetches; of a crawl for a target type this is the harvest rate."""
    return ratio(sum(key in wanted for key in order), len(order))


def recall(order: Iterable[str], wanted: Collection[str]) -> float:
    """Return the share of `wanted` that was fetched; 0 if nothing is wanted."""
    return ratio(len({key for key in order if key in wanted}), len(wanted))


def f_measure(precision: float, recall: float) -> float:
    """Return the harmonic mean 2PR / (P + R); the precision of a crawl is its valid ratio."""
    return ratio(2 * precision * recall, precision + recall)


def harvest_curve(order: Iterable[str], wanted: Collection[str]) -> list[int]:
    """Return good(n) for n = 1, 2, ...: wanted pages among the first n fetches."""
    return list(accumulate(int(key in wanted) for key in order))


def area(curve: Sequence[int], n_reachable: int, percent: int) -> float:
    """Return the area under the harvest curve over the first `percent` of a site, in [0, 1].

    The sum of good(n) over n = 1..N divided by N (N + 1) / 2, N = `percent` of the reachable pages, rounded
    down. A crawl that ends before N fetches keeps its last value; 0 where N is 0.

    Parameters
    ----------
    curve
        good(n) for n = 1, 2, ...
    n_reachable
        Reachable pages of the site.
    percent
        Share of the site looked at, in [0, 100].
    """
    n_early = n_reachable * percent // 100
    early = curve[:n_early]
    missing = n_early - len(early)
    total = sum(early) + missing * (early[-1] if early else 0)
    return ratio(total, n_early * (n_early + 1) / 2)


def fetches_to(curve: Iterable[int], n_wanted: int, percent: int) -> int | None:
    """Return how many fetches it took to have `percent` of the wanted pages; None if it never had them."""
    needed = -(-n_wanted * percent // 100)
    if not needed:
        return None
    return next((n for n, good in enumerate(curve, start=1) if good >= needed), None)


def valid_ratio_distinct(
    order: Sequence[str], pages: Mapping[str, PageFacts], wanted: Collection[str]
) -> float:
    """Return distinct contents among the wanted fetches / fetches; 0 for an empty crawl."""
    return ratio(len({_content(key, pages) for key in order if key in wanted}), len(order))


def distinct(order: Iterable[str], pages: Mapping[str, PageFacts]) -> int:
    """Return the number of different contents fetched."""
    return len({_content(key, pages) for key in order})


def duplicates(order: Sequence[str], pages: Mapping[str, PageFacts]) -> int:
    """Return the number of fetches whose content had been fetched before."""
    return len(order) - distinct(order, pages)


def text_share(order: Iterable[str], pages: Mapping[str, PageFacts]) -> float:
    """Return characters of distinct long text blocks fetched / of all reachable pages; 0 without any."""
    fetched = _characters(pages[key] for key in order if key in pages)
    return ratio(fetched, _characters(pages.values()))


def _characters(pages: Iterable[PageFacts]) -> int:
    return sum(dict(block for page in pages for block in page.blocks).values())


def _content(key: str, pages: Mapping[str, PageFacts]) -> str:
    """A page nobody surveyed (an error, say) is a copy of nothing."""
    return pages[key].content if key in pages else f"url {key}"


UNLABELLED = "(no label)"
# Looks at what a crawl consists of: as many as a result file keeps (maxItems in results.schema.json).
MAX_POINTS = 100


def entropy(order: Collection[str], types: Mapping[str, str]) -> float:
    """Return the entropy of the page types fetched, in bits: 0 for one type, log2(k) for k in equal parts.

    Fetches without label count as one type more. Source: Xu, Gao and Callan 2018, eq. 13.
    """
    counts = Counter(types.get(key, UNLABELLED) for key in order)
    return sum(n / len(order) * log2(len(order) / n) for n in counts.values())  # eq. 13


def even_points(n: int, most: int = MAX_POINTS) -> list[int]:
    """Return at most `most` evenly spaced numbers of fetches in 1..n, the last of them n; none for n = 0."""
    k = min(n, most)
    return [i * n // k for i in range(1, k + 1)]


def composition(
    order: Sequence[str], types: Mapping[str, str], most: int = MAX_POINTS
) -> dict[str, list[int]]:
    """Return how many pages of each type had been fetched at each of `even_points`; most frequent first."""
    points, counts = set(even_points(len(order), most)), Counter[str]()
    looks = []
    for n, key in enumerate(order, start=1):
        counts[types.get(key, UNLABELLED)] += 1
        if n in points:
            looks.append(counts.copy())
    return {name: [look[name] for look in looks] for name, _ in counts.most_common()}


ENTRY, INDEX, THREAD = "ENTRY", "INDEX", "THREAD"
PERMALINK_SUFFIX = "_permalink"


@dataclass(frozen=True, slots=True)
class Kinds:
    """What kind of page each identity is.

    Attributes
    ----------
    types
        Page type by identity; pages without label are absent.
    kinds
        ENTRY, INDEX, THREAD or OTHER by page type.
    uncovered
        Types that coverage leaves out: pages that show nothing a thread page does not show.
    """

    types: Mapping[str, str]
    kinds: Mapping[str, str]
    uncovered: frozenset[str]

    @classmethod
    def of(
        cls, types: Mapping[str, str], kinds: Mapping[str, str], uncovered: Collection[str] | None = None
    ) -> Kinds:
        """Return the kinds; `uncovered` None leaves out the types whose name ends in ``_permalink``."""
        if uncovered is None:
            uncovered = [name for name in kinds if name.endswith(PERMALINK_SUFFIX)]
        return cls(types, kinds, frozenset(uncovered))

    def kind(self, key: str) -> str:
        """Return the kind of a page, empty when nobody knows it."""
        return self.kinds.get(self.types.get(key, ""), "")

    def covered(self, keys: Iterable[str]) -> set[str]:
        """Return the THREAD-kind pages among `keys` that coverage counts."""
        return {key for key in keys if self.kind(key) == THREAD and self.types.get(key) not in self.uncovered}


def has_threads(pages: Iterable[str], kinds: Kinds) -> bool:
    """Say whether the figures of forum crawling mean anything on this site."""
    return any(kinds.kind(key) == THREAD for key in pages)


def effectiveness(order: Sequence[str], kinds: Kinds) -> float:
    """Return THREAD-kind fetches / fetches."""
    return ratio(sum(kinds.kind(key) == THREAD for key in order), len(order))


def path_share(order: Sequence[str], kinds: Kinds) -> float:
    """Return entry, index and thread fetches / fetches: a forum's index pages must be crossed."""
    return ratio(sum(kinds.kind(key) in (ENTRY, INDEX, THREAD) for key in order), len(order))


def coverage(order: Iterable[str], pages: Collection[str], kinds: Kinds) -> float:
    """Return the share of the reachable THREAD-kind pages that was fetched, `Kinds.uncovered` left out."""
    retrievable = kinds.covered(pages)
    return ratio(len(retrievable.intersection(order)), len(retrievable))
