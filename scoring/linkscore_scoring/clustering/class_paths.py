"""Class-aware tag paths with a rarity filter: page features that tell templates of one engine apart.

Two templates often share every tag path and differ in classes only; but classes also carry page-unique noise
(``postid-4711``, ``page-Some_Title``) that would make every page an outlier. Hence the filter, in this order:

1. digit runs of a class token become ``#``, unless the number names a template (`template_numbers`);
2. tokens on fewer than m = max(4, 0.5 %) of the pages are dropped, and tokens that name one of many things
   of a template (`class_values`);
3. a path on fewer than m pages loses its rarest token, and again, until it is on m pages or bare.

In a path, elements are joined by a line feed and tokens by a blank (neither can
occur inside a token); `readable` gives the printed form.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from itertools import accumulate
from math import inf
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.clustering.base import fit_vectorizer
from linkscore_scoring.columns import left_sum
from linkscore_scoring.features.types import PathTrie, fold_digits

_ELEMENT, _TOKEN = "\n", " "
_PAGE_TAGS = frozenset({"html", "body"})
_REMEMBERED = 20_000
"""Nodes remembered between pages, a bound of memory; it never changes an answer."""

Value = TypeVar("Value")
_UNSETTLED, _NOWHERE = object(), "\t"


class PathNodes(Generic[Value]):
    """Reads tag paths and remembers what the pages of a site have in common; that never changes an answer.

    `element_of`: (tag, class tokens) -> name of an element, which is asked once for each that is different;
    one without a name stands for the element above it.
    `settle`: what a path stands for, None for nothing. `shorten`: as what path the nodes below one see it.
    `max_nodes`: nodes remembered from page to page.
    """

    def __init__(
        self,
        element_of: Callable[[str, str], str],
        settle: Callable[[str], Value | None],
        *,
        shorten: Callable[[str], str] = str,
        separator: str = _ELEMENT,
        max_nodes: float = _REMEMBERED,
    ) -> None:
        self._element_of = lru_cache(maxsize=_REMEMBERED)(element_of)
        self._settle, self._shorten, self._separator = settle, shorten, separator
        self._max_nodes = max_nodes
        self._forget()

    def _forget(self) -> None:
        self._known: dict[tuple[int, str, str], int] = {}
        self._places: dict[str, int] = {}
        self._paths = [""]  # the first is the place above the first element
        self._settled: list[Any] = [None]

    def bag(self, trie: PathTrie) -> dict[Value, int]:
        """Return what the paths of a page stand for, with displayed leaves; cost O(nodes)."""
        if len(self._known) > self._max_nodes:
            self._forget()
        known, settled, places, bag = self._known, self._settled, list[int](), dict[Value, int]()
        for parent, tag, classes, leaves in zip(
            trie.parents, trie.tags, trie.classes, trie.leaves, strict=True
        ):
            step = (places[parent] if parent >= 0 else 0, tag, classes)
            at = known.get(step)
            if at is None:
                at = known[step] = self._place(*step)
            places.append(at)
            if leaves:
                value = settled[at]
                if value is _UNSETTLED:
                    value = settled[at] = self._settle(self._paths[at])
                if value is not None:
                    bag[value] = bag.get(value, 0) + leaves
        return bag

    def _place(self, above: int, tag: str, classes: str) -> int:
        """Return the number of the path of a node below another, whose classes may say nothing new."""
        element = self._element_of(tag, classes)
        if not element:
            return above
        path = self._shorten(f"{self._paths[above]}{self._separator}{element}" if above else element)
        at = self._places.setdefault(path, len(self._paths))
        if at == len(self._paths):
            self._paths.append(path)
            self._settled.append(_UNSETTLED)
        return at


@dataclass(frozen=True)
class ClassPathFilter:
    """Frozen rarity filter: what turns the paths of any page of the site into class-aware paths."""

    token_pages: Mapping[str, int]
    numbered: dict[str, None]
    paths: dict[str, None]

    @cached_property
    def _rarity(self) -> dict[str, int]:
        rarest_first = sorted(self.token_pages, key=lambda token: (self.token_pages[token], token))
        return {token: rank for rank, token in enumerate(rarest_first)}

    def element(self, tag: str, classes: str) -> str:
        """Return an element of a path: its tag, and those of its class tokens that count."""
        return _element_of(tag, classes, numbered=self.numbered, tokens=self.token_pages)

    @cached_property
    def _beginnings(self) -> set[str]:
        known = (list(accumulate(path.split(_ELEMENT), f"{{}}{_ELEMENT}{{}}".format)) for path in self.paths)
        return set().union(*known)

    def settle(self, path: str) -> str:
        """Return the path without its rarest tokens, as many as it takes to be a known path or to be bare."""
        return self._without_rarest(path, self.paths)

    def shorten(self, path: str) -> str:
        """Return the path of a node without its rarest tokens, as many as it takes to begin a known path;
        `_NOWHERE` if even the bare one begins none.

        Classes in unheard-of company on one element so leave the nodes below it as they are known.
        """
        shorter = self._without_rarest(path, self._beginnings)
        return shorter if shorter in self._beginnings else _NOWHERE

    def _without_rarest(self, path: str, known: Collection[str]) -> str:
        if path in known or _TOKEN not in path:
            return path
        for token in sorted(_held(path), key=self._rarity.__getitem__):
            path = _without(path, token)
            if path in known:
                break
        return path


def fit_class_paths(
    tries: Sequence[PathTrie], *, min_pages: int = 4, min_share: float = 0.005
) -> tuple[ClassPathFilter, list[dict[str, int]]]:
    """Learn the rarity filter of a sample and return it with the filtered bags of the sample."""
    threshold = max(min_pages, min_share * len(tries))
    numbered = template_numbers(tries, threshold)
    tokens_of = cache(partial(folded, numbered=numbered))
    of_pages = [
        set[str]().union(
            *(
                tokens_of(classes)
                for tag, classes in zip(trie.tags, trie.classes, strict=True)
                if classes and tag in _PAGE_TAGS
            )
        )
        for trie in tries
    ]
    dropped = class_values(of_pages, threshold)
    df = Counter(token for trie in tries for token in set[str]().union(*map(tokens_of, set(trie.classes))))
    kept = {token: n for token, n in sorted(df.items()) if n >= threshold and token not in dropped}
    element_of = partial(_element_of, numbered=numbered, tokens=kept)
    raw = list(map(PathNodes(element_of, str, max_nodes=inf).bag, tries))
    paths = _frequent_paths(raw, kept, threshold)
    learned = ClassPathFilter(kept, dict.fromkeys(sorted(numbered)), dict.fromkeys(sorted(paths)))
    settle, bags = cache(learned.settle), list[dict[str, int]]()
    for bag in raw:
        bags.append(defaultdict(int))
        for path, leaves in bag.items():
            bags[-1][settle(path)] += leaves
    return learned, bags


def _frequent_paths(
    bags: Sequence[Mapping[str, int]], tokens: Mapping[str, int], threshold: float
) -> frozenset[str]:
    """Settle paths from many tokens to few: a rare path hands its pages to its next shorter form."""
    pages: dict[str, set[int]] = defaultdict(set)
    for page, bag in enumerate(bags):
        for path in bag:
            pages[path].add(page)
    levels: dict[int, set[str]] = defaultdict(set)
    for path in pages:
        levels[path.count(_TOKEN)].add(path)
    for level in range(max(levels, default=0), 0, -1):
        for path in sorted(levels[level]):
            if len(pages[path]) < threshold:  # of tokens that are as rare the first in alphabet goes
                shorter = _without(path, min(_held(path), key=lambda token: (tokens.get(token, 0), token)))
                pages[shorter] |= pages.pop(path)
                levels[shorter.count(_TOKEN)].add(shorter)
    return frozenset(path for path, on in pages.items() if len(on) >= threshold)


def _element_of(tag: str, classes: str, *, numbered: Collection[str], tokens: Mapping[str, int]) -> str:
    """Return an element of a path: its tag, and those of its class tokens that count."""
    return _TOKEN.join([tag, *sorted(token for token in folded(classes, numbered) if token in tokens)])


def _held(path: str) -> set[str]:
    elements = (element.split(_TOKEN) for element in path.split(_ELEMENT) if _TOKEN in element)
    return {token for element in elements for token in element[1:]}


def _without(path: str, token: str) -> str:
    """Return a path without a token; an element has it once at most, and its name in front."""
    inner, last = f"{_TOKEN}{token}{_TOKEN}", f"{_TOKEN}{token}{_ELEMENT}"
    return (path + _ELEMENT).replace(inner, _TOKEN).replace(last, _ELEMENT).removesuffix(_ELEMENT)


def readable(path: str) -> str:
    """Return a path for people: ``html/body.home/div.entry``."""
    return path.replace(_ELEMENT, "/").replace(_TOKEN, ".")


# These and the other thresholds of this module were chosen with the four stored sites in view
# (docs/reference/recognition.md).
MAX_PER_PAGE = 1.2
"""Members of a family a page has in the mean, at most: a number of the page, not of the things on it."""

MAX_RARE_SHARE = 0.2
"""Share of a family's pages that may hold a member rarer than the page threshold: few values cover it."""

