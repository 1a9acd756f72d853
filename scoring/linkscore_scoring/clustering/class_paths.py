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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from linkscore_scoring.clustering.class_tokens import (
    class_values,
    folded,
    modifiers,
    page_level_tokens,
    template_numbers,
)
from linkscore_scoring.clustering.sample_trie import SampleTrie
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.state import Transient

# Number of the place above the first element of a path.
_ROOT = 0


Value = TypeVar("Value")
_UNSETTLED = object()


class PathNodes(Generic[Value]):
    """Filtered bags of pages, with what earlier pages showed remembered; it never changes an answer.

    `separator`: stands between elements. `max_nodes`: nodes, and distinct (tag, class tokens), remembered;
    above it all are forgotten.
    """

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
        """Return the filtered bag of a page: settled path -> displayed leaves; cost O(nodes).

        `trie`: tag paths of the page. `element_of`: (tag, class tokens) -> element of a path with the tokens
        that count; the same at every call. `settle`: path of such elements -> what it stands for, None to
        leave it out; the same at every call.
        """
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
    """Frozen rarity filter: turns the trie of any page of the site into a bag of class-aware paths.

    `token_pages`: surviving class tokens (digits as ``#``) -> pages of the sample that hold them.
    `numbered`: tokens that keep their digits. `paths`: paths that reached the page threshold in the sample;
    a new path is shortened until it is one of them.
    """

    token_pages: Mapping[str, int]
    numbered: frozenset[str]
    paths: frozenset[str]
    _rarity: Transient[dict[str, int]] = field(init=False, repr=False, compare=False)
    _nodes: Transient[PathNodes[str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rarest_first = sorted(self.token_pages, key=lambda token: (self.token_pages[token], token))
        object.__setattr__(self, "_rarity", {token: rank for rank, token in enumerate(rarest_first)})
        object.__setattr__(self, "_nodes", self.new_nodes())

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
    """Learn the rarity filter of a sample and return it with the filtered bags of the sample.

    `tries`: tag paths of the sampled pages. `min_pages`, `min_share`: the threshold m is the larger of
    `min_pages` and `min_share` of the sample, as in steps 2 and 3 above.

    Cost O(distinct paths x tokens). Not in Xu 2018, whose XPaths carry no classes.
    """
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
    learned = ClassPathFilter(kept, numbered, _frequent_paths(sample.bags(raw), kept, threshold))
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


def _element_of(tag: str, classes: str, *, numbered: frozenset[str], tokens: Mapping[str, int]) -> str:
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
