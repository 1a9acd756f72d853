"""URL tokens and hash buckets exactly as the released Anthelion had them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote, urlsplit

import numpy as np

from linkscore_scoring.learners.classifiers.base import Features, Floats

SLOTS = 10_000
NUMERIC = 5
"""Numeric features behind the slots: host number, good parent, bad parent, good sibling, bad sibling. The
release never filled the last three."""

NUMBER = "[NUMBER]"
_PIECES = re.compile(r"[a-z0-9]{3,}")


def paper_tokens(url: str) -> set[str]:
    """Return the tokens of path, query and fragment, percent-decoded, in one space.

    Lower-cased pieces of [a-z0-9] of three and more characters; all digits become one token, mixed pieces are
    dropped. A URL that cannot be split has none.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return set()
    pieces = [
        piece
        for text in (parts.path, parts.query, parts.fragment)
        for piece in _PIECES.findall(unquote(text).lower())
    ]
    return {
        NUMBER if piece.isdecimal() else piece for piece in pieces if piece.isdecimal() or piece.isalpha()
    }


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`: h = 31 h + UTF-16 unit, 32 bits, signed."""
    raw = text.encode("utf-16-be", "surrogatepass")
    h = 0
    for at in range(0, len(raw), 2):
        h = (31 * h + int.from_bytes(raw[at : at + 2], "big")) & 0xFFFFFFFF
    return h - (1 << 32) if h >= 1 << 31 else h


@lru_cache(maxsize=32_768)
def paper_slots(url: str) -> tuple[int, ...]:
    """Return the distinct slots of a URL's tokens, |hash| mod 10,000, in rising order."""
    return tuple(sorted({abs(java_hash(token)) % SLOTS for token in paper_tokens(url)}))


def paper_features(urls: Sequence[str], hosts: Sequence[int], good_parent: Sequence[bool]) -> Features:
    """Return rows of `SLOTS` 0/1 features and `NUMERIC` numbers.

    Parameters
    ----------
    hosts
        Number of each link's host in order of first appearance.
    good_parent
        Whether the first page that linked to it was relevant.
    """
    slots = [paper_slots(url) for url in urls]
    lengths = [len(found) for found in slots]
    n = np.arange(len(urls), dtype=np.int64)
    numbers: Floats = np.concatenate([np.array(hosts, dtype=float), np.array(good_parent, dtype=float)])
    return Features(
        len(urls),
        np.concatenate([np.repeat(n, lengths), n, n]),
        np.concatenate(
            [
                np.array([slot for found in slots for slot in found], dtype=np.int64),
                np.full(len(urls), SLOTS, dtype=np.int64),
                np.full(len(urls), SLOTS + 1, dtype=np.int64),
            ]
        ),
        np.concatenate([np.ones(sum(lengths)), numbers]),
    )
