"""Links as sparse hashed features for the classifiers: host, URL, labels of neighbours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from itertools import islice
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Floats, Ints, Remembered, Repeated, drop_oldest
from linkscore_scoring.learners.online import DIM, Features
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import UNKNOWN_CLUSTER, LinkBatch

# Bounds, so that the cost of a link does not depend on what a site writes; chosen, not measured.
_MOST_SEGMENTS = 12  # of a path
_MOST_KEYS = 8  # of a query, in the order of the alphabet
_MOST_WORDS = 24  # of a path
_SLUG_HYPHENS = 2  # hyphens that make a segment a slug; chosen, not measured
_CACHED = 32_768  # texts of a group whose hashes are remembered; a bound
_DIGITS = re.compile(r"[0-9]+")
_URL_PARTS = re.compile(r"(?:[a-z]+://)?([^/?#]*)([^?#]*)(?:\?([^#]*))?", re.DOTALL)
_WORDS = re.compile(r"[^\W\d_]{3,}")
_EXTENSION = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,4})$")

Hashes = NDArray[np.uint32]
Column = tuple[Ints, Hashes, Floats]


def link_features(urls: Sequence[str], neighbours: Floats) -> Features:
    """Return the features of links: host, words of the URL, and `NeighbourLabels.counts` of each."""
    of_neighbours = [_of_neighbours(neighbours, kind) for kind in range(len(KINDS))]
    hosts = np.array(_HOSTS.of_all(map(host_of_url, urls)), dtype=np.uint32)
    of_hosts = np.arange(len(urls), dtype=np.int64), hosts, np.ones(len(urls))
    return hashed(len(urls), [of_hosts, of_urls(urls), *of_neighbours], DIM)


def hashed(n: int, columns: Sequence[Column], dim: int) -> Features:
    """Return columns of `n` links, and a bias, as features in [0, dim)."""
    bias = np.arange(n, dtype=np.int64), np.full(n, crc32(b"bias"), dtype=np.uint32), np.ones(n)
    rows, hashes, values = (np.concatenate(parts) for parts in zip(bias, *columns, strict=True))
    return Features(n, rows, hashes.astype(np.int64) % dim, values)


def feature_names(url: str) -> dict[int, str]:
    """Return the names of the features of one link, for explanations."""
    names = {crc32(b"bias") % DIM: "bias"}
    tokens = [("host", host_of_url(url)), *(("url", token) for token in url_words(url))]
    for group, token in tokens:
        names[_hash(group, token) % DIM] = f"{group} {token}"
    for kind in KINDS:
        names[_hash("relatives", f"{kind} any") % DIM] = f"any {kind}"
        names[_hash("relatives", f"{kind} log") % DIM] = f"number of {kind}"
    return names


def url_words(url: str) -> list[str]:
    """Return the tokens of a URL's path and query; scheme, host and fragment say nothing here."""
    _, path, query = _url_parts(url)
    segments = _DIGITS.sub("#", path).split("/")[1:]
    kept = segments[:_MOST_SEGMENTS]
    tokens = [f"n{len(kept)}", *[f"{at}/{segment}" for at, segment in enumerate(kept)]]
    tokens += [f"#{len(kept) - at}" for at, segment in enumerate(kept) if segment == "#"]
    tokens += [f"-{len(kept) - at}" for at, segment in enumerate(kept) if segment.count("-") >= _SLUG_HYPHENS]
    tokens += _WORDS.findall(path.lower())[:_MOST_WORDS]
    extension = _EXTENSION.search(path)
    if extension:
        tokens.append(f".{extension[1].lower()}")
    return tokens + _query_tokens(query) if query else tokens


def host_of_url(url: str) -> str:
    """Return the host of a URL with its port, as it stands there."""
    start = url.find("://") + 3
    end = url.find("/", start)
    return url[start:end] if end >= 0 else _url_parts(url)[0]


def _url_parts(url: str) -> tuple[str, str, str]:
    found = _URL_PARTS.match(url)
    host, path, query = found.groups() if found else ("", "", "")
    return host, path, query or ""


def _query_tokens(query: str) -> list[str]:
    pairs = sorted(pair.partition("=")[::2] for pair in query.split("&") if pair)[:_MOST_KEYS]
    keys = list(dict.fromkeys(key for key, _ in pairs))
    return [
        *(f"k{key}" for key in keys),
        *(f"={key}={_DIGITS.sub('#', value)}" for key, value in pairs),
        f"&{'&'.join(keys)}",
    ]


def _hash(group: str, token: str) -> int:
    # Names of groups are salts: renaming one, `relatives` of the neighbours' counts too, moves the features
    # under weights that were saved.
    return crc32(token.encode("utf-8", "surrogatepass"), crc32(group.encode()))