MIN_EXPLAINED = 0.1
"""Least share of the variance of plain path vectors that the value explains (adjusted, so that chance scores
0).
"""


def plain_nodes() -> PathNodes[str]:
    """Return what reads element paths without classes (Xu 2018, section 3.1)."""
    return PathNodes(lambda tag, _: tag, str, separator="/", max_nodes=inf)


def template_numbers(tries: Sequence[PathTrie], threshold: float) -> frozenset[str]:
    """Return the class tokens of a sample that keep their digits: those whose number names a template.

    A family of tokens equal up to digits keeps its digits when all of this holds:

    - a page carries one member (mean at most 1.2): a number of the page, not of the things on it;
    - few values cover it: at most 20 % of its pages hold a member rarer than the page threshold;
    - the value explains layout: it accounts for at least 10 % of the variance of the plain path vectors of
      its pages (adjusted R-squared of a one-way analysis of variance, so that chance scores 0).
    """
    wanted = [pages for pages in _families(tries).values() if _few_values(pages, threshold)]
    if not wanted:
        return frozenset()
    bags = list(map(plain_nodes().bag, tries))
    vectors = fit_vectorizer(bags, norm="l2").transform(bags)
    kept: set[str] = set()
    for members in wanted:
        frequent = {token: pages for token, pages in members.items() if len(pages) >= threshold}
        if explained_share(vectors, list(frequent.values())) >= MIN_EXPLAINED:
            kept |= set(frequent)
    return frozenset(kept)


