"""What a crawl is for, said in words: its rules, and how far pages and links are about it.

The words themselves are `features.words`; the policy that crawls by them is `policies.topic`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import left_sum
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.features.types import PageWords
from linkscore_scoring.features.words import url_hashes, word_hash, words_of
from linkscore_scoring.state import Stateful, Stored

MAX_QUERIES, MAX_QUERY_BYTES = 20, 2_000
"""A bound of the wire contract: query texts of a crawl, and UTF-8 bytes of one."""
MAX_SAMPLES = 100
"""A bound of the wire contract: sample pages of a crawl, wanted and unwanted."""


@dataclass(frozen=True, slots=True)
class WantedSample:
    """A page, or a text, like those wanted or like those not wanted."""

    # url, key: absolute URL and its identity; empty for a text
    url: str = ""
    key: str = ""
    # its words; None if only the URL was given: then they are taken when the page is fetched
    words: PageWords | None = None
    unwanted: bool = False  # whether pages like it are not wanted


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a crawl is for; all parts together, each empty by default.

    Examples
    --------
    >>> wanted = Wanted(queries=("pricing", "?"))
    >>> [problem.field for problem in wanted.problems("wanted")]
    ['wanted.queries[1]']
    """

    # texts a user would type into a search box: a page about any of them is wanted
    queries: tuple[str, ...] = ()
    samples: tuple[WantedSample, ...] = ()  # pages like those wanted or not wanted

    def problems(self, field: str) -> Iterator[FieldProblem]:
        """Yield a problem for each field that breaks a rule; `field` is the path of this one."""
        if not (self.queries or any(not s.unwanted for s in self.samples)):
            rule = "must have a query or a wanted sample"
            yield FieldProblem(field, rule, "REQUIRED")
        for name, items, most in (
            ("queries", self.queries, MAX_QUERIES),
            ("samples", self.samples, MAX_SAMPLES),
        ):
            if len(items) > most:
                rule = f"must have at most {most} entries, got {len(items)}"
                yield FieldProblem(f"{field}.{name}", rule, "TOO_MANY_ITEMS")
                return  # what is too much is not looked at one by one
        for i, query in enumerate(self.queries):
            size = len(query.encode("utf-8", "surrogatepass"))
            if size > MAX_QUERY_BYTES:
                rule = f"must be at most {MAX_QUERY_BYTES} bytes, got {size}: give long texts as samples"
                yield FieldProblem(f"{field}.queries[{i}]", rule)
            elif not words_of(query):
                rule = f"must have a word, got {query!r:.40}"
                yield FieldProblem(f"{field}.queries[{i}]", rule, "REQUIRED")
            elif query.strip()[0] + query.strip()[-1] == "{}":
                rule = f"must be words, got JSON: give its fields by themselves, {query!r:.40}"
                yield FieldProblem(f"{field}.queries[{i}]", rule)
        first: dict[str, int] = {}
        for i, sample in enumerate(self.samples):
            if sample.key and self.samples[first.setdefault(sample.key, i)].unwanted != sample.unwanted:
                other = f"{field}.samples[{first[sample.key]}]"
                rule = f"contradicts {other}: the same page cannot be wanted and unwanted"
                yield FieldProblem(f"{field}.samples[{i}].unwanted", rule)


FEW_WORDS = 3
"""Distinct words up to which a query is no question: as few as most tags of stored sites have. Chosen, not
measured."""

# The stop list of Snowball for English, with the modal verbs that it leaves to its user
# (https://snowballstem.org/algorithms/english/stop.txt).
_FUNCTION_WORDS = frozenset(
    words_of(
        "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she "
        "her hers herself it its itself they them their theirs themselves what which who whom this that "
        "these those am is are was were be been being have has had having do does did doing would should "
        "could ought can will shall may might must a an the and but if or because as until while of at by "
        "for with about against between into through during before after above below to from up down in "
        "out on off over under again further then once here there when where why how all any both each "
        "few more most other some such no nor not only own same so than too very"
    )
)


def is_question(text: str) -> bool:
    """Say whether a query is a sentence, which few pages answer: no name of a topic is, however long.

    Examples
    --------
    >>> [is_question(text) for text in ("How do I repair a kayak?", "high energy plasma thrower", "to be")]
    [True, False, False]
    """
    words = set(words_of(text))
    return len(words) > FEW_WORDS and not words.isdisjoint(_FUNCTION_WORDS)


def telling_words(text: str) -> list[str]:
    """Return the words of a query, of a question without those that stand in every English sentence.

    How rare a word is says the same, but only after many pages.

    Examples
    --------
    >>> telling_words("How do I repair a kayak?"), telling_words("repair of kayaks")
    (['repair', 'kayak'], ['repair', 'of', 'kayak'])
    >>> telling_words("To be, or not to be")
    ['to', 'be', 'or', 'not', 'to', 'be']
    """
    words = words_of(text)
    told = [word for word in words if word not in _FUNCTION_WORDS] if is_question(text) else []
    return told or words


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

    Each query is a facet: a page is as relevant as to the facet it is most relevant to. Samples add their
    most telling words to every facet; without a query they are one.

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
        added = {term: weight * share for term, share in expansion.items()}
        self.facets = [_facet(telling_words(query), added, counts) for query in wanted.queries]
        if not self.facets and expansion:
            self.facets = [_facet((), added, counts)]
        self._queries = [frozenset(map(word_hash, telling_words(query))) for query in wanted.queries]

    @cached_property
    def terms(self) -> frozenset[int]:
        """Hashes of all words that count."""
        return frozenset(term for facet in self.facets for term in facet)

    def relevance(self, page: PageWords) -> float:
        """Return how far a page is about the topic, in [0, 1]: BM25F, as a share of the most it can be."""
        if not self.facets or not page.hashes:
            return 0.0
        hashes, counts = page.columns()
        means = np.array([_MEAN_TITLE, _MEAN_HEADINGS, self._mean_text])
        scale = _WEIGHTS / (1.0 - _B + _B * np.array(page.lengths) / means)
        best = 0.0
        for facet in self.facets:
            terms = np.fromiter(facet, np.uint32, len(facet))
            at = np.minimum(np.searchsorted(hashes, terms), len(hashes) - 1)
            frequency = np.where(hashes[at] == terms, counts[at] @ scale, 0.0)
            shares = np.fromiter(facet.values(), np.float64, len(facet))
            best = max(best, float(shares @ (frequency / (frequency + _K1))))
        return min(1.0, best)

    def is_named_by(self, url: str) -> bool:
        """Say whether a URL has all words of a query."""
        return any(words.issubset(url_hashes(url)) for words in self._queries)

    def coverage(self, words: Sequence[int]) -> float:
        """Return how much of the topic a few words name, by hash: idf share of the best facet, in [0, 1]."""
        if self.terms.isdisjoint(words):
            return 0.0
        return max(
            min(1.0, left_sum(facet[word] for word in words if word in facet)) for facet in self.facets
        )


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
