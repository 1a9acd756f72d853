"""What is wanted, as a user says it, and the rules it must keep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.features.types import PageWords, Words
from linkscore_scoring.features.words import languages, words_of
from linkscore_scoring.state import State, plain

MAX_QUERIES, MAX_QUERY_BYTES = 20, 2_000
"""A bound of the wire contract: query texts of a crawl, and UTF-8 bytes of one."""
MAX_SAMPLES = 100
"""A bound of the wire contract: sample pages of a crawl, wanted and unwanted."""
MAX_LANGUAGES = 20
"""A bound of the wire contract."""
MAX_LEAST_WORDS = 100_000
"""A bound of the wire contract: more words than `features.words.MAX_TEXT_CHARS` can hold make no sense."""
MAX_WEIGHT = 10.0
"""A bound of the wire contract: what weighs ten times less decides nothing."""


@dataclass(frozen=True, slots=True)
class WantedQuery:
    """A query text; of several each stands for itself: a page about any of them is wanted."""

    text: str
    weight: float = 1.0  # worth of its pages against those of the other queries, in (0, 10]


@dataclass(frozen=True, slots=True)
class WantedSample:
    """A page, or a text, like those wanted or like those not wanted."""

    # url, key: absolute URL and its identity; empty for a text
    url: str = ""
    key: str = ""
    # its words; None if only the URL was given: then they are taken when the page is fetched
    words: PageWords | None = None
    unwanted: bool = False  # whether pages like it are not wanted
    weight: float = 1.0  # in (0, 10], against the other samples


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a crawl is for; all parts together, each empty by default.

    Examples
    --------
    >>> wanted = Wanted(queries=(WantedQuery("pricing"), WantedQuery("?")), languages=("en", "xx"))
    >>> [problem.field for problem in wanted.problems("wanted")]
    ['wanted.queries[1].text', 'wanted.languages[1]']
    """

    queries: tuple[WantedQuery, ...] = ()  # texts a user would type into a search box
    samples: tuple[WantedSample, ...] = ()  # pages like those wanted or not wanted
    languages: tuple[str, ...] = ()  # ISO 639 codes: pages in any other language are not wanted
    # words of main text from which on a page counts in full; one of half as many counts half
    least_words: int = 0

    @property
    def reads(self) -> Words:
        """What is to be read of the words of pages."""
        return Words.WITH_LANGUAGE if self.languages else Words.COUNTED

    def to_state(self) -> State:
        """Return it as plain values."""
        state: State = plain(self)
        return state

    def problems(self, field: str) -> Iterator[FieldProblem]:
        """Yield a problem for each field that breaks a rule; `field` is the path of this one."""
        if not (
            self.queries or self.languages or self.least_words or any(not s.unwanted for s in self.samples)
        ):
            rule = "must have a query, a wanted sample, a language or least_words"
            yield FieldProblem(field, rule, "REQUIRED")
        for name, items, most in (
            ("queries", self.queries, MAX_QUERIES),
            ("samples", self.samples, MAX_SAMPLES),
            ("languages", self.languages, MAX_LANGUAGES),
        ):
            if len(items) > most:
                rule = f"must have at most {most} entries, got {len(items)}"
                yield FieldProblem(f"{field}.{name}", rule, "TOO_MANY_ITEMS")
                return  # what is too much is not looked at one by one
        yield from self._query_problems(f"{field}.queries")
        yield from self._sample_problems(f"{field}.samples")
        for i, code in enumerate(self.languages):
            if code not in languages():
                known = " ".join(sorted(languages()))
                rule = f"must be an ISO 639 code, got {code!r:.20}: there are {known}"
                yield FieldProblem(f"{field}.languages[{i}]", rule)
        if not 0 <= self.least_words <= MAX_LEAST_WORDS:
            rule = f"must be in [0, {MAX_LEAST_WORDS}], got {self.least_words}"
            yield FieldProblem(f"{field}.least_words", rule)

    def _query_problems(self, field: str) -> Iterator[FieldProblem]:
        for i, query in enumerate(self.queries):
            size = len(query.text.encode("utf-8", "surrogatepass"))
            if size > MAX_QUERY_BYTES:
                rule = f"must be at most {MAX_QUERY_BYTES} bytes, got {size}: give long texts as samples"
                yield FieldProblem(f"{field}[{i}].text", rule)
            elif not words_of(query.text):
                rule = f"must have a word, got {query.text!r:.40}"
                yield FieldProblem(f"{field}[{i}].text", rule, "REQUIRED")
        texts = [query.text.strip().lower() for query in self.queries]
        yield from _weight_problems(field, texts, [query.weight for query in self.queries])

    def _sample_problems(self, field: str) -> Iterator[FieldProblem]:
        first: dict[str, int] = {}
        for i, sample in enumerate(self.samples):
            if sample.key and self.samples[first.setdefault(sample.key, i)].unwanted != sample.unwanted:
                rule = (
                    f"contradicts {field}[{first[sample.key]}]: the same page cannot be wanted and unwanted"
                )
                yield FieldProblem(f"{field}[{i}].unwanted", rule)
        keys = [sample.key for sample in self.samples]
        yield from _weight_problems(field, keys, [sample.weight for sample in self.samples])


def _weight_problems(field: str, names: Sequence[str], weights: Sequence[float]) -> Iterator[FieldProblem]:
    """Yield weights out of range, and those of one thing (an empty name is none) that contradict."""
    first: dict[str, int] = {}
    for i, (name, weight) in enumerate(zip(names, weights, strict=True)):
        if not (math.isfinite(weight) and 0.0 < weight <= MAX_WEIGHT):
            yield FieldProblem(f"{field}[{i}].weight", f"must be in (0, {MAX_WEIGHT:g}], got {weight}")
        elif name and weights[first.setdefault(name, i)] != weight:
            rule = f"contradicts {field}[{first[name]}].weight, {weights[first[name]]:g}, got {weight:g}"
            yield FieldProblem(f"{field}[{i}].weight", rule)