def folded(classes: str, numbered: Collection[str]) -> set[str]:
    """Return distinct class tokens, digits as ``#`` unless the token is in `numbered`."""
    return {token if token in numbered else fold_digits(token) for token in classes.split()}


def _families(tries: Sequence[PathTrie]) -> dict[str, dict[str, set[int]]]:
    """Return family -> token -> pages, for tokens with digits."""
    families: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))

    @cache
    def pages_of(classes: str) -> list[set[int]]:
        folds = ((fold_digits(token), token) for token in classes.split())
        return [families[family][token] for family, token in folds if family != token]

    for number, trie in enumerate(tries):
        for classes in set(trie.classes):
            for pages in pages_of(classes):
                pages.add(number)
    return families


def _few_values(members: Mapping[str, set[int]], threshold: float) -> bool:
    frequent = [pages for pages in members.values() if len(pages) >= threshold]
    if len(frequent) < 2:
        return False
    covered = set[int]().union(*members.values())
    rare = set[int]().union(*(pages for pages in members.values() if len(pages) < threshold))
    per_page = sum(len(pages) for pages in members.values()) / len(covered)
    return per_page <= MAX_PER_PAGE and len(rare) <= MAX_RARE_SHARE * len(covered)


def explained_share(vectors: NDArray[np.float64], groups: Sequence[Collection[int]]) -> float:
    """Return the adjusted R-squared of grouping rows: 1 if groups explain all variance, about 0 by chance."""
    rows = [vectors[sorted(group)] for group in groups]
    n = sum(len(group) for group in rows)
    if n <= len(rows) or len(rows) < 2:
        return 0.0
    within = left_sum(_squares(group) for group in rows) / (n - len(rows))
    total = _squares(np.concatenate(rows)) / (n - 1)
    return 1.0 - within / total if total > 1e-12 else 0.0


def _squares(rows: NDArray[np.float64]) -> float:
    offsets = rows - rows.mean(axis=0)
    return float((offsets * offsets).sum())


SAME_PAGES = 0.9
"""Share of the pages of a token from which another that is on them says the same. Chosen."""

MIN_RARE = 3
"""Members of a family below the page threshold, at least: its tail."""

# Pages of all members over pages of the parent, up to which they exclude each other.
_OVERLAP = 1.1


def class_values(pages: Sequence[Set[str]], threshold: float) -> frozenset[str]:
    """Return the page-level tokens that name one of many things of a template, not a template.

    A family is the tokens that begin with the name of a token they always come with. Its members name things
    if they exclude each other, as values of one variable do, and have a long tail: half of them or more, and
    three at least, are below the page threshold.
    """
    df = Counter(token for held in pages for token in held)
    together = Counter(
        (parent, token)
        for held in pages
        for token in held
        for parent in held
        if token.startswith(parent) and token[len(parent) : len(parent) + 1] == "-"
    )
    found: set[str] = set()
    for parent in {parent for parent, _ in together}:
        family = [
            token
            for (above, token), both in together.items()
            if above == parent and both == df[token] < SAME_PAGES * df[parent] and not token.endswith("-#")
        ]
        rare = sum(df[token] < threshold for token in family)
        exclusive = sum(df[token] for token in family) <= _OVERLAP * df[parent]
        if exclusive and rare >= MIN_RARE and 2 * rare >= len(family):
            found.update(family)
    return frozenset(found)
