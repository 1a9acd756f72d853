"""Layouts of pages as sparse vectors that are learned on line: class-aware tag paths, weighted by rarity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from math import log, sqrt
from typing import Any
from zlib import crc32

from linkscore_scoring.clustering.class_tokens import fold_digits
from linkscore_scoring.features.types import PathTrie

Vector = dict[int, float]

_PRIME, _MASK, _ROOT = 1_000_003, (1 << 61) - 1, 7
_MAX_TOKENS = 20_000
_FEW_PAGES, _LEAST_OF_FEW, _LEAST, _SHARE = 40, 2, 4, 0.005
_MARKUP = -1
_MARKUP_TAGS = frozenset(
    (
        *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "center"),
        *("ul", "ol", "li", "dl", "dt", "dd", "span", "font", "abbr", "cite", "q"),
        *("b", "i", "u", "s", "em", "strong", "small", "big", "strike", "del", "ins", "sub", "sup"),
        *("code", "kbd", "samp", "tt", "var"),
    )
)


class Layouts:
    """Turns tag paths into vectors ln(tf + 1) x ln(n / df + 1), as the crawl goes on.

    A class token counts once it is on 4 pages and 0.5 % of them (2 pages while fewer than 40 are known);
    digits are folded. Elements an author marks text up with (``p``, ``ul``, ``strong``, ...) count only with
    a class: a post with a list and one without are of one layout. Tokens are counted page by page; the
    background, which df is from, is given at each `fit`.

    Notes
    -----
    Not from a paper; the batch form is `site.class_paths`. Paths are 61-bit hashes.
    """

    def __init__(self) -> None:
        self._pages = 0
        self._tokens: Counter[str] = Counter()
        self._kept: frozenset[str] = frozenset()
        self._df: dict[int, int] = {}
        self._n = 1
        self._elements: dict[tuple[str, str], int] = {}

    def see(self, paths: PathTrie) -> None:
        """Count the class tokens of a page; cost O(distinct classes)."""
        self._pages += 1
        self._tokens.update({t for classes in set(paths.classes) for t in map(fold_digits, classes.split())})
        for token in list(islice(self._tokens, max(0, len(self._tokens) - _MAX_TOKENS))):
            del self._tokens[token]

    def fit(self, background: Sequence[PathTrie]) -> None:
        """Choose the tokens that count, and count paths over some pages; cost O(nodes of these pages)."""
        few = self._pages < _FEW_PAGES
        least = _LEAST_OF_FEW if few else max(_LEAST, _SHARE * self._pages)
        self._keep(token for token, pages in self._tokens.items() if pages >= least)
        self._df = dict(Counter(path for paths in background for path in self._bag(paths)))
        self._n = max(1, len(background))

    def vector(self, paths: PathTrie) -> Vector:
        """Return the vector of a page, length 1 unless it is empty; cost O(nodes)."""
        df, n = self._df, self._n
        weights = {
            path: log(tf + 1.0) * log(n / df.get(path, 1) + 1.0) for path, tf in self._bag(paths).items()
        }
        norm = sqrt(sum(w * w for w in weights.values()))
        return {path: w / norm for path, w in weights.items()}

    def _keep(self, tokens: Any) -> None:
        self._kept, self._elements = frozenset(tokens), {}

    def _bag(self, trie: PathTrie) -> dict[int, int]:
        ids: list[int] = []
        bag: dict[int, int] = {}
        elements = self._elements
        for parent, tag, classes, leaves in zip(
            trie.parents, trie.tags, trie.classes, trie.leaves, strict=True
        ):
            element = elements.get((tag, classes))
            if element is None:
                element = self._element(tag, classes)
            above = ids[parent] if parent >= 0 else _ROOT
            path = above if element == _MARKUP else (above * _PRIME ^ element) & _MASK
            ids.append(path)
            if leaves:
                bag[path] = bag.get(path, 0) + leaves
        return bag

    def _element(self, tag: str, classes: str) -> int:
        kept = sorted({token for token in map(fold_digits, classes.split()) if token in self._kept})
        is_markup = not kept and tag in _MARKUP_TAGS
        element = _MARKUP if is_markup else crc32(" ".join([tag, *kept]).encode("utf-8", "surrogatepass"))
        if len(self._elements) >= _MAX_TOKENS:
            self._elements.clear()
        self._elements[tag, classes] = element
        return element

    def to_state(self) -> dict[str, Any]:
        """Return counts and what was fitted as plain values."""
        return {
            "pages": self._pages,
            "tokens": list(self._tokens.items()),
            "kept": sorted(self._kept),
            "df": list(self._df.items()),
            "n": self._n,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the counts of `to_state`."""
        self._pages, self._n = int(state["pages"]), int(state["n"])
        self._tokens = Counter(dict(state["tokens"]))
        self._df = dict(state["df"])
        self._keep(state["kept"])


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors of length 1."""
    few, many = (one, other) if len(one) < len(other) else (other, one)
    return sum(w * many[path] for path, w in few.items() if path in many)
