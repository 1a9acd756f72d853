"""Class-aware tag paths with a rarity filter: page features that tell templates of one engine apart.

Two templates often share every tag path and differ in classes only; but classes also carry page-unique noise
(``postid-4711``, ``page-Some_Title``) that would make every page an outlier. Hence the filter, in this order:

1. digit runs of a class token become ``#``, unless the number names a template (`template_numbers`);
2. tokens on fewer than m = max(4, 0.5 %) of the pages are dropped, tokens that cut across templates
   (`modifiers`), and tokens that name one of many things of a template (`class_values`);
3. a path on fewer than m pages loses its rarest token, and again, until it is on m pages or bare.

In a path, elements are joined by a line feed and tokens by a blank (neither can
occur inside a token); `readable` gives the printed form.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.clustering.base import SampleTrie
from linkscore_scoring.clustering.tfidf import fit_vectorizer
from linkscore_scoring.features.types import PathTrie, fold_digits
from linkscore_scoring.sums import left_sum

# Number of the place above the first element of a path.
_ROOT = 0


Value = TypeVar("Value")
_UNSETTLED = object()


class PathNodes(Generic[Value]):
    """Filtered bags of pages, with what earlier pages showed remembered; it never changes an answer."""

    def __init__(self, *, separator: str, max_nodes: int = 20_000) -> None:
        self.max_nodes = max_nodes
        self._separator = separator
        self._forget()

    def bag(
        self,
        trie: PathTrie,
        element_of: Callable[[str, str], str],
        settle: Callable[[str], Value | None],
    ) -> dict[Value, int]:
        """Return the filtered bag of a page: settled path -> displayed leaves; cost O(nodes)."""
        places = self.places(trie, element_of)
        settled, bag = self._settled, dict[Value, int]()
        for at, leaves in zip(places, trie.leaves, strict=True):
            if leaves:
                path = settled[at]
                if path is _UNSETTLED:
                    path = self.settled(at, settle)
                if path is not None:
                    bag[path] = bag.get(path, 0) + leaves
        return bag

    def places(self, trie: PathTrie, element_of: Callable[[str, str], str]) -> list[int]:
        """Return the number of the path of each node of a page, which it has until all are forgotten."""
        if max(len(self._known), len(self._elements)) > self.max_nodes:
            self._forget()
        known, places = self._known, list[int]()
        for parent, tag, classes in zip(trie.parents, trie.tags, trie.classes, strict=True):
            step = (places[parent] if parent >= 0 else _ROOT, tag, classes)
            at = known.get(step)
            if at is None:
                at = known[step] = self._place(*step, element_of)
            places.append(at)
        return places

    def settled(self, at: int, settle: Callable[[str], Value | None]) -> Value | None:
        """Return what the path of a place stands for."""
        if self._settled[at] is _UNSETTLED:
            self._settled[at] = settle(self._paths[at])
        found: Value | None = self._settled[at]
        return found

    def _place(self, above: int, tag: str, classes: str, element_of: Callable[[str, str], str]) -> int:
        """Return the number of the path of a node below another, whose classes may say nothing new."""
        element = self._elements.get((tag, classes))
        if element is None:
            element = self._elements[tag, classes] = element_of(tag, classes)
        return self._below.get((above, element)) or self._grow(above, element)

    def _grow(self, above: int, element: str) -> int:
        at = self._below[above, element] = len(self._paths)
        path = self._paths[above]
        self._paths.append(f"{path}{self._separator}{element}" if above else element)
        self._settled.append(_UNSETTLED)
        return at

    def _forget(self) -> None:
        self._elements: dict[tuple[str, str], str] = {}
        self._below: dict[tuple[int, str], int] = {}
        self._known: dict[tuple[int, str, str], int] = {}
        self._paths = [""]
        self._settled: list[Any] = [_UNSETTLED]


_ELEMENT, _TOKEN = "\n", " "
# Nodes remembered between pages, a bound of memory; it never changes an answer.
_REMEMBERED = 20_000


@dataclass(frozen=True)
class ClassPathFilter:
    """Frozen rarity filter: turns the trie of any page of the site into a bag of class-aware paths."""

    token_pages: Mapping[str, int]
    numbered: dict[str, None]
    paths: dict[str, None]

    @cached_property
    def _rarity(self) -> dict[str, int]:
        rarest_first = sorted(self.token_pages, key=lambda token: (self.token_pages[token], token))
        return {token: rank for rank, token in enumerate(rarest_first)}

    @cached_property
    def _nodes(self) -> PathNodes[str]:
        return self.new_nodes()

    def bag(self, trie: PathTrie) -> dict[str, int]:
        """Return the filtered bag: path -> displayed leaves; cost O(nodes), more for unseen paths."""
        return self._nodes.bag(trie, self.element, self.settle)

    @staticmethod
    def new_nodes() -> PathNodes[Value]:
        """Return what remembers the paths of pages, for bags of what settled paths stand for."""
        return PathNodes(separator=_ELEMENT, max_nodes=_REMEMBERED)

    def bags(self, sample: SampleTrie) -> list[dict[str, int]]:
        """Return `bag` of each page of a sample, at the cost of the distinct nodes and some of all leaves."""
        settled: dict[str, str] = {}
        raw = sample.paths(self.element, _ELEMENT)
        for node in {node for leaves in sample.leaves for node, _ in leaves}:
            if raw[node] not in settled:
                settled[raw[node]] = self.settle(raw[node])
        return sample.bags([settled.get(path, path) for path in raw])

    def element(self, tag: str, classes: str) -> str:
        """Return an element of a path: its tag, and those of its class tokens that count."""
        return _element_of(tag, classes, numbered=self.numbered, tokens=self.token_pages)

    def settle(self, path: str) -> str:
        """Return the path without its rarest tokens, as many as it takes to be a known path or to be bare."""
        if path in self.paths or _TOKEN not in path:
            return path
        for token in sorted(_held(path), key=self._rarity.__getitem__):
            path = _without(path, token)
            if path in self.paths:
                break
        return path


def fit_class_paths(
    tries: Sequence[PathTrie], *, min_pages: int = 4, min_share: float = 0.005
) -> tuple[ClassPathFilter, list[dict[str, int]]]:
    """Learn the rarity filter of a sample and return it with the filtered bags of the sample."""
    threshold = max(min_pages, min_share * len(tries))
    sample = SampleTrie(tries)
    numbered = template_numbers(sample, threshold)
    tokens = _tokens_of(sample, numbered)
    levels = page_level_tokens(sample, numbered)
    crossing = modifiers(levels, threshold)
    dropped = crossing | class_values([held - crossing for held in levels], threshold)
    df = Counter(token for held in tokens for token in held)
    kept = {token: n for token, n in sorted(df.items()) if n >= threshold and token not in dropped}
    raw = sample.paths(partial(_element_of, numbered=numbered, tokens=kept), _ELEMENT)
    paths = _frequent_paths(sample.bags(raw), kept, threshold)
    learned = ClassPathFilter(kept, dict.fromkeys(sorted(numbered)), dict.fromkeys(sorted(paths)))
    return learned, learned.bags(sample)


def _tokens_of(sample: SampleTrie, numbered: frozenset[str]) -> list[set[str]]:
    """Return the distinct class tokens of each page, digits as ``#`` unless the token is in `numbered`."""
    known: dict[str, set[str]] = {}
    pages = []
    for page in sample.classes:
        for classes in page - known.keys():
            known[classes] = folded(classes, numbered)
        pages.append(set[str]().union(*map(known.__getitem__, page)))
    return pages


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
            shorter = drop_rarest(path, tokens) if len(pages[path]) < threshold else None
            if shorter is not None:
                pages[shorter] |= pages.pop(path)
                levels[shorter.count(_TOKEN)].add(shorter)
    return frozenset(path for path, on in pages.items() if len(on) >= threshold)


