"""How far pages and links are about what is wanted: BM25F by the crawl's own word counts, and Rocchio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import left_sum
from linkscore_scoring.features.types import PageWords
from linkscore_scoring.features.words import url_hashes, word_hash
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.wanted.questions import telling_words
from linkscore_scoring.wanted.spec import Wanted

# Weights, length normalisations and mean lengths of title and headings, then of the text, whose mean is the
# crawl's own. BM25F of Zaragoza et al. 2004; usual values, as in the simulator that was tried on the dev half
# of the tasks of research/notebook/topic.md; not tuned.
_WEIGHTS = np.array([3.0, 2.0, 1.0])
_B = np.array([0.5, 0.5, 0.75])
_MEAN_TITLE, _MEAN_HEADINGS = 8.0, 12.0  # words; measured on the same pages, rounded
_K1 = 1.2  # saturation; the usual value (Robertson and Zaragoza 2009)

_SLOTS = 1 << 16  # counters that words share by their hash; a bound of 256 KB a crawl
MAX_EXPANSION = 20
"""Words that samples add to a query; chosen, not measured."""
SAMPLES_WEIGHT = 0.5
"""Weight of the words of samples against those of the query. Measured on the dev half of
research/notebook/topic.md: beside a query words of three pages cost recall at any weight, at .25 with links
that have the query's words alone more than at .5; so only samples that have no URL, which can teach in no
other way, add words to it."""


class WordCounts(Stateful):
    """In how many pages of a crawl words stand, and how long pages are; bounded by sharing counters.

    Two words in one slot count as one, which makes a rare word look like the more frequent of the two: by
    65,536 slots that is a word in ten of a crawl of 7,000 distinct ones.

    Examples
    --------
    >>> from linkscore_scoring.features.words import words_of_texts
    >>> counts = WordCounts()
    >>> for text in ("the price", "the page", "the list"):
    ...     counts.add(words_of_texts("", "", text))
    >>> round(counts.idf(word_hash("the")), 2), round(counts.idf(word_hash("price")), 2)
    (0.13, 0.98)
    """

    pages: Stored[int]
    text_words: Stored[int]
    _slots: Stored[NDArray[np.uint32]]

    def __init__(self) -> None:
        self.pages = self.text_words = 0
        self._slots = np.zeros(_SLOTS, np.uint32)

    def add(self, page: PageWords) -> None:
        """Count a page."""
        self.pages += 1
        self.text_words += page.lengths[2]
        self._slots[np.unique(np.frombuffer(page.hashes, "<u4") % _SLOTS)] += 1

    def idf(self, word: int) -> float:
        """Return ln(1 + (n - df + .5) / (df + .5)) of a word by its hash, above 0."""
        df = min(int(self._slots[word % _SLOTS]), self.pages)
        return log(1.0 + (self.pages - df + 0.5) / (df + 0.5))


class Topic:
    """The words that are wanted, weighed by how rare they are by now.

    Each query is a facet: a page is as relevant as to the facet it is most relevant to, times the weight of
    the facet. Samples add their most telling words to every facet; without a query they are one.

    `wanted`: what the user said.
    `counts`: of the crawl so far.
    `expansion`: words that samples add, hash -> weight, see `expansion_of`.
    `weight`: of them all, against the words of the query.
    """

    def __init__(
        self,
        wanted: Wanted,
        counts: WordCounts,
        expansion: Mapping[int, float],
        weight: float = SAMPLES_WEIGHT,
    ) -> None:
        self._mean_text = 1.0 + counts.text_words / max(1, counts.pages)  # words of a page
        most = max((query.weight for query in wanted.queries), default=1.0)
        added = {term: weight * share for term, share in expansion.items()}
        self.facets: list[tuple[float, dict[int, float]]] = [
            (query.weight / most, _facet(telling_words(query.text), added, counts))
            for query in wanted.queries
        ]
        if not self.facets and expansion:
            self.facets = [(1.0, _facet((), added, counts))]
        self._queries = [frozenset(map(word_hash, telling_words(query.text))) for query in wanted.queries]

    @cached_property
    def terms(self) -> frozenset[int]:
        """Hashes of all words that count."""
        return frozenset(term for _, facet in self.facets for term in facet)

    def relevance(self, page: PageWords) -> float:
        """Return how far a page is about the topic, in [0, 1]: BM25F, as a share of the most it can be."""
        if not self.facets or not page.hashes:
            return 0.0
        hashes, counts = page.columns()
        means = np.array([_MEAN_TITLE, _MEAN_HEADINGS, self._mean_text])
        scale = _WEIGHTS / (1.0 - _B + _B * np.array(page.lengths) / means)
        best = 0.0
        for weight, facet in self.facets:
            terms = np.fromiter(facet, np.uint32, len(facet))
            at = np.minimum(np.searchsorted(hashes, terms), len(hashes) - 1)
            frequency = np.where(hashes[at] == terms, counts[at] @ scale, 0.0)
            shares = np.fromiter(facet.values(), np.float64, len(facet))
            best = max(best, weight * float(shares @ (frequency / (frequency + _K1))))
        return min(1.0, best)

    def is_named_by(self, url: str) -> bool:
        """Say whether a URL has all words of a query."""
        return any(words.issubset(url_hashes(url)) for words in self._queries)

    def coverage(self, words: Sequence[int]) -> float:
        """Return how much of the topic a few words name, by hash: idf share of the best facet, in [0, 1]."""
        if self.terms.isdisjoint(words):
            return 0.0
        return max(
            weight * min(1.0, left_sum(facet[word] for word in words if word in facet))
            for weight, facet in self.facets
        )


def relevance_of(page: PageWords, wanted: Wanted, topic: Topic | None, without_words: float) -> float:
    """Return what a page is worth, in [0, 1]; without a query and samples its words count as `without_words`.

    Its words by `Topic`, times its length as a share of the least; 0 in a language that is not wanted.

    Examples
    --------
    >>> from linkscore_scoring.features.words import words_of_texts
    >>> from linkscore_scoring.wanted.spec import WantedQuery
    >>> wanted = Wanted((WantedQuery("price"),), least_words=8)
    >>> page = words_of_texts("Price", "", "The price of it.")
    >>> round(relevance_of(page, wanted, Topic(wanted, WordCounts(), {}), 0.0), 2)  # half of 8 words: .82 / 2
    0.41
    """
    by_words = None if topic is None else topic.relevance(page)
    value = without_words if by_words is None else by_words
    if wanted.least_words:
        value *= min(1.0, page.lengths[2] / wanted.least_words)
    return 0.0 if wanted.languages and page.language not in ("", *wanted.languages) else value


def expansion_of(
    samples: Iterable[tuple[float, PageWords]], counts: WordCounts, *, at_most: int = MAX_EXPANSION
) -> dict[int, float]:
    """Return the most telling words of samples, hash -> weight; all weights together 1.

    `samples`: weight (below 0: not wanted) and words of each.
    `counts`: of the crawl so far; as long as it has few pages, what stands in title or headings tells most.

    Source: Rocchio, Relevance feedback in information retrieval, 1971. Differences: words weigh (1 + ln tf)
    idf, and twice as much in title or headings; only the heaviest are kept.
    """
    sums: dict[int, float] = {}
    totals = {True: 0.0, False: 0.0}
    found = list(samples)
    for weight, _ in found:
        totals[weight > 0] += abs(weight)
    for weight, page in found:
        if not page.hashes:
            continue
        hashes, columns = page.columns()
        frequency = columns[:, 2] + columns[:, :2].sum(axis=1)
        tf = (1.0 + np.log(np.maximum(1.0, frequency))) * (1.0 + (columns[:, :2].sum(axis=1) > 0))
        for word, value in zip(hashes.tolist(), (weight * tf / totals[weight > 0]).tolist(), strict=True):
            sums[word] = sums.get(word, 0.0) + value
    weighed = {word: value * counts.idf(word) for word, value in sums.items() if value > 0.0}
    kept = sorted(weighed, key=lambda word: (-weighed[word], word))[:at_most]
    total = left_sum(weighed[word] for word in kept)
    return {word: weighed[word] / total for word in kept}


def _facet(words: Iterable[str], expansion: Mapping[int, float], counts: WordCounts) -> dict[int, float]:
    """Return the share of each word in what a page can get, together 1."""
    own = {term: counts.idf(term) for term in map(word_hash, words)}
    total = left_sum(own.values())
    facet = {term: idf / total for term, idf in own.items()}
    if expansion:
        for term, share in expansion.items():
            facet[term] = facet.get(term, 0.0) + share
        total = left_sum(facet.values())
        facet = {term: share / total for term, share in facet.items()}
    return facet
