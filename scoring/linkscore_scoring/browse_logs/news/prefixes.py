"""News prefixes: the folders and programs of a site under which news lies (Wang 2008)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.news.rates import CountedRates, NodeRate, Rate, Rows, WeighedRates
from linkscore_scoring.browse_logs.news.settings import NewsSettings
from linkscore_scoring.hashing import hash64
from linkscore_scoring.types import UrlRule

_MOSTLY = 0.5
"""A folder with less news is one of other pages: the better guess for any page of it."""

_MAX_MISFITS = 0.05
"""Greatest share of pages below a prefix that lie in folders of other pages. Measured:
research/notebook/news-from-logs.md."""

_FOLDS = 4
"""Parts for held-out coverage: each is looked up in what three quarters of the pages teach. Chosen, not
measured."""

_SPECIAL = re.compile(r"[.^$*+?()\[\]{}|\\]")

Mask = NDArray[np.bool_]
Steps = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class NewsPrefix:
    """A prefix under which pages are news.

    Attributes
    ----------
    text
        Host and path without scheme, ending in ``/`` (folder) or ``?`` (program, any query).
    share, at_least
        Share of news under it: best guess, and what it is at least with 90 % confidence.
    pages
        Pages it was learned from.
    example
        One of them.
    """

    text: str
    share: float
    at_least: float
    pages: int
    example: str

    def rule(self) -> UrlRule:
        """Return the prefix as a regular expression: RE2, anchored at the start, of either scheme.

        The ``/`` or ``?`` at the end of a prefix is part of it, so that ``/news/`` does not fit
        ``/newsletter``.
        """
        text = _SPECIAL.sub(lambda match: f"\\{match[0]}", self.text)
        return UrlRule(
            kind="news",
            pattern=f"^https?://{text}",
            confidence=self.at_least,
            matches=round(self.share * self.pages),
            total=self.pages,
            example=self.example,
        )


@dataclass(frozen=True, slots=True)
class Prefix:
    """A node of the tree that was chosen.

    Attributes
    ----------
    text
        Host and path without scheme, ending in ``/`` (folder) or ``?`` (program, any query).
    rate
        Share of news under it.
    pages
        Pages it was learned from.
    example
        Row of one of them.
    """

    text: str
    rate: NodeRate
    pages: int
    example: int


def steps_of(url: str) -> list[str]:
    """Return the nodes above a page: host, folders, program; together they are the longest prefix it has.

    Hosts and folders end in ``/``, a program, the path of a URL with a query, in ``?``, so that a folder and
    a program of one name stay apart. Schemes and fragments do not count. Cost O(characters).

    Examples
    --------
    >>> steps_of("http://a.example/news/2024/storm.html")
    ['a.example/', 'news/', '2024/']
    >>> steps_of("http://a.example/news/view.php?id=7")
    ['a.example/', 'news/', 'view.php?']
    """
    rest = url.partition("#")[0].partition("://")[2]
    path, mark, _ = rest.partition("?")
    *above, page = path.split("/") if "/" in path else (path, "")
    steps = [f"{step}/" for step in above]
    return [*steps, f"{page}?"] if mark else steps


def find_prefixes(
    steps: Steps,
    rate: Rate,
    *,
    theta: float = 0.8,
    min_pages: int = 1,
    misfits: Mask | None = None,
    max_misfits: float = _MAX_MISFITS,
) -> list[Prefix]:
    """Return the topmost nodes whose share of news is above `theta`; none lies below another.

    Parameters
    ----------
    steps
        Nodes above each page, see `steps_of`.
    rate
        Tells the share of news among some pages.
    theta
        Share that must be exceeded, [0, 1].
    min_pages
        Pages below which a node is never chosen, >= 1; the paper has no such bound.
    misfits, max_misfits
        Pages that lie where news does not, see `misfits_of`, (n,) bool, and their greatest share: a node that
        has more of them is looked into, not chosen. None as in the paper: there are none.

    Notes
    -----
    Cost: O(n log n), and a rating of each page for each level above it. Source: Wang 2008, section 5.2.
    """
    found: list[Prefix] = []
    todo = list(_children([], sorted(range(len(steps)), key=lambda row: list(steps[row])), steps))
    while todo:
        path, pages = todo.pop()
        if len(pages) < min_pages:
            continue
        rows = np.array(pages, dtype=np.intp)
        rated = rate(rows)
        if rated.share > theta and (misfits is None or misfits[rows].mean() <= max_misfits):
            found.append(Prefix("".join(path), rated, len(pages), pages[0]))
        else:
            todo += _children(path, pages, steps)
    return sorted(found, key=lambda prefix: prefix.text)


def misfits_of(groups: Sequence[Rows], rate: Rate, n: int) -> Mask:
    """Return the pages, of `n`, whose group (see `lowest_nodes`) is mostly other pages, (n,) bool."""
    found = np.zeros(n, dtype=np.bool_)
    for rows in groups:
        found[rows] = rate(rows).share < _MOSTLY
    return found


def _children(path: list[str], rows: list[int], steps: Steps) -> Iterator[tuple[list[str], list[int]]]:
    """Yield the nodes right below one, with their pages; rows are sorted, those of a child are neighbours."""
    depth = len(path)
    below = [row for row in rows if len(steps[row]) > depth]
    for step, group in groupby(below, lambda row: steps[row][depth]):
        yield [*path, step], list(group)


def lowest_nodes(steps: Steps, min_pages: int) -> list[Rows]:
    """Return the pages by the lowest node above each that has at least so many pages, as row numbers.

    Pages below no such node are in no group. Cost O(n x levels).
    """
    above = [list(accumulate(path)) for path in steps]
    sizes = Counter(chain.from_iterable(above))
    groups: dict[str, list[int]] = {}
    for row, nodes in enumerate(above):
        lowest = next((node for node in reversed(nodes) if sizes[node] >= min_pages), None)
        if lowest is not None:
            groups.setdefault(lowest, []).append(row)
    return [np.array(rows, dtype=np.intp) for rows in groups.values()]


class PrefixTrie:
    """Which prefix a URL lies under, in O(path length) whatever the number of prefixes.

    Parameters
    ----------
    prefixes
        Texts of prefixes, none of them below another.

    Examples
    --------
    >>> trie = PrefixTrie(["a.example/news/", "a.example/view.php?"])
    >>> trie.find("http://a.example/news/2024/storm.html"), trie.find("https://a.example/newsletter/1")
    (0, -1)
    """

    def __init__(self, prefixes: Sequence[str]) -> None:
        self._root: dict[str, Any] = {}
        for row, text in enumerate(prefixes):
            at = self._root
            *above, last = steps_of(f"://{text}")
            for step in above:
                at = at.setdefault(step, {})
            at[last] = row

    def find(self, url: str) -> int:
        """Return the number of the prefix that a URL starts with, -1 if there is none."""
        at: Any = self._root
        for step in steps_of(url):
            at = at.get(step, -1)
            if isinstance(at, int):
                return at
        return -1


@dataclass(slots=True)
class NewsPages:
    """Pages to learn prefixes from, as columns of equal length.

    Attributes
    ----------
    urls, steps
        Their identities, and the nodes above them; see `steps_of`.
    is_news
        (n,) bool: the best guess.
    ratios
        (n,) float64: ln(p(signal | news) / p(signal | other)), +-`CERTAIN` where somebody said it.
    """

    urls: Sequence[str]
    steps: Sequence[list[str]]
    is_news: NDArray[np.bool_]
    ratios: NDArray[np.float64]

    def part(self, rows: NDArray[np.intp]) -> NewsPages:
        """Return some of the pages."""
        chosen = rows.tolist()
        return NewsPages(
            [self.urls[row] for row in chosen],
            [self.steps[row] for row in chosen],
            self.is_news[rows],
            self.ratios[rows],
        )


def learn_prefixes(pages: NewsPages, settings: NewsSettings) -> list[NewsPrefix]:
    """Return the news prefixes of a site, by text; cost as `find_prefixes`."""
    rate, misfits = _rated(pages, settings)
    found = find_prefixes(
        pages.steps,
        rate,
        theta=settings.theta,
        min_pages=settings.min_pages,
        misfits=misfits,
    )
    fullest = sorted(found, key=lambda prefix: (-prefix.rate.share * prefix.pages, prefix.text))
    kept = sorted(fullest[: settings.max_prefixes], key=lambda prefix: prefix.text)
    return [NewsPrefix(p.text, p.rate.share, p.rate.at_least, p.pages, pages.urls[p.example]) for p in kept]


def _rated(pages: NewsPages, settings: NewsSettings) -> tuple[Rate, Mask | None]:
    if not settings.weighed:
        return CountedRates(pages.is_news), None
    groups = lowest_nodes(pages.steps, settings.min_pages)
    rate = WeighedRates(pages.ratios, groups)
    return rate, misfits_of(groups, rate, len(pages.urls))


def held_out_coverage(pages: NewsPages, settings: NewsSettings) -> float:
    """Return the share of news that lies below prefixes learned from other pages.

    Four parts are drawn by hash, each is looked up in what the other three teach. Where each article has a
    folder of its own, prefixes hold the pages they were learned from and no others: then this is near 0.
    """
    if not pages.is_news.any():
        return 0.0
    part = np.array([hash64(url) % _FOLDS for url in pages.urls], dtype=np.intp)
    inside = 0
    for fold in range(_FOLDS):
        learned = learn_prefixes(pages.part(np.flatnonzero(part != fold)), settings)
        trie = PrefixTrie([prefix.text for prefix in learned])
        others = np.flatnonzero((part == fold) & pages.is_news)
        inside += sum(trie.find(pages.urls[row]) >= 0 for row in others.tolist())
    return inside / int(pages.is_news.sum())