@lru_cache(maxsize=_CACHED)
def _url_hashes(url: str) -> bytes:
    """Return the distinct hashes of a URL, packed: the bytes of many are joined faster than arrays."""
    found = dict.fromkeys(_hash("url", token) for token in url_words(url))
    return np.fromiter(found, dtype=np.uint32, count=len(found)).tobytes()


_HOSTS = Remembered(partial(_hash, "host"), _CACHED)


def of_urls(urls: Sequence[str], hashes_of: Callable[[str], bytes] = _url_hashes) -> Column:
    """Return the features of URLs by the packed hashes of each."""
    found = list(map(hashes_of, urls))
    hashes = np.frombuffer(b"".join(found), dtype=np.uint32)
    lengths = np.array(list(map(len, found)), dtype=np.int64) // hashes.itemsize
    return np.repeat(np.arange(len(found), dtype=np.int64), lengths), hashes, np.ones(len(hashes))


def _of_neighbours(neighbours: Floats, kind: int) -> Column:
    counts = neighbours[:, kind]
    some = np.flatnonzero(counts)
    return (
        np.concatenate([some, some]),
        np.repeat(_NEIGHBOURS[kind], len(some)),
        np.concatenate([np.ones(len(some)), np.log1p(counts[some])]),
    )


KINDS = ("good parents", "bad parents", "good siblings", "bad siblings")
"""Columns of `NeighbourLabels.counts`."""

_NEIGHBOURS = np.array(
    [[_hash("relatives", f"{kind} {name}") for name in ("any", "log")] for kind in KINDS], dtype=np.uint32
)


_NONE = (0, 0)  # bad and good children of a page that has none


class NeighbourLabels(Stateful):
    """Labels of pages, and per page the labels of the pages it links to; crawl-wide, by identity hash."""

    _labels: Stored[dict[int, bool]]
    _children: Stored[dict[int, tuple[int, int]]]

    max_pages = 50_000  # a bound

    def label(self, page: int) -> bool | None:
        """Return the label of a page, None if it has none."""
        return self._labels.get(page)

    def note(self, page: int, parents: Iterable[int], relevant: bool) -> None:
        """Label a page known from `parents`; a second label replaces the first."""
        before = self._labels.get(page)
        if before is relevant:
            return
        self._labels[page] = relevant
        for parent in dict.fromkeys(parents):
            bad, good = self._children.get(parent, _NONE)
            if before is not None:
                bad, good = (bad - 1, good) if relevant else (bad, good - 1)
            self._children[parent] = (max(0, bad + (not relevant)), max(0, good + relevant))
        drop_oldest(self._labels, self.max_pages)
        drop_oldest(self._children, self.max_pages)

    def counts(self, parents: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return how many good and bad parents and siblings links have, (n, 4) float64, columns as
        `KINDS`."""
        given = Repeated.of(map(tuple, parents))  # links of a menu have theirs in common
        rows = np.array(list(map(self._count, given.distinct)), dtype=np.float64)
        return rows.reshape(-1, len(KINDS))[given.places]

    def _count(self, parents: Sequence[int]) -> tuple[int, int, int, int]:
        good = bad = good_siblings = bad_siblings = 0
        for parent in parents:
            label = self._labels.get(parent)
            if label is not None:
                good += label
                bad += not label
            siblings = self._children.get(parent)
            if siblings is not None:
                bad_siblings += siblings[0]
                good_siblings += siblings[1]
        return good, bad, good_siblings, bad_siblings


class LatestLinks(Stateful):
    """The latest link of each URL pattern: identity hash and URL."""

    _examples: Stored[dict[int, tuple[int, str]]]

    max_patterns = 20_000  # a bound, a site's own replaces it

    def __contains__(self, pattern: int) -> bool:
        return pattern in self._examples

    def note(self, links: LinkBatch) -> None:
        """Take in the links of a page."""
        rows = zip(links.keys, links.urls, strict=True)
        self._examples.update(zip(links.patterns, rows, strict=True))
        drop_oldest(self._examples, self.max_patterns)

    def batch(self, patterns: Sequence[int]) -> LinkBatch:
        """Return one link for each pattern, from nowhere; an empty one for a pattern that is not known."""
        found = [self._examples.get(pattern, (0, "")) for pattern in patterns]
        keys, urls = [key for key, _ in found], [url for _, url in found]
        nowhere, n = [0] * len(found), len(found)
        return LinkBatch(urls, keys, nowhere, [UNKNOWN_CLUSTER] * n, nowhere, list(patterns), [""] * n)

    def newest(self, n: int) -> list[int]:
        """Return up to n patterns, those first seen last."""
        return list(islice(reversed(self._examples), n))