def _element_of(tag: str, classes: str, *, numbered: Collection[str], tokens: Mapping[str, int]) -> str:
    """Return an element of a path: its tag, and those of its class tokens that count."""
    return _TOKEN.join([tag, *sorted(token for token in folded(classes, numbered) if token in tokens)])


def drop_rarest(path: str, tokens: Mapping[str, int]) -> str | None:
    """Return the path without its rarest token (ties: the first in alphabet); None if it has no token."""
    if _TOKEN not in path:
        return None
    return _without(path, min(_held(path), key=lambda token: (tokens.get(token, 0), token)))


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


def template_numbers(sample: SampleTrie, threshold: float) -> frozenset[str]:
    """Return the class tokens of a sample that keep their digits: those whose number names a template.

    A family of tokens equal up to digits keeps its digits when all of this holds:

    - a page carries one member (mean at most 1.2): a number of the page, not of the things on it;
    - few values cover it: at most 20 % of its pages hold a member rarer than the page threshold;
    - the value explains layout: it accounts for at least 10 % of the variance of the plain path vectors of
      its pages (adjusted R-squared of a one-way analysis of variance, so that chance scores 0).
    """
    families = _families(sample)
    wanted = {name: pages for name, pages in families.items() if _few_values(pages, threshold)}
    if not wanted:
        return frozenset()
    bags = sample.bags(sample.paths(lambda tag, classes: tag, "/"))
    vectors = fit_vectorizer(bags, norm="l2").transform(bags)
    kept: set[str] = set()
    for members in wanted.values():
        frequent = {token: pages for token, pages in members.items() if len(pages) >= threshold}
        if explained_share(vectors, list(frequent.values())) >= MIN_EXPLAINED:
            kept |= set(frequent)
    return frozenset(kept)


