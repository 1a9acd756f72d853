"""Is a fetched page like one of the examples? By its layout, and by the shape of its URL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from math import log, sqrt
from zlib import crc32

from linkscore_scoring.columns import drop_oldest, left_sum
from linkscore_scoring.features.types import PathTrie, normal_tokens
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.harvest.tunables import DEFAULTS, Tunables
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import ExamplePage
from linkscore_scoring.urls.pattern_tree import UrlPatterns

Vector = dict[int, float]
"""Hash of a tag path -> weight."""

_PRIME, _MASK = 1_000_003, (1 << 61) - 1  # of the hash of paths: an odd prime, 61 bits
_ROOT, _BARE_ROOT = 7, 8  # any two starts
_MARKUP = -1  # stands for an element that does not count; hashes are never negative
_MARKUP_TAGS = frozenset(
    (
        *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "center"),
        *("ul", "ol", "li", "dl", "dt", "dd", "span", "font", "abbr", "cite", "q"),
        *("b", "i", "u", "s", "em", "strong", "small", "big", "strike", "del", "ins", "sub", "sup"),
        *("code", "kbd", "samp", "tt", "var"),
    )
)


class Likeness(Stateful):
    """Labels pages by the nearest page that somebody named: cosine of layouts, and a URL of the same shape.

    Layout tells templates apart; the shape of the URL parts what shares one layout, as a thread and its
    permalinks do. Where examples have no URL, a page is alike if it is as near as the farthest of these is to
    its nearest fellow. An example given by its URL alone speaks for its shape, a little, until its page is
    known. Paths are weighed by a background: the examples and the latest pages that were *not* like them,
    learned anew whenever these have doubled.

    Not from a paper. Cost: O(nodes + examples x paths) a page, 0.2 to 1 ms; a fit reads 256 pages.
    """

    layouts: Stored[Layouts]
    found: Stored[dict[str, PathTrie]]
    unlike: Stored[int]
    due: Stored[int]

    def __init__(self, tunables: Tunables = DEFAULTS) -> None:
        self._t = tunables
        self.layouts = Layouts(tunables)
        self._examples: list[ExamplePage] = []
        self.found = {}
        self._wanted: list[tuple[str, Vector]] = []
        self._least = tunables.least_cosine
        self.unlike, self.due = 0, 2

    def __len__(self) -> int:
        """How many examples there are whose layout is known."""
        return sum(bool(vector) for _, vector in self._wanted)

    @property
    def has_no_urls(self) -> bool:
        """Whether layout alone tells: there are examples, and none has a URL."""
        return self.is_given and not self.keys

    @property
    def is_given(self) -> bool:
        """Whether there are examples; pages are looked at to find those given by URL alone."""
        return bool(self._examples)

    def set_examples(self, examples: Iterable[ExamplePage]) -> bool:
        """Take over the example pages, all of them; say whether they are others than before."""
        before, self._examples = self._examples, list(examples)
        for example in self._examples:
            if example.paths.tags and example not in before:
                self.layouts.see(example.paths)
        if self._examples != before:
            self.__dict__.pop("keys", None)
            self.fit(())
        return self._examples != before

    def see(self, url: str, paths: PathTrie) -> bool:
        """Take in a fetched page, and say whether a fit is due."""
        self.layouts.see(paths)
        return self.find(url, paths) or self.unlike >= self.due

    def find(self, url: str, paths: PathTrie) -> bool:
        """Take the layout of a fetched page if it is an example given by URL alone; say whether it is."""
        is_one = any(example.key == url and not example.paths.tags for example in self._examples)
        if is_one:
            self.found[url] = paths
        return is_one

    def fit(self, unlike: Sequence[PathTrie]) -> None:
        """Learn the weights of paths from the examples and the latest of the pages that are not like them."""
        self.unlike = max(self.unlike, len(unlike))
        self.due = 2 * max(1, self.unlike)
        shown = [paths for paths in map(self._paths, self._examples) if paths.tags]
        self.layouts.fit([*shown, *islice(reversed(unlike), self._t.at_once)])
        self.after_load()

    def label(self, url: str, paths: PathTrie, patterns: UrlPatterns) -> tuple[float, float]:
        """Return how far a page is like an example, in [0, 1], and its cosine to the nearest of any URL.

        1 at the least cosine that counts as alike, below it (cosine / least)^2.
        """
        vector = self.layouts.vector(paths)
        near = [(cosine(vector, shown), key) for key, shown in self._wanted if shown]
        alike = [degree for degree, key in near if not key or patterns.could_be_one(key, url)]
        label = min(1.0, (max(alike, default=0.0) / self._least) ** 2)
        if label < self._t.shape and self._is_told_by_shape(url, patterns):
            label = self._t.shape
        return label, max(near, default=(0.0, ""))[0]

    def example_patterns(self, patterns: UrlPatterns) -> set[int]:
        """Return the URL patterns of the examples, as far as they are known."""
        return {patterns.levels(example.key)[-1] for example in self._examples if example.key} - {0}

    def is_example(self, url: str) -> bool:
        """Say whether a page is an example itself."""
        return any(url in (example.url, example.key) for example in self._examples)

    @cached_property
    def keys(self) -> frozenset[int]:
        """Identity hashes of the examples."""
        return frozenset(hash64(example.key) for example in self._examples if example.key)

    def has_shape(self, url: str, patterns: UrlPatterns) -> bool:
        """Say whether a URL has the shape of an example's."""
        return any(example.key and patterns.could_be_one(example.key, url) for example in self._examples)

    def _is_told_by_shape(self, url: str, patterns: UrlPatterns) -> bool:
        """Say whether a URL has the shape of an example, and of none whose layout is known."""
        alike = [bool(shown) for key, shown in self._wanted if key and patterns.could_be_one(key, url)]
        return bool(alike) and not any(alike)

    def _paths(self, example: ExamplePage) -> PathTrie:
        return example.paths if example.paths.tags else self.found.get(example.key, example.paths)

    def after_load(self) -> None:
        """Make the vectors of the pages that were named; the examples come with the crawl."""
        vector = self.layouts.vector
        self._wanted = [(example.key, vector(self._paths(example))) for example in self._examples]
        without_url = [shown for key, shown in self._wanted if shown and not key]
        self._least = max(self._t.least_cosine, _farthest(without_url))


