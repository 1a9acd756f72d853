"""URLs as key-value pairs, one by one or a batch as columns, and labels of values in patterns (Liu 2011)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

HOST = "host"
BARE = "?"
MAX_SEGMENTS = 12
"""A bound: path segments of one URL, those past it are one; cost and size of patterns grow with each."""

MAX_ARGUMENTS = 16
"""A bound: argument names of one URL, the first by name."""

KeyValues = dict[str, str]


def path_key(position: int) -> str:
    """Return the key of the path segment at a position, 0 for the first."""
    return f"p{position}"


def query_key(name: str) -> str:
    """Return the key of a query argument."""
    return f"?{name}"


@lru_cache(maxsize=8_192)
def key_values(url: str) -> KeyValues:
    """Return the key-value pairs of a URL, host first, then the path, then arguments by name; do not change.

    The scheme, a slash at the end and the fragment do not count. An argument without ``=`` is the value of
    the key ``?``. Values are percent-decoded and keep their case; those of a repeated key are sorted and
    joined by a comma. Segments past 12 are one, arguments past 16 names are left out. A URL that cannot be
    split has no pairs. Cost O(length).

    References
    ----------
    Liu, Cai, Zhang and Zhang 2011, section 3.1; keys after Lei et al. 2010.

    Examples
    --------
    >>> key_values("http://a.org/x/12/?q=z&p=3")
    {'host': 'a.org', 'p0': 'x', 'p1': '12', '?p': '3', '?q': 'z'}
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return {}
    segments = (
        [unquote(segment) for segment in parts.path.strip("/").split("/")] if parts.path.strip("/") else []
    )
    if len(segments) > MAX_SEGMENTS:
        segments = [*segments[:MAX_SEGMENTS], "/".join(segments[MAX_SEGMENTS:])]
    pairs = {HOST: parts.netloc.lower()}
    pairs.update((path_key(i), segment) for i, segment in enumerate(segments))
    return pairs | _arguments(parts.query)


def key_order(key: str) -> tuple[int, int, str]:
    """Return what sorts keys as they stand in a URL: host, path by position, arguments by name."""
    if key == HOST:
        return 0, 0, ""
    return (2, 0, key) if key.startswith("?") else (1, int(key[1:]), "")


def _arguments(query: str) -> KeyValues:
    values: dict[str, list[str]] = defaultdict(list)
    for piece in filter(None, query.split("&")):
        name, equals, value = piece.partition("=")
        values[query_key(unquote(name)) if equals else BARE].append(unquote(value if equals else name))
    return {key: ",".join(sorted(values[key])) for key in sorted(values)[:MAX_ARGUMENTS]}


Codes = NDArray[np.int64]

ABSENT, ANY, NUMBER = "-", "*", "#"
"""Labels of a key a URL does not have, of any value, and of any number; a value itself is ``=value``."""

NO_VALUE = -1
"""Code of a URL that does not have the key."""

MAX_KEYS = 64
"""A bound: keys of a batch of URLs, those that most URLs have; cost grows with each."""


def label_of(value: str) -> list[str]:
    """Return the labels that fit a value, the most telling first."""
    return [f"={value}", NUMBER, ANY] if is_number(value) else [f"={value}", ANY]


def is_number(value: str) -> bool:
    """Say whether a value is a run of ASCII digits."""
    return value.isascii() and value.isdecimal()


class KeyColumns:
    """One column per key, one row per URL; at most the 64 keys that most URLs have, path before query.

    Attributes
    ----------
    keys
        Names, as they stand in a URL.
    codes
        (n_keys, n_urls) int64: index into `values`, `NO_VALUE` without the key.
    values
        Distinct values of each key.
    numeric
        Which of them are numbers, (n_values,) bool each.
    """

    def __init__(self, rows: Sequence[KeyValues]) -> None:
        self.n_urls = len(rows)
        uses: dict[str, int] = {}
        for row in rows:
            for key in row:
                uses[key] = uses.get(key, 0) + 1
        kept = sorted(uses, key=lambda key: (-uses[key], key_order(key)))[:MAX_KEYS]
        self.keys = sorted(kept, key=key_order)
        self.codes = np.full((len(self.keys), len(rows)), NO_VALUE, dtype=np.int64)
        self.values: list[list[str]] = []
        for column, key in zip(self.codes, self.keys, strict=True):
            known: dict[str, int] = {}
            column[:] = [known.setdefault(row[key], len(known)) if key in row else NO_VALUE for row in rows]
            self.values.append(list(known))
        self.numeric = [np.array([is_number(v) for v in values], dtype=np.bool_) for values in self.values]

    def by_entropy(self, rows: Codes, keys: Sequence[int]) -> list[int]:
        """Return the keys by the entropy of their values among some URLs, least first; ties as in a URL.

        H(k) = - sum_v n_v / N ln(n_v / N), URLs without the key being a value of their own.
        """
        return sorted(keys, key=lambda key: (round(self.entropy(rows, key), 12), key))

    def entropy(self, rows: Codes, key: int) -> float:
        """Return H of one key in nats."""
        counts = np.bincount(self.codes[key, rows] + 1)
        shares = counts[counts > 0] / len(rows)
        return float(-(shares * np.log(shares)).sum())