def folded(classes: str, numbered: Collection[str]) -> set[str]:
    """Return distinct class tokens, digits as ``#`` unless the token is in `numbered`."""
    return {token if token in numbered else fold_digits(token) for token in classes.split()}


def _families(sample: SampleTrie) -> dict[str, dict[str, set[int]]]:
    """Return family -> token -> pages, for tokens with digits."""
    families: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    known: dict[str, list[set[int]]] = {}
    for number, page in enumerate(sample.classes):
        for classes in page:
            pages = known.get(classes)
            if pages is None:
                families_of = ((fold_digits(token), token) for token in classes.split())
                pages = known[classes] = [families[f][token] for f, token in families_of if f != token]
            for on in pages:
                on.add(number)
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


MIN_CROSSED = 3
"""Tokens which exclude each other that a modifier crosses, at least."""

SAME_PAGES = 0.9
"""Likeness of two sets of pages, over the larger of them, from which they count as the same."""


_PAGE_TAGS = frozenset({"html", "body"})
# Page-level tokens looked at, those on most pages; a bound of work, which is cubic in it at worst.
_MAX_TOKENS = 300


def modifiers(pages: Sequence[Set[str]], threshold: float) -> frozenset[str]:
    """Return the page-level tokens of a sample that modify pages of several templates.

    These are tokens that cross at least three tokens which exclude each other, and tokens that say no more
    than "this template, modified" (``category-paged``: ``category`` and ``paged``). Two tokens cross when
    their common pages and the pages of either one alone all reach the page threshold.
    """
    df = Counter(token for held in pages for token in held)
    tokens = sorted((t for t, n in df.items() if n >= threshold), key=lambda t: (-df[t], t))[:_MAX_TOKENS]
    on = np.array([[token in held for held in pages] for token in tokens], dtype=np.float64)
    if not tokens:
        return frozenset()
    cutting = _crossing(on, threshold)
    return frozenset(tokens[i] for i in {*cutting, *_parts(on, cutting, threshold)})


def page_level_tokens(sample: SampleTrie, numbered: Collection[str]) -> list[set[str]]:
    """Return the class tokens of ``html`` and ``body`` of each page, digits as ``#`` unless the token is in
    `numbered`."""
    held = {
        node: folded(classes, numbered)
        for node, (_, tag, classes) in enumerate(sample.nodes)
        if classes and tag in _PAGE_TAGS
    }
    return [set[str]().union(*map(held.__getitem__, held.keys() & page)) for page in sample.pages]


def _crossing(on: NDArray[np.float64], threshold: float) -> list[int]:
    """Return the rows that cross at least three rows which exclude each other, looked for from small to
    large."""
    both, sizes = on @ on.T, on.sum(axis=1)
    alone = sizes[:, None] - both
    crosses = (both >= threshold) & (alone >= threshold) & (threshold <= alone.T)
    found = []
    for row in range(len(on)):
        exclusive: list[int] = []
        for other in sorted(np.flatnonzero(crosses[row]), key=lambda i: (sizes[i], i)):
            if (both[other, exclusive] < threshold).all():
                exclusive.append(int(other))
        if len(exclusive) >= MIN_CROSSED:
            found.append(row)
    return found


def _parts(on: NDArray[np.float64], cutting: Sequence[int], threshold: float) -> set[int]:
    """Return the rows that are, up to 10 %, the common pages of a modifier and a row it cuts in two."""
    sizes = on.sum(axis=1)
    kept = np.ones(len(on), dtype=bool)
    kept[list(cutting)] = False
    found: set[int] = set()
    for row in cutting:
        cut = on * on[row]
        inside = cut.sum(axis=1)
        halved = kept & (inside >= threshold) & (sizes - inside >= threshold)
        halved &= sizes <= on.shape[1] - threshold
        same = cut @ on.T >= SAME_PAGES * np.maximum(inside[:, None], sizes[None, :])
        found |= set(np.flatnonzero((same & halved[:, None] & kept[None, :]).any(axis=0)).tolist())
    return found


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