class Layouts(Stateful):
    """Turns tag paths into vectors ln(tf + 1) x ln(n / df + 1), as the crawl goes on.

    A class token counts once it is on three pages, two while fewer than 40 are known; digits are folded.
    Elements an author marks text up with (``p``, ``ul``, ``strong``, ...) count only with a class. Each
    stands on two paths, with the classes of those above it and without: one of the body may name the author.
    """

    pages: Stored[int]
    tokens: Stored[Counter[str]]
    kept: Stored[frozenset[str]]
    df: Stored[dict[int, int]]
    n: Stored[int]

    def __init__(self, tunables: Tunables = DEFAULTS) -> None:
        self._t = tunables
        self.pages, self.n = 0, 1
        self.tokens, self.df = Counter(), {}
        self.kept: frozenset[str] = frozenset()
        self._elements: dict[tuple[str, str], tuple[int, int]] = {}

    def see(self, paths: PathTrie) -> None:
        """Count the class tokens of a page."""
        self.pages += 1
        # Sorted, or the order of the state would depend on the hash seed of the process.
        self.tokens.update(sorted({t for classes in set(paths.classes) for t in normal_tokens(classes)}))
        drop_oldest(self.tokens, self._t.kept)

    def fit(self, background: Sequence[PathTrie]) -> None:
        """Choose the tokens that count, and count paths over some pages."""
        least = 2 if self.pages < self._t.few_pages else self._t.few
        self.kept = frozenset(token for token, pages in self.tokens.items() if pages >= least)
        self._elements = {}
        self.df = dict(Counter(path for paths in background for path in self._bag(paths)))
        self.n = max(1, len(background))

    def vector(self, paths: PathTrie) -> Vector:
        """Return the vector of a page, length 1 unless it is empty."""
        df, n = self.df, self.n
        weights = {
            path: log(tf + 1.0) * log(n / df.get(path, 1) + 1.0) for path, tf in self._bag(paths).items()
        }
        norm = sqrt(left_sum(w * w for w in weights.values()))
        return {path: w / norm for path, w in weights.items()}

    def _bag(self, trie: PathTrie) -> dict[int, int]:
        above: list[tuple[int, int]] = []
        bag: dict[int, int] = {}
        elements = self._elements
        for parent, tag, classes, leaves in zip(
            trie.parents, trie.tags, trie.classes, trie.leaves, strict=True
        ):
            element, bare_element = elements.get((tag, classes)) or self._element(tag, classes)
            full, bare = above[parent] if parent >= 0 else (_ROOT, _BARE_ROOT)
            paths = full, bare
            if element != _MARKUP:
                paths = (full * _PRIME ^ element) & _MASK, (bare * _PRIME ^ element) & _MASK
                full, bare = paths[0], (bare * _PRIME ^ bare_element) & _MASK
            above.append((full, bare))
            if leaves:
                for path in paths:
                    bag[path] = bag.get(path, 0) + leaves
        return bag

    def _element(self, tag: str, classes: str) -> tuple[int, int]:
        """Return hashes of an element with its classes and without."""
        kept = [token for token in normal_tokens(classes) if token in self.kept]
        is_markup = not kept and tag in _MARKUP_TAGS
        with_classes, bare = (
            crc32(" ".join(words).encode("utf-8", "surrogatepass")) for words in ([tag, *kept], [tag])
        )
        element = (_MARKUP if is_markup else with_classes), bare
        if len(self._elements) >= self._t.kept:
            self._elements.clear()
        self._elements[tag, classes] = element
        return element

    def after_load(self) -> None:
        """Forget hashes of elements made with the tokens of before."""
        self._elements = {}


def _farthest(shown: Sequence[Vector]) -> float:
    """Return the cosine of the page farthest from its nearest fellow to that fellow, 0 of one alone."""
    if len(shown) < 2:
        return 0.0
    return min(max(cosine(one, other) for other in shown if other is not one) for one in shown)


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors of length 1."""
    few, many = (one, other) if len(one) < len(other) else (other, one)
    return left_sum(w * many[path] for path, w in few.items() if path in many)
