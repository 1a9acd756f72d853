"""Is a fetched page like one of the examples?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.policies.harvest.layouts import Layouts, Vector, cosine
from linkscore_scoring.types import ExamplePage
from linkscore_scoring.urls.pattern_tree import UrlPatterns

_FIRST_FIT, _LAST_FIT = 2, 256
_BACKGROUND = 128


class Likeness:
    """Labels pages by their nearest example: cosine of layouts at least `least`, and a URL of the same shape.

    Layout tells templates apart; the shape of the URL parts what shares one layout, as a thread, its further
    pages and its permalinks do. The background that weighs paths is the examples and pages that were *not*
    like them: a good crawl fetches little but wanted pages, and what they all show would weigh nothing. It
    is learned anew whenever the pages unlike the examples have doubled, up to 256.

    Parameters
    ----------
    least
        Cosine of a page that counts as alike, in (0, 1].

    Notes
    -----
    Not from a paper. Cost: O(nodes + examples x paths) a page, 0.2 to 1 ms; a fit, at most 9 a site, reads
    128 pages.
    """

    def __init__(self, *, least: float = 0.4) -> None:
        self.least = least
        self.layouts = Layouts()
        self._examples: list[ExamplePage] = []
        self._found: dict[str, PathTrie] = {}
        self._vectors: list[Vector] = []
        self._unlike = 0
        self._due = _FIRST_FIT

    def __bool__(self) -> bool:
        return bool(self._examples)

    def __len__(self) -> int:
        return len(self._examples)

    def show(self, examples: Iterable[ExamplePage]) -> bool:
        """Take over the example pages, all of them; say whether they are others than before."""
        before, self._examples = self._examples, list(examples)
        for example in self._examples:
            if example.paths.tags and example not in before:
                self.layouts.see(example.paths)
        if self._examples != before:
            self.fit(())
        return self._examples != before

    def see(self, key: str, paths: PathTrie) -> bool:
        """Take in a fetched page, and say whether a fit is due."""
        self.layouts.see(paths)
        if any(example.key == key and not example.paths.tags for example in self._examples):
            self._found[key] = paths
            return True
        return self._unlike >= self._due

    def fit(self, unlike: Sequence[PathTrie]) -> None:
        """Learn the weights of paths from the examples and the latest of the pages that are not like them."""
        self._due = max(_FIRST_FIT, 2 * self._unlike) if self._unlike < _LAST_FIT else 1 << 60
        shown = [paths for paths in map(self._paths, self._examples) if paths.tags]
        self.layouts.fit([*shown, *islice(reversed(unlike), _BACKGROUND)])
        self._compare()

    def label(self, key: str, paths: PathTrie, patterns: UrlPatterns) -> float:
        """Return how far a page is like an example: 1 at a cosine of `least`, below it (cosine / least)^2."""
        return min(1.0, (self.nearest(key, paths, patterns) / self.least) ** 2)

    def nearest(self, key: str, paths: PathTrie, patterns: UrlPatterns) -> float:
        """Return the cosine of the nearest example whose URL has the same shape, 0 if there is none."""
        vector = self.layouts.vector(paths)
        return max(
            (
                cosine(vector, shown)
                for example, shown in zip(self._examples, self._vectors, strict=True)
                if shown and (not example.key or patterns.could_be_one(example.key, key))
            ),
            default=0.0,
        )

    def look(self, paths: PathTrie) -> float:
        """Return the label a page would have if its URL did not count."""
        vector = self.layouts.vector(paths)
        best = max((cosine(vector, shown) for shown in self._vectors), default=0.0)
        return min(1.0, (best / self.least) ** 2)

    def named(self, patterns: UrlPatterns) -> set[int]:
        """Return the URL patterns of the examples, as far as they are known."""
        return {patterns.levels(example.key)[-1] for example in self._examples if example.key} - {0}

    def shows(self, url: str) -> bool:
        """Say whether a page is an example itself."""
        return any(url in (example.url, example.key) for example in self._examples)

    def labelled(self, *, alike: bool) -> None:
        """Note that a page was labelled."""
        self._unlike += not alike

    def _paths(self, example: ExamplePage) -> PathTrie:
        return example.paths if example.paths.tags else self._found.get(example.key, example.paths)

    def _compare(self) -> None:
        self._vectors = [self.layouts.vector(self._paths(example)) for example in self._examples]

    def to_state(self) -> dict[str, Any]:
        """Return what was learned, and the pages found for examples given by URL, as plain values."""
        found = [[key, p.parents, p.tags, p.classes, p.leaves] for key, p in self._found.items()]
        return {
            "layouts": self.layouts.to_state(),
            "found": found,
            "counts": [self._unlike, self._due],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over what was learned; the examples themselves come with the crawl."""
        self.layouts.load_state(state["layouts"])
        self._unlike, self._due = state["counts"]
        self._found = {key: PathTrie(*columns) for key, *columns in state["found"]}
        self._compare()
